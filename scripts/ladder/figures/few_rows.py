"""A product with few rows: the blocks of a cluster, which divide one tile's K and add up."""

from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure

STAGE = sources.stage_of("few_rows", "fp16")
BM, SPLIT = 16, 2  # of the tiles of its variants
STEPS = 8  # that are drawn
COLORS = ("a", "b")


def rows_of_unit(unit: int) -> str:
    rows = sources.constants(STAGE)["UNIT"]
    return f"rows {unit * rows} to {(unit + 1) * rows - 1}"


def divided_tile() -> Figure:
    c = sources.constants(STAGE)
    units = BM // c["UNIT"]
    canvas = Canvas("Two blocks of a cluster, and one tile of C")
    canvas.title()
    left, top, step = 8, 68, 25
    canvas.text(left, 46, f"B: {c['BOX']} columns,", "label bold")
    canvas.text(left, 62, f"steps of {c['BK']} rows", "small")
    for t in range(STEPS):
        color = COLORS[t % SPLIT]
        canvas.box(left, top + t * step, 104, step, f"step {t}", color)
    owners = {}
    for rank in range(SPLIT):
        y = top + rank * 110
        canvas.rect(348, y, 124, 90)
        canvas.text(356, y + 18, f"block {rank} owns", "label bold")
        canvas.text(356, y + 35, rows_of_unit(rank), "small")
        for other in range(SPLIT):
            slot = y + 42 + other * 23
            canvas.box(356, slot, 108, 20, f"of block {other}", COLORS[other])
            owners[rank, other] = slot + 10
    for rank in range(SPLIT):
        y, color = top + rank * 110, COLORS[rank]
        canvas.rect(150, y, 124, 90)
        canvas.text(158, y + 18, f"block {rank}", "label bold")
        for unit in range(units):
            at = y + 28 + unit * 30
            canvas.box(158, at, 108, 24, rows_of_unit(unit), color)
            canvas.arrow(266, at + 12, 356, owners[unit % SPLIT, rank], color)
        for t in range(rank, STEPS, SPLIT):
            canvas.line(left + 104, top + (t + 0.5) * step, 150, y + 18 + t * 8, color)
    canvas.lines(
        8,
        top + STEPS * step + 40,
        [
            "Every block has sums for all rows of the tile, over its own steps.",
            "st.async sends them to their owner, which adds the parts.",
        ],
    )
    return canvas.figure(
        top + STEPS * step + 68,
        f"Block 0 (blue) multiplies every second step of {c['BK']} along K, block 1 (orange) the "
        f"others. Of the tile's {BM} rows each block owns {c['UNIT']}: there the sums of both "
        "come together.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"divided_tile": divided_tile}
