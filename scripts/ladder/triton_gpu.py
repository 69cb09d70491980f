"""The part of ladder.triton_twins that needs PyTorch and Triton: data, checks, times, and what the
compiler returns. The rules are those of bench/harness."""

import importlib.util
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch
import triton
from triton.backends.compiler import GPUTarget

from ladder.project import BadInput
from ladder.race import race
from ladder.sweep_records import short
from ladder.sweep_shapes import sizes
from ladder.twins import (
    ALIGNED,
    KERNELS,
    RAGGED,
    REFUSED_TILES,
    TWINS,
    Twin,
    Unavailable,
    Wrong,
    ptx_counts,
    resources,
    shared_loads,
    triton_lines,
)

HOPPER = 90
TYPES = {"fp32": torch.float32, "fp16": torch.float16}


def load_kernels(path: Path = KERNELS) -> ModuleType:
    """By its path: a folder that is called triton must not be looked for modules."""
    spec = importlib.util.spec_from_file_location("triton_ladder_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- data --------------------------------------------------------------------------------------

# As in verify.h: elements on either side of C, and what is in all of them and in C before a run.
GUARD = 4096
POISON = {"fp32": (torch.int32, 0x7FA5A5A5), "fp16": (torch.int16, 0x7D5A)}
# A small square of which nothing is cut; few rows; all cut; several tiles each way, all cut.
CHECKED = ("256x512x192", "1x7x5", "33x257x130", "300x520x1042")


def pitch(width: int, kind: str) -> int:
    """The smallest leading dimension of whole 16 bytes."""
    unit = 16 // TYPES[kind].itemsize
    return -(-width // unit) * unit


class Output:
    """C as it lies in memory, with what surrounds it."""

    def __init__(self, rows: int, columns: int, kind: str, device: str):
        self.bits, self.pattern = POISON[kind]
        ld = pitch(columns, kind)
        self.memory = torch.empty(2 * GUARD + rows * ld, dtype=self.bits, device=device)
        inside = self.memory[GUARD : GUARD + rows * ld].view(rows, ld)
        self.beside = inside[:, columns:]
        self.c = inside.view(TYPES[kind])[:, :columns]
        self.poison()

    def poison(self) -> None:
        self.memory.fill_(self.pattern)

    def stray(self) -> str:
        """Where an element outside of C was written, or ""."""
        places = {
            "before C": self.memory[:GUARD],
            "past the end of C": self.memory[-GUARD:],
            "past the end of a row of C": self.beside,
        }
        written = [where for where, part in places.items() if (part != self.pattern).any()]
        return f"wrote {written[0]}" if written else ""


def operand(rows: int, columns: int, kind: str, exact: bool, device: str) -> torch.Tensor:
    """In [-1, 1), or integers from -4 to 4; NaN beyond the width."""
    shape = (rows, columns)
    if exact:
        values = torch.randint(-4, 5, shape, device=device).to(TYPES[kind])
    else:
        values = (torch.rand(shape, device=device) * 2 - 1).to(TYPES[kind])
    memory = torch.full((rows, pitch(columns, kind)), math.nan, dtype=TYPES[kind], device=device)
    memory[:, :columns] = values
    return memory[:, :columns]


@dataclass
class Problem:
    kind: str
    exact: bool
    a: torch.Tensor
    b: torch.Tensor
    bias: torch.Tensor
    output: Output

    def arguments(self, twin: Twin) -> tuple[torch.Tensor, ...]:
        return (self.a, self.b, self.output.c, *([self.bias] if twin.bias else []))


def problem(shape: str, kind: str, exact: bool, device: str) -> Problem:
    m, n, k = sizes(shape)
    a, b, bias = (operand(*at, kind, exact, device) for at in ((m, k), (k, n), (1, n)))
    return Problem(kind, exact, a, b, bias[0], Output(m, n, kind, device))


# ---- checks ------------------------------------------------------------------------------------

UNIT_ROUNDOFF = {"fp32": 2.0**-24, "fp16": 2.0**-11}
SMALLEST_NORMAL = {"fp32": 2.0**-126, "fp16": 2.0**-14}
# Of GELU: its largest slope; and tanh.approx is within 2^-11 of tanh, all else of the function is
# less than 2^-21 |x|.
GELU_SLOPE, GELU_RELATIVE = 1.13, 2.0**-12 + 2.0**-21


def difference_bound(
    kind: str,
    steps: float,
    norms: torch.Tensor,
    reference: torch.Tensor,
    epilogue: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> torch.Tensor:
    """The largest |c - reference| of two correct results, of all elements, as bound.h of the
    harness derives it. `steps`: min(K, 2 sqrt(K)), or 0 where sums are exact. `norms`: of the rows
    of A times those of the columns of B. `epilogue`: what GELU is applied to, and the bias."""
    unit = UNIT_ROUNDOFF["fp32"]
    error = steps * unit * norms
    if epilogue:
        before, bias = epilogue
        error = error + 5 * unit * (before.abs() + 2 * bias.abs())
        error = GELU_SLOPE * error + GELU_RELATIVE * before.abs()
        error += unit * (2 * before.abs() + reference.abs())
    largest = (reference.abs() + 2 * error).clamp(min=SMALLEST_NORMAL[kind])
    return 2 * (error + UNIT_ROUNDOFF[kind] * largest)


def expected(p: Problem, bias: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums in double, rounded to the format through fp32, as doubles; and how far off a result may
    be."""
    a, b = p.a.double(), p.b.double()
    product, k = a @ b, p.a.shape[1]
    norms = a.norm(dim=1)[:, None] * b.norm(dim=0)[None, :]
    steps = 0.0 if p.exact else min(k, 2 * math.sqrt(k))
    epilogue = None
    if bias:
        added = p.bias.double()[None, :]
        epilogue = (product + added, added)
        product = torch.nn.functional.gelu(epilogue[0], approximate="tanh")
    reference = product.float().to(TYPES[p.kind]).double()
    if p.exact and not bias:
        return reference, torch.zeros_like(reference)
    return reference, difference_bound(p.kind, steps, norms, reference, epilogue)


def verify(p: Problem, bias: bool) -> str:
    """What is wrong with the result in p.output, or ""."""
    reference, bound = expected(p, bias)
    got = p.output.c.double()
    wrong = ~((got - reference).abs() <= bound)  # negated, so that a NaN is a failure
    if wrong.any():
        i, j = wrong.nonzero()[0].tolist()
        bits = p.output.c[i, j].view(p.output.bits).item()
        text = "nothing" if bits == p.output.pattern else f"{got[i, j].item():.9g}"
        return (
            f"row {i}, column {j}: got {text}, expected {reference[i, j].item():.9g} within "
            f"{bound[i, j].item():.3g}; {wrong.sum().item()} of {wrong.numel()} elements are wrong"
        )
    return p.output.stray()


def check(twin: Twin, launch: Callable, p: Problem) -> None:
    """`launch`: of kernels.py. Raises Wrong, RuntimeError (CUDA's or the compiler's)."""
    p.output.poison()
    try:
        launch(*p.arguments(twin))()
    except triton.runtime.errors.OutOfResources as error:
        raise Wrong(f"cannot be launched: {error}") from error
    if p.a.is_cuda:
        torch.cuda.synchronize()
    if why := verify(p, twin.bias):
        m, n, k = *p.output.c.shape, p.a.shape[1]
        data = "exact" if p.exact else "random"
        raise Wrong(f"{m}x{n}x{k}, {data} data: {why}")


# ---- times ------------------------------------------------------------------------------------


def set_bytes(shape: str, kind: str) -> int:
    m, n, k = sizes(shape)
    elements = m * pitch(k, kind) + k * pitch(n, kind) + m * pitch(n, kind) + 2 * GUARD
    return TYPES[kind].itemsize * elements


def need_memory(shape: str) -> None:
    """For one set, and the reference in double with its bound."""
    m, n, k = sizes(shape)
    needed = set_bytes(shape, "fp32") + 8 * (m * k + k * n + 8 * m * n)
    available = torch.cuda.mem_get_info()[0]
    if needed > available:
        raise BadInput(
            f"{shape} needs {needed / 1e9:.1f} GB of device memory; {available / 1e9:.1f} are free"
        )


def cublas(p: Problem) -> Callable:
    return lambda: torch.mm(p.a, p.b, out=p.output.c)


def unfused(p: Problem) -> Callable:
    """The bias in the product's epilogue, GELU in a kernel of its own, as PyTorch runs them."""

    def run() -> None:
        torch.addmm(p.bias, p.a, p.b, out=p.output.c)
        torch.ops.aten.gelu.out(p.output.c, approximate="tanh", out=p.output.c)

    return run


def times(twin: Twin, launch: Callable, shape: str) -> dict:
    """Checks what is timed, too."""
    first = problem(shape, twin.type, False, "cuda")
    check(twin, launch, first)
    torch.cuda.empty_cache()  # the reference's
    bytes_, l2 = set_bytes(shape, twin.type), torch.cuda.get_device_properties("cuda").L2_cache_size
    possible = int(0.9 * torch.cuda.mem_get_info()[0] / bytes_)
    sets = [first]
    for _ in range(min(math.ceil(2 * l2 / bytes_) - 1, possible)):
        sets.append(problem(shape, twin.type, False, "cuda"))
    contenders = {
        "twin": [launch(*p.arguments(twin)) for p in sets],
        "cublas": [cublas(p) for p in sets],
    }
    if twin.bias:
        contenders["unfused"] = [unfused(p) for p in sets]
    found = race(contenders)
    median = {name: statistics.median(values) for name, values in found.items()}
    p10, *_, p90 = statistics.quantiles(found["twin"], n=10)
    m, n, k = sizes(shape)
    record = {
        "ms": median["twin"],
        "p10": p10,
        "p90": p90,
        "samples": len(found["twin"]),
        "cublas_ms": median["cublas"],
        "tflops": 2 * m * n * k / median["twin"] / 1e9,
        "percent_of_cublas": 100 * median["cublas"] / median["twin"],
    }
    if twin.bias:
        record["unfused_ms"] = median["unfused"]
    return record


# ---- what the compiler did ---------------------------------------------------------------------


class NoDevice:
    """Stands for a GPU: Triton compiles for it, and launches nothing."""

    def __init__(self, capability: int):
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> str:
        return f"sm_{self.target.arch}"

    def get_current_stream(self, device: str) -> int:
        return 0


@contextmanager
def compiling_for(capability: int):
    driver = triton.runtime.driver
    driver.set_active(NoDevice(capability))
    try:
        yield
    finally:
        driver.set_active(None)  # whichever there is, when it is asked for


def facts(kernel) -> dict:
    """Of what Launch.compiled() returns."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        tool = triton.knobs.nvidia.cuobjdump.path
        usage, sass = (
            subprocess.run(
                [tool, option, file.name], capture_output=True, text=True, check=True
            ).stdout
            for option in ("-res-usage", "-sass")
        )
    return resources(usage) | {
        "shared_bytes": kernel.metadata.shared,
        "warps": kernel.metadata.num_warps,
        "counts": ptx_counts(kernel.asm["ptx"]),
        "shared_loads": shared_loads(sass),
    }


def launch_of(kernels: ModuleType, twin: Twin, shape: str):
    """On memory that nothing touches."""
    return getattr(kernels, twin.name)(*problem_of_nothing(shape, twin))


def problem_of_nothing(shape: str, twin: Twin) -> tuple[torch.Tensor, ...]:
    m, n, k = sizes(shape)
    shapes = [(m, k), (k, n), (m, n), *([(1, n)] if twin.bias else [])]
    made = [torch.empty(r, pitch(c, twin.type), dtype=TYPES[twin.type])[:, :c] for r, c in shapes]
    return (*made[:3], *(bias[0] for bias in made[3:]))


def compiled(kernels: ModuleType, twin: Twin) -> dict[str, dict]:
    with compiling_for(HOPPER):
        return {s: facts(launch_of(kernels, twin, s).compiled()) for s in (ALIGNED, RAGGED)}


def tried(kernels: ModuleType) -> list[dict]:
    """What else the page speaks of, compiled at ALIGNED: the halves for an older GPU; and options
    that exist, of which not all is made."""
    twins = {twin.name: twin for twin in TWINS}

    def record(name: str, of: str, capability: int, **options) -> dict:
        launch = launch_of(kernels, twins[of], ALIGNED)
        launch.options |= options
        with compiling_for(capability):
            return {"name": name, "compiled": {ALIGNED: facts(launch.compiled())}}

    return [
        record("tensor_cores on sm_80", "tensor_cores", 80),
        record("persistent, num_ctas=2", "persistent", HOPPER, num_ctas=2),
        record("warp_specialized, num_warps=8", "warp_specialized", HOPPER, num_warps=8),
    ]


def refused(kernels: ModuleType) -> list[dict]:
    """Tiles that the stages have, and what Triton says of them."""
    twins = {twin.name: twin for twin in TWINS}

    def record(of: str, stage: str, *tile: int) -> dict:
        launch = kernels.grouped_launch(*problem_of_nothing(ALIGNED, twins[of]), *tile, stages=1)
        with compiling_for(HOPPER):
            try:
                launch.compiled()
                said = ""
            except triton.compiler.errors.CompilationError as error:
                first = error
                while first.__cause__:
                    first = first.__cause__
                said = str(first)
        return {"stage": stage, "tile": tile, "said": said.splitlines()[-1] if said else ""}

    return [record(r["twin"], r["stage"], *r["tile"]) for r in REFUSED_TILES]


# ---- all of it ---------------------------------------------------------------------------------


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def need_triton() -> None:
    if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
        raise Unavailable(f"it needs Triton 3.6, this is {triton.__version__}")


def need_gpu() -> None:
    if not torch.cuda.is_available():
        raise Unavailable("PyTorch sees no GPU; with --compile none is needed")
    major, minor = torch.cuda.get_device_capability()
    if 10 * major + minor != HOPPER:
        raise Unavailable(f"it needs compute capability 9.0, the GPU has {major}.{minor}")


def checked_and_timed(twin: Twin, launch: Callable, shapes: list[str]) -> dict[str, dict]:
    """By shape; raises as check does."""
    progress(f"checking {twin.name}")
    for shape in CHECKED:
        for exact in (True, False):
            check(twin, launch, problem(shape, twin.type, exact, "cuda"))
    found = {}
    for shape in shapes:
        if math.prod(sizes(shape)) > twin.products:
            progress(f"{twin.name} is not timed at {short(shape)}, see --help")
            continue
        progress(f"timing {twin.name} at {short(shape)}")
        found[short(shape)] = times(twin, launch, shape)
        torch.cuda.empty_cache()
    return found


def run(
    twins: list[Twin], shapes: list[str], compile_only: bool, save: Callable[[dict], None]
) -> dict:
    """What --out writes. `save` gets it before and after each kernel is run: one that hangs stands
    there as failed, with what was found before. Raises Unavailable, BadInput."""
    need_triton()
    if not compile_only:
        need_gpu()
        for shape in shapes:
            need_memory(shape)
        torch.backends.cuda.matmul.allow_tf32 = False
        # The same contract as everybody's: parts of K are not added up in fp16.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.manual_seed(1)
    kernels = load_kernels()
    found = {
        "gpu": None if compile_only else torch.cuda.get_device_name(),
        "triton": triton.__version__,
        "torch": torch.__version__,
        "twins": [],
        "tried": tried(kernels),
        "refused": refused(kernels),
    }
    for twin in twins:
        progress(f"compiling {twin.name}")
        record = {
            "name": twin.name,
            "stage": twin.stage,
            "type": twin.type,
            "lines": triton_lines(KERNELS.read_text(), twin.kernel),
            "compiled": compiled(kernels, twin),
        }
        found["twins"].append(record)
        if not compile_only:
            record["failed"] = "it did not come to an end"
            save(found)
            try:
                record["times"] = checked_and_timed(twin, getattr(kernels, twin.name), shapes)
                del record["failed"]
            except (Wrong, RuntimeError) as error:
                record["failed"] = str(error).splitlines()[0]
                progress(f"{twin.name} failed: {record['failed']}")
        save(found)
    return found
