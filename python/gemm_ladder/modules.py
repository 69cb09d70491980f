"""Drop-in modules."""

import torch
from torch import Tensor

from gemm_ladder.operators import linear


class Linear(torch.nn.Linear):
    """torch.nn.Linear, with the same parameters, state and initialization; `activation`, as in
    matmul, is applied to the result."""

    def __init__(self, *args, activation: str | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        self.activation = activation

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias, self.activation)

    def extra_repr(self) -> str:
        after = f", activation={self.activation}" if self.activation else ""
        return super().extra_repr() + after
