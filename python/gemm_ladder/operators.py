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
    scale: float = 1.0,
    column_scale: Tensor | None = None,
) -> Tensor:
    """activation(a @ b + bias), of the shapes that torch.matmul takes.

    a and b: float16, bfloat16, float32 or float64, both the same; on one device. bias: a vector, as
    long as the product is wide. activation: "relu", "gelu", "gelu_tanh" or "silu", as in
    torch.nn.functional. out: of exactly the product's shape; without gradients, as everywhere in
    torch. out_dtype: float32 or float8_e4m3fn, where a and b are of 16 bits and b is a matrix; then
    without out. In float32 the bias and the activation are kernels of torch's. In float8_e4m3fn
    there are none: it is scale * column_scale * (a @ b), for the fp8 layer that follows, and 448
    where that is more; column_scale is float32, one for each column. Raises RuntimeError, and
    ValueError for an activation that is none of these, for another out_dtype, and for a scale
    without float8_e4m3fn.
    """
    if out_dtype is not None or scale != 1 or column_scale is not None:
        return _to(out_dtype, a, b, bias, activation, out, scale, column_scale)
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
    scale: float = 1.0,
    column_scale: Tensor | None = None,
) -> Tensor:
    """activation(input @ weight.T + bias), as torch.nn.functional.linear: weight is N x K.
    out_dtype and the scales are as in matmul."""
    if out_dtype is not None or scale != 1 or column_scale is not None:
        return _to(out_dtype, input, weight.t(), bias, activation, None, scale, column_scale)
    if is_compiling():
        return _OPS.linear.default(input, weight, bias, activation)
    return _linear(input, weight, bias, activation)


def explain(a: Tensor, b: Tensor) -> str:
    """How a @ b would be computed, and why, of matrices or batches of matrices. On tensors of the
    device "meta" it says what would be done on a Hopper GPU."""
    return _OPS.explain(a, b)


def int_mm(
    a: Tensor,
    b: Tensor,
    *,
    scale: float | None = None,
    column_scale: Tensor | None = None,
    zero_point: int = 0,
) -> Tensor:
    """a @ b of int8, M x K and K x N: exact in int32 up to a K of 131,071, as torch._int_mm, but of
    any sizes. With a scale it is int8: round(scale * column_scale * (a @ b)) + zero_point, cut to
    -128 to 127, ties to even; column_scale is float32, one for each column.

    Copied first is what is not a by rows and b by columns that begin on 16 bytes. Raises
    RuntimeError, and ValueError for a zero point that is none and for one without a scale.
    """
    return _OPS.int_mm(a, b, scale, column_scale, zero_point)


def _to(
    out_dtype: torch.dtype | None,
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    activation: str | None,
    out: Tensor | None,
    scale: float,
    column_scale: Tensor | None,
) -> Tensor:
    is_float8 = out_dtype == torch.float8_e4m3fn
    if not is_float8 and (scale != 1 or column_scale is not None):
        raise ValueError("scale and column_scale belong to a result in float8_e4m3fn")
    if (out_dtype != torch.float32 and not is_float8) or out is not None or b.dim() != 2:
        raise ValueError(
            f"out_dtype is {out_dtype}, but may only be torch.float32 or torch.float8_e4m3fn, "
            "without out and where b is a matrix"
        )
    if is_float8 and (bias is not None or activation is not None):
        raise ValueError("a result in float8_e4m3fn has a scale, and no bias and no activation")
    rows = a.flatten(0, -2) if a.dim() > 1 else a.unsqueeze(0)
    if is_float8:
        c = _OPS.mm_to_float8.default(rows, b, scale, column_scale)
    else:
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


@torch.library.register_fake("gemm_ladder::mm_to_float8")
def _(a, b, scale=1.0, column_scale=None):
    _check(a, b)
    return a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float8_e4m3fn)


@torch.library.register_fake("gemm_ladder::int_mm")
def _(a, b, scale=None, column_scale=None, zero_point=0):
    _check(a, b)
    dtype = torch.int32 if scale is None else torch.int8
    return a.new_empty((a.shape[0], b.shape[1]), dtype=dtype)


@torch.library.register_fake("gemm_ladder::matmul.out")
def _(a, b, bias=None, activation=None, *, out):
    _check(a, b)
