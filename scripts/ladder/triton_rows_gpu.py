"""The part of ladder.triton_rows that needs PyTorch and Triton: data, checks, times, and what the
compiler returns. The rules are those of bench/rows."""

import ctypes
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch
import triton

from ladder.project import BadInput
from ladder.race import race
from ladder.row_twins import FUNCTIONS, KERNELS, OPERATIONS
from ladder.triton_gpu import (
    GELU_RELATIVE,
    GELU_SLOPE,
    HOPPER,
    compiling_for,
    facts,
    load_kernels,
    need_gpu,
    need_triton,
    progress,
)
from ladder.twins import Wrong, triton_lines

GUARD = 4096  # elements on either side of Y
POISON = 0x7FA5  # the bits of a NaN that no kernel computes
CHECKED_WIDTHS = (1, 7, 130, 1000, 1024, 4097)
COMPILED_AT = (8192, 4096)
# What a rounding to bf16 is off by, at most; and fp32's, of which a tree adds up some.
ROUNDOFF, OF_SUMS = 2.0**-8, 2.0**-19


# ---- data --------------------------------------------------------------------------------------


@dataclass
class Rows:
    operation: str
    x: torch.Tensor
    second: torch.Tensor  # what add adds
    gain: torch.Tensor
    bias: torch.Tensor
    memory: torch.Tensor  # Y, with a guard on either side
    y: torch.Tensor

    @property
    def bytes(self) -> int:
        """That have to be moved, without what there is once for each column."""
        return self.x.nbytes * (3 if self.operation == "add" else 2)


def numbers(shape: tuple[int, ...], far: bool, device: str) -> torch.Tensor:
    """From -8 to 8; or 1000 and, here and there, 1004, its neighbour in bf16: mean(x^2) - mean(x)^2
    has no variance of these."""
    drawn = torch.rand(shape, device=device)
    return ((1000 + 4 * (drawn < 0.02)) if far else 16 * drawn - 8).to(torch.bfloat16)


def rows_of(operation: str, shape: tuple[int, int], far: bool, device: str) -> Rows:
    rows, width = shape
    memory = torch.full((2 * GUARD + rows * width,), POISON, dtype=torch.int16, device=device)
    y = memory[GUARD:-GUARD].view(torch.bfloat16).view(rows, width)
    second = numbers(shape if operation == "add" else (1, 1), False, device)
    gain, bias = (numbers((width,), False, device) for _ in range(2))
    return Rows(operation, numbers(shape, far, device), second, gain, bias, memory, y)


# ---- checks ------------------------------------------------------------------------------------


def expected(r: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    """In double; and how far off a right result may be."""
    x = r.x.double()
    if r.operation == "add":
        result = x + r.second.double()
        return result, ROUNDOFF * result.abs()
    if r.operation == "softmax":
        result = torch.softmax(x, dim=1)
        return result, (ROUNDOFF + 16 * OF_SUMS) * result + 1e-38
    mean = x.mean(dim=1, keepdim=True)
    factor = (x.var(dim=1, keepdim=True, correction=0) + 1e-5).rsqrt()
    scaled = (x - mean) * factor * r.gain.double()
    # The mean is rounded; what is off by it is scaled as well.
    error = 8 * 2.0**-24 * mean.abs() * factor * r.gain.double().abs()
    error = error + OF_SUMS * (scaled.abs() + r.bias.double().abs())
    result = scaled + r.bias.double()
    if r.operation == "layer_norm_gelu":
        error = GELU_SLOPE * error + GELU_RELATIVE * result.abs()  # of 23's tanh.approx
        result = torch.nn.functional.gelu(result, approximate="tanh")
    return result, error + ROUNDOFF * (result.abs() + error)


def verify(r: Rows) -> str:
    """What is wrong with Y, or ""."""
    for where, part in (("before", r.memory[:GUARD]), ("past the end of", r.memory[-GUARD:])):
        if (part != POISON).any():
            return f"wrote {where} Y"
    result, bound = expected(r)
    got = r.y.double()
    wrong = ~((got - result).abs() <= bound)  # negated, so that a NaN is a failure
    if not wrong.any():
        return ""
    i, j = wrong.nonzero()[0].tolist()
    return (
        f"row {i}, column {j}: got {got[i, j].item():.6g}, expected {result[i, j].item():.6g} "
        f"within {bound[i, j].item():.2g}; {wrong.sum().item()} of {wrong.numel()} are wrong"
    )


def check(name: str, run: Callable, r: Rows) -> None:
    """Raises Wrong."""
    r.memory.fill_(POISON)
    run()
    if r.x.is_cuda:
        torch.cuda.synchronize()
    if why := verify(r):
        rows, width = r.x.shape
        raise Wrong(f"{r.operation} by {name}, {rows}x{width}: {why}")


# ---- contenders --------------------------------------------------------------------------------


def by_triton(kernels: ModuleType, r: Rows, tuned: bool = False) -> Callable:
    of = (r.operation, r.x, r.second, r.gain, r.bias, r.y, tuned)
    kernel, grid, arguments, options = kernels.launched(*of)
    return lambda: kernel[grid](*arguments, **options)


def by_ladder(library: ctypes.CDLL, r: Rows) -> Callable:
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (r.x, r.gain, r.bias, r.y)]

    def run() -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if library.ladder_rows(r.operation.encode(), *r.x.shape, *pointers, stream) != 0:
            raise Wrong(f"{r.operation} by 23 was refused")

    return run


def by_torch(r: Rows) -> Callable:
    """Into Y, where PyTorch has such a function."""
    functional, width = torch.nn.functional, r.x.shape[1:]

    def layer_norm() -> torch.Tensor:
        return functional.layer_norm(r.x, width, r.gain, r.bias, 1e-5)

    return {
        "add": lambda: torch.add(r.x, r.second, out=r.y),
        "softmax": lambda: torch.ops.aten._softmax.out(r.x, 1, False, out=r.y),
        "layer_norm": layer_norm,
        "layer_norm_gelu": lambda: torch.ops.aten.gelu.out(
            layer_norm(), approximate="tanh", out=r.y
        ),
    }[r.operation]


# ---- times -------------------------------------------------------------------------------------


def need_memory(shape: tuple[int, int]) -> None:
    """For a set, and the reference in double with its bound."""
    needed, free = 64 * math.prod(shape), torch.cuda.mem_get_info()[0]
    if needed > free:
        raise BadInput(f"{shape[0]}x{shape[1]} needs {needed / 1e9:.1f} GB; {free / 1e9:.1f} free")


def timed(
    kernels: ModuleType, library: ctypes.CDLL, operation: str, shape: tuple[int, int]
) -> dict:
    """Checks what is timed, too. Raises Wrong."""
    sets = [rows_of(operation, shape, False, "cuda")]
    ways = {
        "triton": lambda r: by_triton(kernels, r),
        "tuned": lambda r: by_triton(kernels, r, tuned=True),
        "ladder": lambda r: by_ladder(library, r),
        "torch": by_torch,
        "copy": lambda r: lambda: r.y.copy_(r.x),
    }
    if operation == "add":
        del ways["ladder"]  # 23 has no such operation
    for name in ways.keys() - {"torch", "copy"}:
        check(name, ways[name](sets[0]), sets[0])
    torch.cuda.empty_cache()  # the reference's
    l2 = torch.cuda.get_device_properties("cuda").L2_cache_size
    while sum(r.bytes for r in sets) < 2 * l2:
        sets.append(rows_of(operation, shape, False, "cuda"))
    found = race({name: [way(r) for r in sets] for name, way in ways.items()})
    return {
        "operation": operation,
        "rows": shape[0],
        "width": shape[1],
        "bytes": sets[0].bytes,
        "warps": kernels.TUNED[operation].best_config.num_warps,
        "ms": {name: statistics.median(samples) for name, samples in found.items()},
    }


def check_all(kernels: ModuleType, library: ctypes.CDLL | None, device: str) -> None:
    """At small shapes, with both kinds of data. Raises Wrong."""
    for operation in OPERATIONS:
        for width in CHECKED_WIDTHS:
            for far in (False, True):
                r = rows_of(operation, (3, width), far, device)
                check("triton", by_triton(kernels, r), r)
                if library and operation != "add":
                    check("23", by_ladder(library, r), r)


# ---- what the compiler did ---------------------------------------------------------------------


def compiled(kernels: ModuleType) -> dict[str, dict]:
    text, found = KERNELS.read_text(), {}
    for operation, function in FUNCTIONS.items():
        # On memory that nothing touches.
        x, y = (torch.empty(COMPILED_AT, dtype=torch.bfloat16) for _ in range(2))
        kernel, grid, arguments, options = kernels.launched(operation, x, x, x[0], x[0], y)
        with compiling_for(HOPPER):
            made = facts(kernel.warmup(*arguments, grid=grid, **options))
        found[operation] = {"lines": triton_lines(text, function)} | made
    return found


# ---- all of it ---------------------------------------------------------------------------------


def run(shapes: list[tuple[int, int]], library: Path | None) -> dict:
    """What --out writes; without a library nothing runs. Raises Unavailable, BadInput, Wrong."""
    need_triton()
    kernels = load_kernels(KERNELS)
    found = {
        "gpu": None,
        "triton": triton.__version__,
        "torch": torch.__version__,
        "compiled": compiled(kernels),
        "times": [],
    }
    if library is None:
        return found
    need_gpu()
    for shape in shapes:
        need_memory(shape)
    torch.manual_seed(1)
    ours = ctypes.CDLL(str(library.resolve()))
    found["gpu"] = torch.cuda.get_device_name()
    progress("checking all operations")
    check_all(kernels, ours, "cuda")
    for operation in OPERATIONS:
        for shape in shapes:
            progress(f"timing {operation} at {shape[0]}x{shape[1]}")
            found["times"].append(timed(kernels, ours, operation, shape))
            torch.cuda.empty_cache()
    return found
