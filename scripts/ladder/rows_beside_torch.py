"""What python/bench.py --only rows wrote: linear and matmul at any number of rows, beside torch."""

from pathlib import Path

from ladder.files import one_line, positive, read_lines
from ladder.project import ROOT
from ladder.sweep_shapes import a_shape

ROWS_FILE = "docs/results/h200/rows.jsonl"
CALLS = ("linear", "matmul")
OF_ROWS = {
    "gpu": one_line,
    "torch": one_line,
    "rows": [
        {
            "type": ("fp16", "bf16"),
            "shape": a_shape,
            "call": CALLS,
            "wrong": bool,
            "ladder_ms": positive,
            "torch_ms": positive,
            "percent": positive,
        },
        ...,
    ],
}


def beside_torch(root: Path = ROOT) -> dict:
    """Raises BadInput."""
    return read_lines(root / ROWS_FILE, OF_ROWS)
