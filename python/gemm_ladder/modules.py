"""Drop-in modules."""

import torch
from torch import Tensor

from gemm_ladder.fp8 import LinearFloat8
from gemm_ladder.int4 import LinearInt4, pack_int4, quantise
from gemm_ladder.operators import linear


class Linear(torch.nn.Linear):
    """torch.nn.Linear, with the same parameters, state and initialization; `activation`, as in
    matmul, is applied to the result."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        activation: str | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device, dtype)
        self.activation = activation

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias, self.activation)

    def quantise(self) -> LinearInt4:
        """The same layer with a weight of four bits, rounded as int4.quantise does. A layer with an
        activation is refused."""
        if self.activation:
            raise ValueError(f"{self.activation} is not part of a product by four bits")
        bias = None if self.bias is None else self.bias.detach().clone()
        return LinearInt4(pack_int4(*quantise(self.weight), self.weight.dtype), bias)

    def to_float8(self) -> LinearFloat8:
        """The same layer with numbers of eight bits. A layer with an activation is refused."""
        if self.activation:
            raise ValueError(f"{self.activation} is not part of a product by eight bits")
        return LinearFloat8(self.weight, self.bias)

    def extra_repr(self) -> str:
        after = f", activation={self.activation}" if self.activation else ""
        return super().extra_repr() + after


def replace_linears(model: torch.nn.Module) -> torch.nn.Module:
    """Each torch.nn.Linear of the model, or the model itself, becomes a Linear; classes made from
    torch.nn.Linear stay. Names, parameters and hooks are as before. Returns the model. To be called
    before torch.compile."""
    for module in model.modules():
        if type(module) is torch.nn.Linear:
            module.__class__ = Linear
            module.activation = None
    return model
