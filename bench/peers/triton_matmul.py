#!/usr/bin/env python3
"""Triton's matmul, as its tutorial has it, beside torch.matmul, which is cuBLAS: fp16, row-major,
sums in fp32. Prints a line of JSON a shape; ./ladder race puts them into its table.

triton_matmul.py [--budget SECONDS] SHAPE ...      for example 4096x4096x4096

Both are timed as CUDA graphs of some launches on rotated operands, in random order: the host, which
takes longer for a launch of Triton's than the GPU for a small product, is not in the times.
"""

import argparse
import json
import random
import statistics
import sys
import time

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    print(json.dumps({"unavailable": str(error)}))
    sys.exit()

FEWEST_LAUNCHES, MOST_LAUNCHES = 10, 100  # of a graph, and sets at most
ROUNDS = 15
FINALISTS = 3
SETS_BYTES = 2 * 60 * 2**20  # twice an L2 cache

# (BM, BN, BK, tiles in a band, stages, warps): the tutorial's for fp16, and smaller ones for few
# rows.
CONFIGURATIONS = (
    (128, 256, 64, 8, 3, 8),
    (128, 256, 64, 8, 4, 8),
    (64, 256, 32, 8, 4, 4),
    (128, 128, 32, 8, 4, 4),
    (128, 128, 64, 8, 4, 4),
    (128, 128, 64, 8, 4, 8),
    (128, 64, 32, 8, 4, 4),
    (64, 128, 32, 8, 4, 4),
    (64, 64, 64, 8, 4, 4),
    (128, 32, 32, 8, 4, 4),
    (64, 32, 32, 8, 5, 2),
    (32, 64, 128, 8, 4, 4),
    (16, 64, 128, 8, 4, 4),
    (16, 128, 128, 8, 4, 4),
)


# Whether rows are a multiple of 16 elements long decides how wide the loads are: N, K and the
# strides are specialized, M is not.
@triton.jit(do_not_specialize=["M"])
def matmul_kernel(
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
    BAND: tl.constexpr,
):
    # Tiles of C in bands of BAND rows of tiles, so that those at work share A and B in L2.
    block = tl.program_id(axis=0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    band = block // (BAND * tiles_n)
    rows = min(tiles_m - band * BAND, BAND)
    tile_m = band * BAND + (block % (BAND * tiles_n)) % rows
    tile_n = (block % (BAND * tiles_n)) // rows

    m, n, k = tile_m * BM + tl.arange(0, BM), tile_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    # Rows and columns beyond the end read others again, which no result is made of.
    a = A + (m % M).to(tl.int64)[:, None] * lda + k[None, :]
    b = B + k[:, None] * ldb + (n % N)[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        tile_a = tl.load(a, mask=k[None, :] < left, other=0.0)
        tile_b = tl.load(b, mask=k[:, None] < left, other=0.0)
        sums = tl.dot(tile_a, tile_b, sums)
        a += BK
        b += BK * ldb
    c = C + m.to(tl.int64)[:, None] * ldc + n[None, :]
    tl.store(c, sums.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


def launch(configuration, a, b, c):
    BM, BN, BK, BAND, stages, warps = configuration
    (M, K), N = a.shape, b.shape[1]
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    matmul_kernel[grid](
        a,
        b,
        c,
        M,
        N,
        K,
        a.stride(0),
        b.stride(0),
        c.stride(0),
        BM=BM,
        BN=BN,
        BK=BK,
        BAND=BAND,
        num_stages=stages,
        num_warps=warps,
    )


def operand(rows, columns):
    """Uniform from -1 to 1; rows begin on 16 bytes, as in build/peers."""
    pitch = (columns + 7) // 8 * 8
    return (torch.rand(rows, pitch, device="cuda") * 2 - 1).half()[:, :columns]


def launches_of(sets):
    return max(FEWEST_LAUNCHES, len(sets))


def captured(function, sets):
    """A graph of launches, one set after another."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches_of(sets)):
            function(*sets[i % len(sets)])
    return graph


def race(graphs, rounds):
    """ms of each, medians."""
    times = {name: [] for name in graphs}
    order = list(graphs)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graphs[name].replay()
            stop.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(stop))
        time.sleep(min(0.01, sum(t[-1] for t in times.values()) / 1e3))
    return {name: statistics.median(values) for name, values in times.items()}


def measure(m, n, k):
    per_set = 2 * (m * k + k * n + m * n)
    count = max(1, min(MOST_LAUNCHES, -(-SETS_BYTES // per_set)))
    sets = [(operand(m, k), operand(k, n), operand(m, n)) for _ in range(count)]
    a, b, c = sets[0]
    expected = torch.matmul(a, b)

    graphs = {}
    for configuration in CONFIGURATIONS:
        try:
            launch(configuration, a, b, c)  # compiles
            torch.cuda.synchronize()
        except triton.runtime.errors.OutOfResources:
            continue
        # Two right results differ by a rounding to fp16 and the order of sums.
        if (c - expected).abs().max().item() > 0.004 * max(k, 16) ** 0.5:
            continue
        c.fill_(float("nan"))
        graphs[configuration] = captured(
            lambda a, b, c, chosen=configuration: launch(chosen, a, b, c), sets
        )
    if not graphs:
        return {"failed": "no configuration is right"}
    quick = race(graphs, 2)
    finalists = sorted(quick, key=quick.get)[:FINALISTS]
    last = {name: graphs[name] for name in finalists}
    last["cuBLAS"] = captured(lambda a, b, c: torch.matmul(a, b, out=c), sets)
    times = race(last, ROUNDS)
    cublas = times.pop("cuBLAS")
    best = min(times, key=times.get)
    names = ("BM", "BN", "BK", "band", "stages", "warps")
    chosen = dict(zip(names, best, strict=True))
    launches = launches_of(sets)
    return {
        "ms": times[best] / launches,
        "cublas_ms": cublas / launches,
        "configuration": chosen,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="+", metavar="MxNxK")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print(json.dumps({"unavailable": "PyTorch sees no GPU"}))
        return
    torch.manual_seed(1)
    random.seed(1)
    # The same contract as everybody's: parts of K are not added up in fp16.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    started = time.monotonic()
    for shape in options.shapes:
        if time.monotonic() - started > options.budget:
            break
        result = measure(*map(int, shape.split("x")))
        print(json.dumps({"shape": shape, "type": "fp16", "triton": result}), flush=True)
        torch.cuda.empty_cache()


main()
