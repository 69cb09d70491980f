"""Tables of the operators of PyTorch, from what python/bench.py wrote."""

import re
import statistics

from ladder.docs import sources
from ladder.docs.text import number, table
from ladder.files import at_least_1, is_a, one_line, positive, read_lines
from ladder.project import BadInput
from ladder.rows_beside_torch import ROWS_FILE, beside_torch
from ladder.sweep_shapes import a_shape, sizes

FILE = "docs/results/operator.jsonl"
# A table's lines: up to so many rows.
ROWS = (16, 64, 256, 1024, 4096)
# Calls of the host, and torch's own of each.
CALLS = {
    "matmul": "torch.matmul",
    "matmul, out": "torch.matmul, out",
    "linear": "torch linear",
}
# What decodes, and what a table calls it.
DECODERS = {
    "torch": "torch, bf16",
    "ladder": "`Linear`, bf16",
    "torch_int4": "torch, four bits",
    "ladder_int4": "`LinearInt4`",
}
# What trains, likewise.
TRAINED = {
    "torch": "`nn.Linear`",
    "ladder": "`Linear`",
    "compiled": "`nn.Linear`, compiled",
    "ladder_compiled": "`Linear`, compiled",
}
SLOWEST = 10
NOT_MEASURED = "Not measured."


def layer(value: object) -> bool:
    """a layer, as 16x4096->14336"""
    return is_a(value, str) and re.fullmatch("[0-9]{1,9}x[0-9]{1,9}->[0-9]{1,9}", value) is not None


TYPES = ("fp16", "bf16")
TIMED = {"type": TYPES, "wrong": bool, "ladder_ms": positive, "percent": positive}
LAYER = TIMED | {"shape": layer, "activation": (one_line, None)}
# What python/bench.py writes.
BENCH = {
    "gpu": one_line,
    "torch": one_line,
    "products?": [TIMED | {"shape": a_shape, "by": one_line, "torch_ms": positive}],
    "fused?": [LAYER | {"compiled_ms": positive, "eager_ms": positive}],
    "layers?": [LAYER | {"torch_ms": positive}],
    "gradients?": [
        TIMED | {"shape": a_shape, "of": ("weight", "input"), "torch_ms": positive},
        ...,
    ],
    "bmm?": [
        TIMED
        | {"batch": at_least_1, "shape": a_shape, "b_by": ("rows", "columns"), "by": one_line}
        | {"torch_ms": positive},
        ...,
    ],
    "to_float?": [
        TIMED | {"shape": a_shape, "torch_ms": positive, "rounded_ms": positive},
        ...,
    ],
    "int4?": [
        {"shape": a_shape, "wrong": bool, "kernel": positive, "rounding": positive}
        | dict.fromkeys(("ladder_ms", "torch_ms", "torch_int4_ms", "percent"), positive),
        ...,
    ],
    "decoding?": [
        {"texts": at_least_1, "length": at_least_1, "percent": positive}
        | dict.fromkeys((f"{name}_ms" for name in DECODERS), positive),
        ...,
    ],
    "training?": [
        {"texts": at_least_1, "length": at_least_1, "wrong": bool, "percent": positive}
        | {"off": dict.fromkeys(TRAINED, positive)}
        | dict.fromkeys((f"{name}_ms" for name in TRAINED), positive),
        ...,
    ],
    "fp8?": [
        {
            "shape": a_shape,
            "scales": ("matrices", "rows", "blocks"),
            "fast": bool,
            "wrong": bool,
        }
        | dict.fromkeys(("ladder_ms", "torch_ms", "percent"), positive),
        ...,
    ],
    "int8?": [
        {"shape": a_shape, "to": ("int32", "int8"), "wrong": bool}
        | dict.fromkeys(("ladder_ms", "torch_ms", "percent"), positive),
        ...,
    ],
    "tf32?": [
        {"shape": a_shape, "by": one_line, "wrong": bool}
        | dict.fromkeys(("ladder_ms", "torch_ms", "percent"), positive),
        ...,
    ],
    "fp32?": [
        {"shape": a_shape, "wrong": bool}
        | dict.fromkeys(
            ("ladder_ms", "alone_ms", "torch_ms", "torch_alone_ms", "percent"), positive
        ),
        ...,
    ],
    "host?": [{"shape": a_shape, "us": dict.fromkeys((*CALLS, *CALLS.values()), float)}],
}


def results() -> dict:
    return read_lines(sources.ROOT / FILE, BENCH)


def family(row: dict) -> tuple[int, str]:
    """Its place in the table, and its name there."""
    m, n, k = sizes(row["shape"])
    if m == n == k:
        return 0, "squares"
    if n % 8 == 0 and k % 8 == 0:
        return m, f"{m} row{'s' if m > 1 else ''}"
    if row["by"].startswith("torch's own"):
        return 10**6 + 1, "rows not aligned, torch's own"
    return 10**6, "rows not aligned, on copies"


def mean_of(rows: list[dict], file: str = FILE) -> str:
    if not rows:
        raise BadInput(f"{file} has no shape for a mean")
    return f"{statistics.geometric_mean(row['percent'] for row in rows):.1f}"


def products() -> str:
    """Percent of torch.matmul, of each family of shapes and of all."""
    rows = results()["products"]
    families = [name for _, name in sorted({family(row) for row in rows})]
    of_family = {name: [row for row in rows if family(row)[1] == name] for name in families}
    lines = []
    for name, group in (of_family | {"all": rows}).items():
        by_type = {t: [row for row in group if row["type"] == t] for t in ("fp16", "bf16")}
        worst = min(group, key=lambda row: row["percent"])
        lines.append(
            [
                name,
                str(len({row["shape"] for row in group})),
                *map(mean_of, by_type.values()),
                f"{worst['percent']:.1f} at {worst['shape']}, {worst['type']}",
            ]
        )
    return table(["", "shapes", "fp16, %", "bf16, %", "worst, %"], lines)


def any_rows() -> str:
    """Percent of torch's own at any number of rows, by how many, of linear and of matmul."""
    found = beside_torch(sources.ROOT)
    firsts = [1, *(rows + 1 for rows in ROWS[:-1])]
    lines = []
    for first, last in [*zip(firsts, ROWS, strict=True), (1, ROWS[-1])]:
        group = [row for row in found["rows"] if first <= sizes(row["shape"])[0] <= last]
        line = [f"{first} to {last}"]
        for call in ("linear", "matmul"):
            of_call = [row for row in group if row["call"] == call]
            mean = mean_of(of_call, ROWS_FILE)
            worst = min(of_call, key=lambda row: row["percent"])
            below = sum(row["percent"] < 90 for row in of_call)
            line += [mean, str(below), f"{worst['percent']:.1f} at {worst['shape']}"]
        shapes = {row["shape"] for row in group}
        lines.append([line[0], str(len(shapes)), *line[1:]])
    of = [
        f"`{call}`: {what}"
        for call in ("linear", "matmul")
        for what in ("% of torch", "below 90", "worst, %")
    ]
    gpu = found["gpu"].replace("NVIDIA ", "").split()[0]
    return table(["rows", "shapes", *of], lines) + f"\n\n{gpu}, PyTorch {found['torch']}."


def slowest_rows() -> str:
    """The products of any_rows() at which torch is furthest ahead."""
    lines = []
    for row in sorted(beside_torch(sources.ROOT)["rows"], key=lambda row: row["percent"])[:SLOWEST]:
        times = (number(1e3 * row[f"{name}_ms"]) for name in ("ladder", "torch"))
        call = f"`{row['call']}`"
        lines.append([row["shape"], row["type"], call, *times, f"{row['percent']:.1f}"])
    return table(["M x N x K", "type", "call", "us", "torch, us", "%"], lines)


def fused() -> str:
    lines = []
    for row in results()["fused"]:
        times = (number(1e3 * row[f"{name}_ms"]) for name in ("ladder", "compiled", "eager"))
        percent = f"{row['percent']:.1f}"
        lines.append([row["shape"], row["type"], f"`{row['activation']}`", *times, percent])
    head = ["", "type", "activation", "us", "compiled, us", "eager, us", "% of compiled"]
    return table(head, lines)


def layers() -> str:
    """Percent of torch's own of each linear layer, by the number of rows."""
    by_layer: dict[tuple, dict[int, float]] = {}
    for row in results()["layers"]:
        m, layer = row["shape"].split("x", 1)
        behind = f"`{row['activation']}`" if row["activation"] else "none"
        by_layer.setdefault((layer, row["type"], behind), {})[int(m)] = row["percent"]
    rows = sorted({m for percents in by_layer.values() for m in percents})
    lines = [
        [*layer, *(f"{percents[m]:.0f}" if m in percents else "" for m in rows)]
        for layer, percents in by_layer.items()
    ]
    head = ["K->N", "type", "activation", *(f"{m} row{'s' if m > 1 else ''}, %" for m in rows)]
    return table(head, lines)


def int4() -> str:
    """Products by weights of four bits beside torch's of four and of 16 bits."""
    lines = []
    for row in results()["int4"]:
        ms = {name: row[f"{name}_ms"] for name in ("ladder", "torch_int4", "torch")}
        faster = (f"{ms[name] / ms['ladder']:.1f}" for name in ("torch_int4", "torch"))
        lines.append([row["shape"], *(number(1e3 * value) for value in ms.values()), *faster])
    head = ["us", "torch, four bits, us", "torch, bf16, us", "torch / us, four bits", "bf16"]
    return table(["M x N x K", *head], lines)


def fp8() -> str:
    """Numbers of eight bits beside torch's."""
    lines = []
    for row in results()["fp8"]:
        times = (number(1e3 * row[f"{name}_ms"]) for name in ("ladder", "torch"))
        scales = {"matrices": "per matrix", "rows": "per row", "blocks": "per block"}[row["scales"]]
        lines.append([row["shape"], scales, str(row["fast"]), *times, f"{row['percent']:.1f}"])
    return table(["M x N x K", "scales", "`use_fast_accum`", "us", "torch, us", "%"], lines)


def shapes_beside_torch(part: str, column: str, values: str) -> str:
    lines = []
    for row in results().get(part, []):
        times = (number(1e3 * row[f"{name}_ms"]) for name in ("ladder", "torch"))
        lines.append([row["shape"], row[values], *times, f"{row['percent']:.1f}"])
    return table(["M x N x K", column, "us", "torch, us", "%"], lines) if lines else NOT_MEASURED


def int8() -> str:
    """Products of int8 beside torch's."""
    return shapes_beside_torch("int8", "result", "to")


def tf32() -> str:
    """Linear layers in TF32 beside torch's."""
    return shapes_beside_torch("tf32", "`explain`", "by")


def decoding() -> str:
    lines = []
    for row in results()["decoding"]:
        rates = (1e3 * row["texts"] / row[f"{name}_ms"] for name in DECODERS)
        lines.append([str(row["texts"]), *(f"{rate:.0f}" for rate in rates)])
    return table(["texts", *DECODERS.values()], lines)


def bmm() -> str:
    """Batches beside torch's."""
    lines = []
    for row in results().get("bmm", []):
        launches = "1" if row["by"].endswith("in one launch") else str(row["batch"])
        times = (number(1e3 * row[f"{name}_ms"]) for name in ("ladder", "torch"))
        kind = [row["type"], row["b_by"], launches]
        lines.append([str(row["batch"]), row["shape"], *kind, *times, f"{row['percent']:.1f}"])
    head = ["products", "M x N x K", "type", "`b` by", "launches", "us", "torch, us", "%"]
    return table(head, lines) if lines else NOT_MEASURED


def to_float() -> str:
    """Results in fp32 beside torch's, and beside ours of 16 bits."""
    lines = []
    for row in results().get("to_float", []):
        times = (number(1e3 * row[f"{name}_ms"]) for name in ("ladder", "torch", "rounded"))
        lines.append([row["shape"], row["type"], *times, f"{row['percent']:.1f}"])
    head = ["M x N x K", "type", "us", "torch, us", "result of 16 bits, us", "%"]
    return table(head, lines) if lines else NOT_MEASURED


def gradients() -> str:
    """Percent of torch's own of both gradients of linear layers, by the number of tokens."""
    by_tokens: dict[int, dict[str, list[dict]]] = {}
    for row in results().get("gradients", []):
        m, _, k = sizes(row["shape"])
        tokens = k if row["of"] == "weight" else m
        by_tokens.setdefault(tokens, {"weight": [], "input": []})[row["of"]].append(row)
    lines = []
    for tokens, by_kind in sorted(by_tokens.items()):
        line = [f"{tokens:,}"]
        for rows in by_kind.values():
            mean = mean_of(rows)
            worst = min(rows, key=lambda row: row["percent"])
            line += [mean, f"{worst['percent']:.0f} at {worst['shape']}, {worst['type']}"]
        lines.append(line)
    head = ["tokens", "of the weight, %", "worst, %", "of the input, %", "worst, %"]
    return table(head, lines) if lines else NOT_MEASURED


def training() -> str:
    """Tokens per second of a transformer that trains."""
    lines = []
    for row in results().get("training", []):
        tokens = row["texts"] * row["length"]
        rates = (f"{1e3 * tokens / row[f'{name}_ms']:,.0f}" for name in TRAINED)
        lines.append([f"{row['texts']} x {row['length']}", *rates])
    return table(["texts x tokens", *TRAINED.values()], lines) if lines else NOT_MEASURED


def host() -> str:
    lines = []
    for row in results()["host"]:
        us = {name: f"{value:.1f}" for name, value in row["us"].items()}
        for call, theirs in CALLS.items():
            lines.append([row["shape"], call, us[call], us[theirs]])
    return table(["", "call", "us of the host", "torch's own"], lines)


def versions() -> str:
    found = results()
    return f"{found['gpu'].replace('NVIDIA ', '')}, PyTorch {found['torch']}."


TABLES = {
    "products": products,
    "rows": any_rows,
    "slowest": slowest_rows,
    "fused": fused,
    "layers": layers,
    "gradients": gradients,
    "bmm": bmm,
    "to_float": to_float,
    "int4": int4,
    "fp8": fp8,
    "int8": int8,
    "tf32": tf32,
    "decoding": decoding,
    "training": training,
    "host": host,
    "versions": versions,
}


def block(what: str) -> str:
    if what not in TABLES:
        raise BadInput(f"operator {what}: there are {', '.join(TABLES)}")
    return TABLES[what]()
