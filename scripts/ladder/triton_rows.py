"""Checks and times the kernels of python/triton/rows.py beside 23's and PyTorch's, in bf16.

ladder triton-rows [ROWSxWIDTH ...]     none: 8192x4096 8192x8192 32768x1024
ladder triton-rows --compile            no GPU is needed, and nothing is timed

--library FILE        23's rows for Python; otherwise build/rows_for_python.so, which
                      cmake --build build --target ladder_rows_for_python makes
--out FILE            all of it as JSON Lines; docs/triton_rows.md has it from
                      docs/results/triton_rows.jsonl

Operations: vector add, softmax, LayerNorm, and LayerNorm with GELU. Each kernel is checked with
rows of a few lengths, of random numbers and of such as lie near 1000, and at the shapes that are
timed; what lies before and behind Y must not be written. References are in double. Timed in turn
are Triton's kernel, the same with the number of warps that its autotuner chose, 23's, PyTorch's,
and a copy, as ./ladder triton times.

Needs PyTorch, Triton 3.6 and, without --compile, a GPU of compute capability 9.0 and the library.
Exit code: 0 all right, 1 a result is wrong, 2 bad input, 77 PyTorch, Triton, the library or the GPU
is missing.
"""

import argparse
import re
import sys
from pathlib import Path

from ladder.files import as_lines, parts
from ladder.project import ROOT, BadInput
from ladder.twins import Unavailable, Wrong

NO_DEVICE = 77
USUAL = ("8192x4096", "8192x8192", "32768x1024")
MOST = 2**31 - 1  # numbers of a matrix, as in bench/rows


def size(shape: str) -> tuple[int, int]:
    """Raises BadInput."""
    found = re.fullmatch(r"([1-9]\d{0,7})x([1-9]\d{0,4})", shape)
    if not found or int(found[1]) * int(found[2]) > MOST:
        raise BadInput(f"no rows: '{shape}'; write 8192x4096, with rows of up to 99,999 numbers")
    return int(found[1]), int(found[2])


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("shapes", nargs="*", metavar="ROWSxWIDTH")
    p.add_argument("--compile", action="store_true", help="without a GPU")
    p.add_argument(
        "--library", type=Path, metavar="FILE", default=ROOT / "build/rows_for_python.so"
    )
    p.add_argument("--out", type=Path, metavar="FILE")
    return p


def said(record: dict) -> str:
    shape = f"{record['rows']}x{record['width']}"
    times = ", ".join(f"{name} {ms:.4f}" for name, ms in record["ms"].items())
    return f"{record['operation']:15} {shape:>12} ms: {times}; tuned has {record['warps']} warps"


def measured(options: argparse.Namespace) -> dict:
    """What --out writes, and it is written. Raises Unavailable, BadInput, Wrong, OSError."""
    if options.compile and options.shapes:
        raise BadInput("--compile takes no shapes")
    shapes = [size(shape) for shape in options.shapes or USUAL]
    if options.out and not options.out.parent.is_dir():
        raise BadInput(f"{options.out}: there is no folder {options.out.parent}")
    if not options.compile and not options.library.exists():
        raise Unavailable(f"there is no {options.library}, see --help")
    try:
        from ladder import triton_rows_gpu
    except ImportError as error:
        raise Unavailable(f"it needs PyTorch and Triton: {error}") from error
    found = triton_rows_gpu.run(shapes, None if options.compile else options.library)
    if options.out:
        options.out.write_text(as_lines(parts(found, "times")))
    return found


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        found = measured(options)
    except Unavailable as error:
        print(f"ladder triton-rows: {error}", file=sys.stderr)
        return NO_DEVICE
    except (Wrong, RuntimeError) as error:  # RuntimeError: of CUDA, or of the compiler
        print(f"ladder triton-rows: {error}", file=sys.stderr)
        return 1
    except (BadInput, OSError) as error:
        print(f"ladder triton-rows: {error}", file=sys.stderr)
        return 2
    for name, facts in found["compiled"].items():
        counts = ", ".join(f"{count} {word}" for word, count in facts["counts"].items())
        print(f"{name:15} {facts['warps']} warps, {facts['registers']} registers, {counts}")
    print("\n".join(map(said, found["times"])), end="\n" if found["times"] else "")
    return 0
