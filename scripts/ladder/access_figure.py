"""Draws one warp's request as the CPU device recorded it: its 32 lanes, and the 32-byte sectors of
global memory or the banks of shared memory that they touch. SVG, for light and dark pages.
"""

import html

LANES = BANKS = 32
WORD, SECTOR = 4, 32  # bytes
CELL, LEFT = 20, 20
WIDTH = LEFT * 2 + CELL * BANKS
STYLE = """<style>
text { font-family: system-ui, sans-serif; fill: #24292f; }
.title { font-size: 22px; } .label { font-size: 17px; } .cell { font-size: 10px; fill: #ffffff; }
.used { fill: #2f81f7; } .extra { fill: #c93c37; } .unused { fill: #8c959f; fill-opacity: 0.25; }
rect { stroke: #8c959f; stroke-width: 0.7; }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .cell { fill: #ffffff; } }
</style>"""


def lanes_by_word(line: dict, lanes: range) -> dict[int, list[int]]:
    """Which of the lanes ask for which word."""
    words: dict[int, list[int]] = {}
    for lane in lanes:
        offset = line["sample"][lane]
        if offset >= 0:
            for word in range(offset // WORD, (offset + line["bytes"] - 1) // WORD + 1):
                words.setdefault(word, []).append(lane)
    return words


def sectors(line: dict) -> list[int]:
    per_sector = SECTOR // WORD
    return sorted({word // per_sector for word in lanes_by_word(line, range(LANES))})


def wavefronts(line: dict) -> list[dict[int, list[int]]]:
    """For each wavefront its banks, and the lanes each of them serves. The rule is that of the
    CPU device (bench/cpu_device/cost.cpp): a bank gives one word at a time, to any number of lanes;
    requests of 8 and 16 bytes go in halves and quarters of a warp, of which two merge when lanes l
    and l^1, or l and l^2, ask for the same."""
    sample, parts = line["sample"], {16: 4, 8: 2}.get(line["bytes"], 1)

    def paired(distance: int) -> bool:
        both = ((sample[lane], sample[lane ^ distance]) for lane in range(LANES))
        return all(a == b for a, b in both if a >= 0 and b >= 0)

    if parts > 1 and (paired(1) or paired(2)):
        parts //= 2
    result = []
    for first in range(0, LANES, LANES // parts):
        by_bank: dict[int, list[list[int]]] = {}
        served = range(first, first + LANES // parts)
        for word, lanes in lanes_by_word(line, served).items():
            by_bank.setdefault(word % BANKS, []).append(lanes)
        for turn in range(max((len(words) for words in by_bank.values()), default=0)):
            turns = {bank: words[turn] for bank, words in by_bank.items() if turn < len(words)}
            result.append(turns)
    return result


def cost(line: dict) -> tuple[int, str]:
    """What the request takes, as a number and its unit."""
    if line["space"] == "global":
        return len(sectors(line)), "sector"
    return len(wavefronts(line)), "wavefront"


def words(line: dict) -> str:
    count, unit = cost(line)
    return f"{count} {unit}{'s' if count != 1 else ''}"


def array_name(line: dict) -> str:
    return "shared memory" if line["array"] == "dynamic" else line["array"]


def text(x: float, y: float, kind: str, content: str, anchor: str = "start") -> str:
    content = html.escape(content)
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{content}</text>'


def cell(column: int, y: float, kind: str, content: str = "", width: float = CELL) -> str:
    x = LEFT + column * width
    box = f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{CELL}"/>'
    return box + (text(x + width / 2, y + 14, "cell", content, "middle") if content else "")


def lane_list(lanes: list[int]) -> str:
    return str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]}+"


def draw(line: dict) -> str:
    what = array_name(line)
    title = f"{line['op']} of {what}, {line['bytes']} bytes a lane: {words(line)}"
    body = [text(LEFT, 28, "title", title)]
    y = 44.0
    if line["space"] == "global":
        touched = sectors(line)
        by_word = lanes_by_word(line, range(LANES))
        per_sector = SECTOR // WORD
        per_row = BANKS // per_sector
        body.append(text(LEFT, y + 14, "label", "sectors of 32 bytes; in each word its lane"))
        y += 24
        for index, sector in enumerate(touched):
            row, place = divmod(index, per_row)
            for i in range(per_sector):
                lanes = by_word.get(sector * per_sector + i)
                kind = "used" if lanes else "unused"
                column = place * per_sector + i
                body.append(
                    cell(column, y + row * (CELL + 6), kind, lane_list(lanes) if lanes else "")
                )
        y += -(-len(touched) // per_row) * (CELL + 6)
    else:
        rows = wavefronts(line)
        label = "banks 0 to 31; a row is a wavefront, in each bank its lane"
        body.append(text(LEFT, y + 14, "label", label))
        y += 24
        least = round(line["ideal_wavefronts"])
        for number, row in enumerate(rows):
            body.append(cell(0, y, "unused", width=CELL * BANKS))
            for bank, lanes in sorted(row.items()):
                body.append(cell(bank, y, "used" if number < least else "extra", lane_list(lanes)))
            y += CELL
    height = y + 14
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">'
    return "\n".join([head, f"<title>{html.escape(title)}</title>", STYLE, *body, "</svg>"]) + "\n"
