"""Weights of four bits: a number each in groups of 128 along the weight's columns (in_features),
which have a scale and a zero point. W = (number - zero) * scale."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

GROUP = 128
_OPS = torch.ops.gemm_ladder


class Int4Weight(NamedTuple):
    """A weight as linear_int4 reads it: `packed` has its numbers, scales and zero points."""

    packed: Tensor
    in_features: int
    out_features: int
    dtype: torch.dtype


def pack_int4(numbers: Tensor, scales: Tensor, zeros: Tensor, dtype: torch.dtype) -> Int4Weight:
    """For products with inputs of `dtype`, float16 or bfloat16, on the device of `numbers`.

    numbers: uint8 from 0 to 15, in_features x out_features. scales, and zeros (uint8 from 0 to 16):
    a row for each group, out_features wide. So GPTQ and AWQ have them, once their words are taken
    apart. Raises ValueError for a number, a zero point or a scale that is none, and RuntimeError.
    """
    packed = _OPS.pack_int4(numbers.cpu(), scales.cpu(), zeros.cpu(), dtype)
    return Int4Weight(packed.to(numbers.device), *numbers.shape, dtype)


def quantise(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """numbers, scales and zeros, as pack_int4 takes them, of a weight as torch.nn.Linear has it,
    out_features x in_features. Each number is rounded to the nearest; the sixteen steps of a group
    go from its least to its largest, and have 0 among them."""
    columns = weight.detach().float().t()
    missing = -columns.shape[0] % GROUP
    groups = functional.pad(columns, (0, 0, 0, missing)).unflatten(0, (-1, GROUP))
    least = groups.amin(1, keepdim=True).clamp(max=0)
    largest = groups.amax(1, keepdim=True).clamp(min=0)
    # The kernel has scales in the weight's type.
    scales = ((largest - least) / 15).to(weight.dtype).float()
    steps = torch.where(scales > 0, scales, 1.0)
    zeros = (-least / steps).round().clamp(0, 15)
    numbers = ((groups / steps).round() + zeros).clamp(0, 15)
    return (
        numbers.flatten(0, 1)[: columns.shape[0]].to(torch.uint8),
        scales.squeeze(1),
        zeros.squeeze(1).to(torch.uint8),
    )


def linear_int4(input: Tensor, weight: Int4Weight, bias: Tensor | None = None) -> Tensor:
    """input @ W + bias, in one kernel but for the bias; on a Hopper GPU, without gradients.

    input: (*, in_features) of the weight's dtype. Returns (*, out_features). Raises RuntimeError,
    and ValueError where the input is of another width or dtype than the weight.
    """
    if input.shape[-1] != weight.in_features or input.dtype != weight.dtype:
        raise ValueError(
            f"the weight is for inputs of {weight.in_features} numbers of {weight.dtype}, but this "
            f"one has {input.shape[-1]} of {input.dtype}"
        )
    return _OPS.linear_int4(input, weight.packed, weight.out_features, bias)


@torch.library.register_fake("gemm_ladder::linear_int4")
def _(input, packed, out_features, bias=None):
    return input.new_empty((*input.shape[:-1], out_features))


class LinearInt4(torch.nn.Module):
    """A linear layer for inference, from Linear.quantise: its weight is a buffer of bytes, which
    .to(dtype) does not change."""

    def __init__(self, weight: Int4Weight, bias: Tensor | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features, self.dtype = weight[1:]
        self.register_buffer("packed", weight.packed)
        self.register_buffer("bias", bias)

    def forward(self, input: Tensor) -> Tensor:
        weight = Int4Weight(self.packed, self.in_features, self.out_features, self.dtype)
        return linear_int4(input, weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, dtype={self.dtype}"
        )
