"""Which lane holds which elements, of mma.sync and of wgmma."""

import re
from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure
from ladder.files import read_text

SHOWN = 5  # the lane that is marked
WARPGROUP_WARPS = 4


def table() -> tuple[list[list[str]], list[list[str]]]:
    """The figure in the stage's header, which tests/fragments_test.cu draws again from what
    lanes hold: lane.register of each pair of neighbours, by row of A or C and pair, and by column
    of B and pair."""
    text = read_text(sources.KERNELS / f"{sources.stage_of('mma_sync')}.cuh")
    rows = re.findall(r"^// +\d+ \|([ .\d]+) \|([ .\d]+)$", text, re.M)
    return [left.split() for left, _ in rows], [right.split() for _, right in rows]


CELL_W, CELL_H = 27, 17


def draw_cell(canvas: Canvas, x, y, width, place: str, kind: str) -> None:
    lane, register = (int(part) for part in place.split("."))
    if lane == SHOWN:
        canvas.rect(x, y, width, CELL_H, f"{kind} strong thin")
    else:
        canvas.rect(x, y, width, CELL_H, f"{kind} thin" + (" faint" if register % 2 == 0 else ""))
    font = "small on bold" if lane == SHOWN else "small"
    canvas.text(x + width / 2, y + 13, str(lane), font, "middle")


def mma() -> Figure:
    in_a, in_b = table()
    canvas = Canvas("mma.sync: which lane holds what")
    canvas.title()
    ax, cx, by = 10, 250, 56
    cy = by + 8 * CELL_H + 34
    for row, places in enumerate(in_a):
        for pair, place in enumerate(places):
            draw_cell(canvas, ax + pair * CELL_W, cy + row * CELL_H, CELL_W, place, "a")
        for pair, place in enumerate(places[:4]):  # C's 8 columns lie as A's first 8
            draw_cell(canvas, cx + pair * 2 * CELL_W, cy + row * CELL_H, 2 * CELL_W, place, "c")
    for column, places in enumerate(in_b[:8]):
        for pair, place in enumerate(places):
            draw_cell(canvas, cx + column * CELL_W, by + pair * CELL_H, CELL_W, place, "b")
    canvas.lines(
        ax,
        60,
        [
            "The numbers are lanes;",
            f"solid: lane {SHOWN}.",
            "A cell is two neighbours:",
            "of A and B along k, in one",
            "register of two halves; of",
            "C along n, two floats.",
            "Light: registers 0 and 2.",
        ],
        "small",
    )
    canvas.text(ax, cy - 8, "A: 16 rows, 16 deep", "label bold")
    canvas.text(cx, by - 8, "B: 16 deep, 8 columns", "label bold")
    canvas.text(cx, cy - 8, "C: 16x8", "label bold")
    y = cy + 16 * CELL_H + 18
    canvas.text(ax + 54, y, "reg. 0, 1", "small", "middle")
    canvas.text(ax + 162, y, "reg. 2, 3", "small", "middle")
    canvas.text(cx + 108, y, "floats 0 to 3", "small", "middle")
    return canvas.figure(
        y + 12,
        f"One mma.sync multiplies 16x16 by 16x8. Four lanes share a row of A and of C, and a "
        f"column of B: lane {SHOWN} has four registers of A, two of B and four floats of C.",
    )


def accumulator(lane: int, h: int, j: int) -> tuple[int, int, int]:
    """Row and column in a warp's 16 rows, and the number in acc, of the first of two neighbours:
    as kernels/parts/store_halves.cuh stages them."""
    text = re.sub(r"//[^\n]*", "", read_text(sources.KERNELS / "parts/store_halves.cuh"))
    known = {"row0": 0, "col0": j * 8, "h": h, "lane": lane}
    row, column = (sources.evaluated(text, name, known) for name in ("row", "col"))
    return row, column, j * 4 + h * 2


def wgmma() -> Figure:
    c = sources.constants(sources.stage_of("wgmma"))
    canvas = Canvas("wgmma: which lane holds what of C")
    canvas.title()
    x, y, unit = 92, 44, 368 / c["BN"]
    band = c["MMA_M"] // WARPGROUP_WARPS
    for warp in range(WARPGROUP_WARPS):
        top = y + warp * 26
        canvas.rect(x, top, c["BN"] * unit, 26, "c" if warp % 2 else "c faint")
        canvas.text(8, top + 18, f"warp {warp}", "label bold")
        words = f"rows {warp * band} to {warp * band + band - 1}, columns 0 to {c['BN'] - 1}"
        canvas.text(x + 60, top + 18, words, "small")
    canvas.rect(x, y, 16 * unit, 26, "empty thick")
    left, top, width = 34, y + 4 * 26 + 62, 54
    canvas.line(x, y + 4 * 26, left, top, "thin dash")
    canvas.line(x + 16 * unit, y + 4 * 26, left + 8 * width, top, "thin dash")
    for j in (0, 1):
        middle = left + (j * 4 + 2) * width
        first = accumulator(0, 0, j)[2]
        canvas.text(middle, top - 8, f"acc[{first}] to acc[{first + 3}]", "label", "middle")
        for h in (0, 1):
            for lane in range(32):
                row, column, number = accumulator(lane, h, j)
                cell = left + column / 2 * width, top + row * CELL_H
                shown = lane == SHOWN
                kind = "c strong" if shown else "c faint" if h == 0 else "c"
                canvas.rect(*cell, width, CELL_H, f"{kind} thin")
                words = f"{lane}: {number},{number + 1}" if shown else str(lane)
                font = "small on bold" if shown else "small"
                canvas.text(cell[0] + width / 2, cell[1] + 13, words, font, "middle")
    for row in range(16):
        canvas.text(left - 6, top + row * CELL_H + 13, str(row), "small soft", "end")
    y = top + 16 * CELL_H + 20
    canvas.text(
        8,
        y,
        f"A cell is two neighbours of a row; solid: lane {SHOWN} of warp 0, and which",
        "small",
    )
    canvas.text(8, y + 17, "of its accumulators they are. A and B lie in shared memory.", "small")
    return canvas.figure(
        y + 28,
        f"Each of the four warps has 16 of the {c['MMA_M']} rows, divided among its lanes as by "
        f"{c['BN'] // 8} mma.syncs side by side: a lane has {c['BN'] // 2} numbers of C, and "
        "nothing of A and B.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"fragments_mma": mma, "fragments_wgmma": wgmma}
