"""The tiles of groups that follow each other, and who stores the pieces of one."""

from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure

STAGE = sources.stage_of("grouped")
BOX = sources.constants(STAGE)["BOX"]
ROWS = (200, 0, 300)  # of the groups
COLUMNS = 512
BM, BN, PIECE = 128, 256, 64  # Shared<128, 256>::PIECE
SPACE = (60, 330)  # where the drawings begin


def ends() -> list[int]:
    return [sum(ROWS[: g + 1]) for g in range(len(ROWS))]


def tiles() -> list[tuple[int, int, int, int]]:
    """Group, first row, last row + 1 and first column of each tile, by its number: down the
    columns first, as parts/block_order.cuh does within a band."""
    found = []
    for group, (begin, end) in enumerate(zip([0, *ends()], ends(), strict=False)):
        for n in range(0, COLUMNS, BN):
            for m in range(begin, end, BM):
                found.append((group, m, min(m + BM, end), n))
    return found


def draw_piece(canvas: Canvas, x: float, y: float, wide: float, high: float, own: int) -> None:
    """One of whose rows the group has `own`."""
    if own == PIECE:
        canvas.box(x, y, wide, PIECE * high, "TMA", "a")
        return
    canvas.rect(x, y, wide, own * high, "b")
    canvas.rect(x, y + own * high, wide, (PIECE - own) * high, "gray faint")


def numbered_tiles() -> Figure:
    canvas = Canvas("Tiles of three groups, and the pieces of tile 1")
    canvas.title()
    (left, x), top, high, wide = SPACE, 66, 0.42, 84
    canvas.text(left, 48, "C: two columns of tiles", "label bold")
    for number, (group, m, end, n) in enumerate(tiles()):
        at = left + n // BN * wide, top + m * high
        canvas.box(*at, wide, (end - m) * high, str(number), "c" if group else "a", "label")
    begin = 0
    for group, end in enumerate(ends()):
        words = f"group {group}" if ROWS[group] else f"({group} is empty)"
        canvas.text(left + 2 * wide + 6, top + (begin + end) / 2 * high + 4, words, "small")
        if ROWS[group]:
            canvas.text(left - 6, top + begin * high + 8, str(begin), "small soft", "end")
        begin = end

    _, first, end, _ = tiles()[1]
    tall, across = 0.95, 33
    canvas.text(x, 48, "tile 1, in pieces", "label bold")
    for row0 in range(first, first + BM, PIECE):
        y = top + (row0 - first) * tall
        for column in range(BN // BOX):
            own = min(PIECE, end - row0)
            draw_piece(canvas, x + column * across, y, across, tall, own)
        canvas.text(x - 6, y + 11, str(row0), "small soft", "end")
    y = canvas.lines(
        8,
        top + ends()[-1] * high + 26,
        [
            "Pieces of 64x64 go to C by TMA. Where the group ends in one, the",
            "warps store its rows (orange). Gray: multiplied, and not stored.",
        ],
    )
    return canvas.figure(
        y - 4,
        f"Groups of {ROWS[0]}, {ROWS[1]} and {ROWS[2]} rows, N = {COLUMNS}, tiles of {BM}x{BN}. Of "
        f"the {BM} rows that are multiplied for tile 1, {end - first} are group 0's and stored.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"numbered_tiles": numbered_tiles}
