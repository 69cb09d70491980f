"""Draws one warp's request as the CPU device recorded it: the lanes at the 32-byte sectors of
global memory or at the banks of shared memory."""

from ladder.access_figure import (
    BANKS,
    LANES,
    SECTOR,
    WORD,
    array_name,
    lanes_by_word,
    sectors,
    wavefronts,
    words,
)
from ladder.figures.svg import Canvas

CELL, LEFT, ROW = 14, 16, 19
CHARACTER = 7.4  # units that a digit or letter needs, on the wide side
WORDS_A_SECTOR = SECTOR // WORD
SECTORS_A_ROW = BANKS // WORDS_A_SECTOR


def runs(cells: dict[int, list[int]]) -> list[list[int]]:
    """The cells that lie side by side."""
    result: list[list[int]] = []
    for cell in sorted(cells):
        if result and result[-1][-1] == cell - 1:
            result[-1].append(cell)
        else:
            result.append([cell])
    return result


def named(lanes: list[int]) -> str:
    lanes = sorted(set(lanes))
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    if lanes == list(range(lanes[0], lanes[-1] + 1)):
        return f"lanes {lanes[0]} to {lanes[-1]}"
    return f"{len(lanes)} lanes"


def written(lanes: list[int], width: float) -> str:
    """All of them, or how many there are, or nothing, by what the width has room for."""
    words = ", ".join(str(lane) for lane in lanes), f"{len(lanes)} lanes"
    return next((w for w in words if len(w) * CHARACTER <= width), "")


def groups(run: list[int], cells: dict[int, list[int]]) -> list[list[int]]:
    """The parts of a run in which all words have the same lanes."""
    result: list[list[int]] = []
    for cell in run:
        if result and cells[result[-1][-1]] == cells[cell]:
            result[-1].append(cell)
        else:
            result.append([cell])
    return result


def draw_cells(canvas: Canvas, y: float, cells: dict[int, list[int]], kind: str, end: int) -> None:
    """A row of words, shaded by their lanes, which are written in them where there is room, else in
    the whole run, else behind it, before the next run or `end`."""
    found = runs(cells)
    for run, after in zip(found, [*(r[0] for r in found[1:]), end], strict=True):
        parts = groups(run, cells)
        for place, part in enumerate(parts):
            x, width = LEFT + part[0] * CELL, len(part) * CELL
            canvas.rect(x, y, width, ROW, f"{kind}{' faint' if place % 2 else ''} bare")
            label = written(cells[part[0]], width) if len(part) > 1 else ""
            if label:
                canvas.text(x + width / 2, y + 14, label, "small", "middle")
        if len(parts[0]) > 1:
            continue
        label = named([lane for cell in run for lane in cells[cell]])
        begin, stop = LEFT + run[0] * CELL, LEFT + (run[-1] + 1) * CELL
        if stop - begin >= len(label) * CHARACTER:
            canvas.text((begin + stop) / 2, y + 14, label, "small", "middle")
        elif (after - run[-1] - 1) * CELL >= len(label) * CHARACTER:
            canvas.text(stop + 4, y + 14, label, "small")


def draw_sectors(canvas: Canvas, y: float, line: dict) -> float:
    by_word = lanes_by_word(line, range(LANES))
    for place, sector in enumerate(sectors(line)):
        row, column = divmod(place, SECTORS_A_ROW)
        first, top = column * WORDS_A_SECTOR, y + row * (ROW + 5)
        width = WORDS_A_SECTOR * CELL
        canvas.rect(LEFT + first * CELL, top, width, ROW, "gray faint")
        inside = range(WORDS_A_SECTOR)
        asked = {i: by_word.get(sector * WORDS_A_SECTOR + i) for i in inside}
        cells = {first + i: lanes for i, lanes in asked.items() if lanes}
        draw_cells(canvas, top, cells, "a", first + WORDS_A_SECTOR)
        canvas.rect(LEFT + first * CELL, top, width, ROW)
    return y + -(-len(sectors(line)) // SECTORS_A_ROW) * (ROW + 5)


def draw_wavefronts(canvas: Canvas, y: float, line: dict) -> float:
    """Blue: as many as the bytes need; red: what is more."""
    for number, cells in enumerate(wavefronts(line)):
        kind = "a" if number < round(line["ideal_wavefronts"]) else "hot"
        canvas.rect(LEFT, y, BANKS * CELL, ROW, "gray faint")
        draw_cells(canvas, y, cells, kind, BANKS)
        y += ROW
    return y


def draw(line: dict) -> str:
    canvas = Canvas(f"{line['op']} of {array_name(line)}: {words(line)}")
    canvas.title()
    if line["space"] == "global":
        canvas.text(8, 46, f"{line['bytes']} bytes a lane; each box a sector of {SECTOR} bytes")
        y = draw_sectors(canvas, 60, line)
    else:
        canvas.text(8, 46, f"{line['bytes']} bytes a lane; a row is a wavefront over 32 banks")
        y = draw_wavefronts(canvas, 60, line)
    return canvas.figure(y + 12, "").svg
