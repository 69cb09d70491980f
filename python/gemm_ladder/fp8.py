"""Products of numbers of eight bits, with scales."""

import torch
from torch import Tensor

_OPS = torch.ops.gemm_ladder


def scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = torch.bfloat16,
    use_fast_accum: bool = False,
) -> Tensor:
    """scale_a * scale_b * (a @ b) + bias, with the arguments, and the errors, of torch._scaled_mm.

    a: M x K by rows, b: K x N by columns, as the transpose of a weight is; K and N are multiples
    of 16. scale_a and scale_b: float32, of one number each, or M x 1 and 1 x N. By the kernels of
    17b, or of 17 with use_fast_accum, on a Hopper GPU, where a and b are float8_e4m3fn and the
    result and the bias bfloat16. Everything else is torch._scaled_mm's. Without gradients.
    """
    return _OPS.scaled_mm(a, b, scale_a, scale_b, bias, out_dtype, use_fast_accum)


@torch.library.register_fake("gemm_ladder::scaled_mm")
def _(a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=False):
    return a.new_empty((a.shape[0], b.shape[1]), dtype=out_dtype or a.dtype)
