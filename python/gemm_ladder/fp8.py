"""Products of numbers of eight bits, with scales; and a linear layer that has its weight, and makes
its inputs, of such numbers."""

import torch
from torch import Tensor

E4M3 = torch.float8_e4m3fn
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
    of 16. scale_a and scale_b: float32, of one number each, or M x 1 and 1 x N, or of blocks:
    M x ceil(K / 128) and ceil(K / 128) x ceil(N / 128), in any order in memory, without a bias. By
    the kernels of 17b, or of 17 with use_fast_accum, or of 17c, on a Hopper GPU, where a and b are
    float8_e4m3fn and the result and the bias bfloat16. Everything else is torch._scaled_mm's.
    Without gradients.
    """
    return _OPS.scaled_mm(a, b, scale_a, scale_b, bias, out_dtype, use_fast_accum)


def to_float8(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers of e4m3, and a scale for each row, whose largest number becomes e4m3's, 448."""
    largest = rows.detach().abs().amax(1, keepdim=True).float()
    scales = torch.where(largest > 0, largest / torch.finfo(E4M3).max, 1.0)
    return (rows.detach().float() / scales).to(E4M3), scales


@torch.library.register_fake("gemm_ladder::scaled_mm")
def _(a, b, scale_a, scale_b, bias=None, out_dtype=None, use_fast_accum=False):
    return a.new_empty((a.shape[0], b.shape[1]), dtype=out_dtype or a.dtype)


class LinearFloat8(torch.nn.Module):
    """A linear layer for inference, from Linear.to_float8: its weight is e4m3 with a scale for each
    output, and so are its inputs made, with a scale for each row. The result is bfloat16."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        if weight.shape[0] % 16 or weight.shape[1] % 16:
            raise ValueError(
                f"a weight of {tuple(weight.shape)} has sizes that are no multiples of 16"
            )
        numbers, scales = to_float8(weight)
        self.register_buffer("weight", numbers)
        self.register_buffer("scales", scales.t().contiguous())
        self.register_buffer("bias", None if bias is None else bias.detach().bfloat16())

    def forward(self, input: Tensor) -> Tensor:
        numbers, scales = to_float8(input.reshape(-1, input.shape[-1]))
        result = scaled_mm(numbers, self.weight.t(), scales, self.scales, self.bias)
        return result.reshape(*input.shape[:-1], result.shape[1])

    def extra_repr(self) -> str:
        return (
            f"in_features={self.weight.shape[1]}, out_features={self.weight.shape[0]}, "
            f"bias={self.bias is not None}"
        )
