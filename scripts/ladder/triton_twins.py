"""Checks and times the kernels of python/triton beside cuBLAS, and counts what the compiler made of
them.

ladder triton [SHAPE ...]        for example 4096 16x4096x4096; none: 4096 and 8192
ladder triton --compile          no GPU is needed, and nothing is timed

--out FILE            all of it as JSON Lines; docs/triton.md has it from docs/results/triton.jsonl
--leave-out KERNEL    one that hangs, say: naive, blocked, ...

Checked as by the stages' harness: each of four shapes, and those that are timed, with random
numbers within its bound, and the four with integers exactly; what is outside of C must not be
written, nor a result made of what is outside of A and B. References are sums in double. Timed as by
the harness, too: kernel and torch.matmul, which is cuBLAS, in turn, in bursts with rests, on
operands that are not in L2. A turn is a CUDA graph of a millisecond's launches, so that the host is
in no time.

Counted are instructions of PTX, which stand in the text once, whether in a loop or not, for a shape
of which all is divisible by 16, and for a ragged one; and loads from shared memory in SASS, where
ptxas has made wide ones of narrow ones.

The naive kernel is timed up to 4096^3: at 8192^3 each of its launches would take more than a tenth
of a second.

FILE is written anew with each kernel. One that fails has no times there, and the others go on.

Needs PyTorch, Triton 3.6 and, without --compile, a GPU of compute capability 9.0. Exit code: 0 all
right, 1 a kernel failed: a wrong result, or it does not fit the GPU, 2 bad input, 77 PyTorch,
Triton or the GPU is missing.
"""

import argparse
import sys
from pathlib import Path

from ladder.files import as_lines, parts
from ladder.project import BadInput
from ladder.sweep_shapes import full
from ladder.twins import TWINS, Unavailable

NO_DEVICE = 77
USUAL = ("4096", "8192")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("shapes", nargs="*", metavar="SHAPE", help="4096 or 16x4096x4096")
    p.add_argument("--out", type=Path, metavar="FILE")
    p.add_argument("--compile", action="store_true", help="without a GPU")
    names = [twin.name for twin in TWINS]
    p.add_argument("--leave-out", action="append", default=[], choices=names, metavar="KERNEL")
    return p


def said(record: dict) -> str:
    """A line for the terminal for each shape that was timed, and of what was compiled."""
    lines = [f"{record['name']:15} failed: {record['failed']}"] if "failed" in record else []
    lines += [
        f"{record['name']:15} {shape:>15} {t['ms']:10.4f} ms {t['tflops']:8.1f} TFLOP/s "
        f"{t['percent_of_cublas']:6.1f}% of cuBLAS"
        for shape, t in record.get("times", {}).items()
    ]
    for shape, facts in record["compiled"].items():
        counts = ", ".join(f"{count} {name}" for name, count in facts["counts"].items())
        lines.append(f"{record['name']:15} {shape:>15} {facts['registers']} registers, {counts}")
    return "\n".join(lines)


def measured(options: argparse.Namespace) -> dict:
    """What --out writes, and it is written. Raises Unavailable, BadInput, OSError."""
    if options.compile and options.shapes:
        raise BadInput("--compile has its own two shapes, and takes no others")
    shapes = [full(shape) for shape in options.shapes or USUAL]
    if options.out and not options.out.parent.is_dir():
        raise BadInput(f"{options.out}: there is no folder {options.out.parent}")
    try:
        from ladder import triton_gpu
    except ImportError as error:
        raise Unavailable(f"it needs PyTorch and Triton: {error}") from error

    def save(found: dict) -> None:
        if options.out:
            options.out.write_text(as_lines(parts(found, "twins")))

    twins = [twin for twin in TWINS if twin.name not in options.leave_out]
    return triton_gpu.run(twins, shapes, options.compile, save)


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        found = measured(options)
    except Unavailable as error:
        print(f"ladder triton: {error}", file=sys.stderr)
        return NO_DEVICE
    except (BadInput, OSError) as error:
        print(f"ladder triton: {error}", file=sys.stderr)
        return 2
    print("\n".join(map(said, [*found["twins"], *found["tried"]])))
    failed = [record["name"] for record in found["twins"] if "failed" in record]
    if failed:
        print(f"ladder triton: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0
