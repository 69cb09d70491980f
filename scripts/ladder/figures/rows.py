"""The operator beside torch's own at any number of rows, shape by shape."""

import math
import statistics

from ladder.figures.svg import Canvas, Figure
from ladder.figures.sweep import HEIGHT, LEFT, RIGHT, TOP, beyond, level, percent_axis
from ladder.rows_beside_torch import CALLS, beside_torch
from ladder.sweep_shapes import sizes

COLORS = dict(zip(CALLS, ("a", "b"), strict=True))


def over_rows() -> Figure:
    found = beside_torch()
    gpu = found["gpu"].replace("NVIDIA ", "").split()[0]
    canvas = Canvas(f"The operator at any number of rows, {gpu}")
    percent_axis(canvas, "% of torch's speed, over rows")
    most = max(sizes(row["shape"])[0] for row in found["rows"])
    step = (RIGHT - LEFT - 12) / math.log2(most)

    def place(rows: int) -> float:
        return LEFT + 6 + math.log2(rows) * step

    for power in range(0, math.floor(math.log2(most)) + 1, 2):
        canvas.text(place(2**power), TOP + HEIGHT + 17, str(2**power), "small soft", "middle")
    for row in found["rows"]:
        x = place(sizes(row["shape"])[0]) + (-2 if row["call"] == CALLS[0] else 2)
        canvas.circle(x, level(row["percent"]), 2.5, f"{COLORS[row['call']]} thin")
    for call, color in COLORS.items():
        x = LEFT + 140 * CALLS.index(call)
        canvas.circle(x + 4, TOP + HEIGHT + 34, 3, color)
        canvas.text(x + 12, TOP + HEIGHT + 38, call, "small")
    shapes = {row["shape"] for row in found["rows"]}
    means = (
        statistics.geometric_mean(r["percent"] for r in found["rows"] if r["call"] == call)
        for call in CALLS
    )
    words = " and ".join(f"{mean:.1f} of {call}" for mean, call in zip(means, CALLS, strict=True))
    return canvas.figure(
        TOP + HEIGHT + 50,
        f"{len(shapes)} shapes, eight weights of public models at twenty numbers of rows"
        f"{beyond(row['percent'] for row in found['rows'])}. The "
        f"geometric means are {words}.",
    )


FIGURES = {"rows": over_rows}
