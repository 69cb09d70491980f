"""What an mbarrier holds, and the parity that is waited for, round by round."""

import re
from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure

STAGE = sources.stage_of("warp_specialized")
ROUNDS = 3
LEFT, HALF, ROW = 92, 62, 24  # of the drawing of the rounds: where it begins, fill or use, height


def parity(barrier: str, tile: int) -> int:
    """With which the stage waits for this barrier of the tile's buffer."""
    text = sources.header(STAGE)
    expression = re.search(rf"mbarrier_wait_parity\(&s\.{barrier}\[[^]]*\], ([^;]+)\);", text)[1]
    return sources.value(expression, sources.constants(STAGE) | {"t": tile})


def tile_bytes() -> int:
    c = sources.constants(STAGE)
    return (c["BM"] + c["BN"]) * c["BK"] * 2


def draw_states(canvas: Canvas, y: float) -> None:
    states = [
        ("phase 0, parity 0", "arrivals missing: 1", "bytes missing: 0"),
        ("phase 0, parity 0", "arrivals missing: 0", f"bytes missing: {tile_bytes()}"),
        ("phase 1, parity 1", "arrivals missing: 1", "bytes missing: 0"),
    ]
    events = [f"arrive_expect_tx({tile_bytes()})", "all bytes have landed: phase 0 is complete"]
    for number, rows in enumerate(states):
        top = y + number * 70
        canvas.rect(14, top, 452, 30, "d" if number < 2 else "c")
        for x, row in zip((24, 172, 324), rows, strict=True):
            canvas.text(x, top + 20, row, "small")
    for number, event in enumerate(events):
        top = y + number * 70 + 30
        canvas.arrow(60, top + 2, 60, top + 38)
        canvas.text(74, top + 24, event, "label")


def draw_rounds(canvas: Canvas, y: float) -> None:
    """Of buffer 0: what fills and uses it, and the phases of its two barriers."""
    pipe = sources.constants(STAGE)["PIPE"]
    rows = {"producer": y, "full[0]": y + 54, "consumers": y + 108, "empty[0]": y + 162}
    for name, top in rows.items():
        canvas.text(8, top + 17, name, "label bold")
    for turn in range(ROUNDS):
        begin = LEFT + 2 * turn * HALF
        words, kind = f"{turn % 2}", "d" if turn % 2 == 0 else "gray"
        full_from = max(LEFT, begin - HALF)
        canvas.rect(full_from, rows["full[0]"], begin + HALF - full_from, ROW, kind)
        canvas.text(full_from + HALF / 2, rows["full[0]"] + 17, words, "small", "middle")
        canvas.rect(begin, rows["empty[0]"], 2 * HALF, ROW, kind)
        canvas.text(begin + HALF / 2, rows["empty[0]"] + 17, words, "small", "middle")
    last = LEFT + (2 * ROUNDS - 1) * HALF
    canvas.box(last, rows["full[0]"], HALF, ROW, str(ROUNDS % 2), "gray")
    for turn in range(ROUNDS):
        tile, begin = turn * pipe, LEFT + 2 * turn * HALF
        filled, used = begin + HALF, begin + 2 * HALF
        canvas.box(begin, rows["producer"], HALF, ROW, f"fill {tile}", "b")
        canvas.box(filled, rows["consumers"], HALF, ROW, f"use {tile}", "c")
        waits = ((begin, "producer", "empty"), (filled, "consumers", "full"))
        for x, row, barrier in waits:
            canvas.text(x + 6, rows[row] - 6, f"wait({parity(barrier, tile)})", "small bold")
        canvas.arrow(filled, rows["producer"] + ROW, filled, rows["full[0]"])
        canvas.arrow(filled, rows["full[0]"] + ROW, filled, rows["consumers"], "d")
        canvas.arrow(used, rows["consumers"] + ROW, used, rows["empty[0]"])
        if turn < ROUNDS - 1:
            canvas.arrow(used, rows["consumers"], used, rows["producer"] + ROW, "d dash")


def draw() -> Figure:
    c = sources.constants(STAGE)
    canvas = Canvas("mbarrier: a phase, and parities round by round")
    canvas.title()
    canvas.text(8, 46, '"full" of a buffer: a phase ends when nothing is missing', "label")
    draw_states(canvas, 58)
    canvas.text(8, 258, f"buffer 0 of {c['PIPE']}; in the barriers the parity of the phase")
    draw_rounds(canvas, 290)
    y = 500
    rows = [
        "wait(p) passes when the phase of parity p is complete.",
        "The first wait(1) passes at once: the phase before the first",
        "counts as complete.",
    ]
    canvas.lines(8, y, rows, "small")
    return canvas.figure(
        y + 46,
        "A phase of an mbarrier ends when no arrival and no byte is missing, and the next begins; "
        "whoever waits names only the parity of a phase, which alternates from round to round.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"mbarrier": draw}
