"""Matrix products of the GEMM ladder as operators of PyTorch: `matmul`, `bmm` and `Linear`,
`linear_int4`, whose weights have four bits, and `scaled_mm` and `int_mm` of numbers of eight bits.

They are torch.ops.gemm_ladder.mm, .matmul and .linear: with gradients, under autocast, in
torch.compile and in CUDA graphs. On a CPU, on a GPU other than Hopper, and where the library would
have to copy more than pays, they are torch's own; `explain` says which.
"""

from pathlib import Path

try:
    import torch
except ImportError as error:
    raise ImportError("gemm_ladder needs PyTorch: https://pytorch.org/get-started") from error

_LIBRARY = Path(__file__).with_name("libgemm_ladder_torch.so")
try:
    torch.ops.load_library(_LIBRARY)
except OSError as error:
    raise ImportError(
        f"{_LIBRARY.name} cannot be loaded by the PyTorch that is here, {torch.__version__}: build "
        f"gemm_ladder again (pip install ./python). It says: {error}"
    ) from error

from gemm_ladder.fp8 import LinearFloat8, scaled_mm  # noqa: E402
from gemm_ladder.int4 import Int4Weight, LinearInt4, linear_int4, pack_int4  # noqa: E402
from gemm_ladder.modules import Linear, replace_linears  # noqa: E402
from gemm_ladder.operators import bmm, explain, int_mm, linear, matmul  # noqa: E402

__all__ = [
    "Int4Weight",
    "Linear",
    "LinearFloat8",
    "LinearInt4",
    "bmm",
    "explain",
    "int_mm",
    "linear",
    "linear_int4",
    "matmul",
    "pack_int4",
    "replace_linears",
    "scaled_mm",
]
