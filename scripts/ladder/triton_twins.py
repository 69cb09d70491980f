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
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder import steps
from ladder.files import Closed, a_name, as_lines, at_least_1, parts, read_json, read_text
from ladder.project import ROOT, BadInput
from ladder.sass import counted_as, kernels
from ladder.sweep_shapes import full

KERNELS = ROOT / "python/triton/kernels.py"
NO_DEVICE = 77
USUAL = ("4096", "8192")
ALIGNED, RAGGED = "4096", "4095x4097x4093"


class Unavailable(Exception):
    """What is missing, in a line."""


class Wrong(Exception):
    """What is wrong with a kernel."""


@dataclass(frozen=True)
class Twin:
    name: str  # of the function in KERNELS that says what is launched
    kernel: str
    type: str
    stage: str  # the CUDA stage of the same idea
    more: Sequence[str] = ()  # stages whose pages lead here as well
    products: float = float("inf")  # it is not timed with more
    bias: bool = False


def read_table(path: Path) -> dict:
    twin = {
        "name": a_name,
        "kernel": a_name,
        "type": ("fp32", "fp16"),
        "stage": a_name,
        "more?": [a_name],
        "products?": at_least_1,
        "bias?": bool,
    }
    tile = {"twin": a_name, "stage": a_name, "tile": [at_least_1, at_least_1, at_least_1]}
    return read_json(path, {"twins": [Closed(twin), ...], "refused_tiles": [tile]})


TABLE = read_table(ROOT / "stages/triton.json")
TWINS = tuple(Twin(**twin) for twin in TABLE["twins"])
REFUSED_TILES = TABLE["refused_tiles"]  # of stages, by a kernel's name


def twin_of(stage: str) -> Twin | None:
    """The one that a stage's page leads to."""
    return next((twin for twin in TWINS if stage in (twin.stage, *twin.more)), None)


# ---- lines -------------------------------------------------------------------------------------


def functions_of(text: str, kernel: str) -> list[ast.FunctionDef]:
    """A kernel, and the functions of the same file that it calls."""
    there = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    found: dict[str, ast.FunctionDef] = {}

    def visit(name: str) -> None:
        if name in found or name not in there:
            return
        found[name] = there[name]
        for node in ast.walk(there[name]):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                visit(node.func.id)

    visit(kernel)
    return [*found.values()]


def triton_lines(text: str, kernel: str) -> int:
    """Lines with code, of a kernel and what it calls, without decorators."""
    nothing = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {token.start[0] for token in tokens if token.type not in nothing}
    places = [(f.lineno, f.end_lineno) for f in functions_of(text, kernel)]
    return sum(first <= line <= last for line in lines for first, last in places)


def with_parts(path: Path) -> list[Path]:
    """A kernel's header, and those of parts/ and ptx/ that it includes."""
    found: list[Path] = []

    def visit(header: Path) -> None:
        if header in found or (found and header.parent.name not in ("parts", "ptx")):
            return
        found.append(header)
        for name in re.findall(r'^#include "(.+)"', read_text(header), re.MULTILINE):
            visit((header.parent / name).resolve())

    visit(path.resolve())
    return found


def cuda_lines(path: Path) -> int:
    """The same of the kernel of a stage's header. Of functions of one name the last counts."""
    texts = [steps.code(read_text(header)) for header in with_parts(path)]
    begin, end = steps.main_kernel(texts[0])
    bodies = [texts[0][begin : end + 1]]
    seen = {"for", "if", "while", "gemm_kernel"}
    for body in bodies:  # which grows meanwhile
        for name in re.findall(r"\b([A-Za-z_]\w*)\s*(?:<[^;(){}]*>)?\s*\(", body):
            if name in seen:
                continue
            seen.add(name)
            for text in texts:
                if places := steps.bodies(text, name):
                    begin, end = places[-1]
                    bodies.append(text[begin : end + 1])
                    break
    return sum(bool(line.strip()) for body in bodies for line in body.splitlines())


def lines_of_stage(stage: str, root: Path) -> int | None:
    """None where a stage's kernel is another's with an epilogue, or is not there."""
    twin, header = twin_of(stage), root / f"kernels/{stage}.cuh"
    return None if not header.exists() or (twin and twin.bias) else cuda_lines(header)


# ---- what the compiler did ---------------------------------------------------------------------

OPCODE = re.compile(r"^\s*\{?\s*(?:@!?%?\w+\s+)?(?P<opcode>[a-z]\w*(?:[.:]+\w+)*)(?P<rest>.*)")
# The first that matches names an instruction; {bytes} is what a lane moves.
NAMES = (
    (r"ld\.global", "ld.global {bytes}"),
    (r"st\.global", "st.global {bytes}"),
    (r"cp\.async\.bulk\.tensor\S*\.multicast", "TMA load, multicast"),
    (r"cp\.async\.bulk\.tensor\S*\.shared::\w+\.global", "TMA load"),
    (r"cp\.async\.bulk\.tensor\S*\.global\.shared", "TMA store"),
    (r"cp\.async\.c[ag]\.", "cp.async {copied}"),
    (r"wgmma\.mma_async", "wgmma {shape}"),
    (r"mma\.sync", "mma.sync {shape}"),
    (r"ldmatrix", "ldmatrix"),
    (r"stmatrix", "stmatrix"),
    (r"fma\.rn\.f32", "fma"),
    (r"(bar|barrier)\.", "barrier"),
    (r"mbarrier\.try_wait", "mbarrier.try_wait"),
    (r"setmaxnreg", "setmaxnreg"),
    (r"tensormap\.replace", "tensormap.replace"),
    (r"tanh\.approx", "tanh.approx"),
    (r"ex2\.approx", "ex2.approx"),
)


def lane_bytes(opcode: str) -> int:
    """Of ld.global.v4.b32: 16."""
    count = re.search(r"\.v(\d)", opcode)
    return int(count[1] if count else 1) * int(re.search(r"\.[a-z]+(\d+)$", opcode)[1]) // 8


def named(opcode: str, rest: str) -> str | None:
    for pattern, name in NAMES:
        if not re.match(pattern, opcode):
            continue
        if "{bytes}" in name:
            return name.format(bytes=lane_bytes(opcode))
        if "{copied}" in name:
            return name.format(copied=int(re.search(r"\], *(\w+)", rest)[1], 0))
        shape = re.search(r"\bm\d+n\d+k\d+", opcode)
        return name.format(shape=shape[0] if shape else "")
    return None


def ptx_counts(ptx: str) -> dict[str, int]:
    """How often the instructions of NAMES stand in a kernel's PTX."""
    counts: Counter[str] = Counter()
    for line in ptx.splitlines():
        found = OPCODE.match(line.split("//")[0])
        if found and (name := named(found["opcode"], found["rest"])):
            counts[name] += 1
    return dict(sorted(counts.items()))


def shared_loads(text: str) -> dict[str, int]:
    """Of what cuobjdump -sass prints: loads from shared memory by their width, which ptxas may have
    made of several narrower ones."""
    executed = [i for kernel in kernels(text).values() for _, i in kernel if "@!PT" not in i]
    names = map(counted_as, executed)
    return dict(sorted(Counter(name for name in names if name.startswith("LDS")).items()))


def resources(usage: str) -> dict[str, int]:
    """Of what cuobjdump -res-usage prints of one kernel; `local_bytes`, of a thread, are spills."""
    found = re.search(r"REG:(\d+) STACK:(\d+)", usage)
    return {"registers": int(found[1]), "local_bytes": int(found[2])}


# ---- the command -------------------------------------------------------------------------------


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


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


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
