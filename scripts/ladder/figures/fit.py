"""How tiles of C fit into waves before 13 and with it, and the two orders of 13b's consumers."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ladder.figures import sources
from ladder.figures.machine import device
from ladder.figures.svg import Canvas, Figure

SHAPE = (8192, 1280, 8192)
WIDE, CHOSEN, FIT = map(sources.stage_of, ("overlapped_stores", "chosen_by_shape", "fit_the_waves"))


@dataclass(frozen=True)
class Waves:
    """C of SHAPE in tiles of bm x bn; a wave takes `cost`, by FIT's formula."""

    bm: int
    bn: int
    tiles: int
    cost: float
    fewer_blocks: bool  # than multiprocessors, if they come to as many waves

    @property
    def count(self) -> int:
        return -(-self.tiles // device()["multiprocessors"])

    @property
    def blocks(self) -> int:
        return -(-self.tiles // self.count) if self.fewer_blocks else device()["multiprocessors"]

    @property
    def used(self) -> float:
        """Of the places in these waves."""
        return self.tiles / (self.count * device()["multiprocessors"])


def waves_of(bm: int, bn: int, fewer_blocks: bool = True) -> Waves:
    formula = r"return waves\(p, c\) \* \((\S+) \* c\.BM \* c\.BN \+ (\S+) \* \(c\.BM \+ c\.BN\)\);"
    products, strips = map(float, re.search(formula, sources.header(FIT)).groups())
    tiles = -(-SHAPE[0] // bm) * -(-SHAPE[1] // bn)
    return Waves(bm, bn, tiles, products * bm * bn + strips * (bm + bn), fewer_blocks)


def total(waves: Waves) -> float:
    return waves.count * waves.cost


def three() -> list[tuple[str, Waves]]:
    """11b's only tile, 11c's choice and 13's, all of single blocks."""
    wide, chosen = sources.constants(WIDE), sources.constants(CHOSEN)
    widths = re.findall(r"configuration<(\d+), 1>\((\d+)\)", sources.header(CHOSEN))
    among = {waves_of(chosen["BM"], int(bn)): int(ns) for bn, ns in widths}
    heights = re.findall(r"\{(\d+), (\d+)\}", sources.header(FIT))  # without pairs
    return [
        ("11b", waves_of(wide["BM"], wide["BN"], False)),
        ("11c", min(among, key=lambda waves: waves.count * among[waves])),
        ("13", min((waves_of(int(bm), int(bn)) for bm, bn in heights), key=total)),
    ]


TOP, DEEP, STEP = 84, 150, 160  # where the waves begin, their height, from one panel to the next


def fit_the_waves() -> Figure:
    places, panels = device()["multiprocessors"], three()
    scale = DEEP / max(total(waves) for _, waves in panels)
    canvas = Canvas("Waves at " + "x".join(map(str, SHAPE)))
    canvas.title()
    canvas.text(8, 42, f"across: the {places} multiprocessors; down: time", "small soft")
    for number, (label, waves) in enumerate(panels):
        x, y, left = 8 + number * STEP, TOP, waves.tiles
        canvas.text(x, TOP - 12, f"{label}: {waves.bm}x{waves.bn}", "label bold")
        for _ in range(waves.count):
            busy, deep = min(left, waves.blocks), waves.cost * scale
            full = busy == waves.blocks
            canvas.rect(x, y, places, deep, "gray faint")
            canvas.rect(x, y, busy, deep, "c" if full else "b")
            canvas.text(x + busy / 2, y + deep / 2 + 4.5, str(busy), "small", "middle")
            y, left = y + deep, left - busy
        rows = [
            f"{waves.tiles} tiles",
            f"{waves.used:.0%} of places",
            f"{waves.count} x {waves.cost:.0f} = {total(waves):.0f}",
        ]
        canvas.lines(x, TOP + DEEP + 20, rows)
    _, before = panels[0]
    _, after = panels[-1]
    return canvas.figure(
        TOP + DEEP + 66,
        f"Tiles of {before.bm}x{before.bn} leave most of the last wave (orange) empty, and the "
        f"narrow ones of 11c take more than their share of the time each; {after.tiles} of "
        f"{after.bm}x{after.bn} are {after.tiles / places:.2f} waves.",
    )


# By hand: what one tile of 13b takes to multiply, which is all of the tensor cores, and to store.
MULTIPLY, STORE, ROUNDS = 8, 2, 3
LEFT, ROW, BAR = 98, 24, 19


def in_turn() -> list[list[tuple[int, int, str]]]:
    """Of each warpgroup: beginning, end, and what it does."""
    groups: list[list[tuple[int, int, str]]] = [[], []]
    for tile in range(2 * ROUNDS):
        begin = tile * MULTIPLY
        end = begin + MULTIPLY
        groups[tile % 2] += [(begin, end, f"{tile}"), (end, end + STORE, "")]
    return groups


def together() -> list[list[tuple[int, int, str]]]:
    """A tile is twice as wide; each has half of it, and half of the tensor cores."""
    row: list[tuple[int, int, str]] = []
    for tile in range(ROUNDS):
        begin = tile * (2 * MULTIPLY + STORE)
        end = begin + 2 * MULTIPLY
        row += [(begin, end, f"half of {tile}"), (end, end + STORE, "")]
    return [row, row]


def ping_pong() -> Figure:
    canvas = Canvas("Two consumers: together, and in turn")
    canvas.title()
    unit = (472 - LEFT) / (ROUNDS * (2 * MULTIPLY + STORE))
    ends = {}
    y = 52.0
    for name, tiles, groups in (
        ("together", "wide", together()),
        ("in turn", "narrow", in_turn()),
    ):
        canvas.text(8, y, f"{name}, {tiles} tiles", "label bold")
        y += 10
        end = max(piece[1] for group in groups for piece in group)
        for number, group in enumerate(groups):
            canvas.text(LEFT - 6, y + 14, f"warpgroup {number}", "small", "end")
            for begin, stop, words in group:
                kind, x = ("c" if words else "d strong"), LEFT + begin * unit
                canvas.rect(x, y, (stop - begin) * unit, BAR, kind)
                if words:
                    canvas.text(x + (stop - begin) * unit / 2, y + 14, words, "small", "middle")
            y += ROW
        canvas.text(LEFT - 6, y + 14, "tensor cores", "small", "end")
        canvas.rect(LEFT, y, end * unit, BAR, "hot")
        for begin, stop in sorted({p[:2] for group in groups for p in group if p[2]}):
            canvas.rect(LEFT + begin * unit, y, (stop - begin) * unit, BAR, "c strong bare")
        y += ROW + 4
        for tick in range(0, end + 1, MULTIPLY):
            canvas.line(LEFT + tick * unit, y, LEFT + tick * unit, y + 5)
            canvas.text(LEFT + tick * unit, y + 18, str(tick), "small soft", "middle")
        ends[name] = end
        y += 50
    y -= 6
    legend = (8, "c", "multiplies"), (118, "d strong", "stores"), (206, "hot", "idle")
    for x, kind, words in legend:
        canvas.rect(x, y - 11, 14, 13, kind)
        canvas.text(x + 22, y, words, "small")
    return canvas.figure(
        y + 14,
        f"The same work, with {MULTIPLY} units of time to multiply a narrow tile and {STORE} to "
        f"store it: together it takes {ends['together']}, for the tensor cores are idle during "
        f"each store; in turn it takes {ends['in turn']}.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "fit_the_waves": fit_the_waves,
    "ping_pong": ping_pong,
}
