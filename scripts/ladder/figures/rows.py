"""The operator beside torch's own at any number of rows, shape by shape."""

import statistics

from ladder.figures.svg import Canvas, Figure
from ladder.rows_beside_torch import CALLS, beside_torch
from ladder.sweep_shapes import sizes

LEFT, RIGHT, HIGH = 92, 472, 15  # where cells begin and end, and how high one is
# From so many percent on a cell has this colour, and the key these words.
COLOURS = (
    (110, "c strong bare", "110 or more"),
    (102, "c bare", "102 to 110"),
    (98, "gray bare", "98 to 102"),
    (90, "hot bare", "90 to 98"),
    (0, "hot strong bare", "less"),
)
ROWS_SHOWN = (1, 5, 17, 67, 227, 787, 2683)  # below the cells; all have no room


def colour(percent: float) -> str:
    return next(kind for least, kind, _ in COLOURS if percent >= least)


def over_rows() -> Figure:
    found = beside_torch()
    percents: dict[tuple, list[float]] = {}  # of both types
    for row in found["rows"]:
        percents.setdefault((row["call"], row["shape"]), []).append(row["percent"])
    shapes = sorted({sizes(row["shape"]) for row in found["rows"]})
    counts = sorted({m for m, _, _ in shapes})
    weights = sorted({(n, k) for _, n, k in shapes}, key=lambda weight: weight[0] * weight[1])
    wide = (RIGHT - LEFT) / len(counts)
    gpu = found["gpu"].replace("NVIDIA ", "").split()[0]
    canvas = Canvas(f"The operator at any number of rows, {gpu}")
    canvas.title()
    canvas.text(8, 42, "% of torch's speed; down: N x K of the weight, across: rows", "small soft")
    for place, (_, kind, words) in enumerate(COLOURS):
        canvas.rect(8 + 104 * place, 54, 12, 12, kind)
        canvas.text(25 + 104 * place, 65, words, "small soft")
    y = 76.0
    for call in CALLS:
        canvas.text(LEFT - 6, y + 13, call, "label", "end")
        y += 18
        for n, k in weights:
            canvas.text(LEFT - 6, y + 12, f"{n}x{k}", "small soft", "end")
            for place, m in enumerate(counts):
                if of := percents.get((call, f"{m}x{n}x{k}")):
                    percent = statistics.geometric_mean(of)
                    where = (LEFT + place * wide, y, wide - 1, HIGH - 1)
                    canvas.rect(*where, colour(percent), f"{call}, {m}x{n}x{k}: {percent:.0f}%")
            y += HIGH
        for m in ROWS_SHOWN:
            x = LEFT + (counts.index(m) + 0.5) * wide
            canvas.text(x, y + 13, str(m), "small soft", "middle")
        y += 20
    means = (
        statistics.geometric_mean(row["percent"] for row in found["rows"] if row["call"] == call)
        for call in CALLS
    )
    words = " and ".join(f"{mean:.1f} of {call}" for mean, call in zip(means, CALLS, strict=True))
    return canvas.figure(
        y + 8,
        f"{len(shapes)} shapes, eight weights of public models at twenty numbers of rows, each in "
        f"fp16 and bf16. The geometric means are {words}.",
    )


FIGURES = {"rows": over_rows}
