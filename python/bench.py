#!/usr/bin/env python3
"""Times gemm_ladder.matmul against torch.matmul at 100 shapes in fp16 and bf16, a product with bias
and GELU against torch.compile, linear layers against torch's, both at numbers of rows that divide
by nothing, the gradients of such layers, batches, weights of four bits against torch's kernel for
them, a step of decoding with both kinds of weights, steps of training, results in fp32 from 16
bits, numbers of eight bits against torch's, products in fp32 and in TF32, and what a call takes of
the host. Needs a GPU.

usage: python/bench.py [--out FILE] [--types fp16 bf16] [--shapes N]
                       [--only products fused layers rows gradients bmm to_float int4 decoding
                               training fp8 int8 tf32 fp32 host]

Exit code: 0 done, 1 some result was wrong, 2 bad usage, 77 there is no GPU for it.
"""

import argparse
import gc
import itertools
import math
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from ladder.command import run
from ladder.files import as_lines
from ladder.project import BadInput
from ladder.sweep_shapes import (
    ANY_ROWS,
    ROWS,
    SEED,
    WEIGHTS,
    model_shapes,
    random_shapes,
    sizes,
)

SQUARES = ("512", "768", "1000", "1024", "1536", "2048", "3000", "4096", "5000", "8192")
PROJECTIONS, RAGGED = 65, 25
# M, K, N: of a feed-forward block's first half.
FUSED = ((512, 3072, 12288), (4096, 4096, 16384))
# K, N of linear layers of a public model, at as many rows as the projections above.
LAYERS = ((4096, 4096), (4096, 14336), (14336, 4096))
# Of which a kernel takes less time than its launch.
HOST = ((128, 128, 128), (100, 100, 100))
HOST_CALLS, HOST_TURNS = 200, 60
# N, K of weights of four bits, and rows; the texts that are decoded, and how long they are.
INT4_WEIGHTS = ((4096, 4096), (4096, 14336), (8192, 8192), (28672, 8192))
INT4_ROWS = (1, 5, 16, 64, 333, 512, 4096)
TEXTS, TEXT_LENGTH, DECODER_LAYERS = (1, 5, 16), 1000, 32
# How many products, and M, N, K of each.
BATCHES = (
    (1024, 64, 64, 64),
    (256, 128, 128, 64),
    (128, 40, 256, 512),
    (96, 333, 128, 336),
    (32, 1013, 128, 1016),
    (32, 128, 1024, 1024),
    (64, 512, 512, 512),
    (16, 1, 4096, 4096),
    (8, 64, 7168, 4096),
    (8, 777, 4096, 1024),
    (12, 2048, 2048, 2048),
)
# Texts that a step trains on, and how many tokens each has.
TRAINED = ((2, 131), (3, 333), (5, 211), (2, 777), (3, 587), (5, 409), (2, 1601), (7, 1013))
TRAINED_LAYERS = 2
# Tokens of which the gradients of linear layers are sums.
GRADIENT_ROWS = (259, 787, 1777, 4093, 7091)
# M, N, K of results in fp32 from 16 bits, of numbers of eight bits, and of fp32.
TO_FLOAT = ((1, 32000, 4096), (33, 128256, 4096), (777, 32000, 4096), (2048, 4096, 4096))
FP8 = ((4096, 4096, 4096), (8192, 8192, 8192), (512, 4096, 14336), (333, 4096, 4096))
INT8 = (
    *((17, 4096, 4096), (128, 11008, 4096), (333, 4096, 4096)),
    *((2048, 5760, 2880), (4093, 4088, 4088)),
)
TF32 = ((128, 11008, 4096), (333, 4096, 4096), (787, 5760, 2880), (1024, 4096, 4096), (4096,) * 3)
FP32 = ((512, 512, 512), (16, 4096, 4096), (1000, 1000, 1000), (2048, 2048, 2048), (4096,) * 3)
PARTS = (
    *("host", "fused", "layers", "rows", "products", "gradients", "bmm", "to_float"),
    *("int4", "decoding", "training", "fp8", "int8", "tf32", "fp32"),
)
SHAPE_MS, WARMUP_S = 60.0, 0.02


def is_ragged(shape: str) -> bool:
    return any(size % 8 for size in sizes(shape)[1:])


def shapes(count: int = 100) -> list[str]:
    """Squares, projections of public models at 1 to 8192 rows, and shapes of nobody, whose rows are
    not aligned. Every beginning is a fair sample."""
    draw = random.Random(SEED)
    # As many of each number of rows, as far as they go.
    by_rows = {rows: [] for rows in ROWS}
    for shape in model_shapes():
        by_rows[sizes(shape)[0]].append(shape)
    for group in by_rows.values():
        draw.shuffle(group)
    models = [group[i] for i in range(len(by_rows[1])) for group in by_rows.values()]
    # With fewer products a launch is all there is.
    ragged = [s for s in random_shapes() if is_ragged(s) and math.prod(sizes(s)) >= 2**24]
    chosen = [f"{s}x{s}x{s}" for s in SQUARES] + models[:PROJECTIONS] + ragged[:RAGGED]
    draw.shuffle(chosen)
    return chosen[:count]


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- what needs PyTorch ------------------------------------------------------------------------


def operands(shape, dtype):
    """Sets of a[M,K], b[K,N], or of batches of them, contiguous, beyond the L2 cache together."""
    import torch

    *batch, m, n, k = shape
    bytes_ = math.prod(batch) * (m * k + k * n + m * n) * dtype.itemsize
    l2 = torch.cuda.get_device_properties("cuda").L2_cache_size
    count = max(1, min(math.ceil(2 * l2 / bytes_), 64))
    made = []
    for _ in range(count):
        a = torch.rand(*batch, m, k, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(dtype)
        b = torch.rand(*batch, k, n, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(dtype)
        made.append((a, b))
    return made


def wrong(got, expected, k: int) -> bool:
    """Both round once; their sums differ by little. In bf16 torch.matmul may round parts of sums,
    and is no reference for products."""
    difference = (got.float() - expected.float()).abs().max().item()
    largest = expected.float().abs().max().item()
    return not difference <= 2 * largest * 2.0**-8 + 1e-5 * k


def timed(row: dict, against: str, contenders: dict) -> dict:
    """The row with each contender's time, and the percent that `against` takes of the ladder's."""
    from ladder.race import race

    found = race(contenders, SHAPE_MS, WARMUP_S)
    times = {f"{name}_ms": statistics.median(ms) for name, ms in found.items()}
    return row | times | {"percent": 100 * times[f"{against}_ms"] / times["ladder_ms"]}


def both(own, torchs, sets) -> dict:
    """The contenders of timed() that call ours and torch's with each set of operands."""
    calls = {"ladder": own, "torch": torchs}
    return {name: [lambda s=s, f=f: f(*s) for s in sets] for name, f in calls.items()}


def products(types: list[str], count: int) -> list[dict]:
    import torch

    from gemm_ladder import explain, matmul

    rows = []
    for kind in types:
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[kind]
        for shape in shapes(count):
            m, n, k = sizes(shape)
            sets = operands((m, n, k), dtype)
            first = sets[0]
            row = {"type": kind, "shape": shape, "by": explain(*first)}
            expected = first[0].float() @ first[1].float()
            row["wrong"] = wrong(matmul(*first), expected, k)
            row = timed(
                row,
                "torch",
                both(matmul, torch.matmul, sets) | copied(row, sets, expected),
            )
            rows.append(row)
            progress(f"{kind} {shape}: {row['percent']:.1f} %, {row['by']}")
    return rows


def copied(row: dict, sets, expected) -> dict:
    """Where rows are not aligned: what copies would give, whether or not they were chosen."""
    import torch

    if not is_ragged(row["shape"]):
        return {}
    multiply = torch.ops.gemm_ladder.copied_mm.default
    row["wrong"] |= wrong(multiply(*sets[0]), expected, sizes(row["shape"])[2])
    return {"copies": [lambda s=s: multiply(*s) for s in sets]}


def fused(types: list[str]) -> list[dict]:
    """Bias and GELU, by its definition and by tanh, against what torch.compile makes of them."""
    import torch

    from gemm_ladder import matmul

    rows = []
    for kind in types:
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[kind]
        for m, k, n in FUSED:
            bias = torch.rand(n, device="cuda", dtype=dtype)
            sets = operands((m, n, k), dtype)
            for name, approximate in (("gelu_tanh", "tanh"), ("gelu", "none")):

                def written(a, b, approximate=approximate, bias=bias):
                    return torch.nn.functional.gelu(
                        torch.addmm(bias, a, b), approximate=approximate
                    )

                compiled = torch.compile(written)
                row = {"type": kind, "shape": f"{m}x{k}->{n}", "activation": name}
                row["wrong"] = wrong(matmul(*sets[0], bias, name), compiled(*sets[0]), k)
                row = timed(
                    row,
                    "compiled",
                    {
                        "ladder": [
                            lambda s=s, bias=bias, name=name: matmul(*s, bias, name) for s in sets
                        ],
                        "compiled": [lambda s=s, compiled=compiled: compiled(*s) for s in sets],
                        "eager": [lambda s=s, written=written: written(*s) for s in sets],
                    },
                )
                rows.append(row)
                progress(f"{kind} {row['shape']} {name}: {row['percent']:.1f} % of compiled")
    return rows


def layers(types: list[str]) -> list[dict]:
    """Linear layers with a bias, and with GELU by tanh behind it, against torch's."""
    import torch
    from torch.nn import functional

    from gemm_ladder import linear

    def torchs(x, w, bias, activation):
        y = functional.linear(x, w, bias)
        return functional.gelu(y, approximate="tanh") if activation else y

    rows = []
    for kind in types:
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[kind]
        for (k, n), m in itertools.product(LAYERS, ROWS):
            bias = torch.rand(n, device="cuda", dtype=dtype)
            # Weights have a row for each column of the result.
            sets = [(a, b.view(n, k)) for a, b in operands((m, n, k), dtype)]
            for activation in (None, "gelu_tanh"):
                behind = (bias, activation)
                row = {"type": kind, "shape": f"{m}x{k}->{n}", "activation": activation}
                row["wrong"] = wrong(linear(*sets[0], *behind), torchs(*sets[0], *behind), k)
                row = timed(
                    row,
                    "torch",
                    {
                        "ladder": [lambda s=s, e=behind: linear(*s, *e) for s in sets],
                        "torch": [lambda s=s, e=behind: torchs(*s, *e) for s in sets],
                    },
                )
                rows.append(row)
                progress(f"{kind} {row['shape']} {activation}: {row['percent']:.1f} % of torch's")
    return rows


def rows_as_used(types: list[str]) -> list[dict]:
    """Products, and linear layers without a bias, at any number of rows."""
    import torch
    from torch.nn import functional

    from gemm_ladder import linear, matmul

    kinds = {"matmul": (matmul, torch.matmul), "linear": (linear, functional.linear)}
    cases = list(itertools.product(types, WEIGHTS.values(), ANY_ROWS, kinds))
    random.Random(SEED).shuffle(cases)
    rows = []
    for kind, (n, k), m, what in cases:
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[kind]
        sets = operands((m, n, k), dtype)
        if what == "linear":
            sets = [(a, b.view(n, k)) for a, b in sets]
        own, torchs = kinds[what]
        row = {"type": kind, "shape": f"{m}x{n}x{k}", "call": what}
        b = sets[0][1].T if what == "linear" else sets[0][1]
        row["wrong"] = wrong(own(*sets[0]), sets[0][0].float() @ b.float(), k)
        row = timed(row, "torch", both(own, torchs, sets))
        rows.append(row)
        progress(f"{kind} {what} {row['shape']}: {row['percent']:.1f} % of torch's")
    return rows


def gradients(types: list[str]) -> list[dict]:
    """Both gradients of linear layers, that of the weight, whose A is by columns, and that of the
    input."""
    import torch

    from gemm_ladder import matmul

    cases = list(itertools.product(types, WEIGHTS.values(), GRADIENT_ROWS, ("weight", "input")))
    random.Random(SEED).shuffle(cases)
    rows = []
    for kind, (n, k), m, of in cases:
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[kind]
        # dY and X, or dY and W.
        if of == "weight":
            sets = [(a.view(m, n).t(), b) for a, b in operands((n, k, m), dtype)]
        else:
            sets = operands((m, k, n), dtype)
        a, b = sets[0]
        row = {"type": kind, "shape": f"{a.shape[0]}x{b.shape[1]}x{b.shape[0]}", "of": of}
        row["wrong"] = wrong(matmul(a, b), a.float() @ b.float(), b.shape[0])
        row = timed(row, "torch", both(matmul, torch.matmul, sets))
        rows.append(row)
        progress(f"{kind} gradient of the {of}, {row['shape']}: {row['percent']:.1f} % of torch's")
    return rows


def bmm(types: list[str]) -> list[dict]:
    """Batches, with all b by rows, or by columns. What is torch's own is not timed."""
    import torch

    import gemm_ladder

    rows = []
    for kind, b_by, (count, m, n, k) in itertools.product(types, ("rows", "columns"), BATCHES):
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[kind]
        sets = operands((count, m, n, k), dtype)
        if b_by == "columns":
            sets = [(a, b.view(count, n, k).mT) for a, b in sets]
        row = {"type": kind, "batch": count, "shape": f"{m}x{n}x{k}", "b_by": b_by}
        row["by"] = gemm_ladder.explain(*sets[0])
        if row["by"].startswith("torch's own"):
            continue
        a, b = sets[0]
        row["wrong"] = wrong(gemm_ladder.bmm(a, b), torch.bmm(a.float(), b.float()), k)
        row = timed(row, "torch", both(gemm_ladder.bmm, torch.bmm, sets))
        rows.append(row)
        progress(
            f"{kind} {count} of {row['shape']}, b by {b_by}: {row['percent']:.1f} %, {row['by']}"
        )
    return rows


def to_float(types: list[str]) -> list[dict]:
    """Linear layers of 16 bits with a result in fp32, beside torch's, and beside ours whose result
    is rounded to 16 bits."""
    import torch

    from gemm_ladder import linear

    rows = []
    for kind, (m, n, k) in itertools.product(types, TO_FLOAT):
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[kind]
        sets = [(a, b.view(n, k)) for a, b in operands((m, n, k), dtype)]
        a, w = sets[0]
        row = {"type": kind, "shape": f"{m}x{n}x{k}"}
        got = linear(a, w, out_dtype=torch.float32)
        row["wrong"] = wrong(got, a.float() @ w.float().t(), k)
        row = timed(
            row,
            "torch",
            {
                "ladder": [lambda s=s: linear(*s, out_dtype=torch.float32) for s in sets],
                "torch": [
                    lambda s=s: torch.mm(s[0], s[1].t(), out_dtype=torch.float32) for s in sets
                ],
                "rounded": [lambda s=s: linear(*s) for s in sets],
            },
        )
        rows.append(row)
        progress(f"{kind} {row['shape']} in fp32: {row['percent']:.1f} % of torch's")
    return rows


def torch_int4(numbers, scales, zeros):
    """For torch._weight_int4pack_mm, which has W = (number - 8) * scale + offset."""
    import torch

    bytes_ = numbers.t().contiguous()
    bytes_ = bytes_[:, ::2] << 4 | bytes_[:, 1::2]
    offsets = (8 - zeros.float()) * scales
    packed = torch._convert_weight_to_int4pack(bytes_, 8)
    return packed, torch.stack((scales, offsets), -1).bfloat16()


def rms(x) -> float:
    return x.float().square().mean().sqrt().item()


def int4() -> list[dict]:
    """Products by weights of four bits, in bf16, beside torch's kernel for them, and beside
    torch's linear with weights in bf16. `rounding` and `kernel`: how far off a result is by the one
    and by the other, of its size, for normal weights and inputs."""
    import torch
    from torch.nn import functional

    from gemm_ladder import Int4Weight, linear_int4, pack_int4
    from gemm_ladder.int4 import GROUP, quantise

    rows = []
    for n, k in INT4_WEIGHTS:
        w = torch.randn(n, k, device="cuda").bfloat16()
        parts = quantise(w)
        ours, theirs = pack_int4(*parts, w.dtype), torch_int4(*parts)
        numbers, scales, zeros = (part.float() for part in parts)
        group = torch.arange(k, device="cuda") // GROUP
        rounded = (numbers - zeros[group]) * scales[group]
        count = math.ceil(2 * torch.cuda.get_device_properties("cuda").L2_cache_size * 2 / n / k)
        sets = [
            (w.clone(), Int4Weight(ours.packed.clone(), *ours[1:]), theirs[0].clone())
            for _ in range(max(2, count))
        ]
        for m in INT4_ROWS:
            x = torch.randn(m, k, device="cuda").bfloat16()
            expected = x.float() @ rounded
            got = linear_int4(x, ours)
            row = {"shape": f"{m}x{n}x{k}", "wrong": wrong(got, expected, k)}
            row["kernel"] = rms(got - expected) / rms(expected)
            row["rounding"] = rms(expected - x.float() @ w.t().float()) / rms(expected)
            row = timed(
                row,
                "torch_int4",
                {
                    "ladder": [lambda s=s, x=x: linear_int4(x, s[1]) for s in sets],
                    "torch": [lambda s=s, x=x: functional.linear(x, s[0]) for s in sets],
                    "torch_int4": [
                        lambda s=s, x=x, t=theirs: torch._weight_int4pack_mm(x, s[2], GROUP, t[1])
                        for s in sets
                    ],
                },
            )
            rows.append(row)
            progress(
                f"int4 {row['shape']}: {1e3 * row['ladder_ms']:.1f} us, torch's int4 "
                f"{1e3 * row['torch_int4_ms']:.1f}, bf16 {1e3 * row['torch_ms']:.1f}"
            )
    return rows


def fp8() -> list[dict]:
    """Products of e4m3 with a scale for each matrix, for each row of a and each column of b, or for
    each block, beside torch's; with sums that the tensor core adds up alone, `fast`, and that fp32
    does, which those with scales of blocks always are."""
    import torch

    from gemm_ladder import scaled_mm

    rows = []
    kinds = [(s, fast) for s in ("matrices", "rows") for fast in (False, True)]
    for (m, n, k), (scales, fast) in itertools.product(FP8, [*kinds, ("blocks", False)]):
        if scales == "blocks":
            m += -m % 4  # torch takes no others
        sets = [(a, b.t().contiguous().t()) for a, b in operands((m, n, k), torch.float8_e4m3fn)]
        shapes = {
            "matrices": [(), ()],
            "rows": [(1, m), (n, 1)],
            "blocks": [(k // 128, m), (n // 128, k // 128)],
        }
        factors = [(torch.rand(s, device="cuda") + 0.5).t() for s in shapes[scales]]

        def ours(a, b, factors=factors, fast=fast):
            return scaled_mm(a, b, *factors, use_fast_accum=fast)

        def torchs(a, b, factors=factors, fast=fast):
            return torch._scaled_mm(a, b, *factors, out_dtype=torch.bfloat16, use_fast_accum=fast)

        a, b = sets[0]
        row = {"shape": f"{m}x{n}x{k}", "scales": scales, "fast": fast}
        if scales == "blocks":
            row["wrong"] = wrong(ours(a, b), torchs(a, b), k)
        else:
            exact = factors[0] * factors[1] * (a.float() @ b.float())
            # Sums of 14 bits are off by what depends on the order in which K is added up.
            off = [(call(a, b) - exact).square().mean() for call in (ours, torchs)]
            row["wrong"] = bool(off[0] > 1.05 * off[1]) if fast else wrong(ours(a, b), exact, k)
        row = timed(
            row,
            "torch",
            {
                "ladder": [lambda s=s, f=ours: f(*s) for s in sets],
                "torch": [lambda s=s, f=torchs: f(*s) for s in sets],
            },
        )
        rows.append(row)
        progress(
            f"fp8 {row['shape']}, scales of {row['scales']}{', fast' if fast else ''}: "
            f"{1e3 * row['ladder_ms']:.1f} us, {row['percent']:.1f} % of torch's"
        )
    return rows


def int8() -> list[dict]:
    """Products of int8 in int32, beside torch's; and requantised to int8, beside torch's product
    and what torch.compile makes of the rest."""
    import torch

    from gemm_ladder import int_mm

    scale = 1e-4

    @torch.compile
    def rounded(sums):
        return (sums * scale).round().clamp(-128, 127).to(torch.int8)

    calls = {
        "int32": (int_mm, torch._int_mm),
        "int8": (
            lambda a, b: int_mm(a, b, scale=scale),
            lambda a, b: rounded(torch._int_mm(a, b)),
        ),
    }
    rows = []
    for m, n, k in INT8:
        draw = {"device": "cuda", "dtype": torch.int8}
        count = max(2, math.ceil(2e8 / (m * k + k * n + 4 * m * n)))
        sets = [
            (torch.randint(-128, 128, (m, k), **draw), torch.randint(-128, 128, (n, k), **draw).t())
            for _ in range(min(count, 16))
        ]
        for to, (own, theirs) in calls.items():
            row = {"shape": f"{m}x{n}x{k}", "to": to}
            row["wrong"] = not torch.equal(own(*sets[0]), theirs(*sets[0]))
            row = timed(row, "torch", both(own, theirs, sets))
            rows.append(row)
            progress(f"int8 {row['shape']} to {to}: {row['percent']:.1f} % of torch's")
    return rows


def tf32() -> list[dict]:
    """Linear layers in TF32, beside torch's."""
    import torch
    from torch.nn import functional

    from gemm_ladder import explain, linear

    torch.backends.cuda.matmul.allow_tf32 = True
    rows = []
    for m, n, k in TF32:
        sets = [(a, b.view(n, k)) for a, b in operands((m, n, k), torch.float32)]
        a, w = sets[0]
        row = {"shape": f"{m}x{n}x{k}", "by": explain(a, w.t())}
        expected = functional.linear(a, w)
        row["wrong"] = not (linear(a, w) - expected).abs().max() <= 1e-3 * expected.abs().max()
        row = timed(row, "torch", both(linear, functional.linear, sets))
        rows.append(row)
        progress(f"TF32 {row['shape']}: {row['percent']:.1f} % of torch's, {row['by']}")
    torch.backends.cuda.matmul.allow_tf32 = False
    return rows


def fp32() -> list[dict]:
    """Products in fp32 with bias and ReLU: beside the product alone, and beside torch's two calls.
    `percent` is of the product alone."""
    import torch

    from gemm_ladder import matmul

    rows = []
    for m, n, k in FP32:
        sets = operands((m, n, k), torch.float32)
        bias = torch.rand(n, device="cuda")
        row = {"shape": f"{m}x{n}x{k}"}
        row["wrong"] = wrong(matmul(*sets[0], bias, "relu"), torch.addmm(bias, *sets[0]).relu(), k)
        row = timed(
            row,
            "alone",
            {
                "ladder": [lambda s=s, bias=bias: matmul(*s, bias, "relu") for s in sets],
                "alone": [lambda s=s: matmul(*s) for s in sets],
                "torch": [lambda s=s, bias=bias: torch.addmm(bias, *s).relu_() for s in sets],
                "torch_alone": [lambda s=s: torch.mm(*s) for s in sets],
            },
        )
        rows.append(row)
        progress(
            f"fp32 {row['shape']} with bias and ReLU: {1e3 * row['ladder_ms']:.1f} us, "
            f"{row['percent']:.1f} % of the product alone, torch {1e3 * row['torch_ms']:.1f} us, "
            f"torch's product alone {1e3 * row['torch_alone_ms']:.1f}"
        )
    return rows


def decoding() -> list[dict]:
    """A step of decoding with weights in bf16 and of four bits, of ours and of torch's."""
    import torch
    from decoding import VOCABULARY, WIDTH, Decoder, weights
    from torch.nn import functional

    from gemm_ladder import Int4Weight, linear, linear_int4, pack_int4
    from gemm_ladder.int4 import GROUP, quantise

    head = (torch.randn(VOCABULARY, WIDTH, device="cuda") / WIDTH**0.5).bfloat16()
    first = weights(torch.bfloat16)
    four = {name: quantise(w) for name, w in first.items()}
    ours = {name: pack_int4(*parts, torch.bfloat16) for name, parts in four.items()}
    theirs = {name: torch_int4(*parts) for name, parts in four.items()}

    kinds = {"ladder_int4": [], "torch_int4": [], "ladder": [], "torch": []}
    for _ in range(DECODER_LAYERS):
        copies = {name: w.clone() for name, w in first.items()}
        kinds["torch"].append(
            {name: lambda x, w=w: functional.linear(x, w) for name, w in copies.items()}
        )
        kinds["ladder"].append({name: lambda x, w=w: linear(x, w) for name, w in copies.items()})
        packed = {name: Int4Weight(w.packed.clone(), *w[1:]) for name, w in ours.items()}
        kinds["ladder_int4"].append(
            {name: lambda x, w=w: linear_int4(x, w) for name, w in packed.items()}
        )
        packed = {name: (w.clone(), scales) for name, (w, scales) in theirs.items()}
        kinds["torch_int4"].append(
            {
                name: lambda x, w=w: torch._weight_int4pack_mm(x, w[0], GROUP, w[1])
                for name, w in packed.items()
            }
        )
    rows = []
    for batch in TEXTS:
        tokens = torch.randint(VOCABULARY, (batch,), device="cuda")
        decoders = {
            name: Decoder(linears, head, batch, TEXT_LENGTH) for name, linears in kinds.items()
        }
        row = timed(
            {"texts": batch, "length": TEXT_LENGTH},
            "torch",
            {name: [lambda d=d, t=tokens: d.step(t)] for name, d in decoders.items()},
        )
        rows.append(row)
        progress(
            f"decoding, {batch} texts: "
            + ", ".join(f"{name} {batch / row[f'{name}_ms'] * 1e3:.0f} tokens/s" for name in kinds)
        )
    return rows


def training() -> list[dict]:
    """Forward and backward of a transformer in bf16, with torch's linear layers and ours, eager and
    compiled. `off`: how far the gradients are from those in fp32, of their size."""
    import copy

    import torch
    from transformer import VOCABULARY, Transformer, step

    from gemm_ladder import replace_linears

    torch.manual_seed(SEED)
    with torch.device("cuda"):
        torchs = Transformer(TRAINED_LAYERS).bfloat16()
    exact = copy.deepcopy(torchs).float()
    ladder = replace_linears(copy.deepcopy(torchs))
    # Compiled once, for all shapes. The analysis fails there (PyTorch 2.11).
    compiled = {"dynamic": True, "options": {"triton.coalesce_tiling_analysis": False}}
    models = {
        "ladder": ladder,
        "torch": torchs,
        "ladder_compiled": torch.compile(ladder, **compiled),
        "compiled": torch.compile(torchs, **compiled),
    }
    rows = []
    for texts, length in TRAINED:
        tokens = torch.randint(VOCABULARY, (texts, length + 1), device="cuda")
        loss, *gradients = step(exact, tokens)
        size = sum(g.square().sum() for g in gradients)
        off = {}
        right = True
        for name, model in models.items():
            got, *found = step(model, tokens)
            pairs = zip(found, gradients, strict=True)
            off[name] = (sum((f - g).square().sum() for f, g in pairs) / size).sqrt().item()
            right &= bool(abs(got - loss) <= loss * 2.0**-8)
        right &= all(off[ours] <= 1.25 * off["torch"] for ours in ("ladder", "ladder_compiled"))
        del gradients, found, pairs
        row = timed(
            {"texts": texts, "length": length, "off": off, "wrong": not right},
            "torch",
            {name: [lambda m=m, t=tokens: step(m, t)] for name, m in models.items()},
        )
        rows.append(row)
        progress(
            f"training, {texts} x {length}, gradients off by {off['ladder']:.4f} and "
            f"{off['torch']:.4f}: "
            + ", ".join(f"{n} {texts * length / row[f'{n}_ms'] * 1e3:.0f} tokens/s" for n in models)
        )
    return rows


def host() -> list[dict]:
    """us a call, of calls that nobody waits for, in turns; the GPU is done before the next call."""
    import torch

    from gemm_ladder import linear, matmul

    rows = []
    for m, n, k in HOST:
        a, b, w = (torch.rand(size, device="cuda").half() for size in ((m, k), (k, n), (n, k)))
        bias, out = torch.rand(n, device="cuda").half(), torch.empty(m, n, device="cuda").half()
        calls = {
            "matmul": lambda a=a, b=b: matmul(a, b),
            "torch.matmul": lambda a=a, b=b: torch.matmul(a, b),
            "matmul, out": lambda a=a, b=b, out=out: matmul(a, b, out=out),
            "torch.matmul, out": lambda a=a, b=b, out=out: torch.matmul(a, b, out=out),
            "linear": lambda a=a, w=w, bias=bias: linear(a, w, bias),
            "torch linear": lambda a=a, w=w, bias=bias: torch.nn.functional.linear(a, w, bias),
        }
        samples: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(HOST_TURNS):
            for name in list(calls)[:: -1 if turn % 2 else 1]:
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(HOST_CALLS):
                    calls[name]()
                samples[name].append((time.perf_counter() - begin) / HOST_CALLS * 1e6)
        row = {"shape": f"{m}x{n}x{k}", "us": {n: statistics.median(s) for n, s in samples.items()}}
        rows.append(row)
        progress(
            f"host, {row['shape']}: " + ", ".join(f"{n} {u:.1f} us" for n, u in row["us"].items())
        )
    return rows


def summary(found: dict) -> str:
    lines = []
    for kind in sorted({row["type"] for row in found.get("products", [])}):
        rows = [row for row in found["products"] if row["type"] == kind]
        mean = statistics.geometric_mean(row["percent"] for row in rows)
        worst = min(rows, key=lambda row: row["percent"])
        lines.append(
            f"{kind}: {mean:.1f} % of torch.matmul in geometric mean of {len(rows)} shapes, worst "
            f"{worst['percent']:.1f} % at {worst['shape']}"
        )
    called = [(f"{row['call']} at any rows", row) for row in found.get("rows", [])]
    called += [(f"gradient of the {row['of']}", row) for row in found.get("gradients", [])]
    for call, kind in sorted({(call, row["type"]) for call, row in called}):
        percents = sorted(
            (row["percent"], row["shape"])
            for name, row in called
            if (name, row["type"]) == (call, kind)
        )
        mean = statistics.geometric_mean(percent for percent, _ in percents)
        below = {limit: sum(percent < limit for percent, _ in percents) for limit in (95, 90)}
        worst = ", ".join(f"{percent:.0f} % at {shape}" for percent, shape in percents[:10])
        lines.append(
            f"{call}, {kind}: {mean:.1f} % of torch's in geometric mean of "
            f"{len(percents)}, {below[95]} below 95 %, {below[90]} below 90 %; worst {worst}"
        )
    bad = [row for part in PARTS for row in found.get(part, []) if row.get("wrong")]
    lines += [f"WRONG: {row}" for row in bad]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write all of it there, as JSON")
    parser.add_argument("--types", nargs="+", choices=("fp16", "bf16"), default=["fp16", "bf16"])
    parser.add_argument("--shapes", type=int, default=100, help="that many of the 100")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        default=PARTS,
    )
    options = parser.parse_args(arguments)
    if not 1 <= options.shapes <= 100:
        raise BadInput("--shapes: from 1 to 100")
    if options.out and not options.out.parent.is_dir():
        raise BadInput(f"{options.out}: there is no folder {options.out.parent}")
    try:
        import torch

        import gemm_ladder  # noqa: F401
    except ImportError as error:
        print(f"bench.py: {error}", file=sys.stderr)
        return 77
    if not torch.cuda.is_available():
        print("bench.py: PyTorch sees no GPU", file=sys.stderr)
        return 77
    torch.set_grad_enabled(False)
    gc.freeze()  # a capture collects garbage: not what is there from the start
    found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    parts = {
        "host": host,
        "fused": lambda: fused(options.types),
        "layers": lambda: layers(options.types),
        "rows": lambda: rows_as_used(options.types),
        "products": lambda: products(options.types, options.shapes),
        "gradients": lambda: gradients(options.types),
        "bmm": lambda: bmm(options.types),
        "to_float": lambda: to_float(options.types),
        "int4": int4,
        "decoding": decoding,
        "training": training,
        "fp8": fp8,
        "int8": int8,
        "tf32": tf32,
        "fp32": fp32,
    }
    for name, part in parts.items():
        if name in options.only:
            found[name] = part()
            if options.out:
                options.out.write_text(as_lines({key: value} for key, value in found.items()))
    print(summary(found))
    return int("WRONG" in summary(found))


if __name__ == "__main__":
    sys.exit(run("bench"))
