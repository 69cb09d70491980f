"""A tile of an operand in shared memory: its rows along K, or along M or N."""

from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure

STAGE = sources.stage_of("layouts")
COLUMNS = 256  # of B, in the tile that is drawn
ELEMENT = 2  # bytes
ROW, HIGH = 128, 0.85  # units: a row of 128 bytes is as wide, and as high


def two_forms() -> Figure:
    c = sources.constants(STAGE)
    box, bk, step = c["BOX"], c["BK"], c["MMA_K"]
    boxes = COLUMNS // box
    canvas = Canvas(f"{COLUMNS} columns of B by {bk} of K")
    canvas.title()
    left, right, top = 64, 262, 92
    high = COLUMNS * HIGH
    canvas.text(left, 48, "rows along K", "label bold")
    canvas.text(left, 64, "B by columns: one box", "small")
    canvas.text(left, 84, f"k = 0 .. {bk - 1}", "small soft")
    canvas.rect(left, top, ROW, high, "a faint")
    canvas.rect(left, top, ROW * step / bk, high, "b")
    for n in range(0, COLUMNS, box):
        canvas.text(left - 6, top + n * HIGH + 12, f"n = {n}", "small soft", "end")

    canvas.text(right, 48, "rows along N", "label bold")
    canvas.text(right, 64, f"B by rows: {boxes} boxes", "small")
    canvas.text(right, 84, f"{box} columns each", "small soft")
    for j in range(boxes):
        y = top + j * bk * HIGH
        canvas.rect(right, y, ROW, bk * HIGH, "a faint")
        canvas.rect(right, y, ROW, step * HIGH, "b")
        canvas.text(right - 6, y + 12, "k = 0", "small soft", "end")
        canvas.text(right - 6, y + bk * HIGH - 4, f"k = {bk - 1}", "small soft", "end")
        canvas.text(right + ROW + 6, y + 22, f"n = {j * box}", "small soft")
        canvas.text(right + ROW + 6, y + 38, f"to {(j + 1) * box - 1}", "small soft")
    y = canvas.lines(
        8,
        top + high + 24,
        [
            f"Orange: a k step, {step} of K. On the left the next one begins",
            f"{step * ELEMENT} bytes further, on the right {step} rows, "
            f"{step * box * ELEMENT:,} bytes.",
        ],
    )
    return canvas.figure(
        y - 4,
        "Both tiles are 256 rows of 128 bytes, as they came from global memory. A k step is a "
        "strip of all rows in one, and some rows of each box in the other.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"two_forms": two_forms}
