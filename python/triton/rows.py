"""Operations on the rows of a matrix in Triton: a program has a row, as a team of 23 has one.

Matrices are row-major, without gaps; sums are in fp32. launched() says what is to be launched for
an operation. docs/triton_rows.md is about these kernels.
"""

import triton
import triton.language as tl

EPSILON = 1e-5  # as in kernels/rows.cuh


# ---- vector add: what every tutorial begins with -----------------------------------------------


@triton.jit
def add_kernel(A, B, C, count, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = i < count
    a = tl.load(A + i, mask=there).to(tl.float32)
    b = tl.load(B + i, mask=there).to(tl.float32)
    tl.store(C + i, (a + b).to(C.dtype.element_ty), mask=there)


# ---- softmax: two reductions, and the row is still there ---------------------------------------


@triton.jit
def softmax_kernel(X, Y, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    column = tl.arange(0, BLOCK)
    there = column < width
    # What is not there is not the largest, and its power is 0.
    x = tl.load(X + row + column, mask=there, other=-float("inf")).to(tl.float32)
    power = tl.exp(x - tl.max(x, axis=0))
    y = power / tl.sum(power, axis=0)
    tl.store(Y + row + column, y.to(Y.dtype.element_ty), mask=there)


# ---- LayerNorm, and with GELU behind it --------------------------------------------------------


@triton.jit
def gelu(x):
    # x / 2 (1 + tanh(z)) = x / (1 + exp(-2 z)), z = sqrt(2 / pi) (x + 0.044715 x^3)
    return x * tl.sigmoid(1.5957691216 * (x + 0.044715 * x * x * x))


@triton.jit
def layer_norm_kernel(X, gain, bias, Y, width, epsilon, BLOCK: tl.constexpr, GELU: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    column = tl.arange(0, BLOCK)
    there = column < width
    x = tl.load(X + row + column, mask=there, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / width
    # What is not there is 0, and 0 - mean is not.
    apart = tl.where(there, x - mean, 0.0)
    factor = tl.rsqrt(tl.sum(apart * apart, axis=0) / width + epsilon)
    g = tl.load(gain + column, mask=there, other=0.0).to(tl.float32)
    b = tl.load(bias + column, mask=there, other=0.0).to(tl.float32)
    y = apart * factor * g + b
    if GELU:
        y = gelu(y)
    tl.store(Y + row + column, y.to(Y.dtype.element_ty), mask=there)


# ---- what is launched --------------------------------------------------------------------------

KERNELS = {
    "add": add_kernel,
    "softmax": softmax_kernel,
    "layer_norm": layer_norm_kernel,
    "layer_norm_gelu": layer_norm_kernel,
}
WARPS = (1, 2, 4, 8, 16, 32)
# Each tries all numbers of warps at its first launch of a size, and keeps the fastest.
TUNED = {
    name: triton.autotune(
        [triton.Config({}, num_warps=warps) for warps in WARPS],
        key=["count" if name == "add" else "width"],
    )(kernel)
    for name, kernel in KERNELS.items()
}


def launched(operation, x, second, gain, bias, y, tuned=False):
    """Kernel, grid, arguments, options. `second` is what add adds to x."""
    rows, width = x.shape
    kernel = (TUNED if tuned else KERNELS)[operation]
    if operation == "add":
        block = 4096
        grid, arguments = (triton.cdiv(rows * width, block),), (x, second, y, rows * width, block)
    else:
        block = triton.next_power_of_2(width)
        grid = (rows,)
        if operation == "softmax":
            arguments = (x, y, width, block)
        else:
            with_gelu = operation == "layer_norm_gelu"
            arguments = (x, gain, bias, y, width, EPSILON, block, with_gelu)
    # As 23: a thread has 32 numbers.
    options = {} if tuned else {"num_warps": min(max(block // 1024, 1), 16)}
    return kernel, grid, arguments, options
