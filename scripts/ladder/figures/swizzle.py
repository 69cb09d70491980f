"""Eight rows of eight 16-byte chunks, before and after the swizzle."""

import re
from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure
from ladder.files import read_text

SIDE = 8  # rows, and chunks a row
CHUNK = 8  # halves: 16 bytes, four banks
CELL = 24
READ = 0  # the chunk that ldmatrix reads of all rows
ROW, COLUMN = 5, 3  # the worked example


def place(row: int, chunk: int) -> int:
    """Where kernels/parts/swizzle.cuh puts a chunk of a row."""
    text = read_text(sources.KERNELS / "parts/swizzle.cuh")
    formula = re.search(r"int swizzled\(int row, int col\) \{\s*return ([^;]+);", text)[1]
    return sources.value(formula, {"row": row, "col": chunk * CHUNK}) // CHUNK


def unchanged(row: int, chunk: int) -> int:
    return chunk


def wavefronts(where: Callable[[int, int], int], chunk: int) -> int:
    """To read a chunk of all rows: as many as the fullest group of four banks has of them."""
    groups = [where(row, chunk) for row in range(SIDE)]
    return max(groups.count(group) for group in groups)


def draw_grid(canvas: Canvas, x: float, y: float, where: Callable[[int, int], int]) -> None:
    taken = "c strong" if wavefronts(where, READ) == 1 else "hot strong"
    for group in range(SIDE):
        middle = x + (group + 0.5) * CELL
        canvas.text(middle, y - 6, str(4 * group), "small soft", "middle")
    for row in range(SIDE):
        canvas.text(x - 6, y + row * CELL + 17, str(row), "small soft", "end")
        for chunk in range(SIDE):
            left, top = x + where(row, chunk) * CELL, y + row * CELL
            font = "small on bold" if chunk == READ else "small"
            kind = taken if chunk == READ else "gray faint"
            canvas.box(left, top, CELL, CELL, str(chunk), kind, font)
    canvas.rect(x + where(ROW, COLUMN) * CELL, y + ROW * CELL, CELL, CELL, "empty thick")


def draw() -> Figure:
    canvas = Canvas("The swizzle: 8 rows of 8 chunks, 16 bytes each")
    canvas.title()
    top = 88
    for x, name, where in ((32, "stored as it is", unchanged), (276, "swizzled", place)):
        canvas.text(x, 48, name, "label bold")
        canvas.text(x, 65, "first bank of a column:", "small soft")
        draw_grid(canvas, x, top, where)
        count = wavefronts(where, READ)
        words = f"chunk {READ} of 8 rows: {count} wavefront{'s' * (count > 1)}"
        canvas.text(x - 18, top + SIDE * CELL + 20, words)
    bits = [f"{n:03b}" for n in (COLUMN, ROW, COLUMN ^ ROW)]
    y = top + SIDE * CELL + 48
    canvas.text(
        14, y, f"row {ROW}, chunk {COLUMN}: {COLUMN} XOR {ROW} = {place(ROW, COLUMN)}", "label"
    )
    canvas.text(250, y, f"in bits: {bits[0]} XOR {bits[1]} = {bits[2]}")
    canvas.text(14, y + 20, "A number in a cell is the chunk that is stored there.", "small soft")
    return canvas.figure(
        y + 32,
        "What ldmatrix reads at once is one chunk of eight rows: stored as it is, all eight lie in "
        "the same four banks (red); with the chunk's number XORed with the row's they lie in all "
        "32 (green).",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"swizzle_8x8": draw}
