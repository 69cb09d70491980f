"""The kernels of python/triton, each the twin of a stage: which there are, how long both are, and
what is counted of what the compiler made."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ladder import steps
from ladder.files import Closed, a_name, at_least_1, read_json, read_text
from ladder.project import ROOT
from ladder.sass import counted_as, kernels

KERNELS = ROOT / "python/triton/kernels.py"
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
