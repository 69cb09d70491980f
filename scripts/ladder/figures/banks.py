"""Requests of different widths to the banks of shared memory, and the banks of registers."""

import re
from collections.abc import Callable

from ladder import access_figure
from ladder.figures import access, sources
from ladder.figures.svg import Canvas, Figure
from ladder.files import read_text

BANKS = LANES = 32
BANK, LEFT, ROW = 14, 16, 22


def request(size: int, step: int = 1) -> dict:
    """As the CPU device reports one: neighbouring lanes, of which `step` ask for the same."""
    return {"bytes": size, "sample": [size * (lane // step) for lane in range(LANES)]}


def groups(wavefront: dict[int, list[int]], words: int) -> list[tuple[int, list[int]]]:
    """First bank and lanes of each address that is served."""
    return [(bank, lanes) for bank, lanes in sorted(wavefront.items()) if bank % words == 0]


REQUESTS = [
    ("4 bytes a lane", 4, 1),
    ("8 bytes a lane", 8, 1),
    ("16 bytes a lane", 16, 1),
    ("16 bytes, two lanes at each address", 16, 2),
]


def widths() -> Figure:
    canvas = Canvas("A warp's requests to 32 banks, by width")
    canvas.title()
    canvas.text(LEFT, 46, "bank 0", "small soft")
    canvas.text(LEFT + BANKS * BANK, 46, "bank 31", "small soft", "end")
    y = 52
    for name, size, step in REQUESTS:
        rows = access_figure.wavefronts(request(size, step))
        count = f"{len(rows)} wavefront{'s' * (len(rows) > 1)}"
        canvas.text(LEFT, y + 16, name, "label bold")
        canvas.text(LEFT + BANKS * BANK, y + 16, count, "label bold", "end")
        y += 22
        for row in rows:
            for place, (bank, lanes) in enumerate(groups(row, size // 4)):
                kind = "a" if place % 2 else "a faint"
                x, width = LEFT + bank * BANK, size // 4 * BANK
                canvas.rect(x, y, width, ROW, f"{kind} thin")
                if size > 4 or place in (0, 10, 20, 31):
                    words = str(lanes[0]) if step == 1 else f"{lanes[0]}, {lanes[-1]}"
                    canvas.text(x + width / 2, y + 16, words, "small", "middle")
            y += ROW + 3
        y += 12
    return canvas.figure(
        y,
        "In a box are the lanes whose words these banks give; a row is a wavefront, 128 bytes. 8 "
        "bytes a lane go in halves of a warp and 16 in quarters, unless pairs of lanes ask for the "
        "same.",
    )


def column(pitch: int) -> dict:
    """Lane l reads one float, s[l][0], of rows of `pitch` floats."""
    return {"bytes": 4, "sample": [4 * pitch * lane for lane in range(LANES)]}


def read_down() -> Figure:
    canvas = Canvas("sB[l][0], read by 32 lanes: 32 wavefronts")
    canvas.title()
    canvas.text(8, 46, "4 bytes per lane; a row is a wavefront over 32 banks")
    line = {**column(32), "ideal_wavefronts": 1}
    y = access.draw_wavefronts(canvas, 60, line)
    return canvas.figure(
        y + 12,
        "Every word lies in bank 0, the column at the left. Blue is the one wavefront that the 128 "
        "bytes need, red are the 31 others.",
    )


def parity_of_acc(j: int) -> int:
    """Of the register of acc[i][j] that ptxas chooses so that the quads in which C is stored are
    consecutive registers: place p of a quad holds element order[p]."""
    text = read_text(sources.KERNELS / "parts/store_through_shared.cuh")
    quad = re.search(r"make_float4\(row\[(.*?)\]\)", text)[1].split("], row[")
    order = [sources.value(index, {"j": 0}) for index in quad]
    return order.index(j % 4) % 2


def column_of(i: int, step: int) -> int:
    """The column of acc with which FMA `step` of row i goes on."""
    order = re.search(r"const int j = (.*? : step);", sources.header(sources.stage_of("cp_async")))[
        1
    ]
    return sources.value(order, {"i": i, "step": step, "TN": 8})


def draw_parities(canvas: Canvas, x: float, y: float, parities: list[int]) -> None:
    cell = 20
    rows = (("b", [j % 2 for j in range(8)]), ("acc", parities))
    for row, (name, banks) in enumerate(rows):
        top = y + row * 26
        canvas.text(x + 28, top + 16, name, "small", "end")
        for j, bank in enumerate(banks):
            kind = "b" if bank else "a"
            canvas.box(x + 34 + j * cell, top, cell, 22, str(j), kind)
    canvas.text(x + 30, y + 68, "clk", "small", "end")
    for j in range(8):
        clocks = 2 if parities[j] == j % 2 else 1
        kind = "small bold hot" if clocks == 2 else "small bold"
        canvas.text(x + 34 + (j + 0.5) * cell, y + 68, str(clocks), kind, "middle")


def registers() -> Figure:
    canvas = Canvas("Register banks: acc[i][j] += a[i] * b[j]")
    canvas.title()
    canvas.text(8, 48, "Blue: even register, bank 0; orange: odd, bank 1.")
    canvas.text(8, 66, "a[i] is kept. clk: what one FFMA needs for itself.")
    canvas.text(20, 98, "as the quads of C come", "label bold")
    canvas.text(262, 98, "swapped (1, 0, 3, 2)", "label bold")
    for x, parities in (
        (0, [j % 2 for j in range(8)]),
        (256, [parity_of_acc(j) for j in range(8)]),
    ):
        draw_parities(canvas, x, 108, parities)
    canvas.text(8, 212, "There and back: the order of FMAs in acc", "label bold")
    left, top, cell = 60, 224, 46
    for i in (0, 1):
        y = top + i * 46
        canvas.text(left - 8, y + 21, f"a[{i}]", "label", "end")
        for step in range(8):
            j = column_of(i, step)
            x = left + j * cell
            kind = "c strong" if (i, step) in ((0, 7), (1, 0)) else "c"
            font = "small on bold" if kind == "c strong" else "small"
            canvas.box(x, y, cell, 32, f"b[{j}]", kind, font)
        start, end = (left + column_of(i, step) * cell + cell / 2 for step in (0, 7))
        canvas.arrow(start, y + 39, end, y + 39)
    turn = left + column_of(1, 0) * cell + cell / 2
    canvas.arrow(turn + 14, top + 32, turn + 14, top + 46)
    canvas.text(8, 336, "Where the row ends (solid), b stays for the next FMA,", "label")
    canvas.text(8, 354, "and in a row a stays: the reuse cache keeps both.", "label")
    return canvas.figure(
        368,
        "An FMA whose b[j] and acc[i][j] lie in one bank needs two clocks for itself (red) and "
        "leaves the other bank to its neighbour; with the quads of C swapped it needs one clock of "
        "each. Going there and back keeps b[j] at the turn.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "banks_column": read_down,
    "banks_widths": widths,
    "register_banks": registers,
}
