"""A sweep over shapes: what the last stage takes beside the fastest library, shape by shape."""

import math
from collections.abc import Iterable
from pathlib import Path

from ladder.figures.svg import Canvas, Figure
from ladder.project import BadInput
from ladder.sweep_records import (
    SWEEP,
    Row,
    geometric_mean,
    gpu_of,
    merge,
    read_lines,
    rows_of,
    short,
    stages_of,
    worst,
)
from ladder.sweep_shapes import model_shapes, sizes

LEFT, RIGHT, TOP, HEIGHT = 44, 464, 62, 250
LEAST, MOST = 50, 200  # percent
LINES = (50, 75, 90, 100, 125, 150, 200)
# Kinds of shapes, each in a colour.
KINDS = {
    "few": ("a", "up to 128 rows"),
    "odd": ("b", "rows off 16 bytes"),
    "other": ("c", "others"),
}


def kind_of(shape: str) -> str:
    m, n, k = sizes(shape)
    if n % 8 or k % 8:
        return "odd"
    return "few" if m <= 128 else "other"


def level(percent: float) -> float:
    """The y; as far up for twice as fast as down for half as fast."""
    clamped = min(max(percent, LEAST), MOST)
    part = math.log(clamped / LEAST) / math.log(MOST / LEAST)
    return TOP + HEIGHT * (1 - part)


def beyond(percents: Iterable[float]) -> str:
    """For a caption: how many are drawn at the edge instead of where they are."""
    count = sum(not LEAST <= percent <= MOST for percent in percents)
    return f"; {count} beyond {LEAST} and {MOST} drawn at the edge" if count else ""


def percent_of_best(rows: list[Row], gpu: str) -> Figure:
    stages = stages_of(rows)
    if not stages:
        raise BadInput("there are no results of a stage")
    stage = stages[-1]
    there = [r for r in rows if stage in r.stages]
    canvas = Canvas(f"{stage} over shapes, {gpu}")
    canvas.title()
    canvas.text(8, 42, "% of the fastest library, over M N K", "small soft")
    for percent in LINES:
        y = level(percent)
        canvas.line(LEFT, y, RIGHT, y, "thick dash" if percent == 100 else "thin")
        canvas.text(LEFT - 6, y + 4, str(percent), "small soft", "end")
    volumes = [math.prod(sizes(r.shape)) for r in there]
    first, last = math.log10(min(volumes)), math.log10(max(volumes))
    step = (RIGHT - LEFT - 8) / max(last - first, 1e-9)

    def place(volume: float) -> float:
        return LEFT + 4 + (math.log10(volume) - first) * step

    for power in range(math.ceil(first), math.floor(last) + 1):
        if power % 2 == 0:
            x = place(10**power)
            canvas.text(x, TOP + HEIGHT + 17, f"1e{power}", "small soft", "middle")
    models = model_shapes()
    for kind, (color, words) in KINDS.items():
        with canvas.kind(words):
            for row, volume in zip(there, volumes, strict=True):
                if kind_of(row.shape) == kind:
                    percent = row.percent_of_best(stage)
                    where = (place(volume), level(percent), 3 if row.shape in models else 2)
                    canvas.circle(*where, f"{color} thin", f"{short(row.shape)}: {percent:.1f}%")
    x = float(LEFT)
    for color, words in KINDS.values():
        canvas.circle(x + 4, TOP + HEIGHT + 34, 3, color)
        canvas.text(x + 12, TOP + HEIGHT + 38, words, "small")
        x += 140
    mean = geometric_mean(r.percent_of_best(stage) for r in there)
    low = worst(there, stage, 1)[0]
    edge = beyond(r.percent_of_best(stage) for r in there)
    return canvas.figure(
        TOP + HEIGHT + 50,
        f"{len(there)} shapes, the larger dots projections of language models; 100 is the fastest "
        f"of cuBLAS, cublasLt and CUTLASS at that shape{edge}. The geometric mean is {mean:.1f}, "
        f"the lowest {low.percent_of_best(stage):.1f} at {short(low.shape)}.",
    )


def of_results(results: Path) -> Figure:
    lines = read_lines(results / SWEEP)
    return percent_of_best(rows_of(merge(lines, "fp16").values()), gpu_of(lines))
