"""The functions, and what a trace has to know of the operators."""

import torch
from torch import Tensor
from torch.compiler import is_compiling

_OPS = torch.ops.gemm_ladder
# What an OpOverload calls after it has looked for arguments that only a trace can have, which takes
# longer than the rest of the way to C++.
_mm = _OPS.mm.default._op
_matmul = _OPS.matmul.default._op
_matmul_out = _OPS.matmul.out._op
_linear = _OPS.linear.default._op


def matmul(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None = None,
    activation: str | None = None,
    out: Tensor | None = None,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """activation(a @ b + bias), of the shapes that torch.matmul takes.

    a and b: float16, bfloat16, float32 or float64, both the same; on one device. bias: a vector, as
    long as the product is wide. activation: "relu", "gelu", "gelu_tanh" or "silu", as in
    torch.nn.functional. out: of exactly the product's shape; without gradients, as everywhere in
    torch. out_dtype: float32, where a and b are of 16 bits and b is a matrix; then without out, and
    the bias and the activation are kernels of torch's. Raises RuntimeError, and ValueError for an
    activation that is none of these and for another out_dtype.
    """
    if out_dtype is not None:
        return _to_float(a, b, bias, activation, out, out_dtype)
    if is_compiling():
        if out is None:
            return _OPS.matmul.default(a, b, bias, activation)
        _OPS.matmul.out(a, b, bias, activation, out=out)
        return out
    if out is None:
        return _matmul(a, b, bias, activation)
    _matmul_out(a, b, bias, activation, out=out)
    return out


def bmm(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """a[i] @ b[i] for all i, of two batches of as many matrices, as torch.bmm: with the types, and
    the errors, of matmul, but without broadcasting. `explain` says whether it is one launch."""
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0]:
        raise RuntimeError(
            "bmm takes two batches of as many matrices, but a and b have the shapes "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    if out is not None:
        return matmul(a, b, out=out)
    return _OPS.mm.default(a, b) if is_compiling() else _mm(a, b)


def linear(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str | None = None,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """activation(input @ weight.T + bias), as torch.nn.functional.linear: weight is N x K.
    out_dtype is as in matmul."""
    if out_dtype is not None:
        return _to_float(input, weight.t(), bias, activation, None, out_dtype)
    if is_compiling():
        return _OPS.linear.default(input, weight, bias, activation)
    return _linear(input, weight, bias, activation)


def explain(a: Tensor, b: Tensor) -> str:
    """How a @ b would be computed, and why, of matrices or batches of matrices. On tensors of the
    device "meta" it says what would be done on a Hopper GPU."""
    return _OPS.explain(a, b)


def _to_float(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    activation: str | None,
    out: Tensor | None,
    out_dtype: torch.dtype,
) -> Tensor:
    if out_dtype != torch.float32 or out is not None or b.dim() != 2:
        raise ValueError(
            f"out_dtype is {out_dtype}, but may only be torch.float32, without out and where b is "
            "a matrix"
        )
    rows = a.flatten(0, -2) if a.dim() > 1 else a.unsqueeze(0)
    c = _OPS.mm_to_float.default(rows, b, bias, activation)
    return c.reshape(*a.shape[:-1], b.shape[1])


def _check(a: Tensor, b: Tensor) -> None:
    torch._check(
        a.device == b.device,
        lambda: "Expected all tensors to be on the same device, but a is on "
        f"{a.device} and b is on {b.device}",
    )
    torch._check(
        a.dtype == b.dtype,
        lambda: f"expected a and b to have the same dtype, but got: {a.dtype} != {b.dtype}",
    )
    torch._check(
        a.shape[-1] == b.shape[-2],
        lambda: f"a and b shapes cannot be multiplied ({tuple(a.shape)} and {tuple(b.shape)})",
    )


@torch.library.register_fake("gemm_ladder::copied_mm")
@torch.library.register_fake("gemm_ladder::mm")
def _(a, b, bias=None, activation=None):
    _check(a, b)
    return a.new_empty((*a.shape[:-1], b.shape[-1]))


@torch.library.register_fake("gemm_ladder::mm_to_float")
def _(a, b, bias=None, activation=None):
    _check(a, b)
    return a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32)


@torch.library.register_fake("gemm_ladder::matmul.out")
def _(a, b, bias=None, activation=None, *, out):
    _check(a, b)
