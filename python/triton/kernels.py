"""The ladder in Triton: for each technique one kernel of the same idea as a CUDA stage.

All compute C = A B, row-major, M, N and K at least 1; the first four in fp32, the others in fp16
with sums in fp32. A function that is called as its technique takes three tensors, whose rows may be
longer than they are wide and begin on 16 bytes, and returns what is to be launched. Names are those
of kernels/README.md; docs/triton.md says what the compiler makes of it.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

GROUP = 8


@dataclass
class Launch:
    kernel: triton.JITFunction
    grid: tuple[int, ...]
    arguments: tuple
    options: dict

    def __call__(self):
        """The compiled kernel, which has been enqueued."""
        return self.kernel[self.grid](*self.arguments, **self.options)

    def compiled(self):
        """The same, and nothing has run."""
        return self.kernel.warmup(*self.arguments, grid=self.grid, **self.options)


def sizes(a, b, c):
    return a.shape[0], b.shape[1], a.shape[1], a.stride(0), b.stride(0), c.stride(0)


# ---- naive, as 01: each element is a sum of its own --------------------------------------------


@triton.jit(do_not_specialize=["M"])
def naive_kernel(A, B, C, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(1) * BM + tl.arange(0, BM)[:, None].to(tl.int64)
    n = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    a, b = A + m * lda, B + n
    for _ in range(K):
        acc += tl.load(a, mask=m < M) * tl.load(b, mask=n < N)
        a += 1
        b += ldb
    tl.store(C + m * ldc + n, acc, mask=(m < M) & (n < N))


def naive(a, b, c):
    BM, BN = 32, 32
    grid = (triton.cdiv(b.shape[1], BN), triton.cdiv(a.shape[0], BM))
    return Launch(naive_kernel, grid, (a, b, c, *sizes(a, b, c), BM, BN), {"num_warps": 8})


# ---- blocked, as 04: a block has tiles of A and B in common ------------------------------------


@triton.jit
def multiply_tile(
    A, B, C, m0, n0, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = m0 + tl.arange(0, BM)[:, None].to(tl.int64), n0 + tl.arange(0, BN)[None, :]
    a_k, b_k = tl.arange(0, BK)[None, :], tl.arange(0, BK)[:, None].to(tl.int64)
    # Rows and columns past the end repeat valid ones: what comes of them is not stored.
    a, b = A + m % M * lda + a_k, B + b_k * ldb + n % N
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        tile_a = tl.load(a, mask=k0 + a_k < K, other=0.0)
        tile_b = tl.load(b, mask=k0 + b_k < K, other=0.0)
        acc = tl.dot(tile_a, tile_b, acc, input_precision="ieee")
        a += BK
        b += BK * ldb
    tl.store(C + m * ldc + n, acc.to(C.dtype.element_ty), mask=(m < M) & (n < N))


@triton.jit(do_not_specialize=["M"])
def blocked_kernel(
    A, B, C, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m0, n0 = tl.program_id(1) * BM, tl.program_id(0) * BN
    multiply_tile(A, B, C, m0, n0, M, N, K, lda, ldb, ldc, BM, BN, BK)


def blocked(a, b, c):
    BM, BN, BK = 128, 128, 16
    grid = (triton.cdiv(b.shape[1], BN), triton.cdiv(a.shape[0], BM))
    arguments = (a, b, c, *sizes(a, b, c), BM, BN, BK)
    return Launch(blocked_kernel, grid, arguments, {"num_warps": 8, "num_stages": 1})


# ---- grouped, as parts/block_order.cuh: blocks that run together share A and B in L2 -----------


@triton.jit
def tile_of(number, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first_m = number // (GROUP * tiles_n) * GROUP
    height = min(GROUP, tiles_m - first_m)
    rest = number % (GROUP * tiles_n)
    return (first_m + rest % height) * BM, rest // height * BN


@triton.jit(do_not_specialize=["M"])
def grouped_kernel(
    A,
    B,
    C,
    M,
    N,
    K,
    lda,
    ldb,
    ldc,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    m0, n0 = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    multiply_tile(A, B, C, m0, n0, M, N, K, lda, ldb, ldc, BM, BN, BK)


def grouped_launch(a, b, c, BM, BN, BK, stages):
    grid = (triton.cdiv(a.shape[0], BM) * triton.cdiv(b.shape[1], BN),)
    arguments = (a, b, c, *sizes(a, b, c), BM, BN, BK, GROUP)
    return Launch(grouped_kernel, grid, arguments, {"num_warps": 8, "num_stages": stages})


def grouped(a, b, c):
    return grouped_launch(a, b, c, 128, 128, 16, stages=1)


# ---- pipelined, as 05: the next tiles are on their way while these are multiplied --------------


def pipelined(a, b, c):
    return grouped_launch(a, b, c, 128, 128, 16, stages=3)


# ---- tensor cores, as 07 and 09: the same kernel on halves -------------------------------------


def tensor_cores(a, b, c):
    return grouped_launch(a, b, c, 128, 256, 64, stages=3)


# ---- persistent, as 08 and 11: TMA brings the tiles, a block takes one tile after another ------


# A store by TMA writes whole 16 bytes: where rows of C do not end so, STORE_MASKED, it would write
# past their ends.
@triton.jit
def store_tile(C, c_map, m0, n0, tile, M, N, ldc, STORE_MASKED: tl.constexpr):
    if STORE_MASKED:
        m = m0 + tl.arange(0, tile.shape[0])[:, None].to(tl.int64)
        n = n0 + tl.arange(0, tile.shape[1])[None, :]
        tl.store(C + m * ldc + n, tile, mask=(m < M) & (n < N))
    else:
        c_map.store([m0, n0], tile)


# SPECIALIZED, as 10: some warps bring tiles, others multiply. Where they are the same, both loops
# are made one (flatten): loads of the next tile begin before this one is stored.
@triton.jit(do_not_specialize=["M"])
def persistent_kernel(
    A,
    B,
    C,
    M,
    N,
    K,
    lda,
    ldb,
    ldc,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    STORE_MASKED: tl.constexpr,
    SPECIALIZED: tl.constexpr = False,
):
    a_map = tl.make_tensor_descriptor(A, [M, K], [lda, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(B, [K, N], [ldb, 1], [BK, BN])
    c_map = tl.make_tensor_descriptor(C, [M, N], [ldc, 1], [BM, BN])
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for number in tl.range(
        tl.program_id(0),
        tiles,
        tl.num_programs(0),
        flatten=not SPECIALIZED,
        warp_specialize=SPECIALIZED,
    ):
        m0, n0 = tile_of(number, M, N, BM, BN, GROUP)
        acc = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, BK):
            acc = tl.dot(a_map.load([m0, k0]), b_map.load([k0, n0]), acc)
        store_tile(C, c_map, m0, n0, acc.to(tl.float16), M, N, ldc, STORE_MASKED)


def persistent_launch(kernel, a, b, c, bias=(), **options):
    BM, BN, BK = 128, 256, 64
    triton.set_allocator(memory_for_maps)
    tiles = triton.cdiv(a.shape[0], BM) * triton.cdiv(b.shape[1], BN)
    arguments = (a, b, c, *bias, *sizes(a, b, c), BM, BN, BK, GROUP, c.shape[1] % 8 != 0)
    grid = (min(tiles, multiprocessors()),)
    return Launch(kernel, grid, arguments, {"num_warps": 8, "num_stages": 3} | options)


def memory_for_maps(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


def multiprocessors():
    """A block for each. Without a GPU nothing is launched, and any number will do."""
    if not torch.cuda.is_available():
        return 1
    return torch.cuda.get_device_properties("cuda").multi_processor_count


def persistent(a, b, c):
    return persistent_launch(persistent_kernel, a, b, c)


# ---- fused epilogue, as 16: C = gelu(A B + bias) -----------------------------------------------


@triton.jit
def gelu(x):
    # x / 2 (1 + tanh(z)) = x / (1 + exp(-2 z)), z = sqrt(2 / pi) (x + 0.044715 x^3)
    return x * tl.sigmoid(1.5957691216 * (x + 0.044715 * x * x * x))


@triton.jit(do_not_specialize=["M"])
def fused_epilogue_kernel(
    A,
    B,
    C,
    bias,
    M,
    N,
    K,
    lda,
    ldb,
    ldc,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    STORE_MASKED: tl.constexpr,
):
    a_map = tl.make_tensor_descriptor(A, [M, K], [lda, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(B, [K, N], [ldb, 1], [BK, BN])
    c_map = tl.make_tensor_descriptor(C, [M, N], [ldc, 1], [BM, BN])
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for number in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        m0, n0 = tile_of(number, M, N, BM, BN, GROUP)
        acc = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, BK):
            acc = tl.dot(a_map.load([m0, k0]), b_map.load([k0, n0]), acc)
        n = n0 + tl.arange(0, BN)
        acc += tl.load(bias + n, mask=n < N)[None, :].to(tl.float32)
        store_tile(C, c_map, m0, n0, gelu(acc).to(tl.float16), M, N, ldc, STORE_MASKED)


def fused_epilogue(a, b, c, bias):
    return persistent_launch(fused_epilogue_kernel, a, b, c, (bias,))


# ---- warp specialized, as 10: three groups of four warps, which the compiler makes of one ------


def warp_specialized(a, b, c):
    return persistent_launch(persistent_kernel, a, b, c, num_warps=4, SPECIALIZED=True)
