"""The tiles of each stage to scale: the block's in C, a warp's in the block's, and the elements of
one lane."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ladder import manifest
from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure
from ladder.project import RESULTS
from ladder.results import own, read_report

SIZE, DEPTH = 1024, 512  # of the C, and of the K, that the matrices are drawn with
LANES = 32


@dataclass(frozen=True)
class Tiling:
    """Of a stage's own variant, in elements. `group`: what has a tile of wm x wn of its own; where
    nothing has, wm x wn are as much of the block's tile as shows how it is divided. `period`: rows
    and columns after which the lanes begin again. `lane`: the elements (row, column) of C that lane
    0 of warp 0 computes, in the block's tile. `reads`: whether the same lane reads the operands of
    just these elements; tensor cores divide them otherwise."""

    bm: int
    bn: int
    bk: int | None
    pipe: int
    threads: int
    group: str
    wm: int
    wn: int
    period: tuple[int, int]
    lane: frozenset[tuple[int, int]]
    reads: bool


def one_element(c: dict[str, int], text: str) -> Tiling:
    return tiling(c, "warp", 1, LANES, (1, 1), {(0, 0)})


def spread(c: dict[str, int], text: str) -> Tiling:
    """04 and 04b: the lanes' elements are all over the block's tile."""
    stored = r"j < TN; (?:j \+= (\d+)|\+\+j)\) \{\s*const int (?:row = [^;]*, )?col ="
    step = int(re.search(stored, text)[1] or 1)
    known = {"row0": 0, "col0": 0, "tx": 0, "ty": 0}
    rows = [sources.evaluated(text, "row", known | {"i": i}) for i in range(c["TM"])]
    starts = [sources.evaluated(text, "col", known | {"j": j}) for j in range(0, c["TN"], step)]
    lane = {(r, s + e) for r in rows for s in starts for e in range(step)}
    side = starts[1] + 16
    return tiling(c, "", side, side, (step, step), lane)


def lane_tile(c: dict[str, int], text: str) -> Tiling:
    """04c to 05c: quads of rows and columns."""
    row_step = int(text.split("lane_m + i * ")[1].split("]")[0]) if "lane_m + i *" in text else 4
    rows = [i * row_step + r for i in range(0, c["TM"], 4) for r in range(4)]
    columns = [j * 8 + e for j in range(0, c["TN"], 4) for e in range(4)]
    return tiling(c, "warp", c["WM"], c["WN"], (4, 4), {(r, n) for r in rows for n in columns})


def fragments(c: dict[str, int], text: str) -> Tiling:
    return tiling(c, "warp", c["WM"], c["WN"], (c["MMA"], c["MMA"]), set())


def of_mma(rows: range, columns: range) -> set[tuple[int, int]]:
    """Lane 0 of 16x8 accumulators that begin in these rows and columns."""
    return {(r + h, n + e) for r in rows for n in columns for h in (0, 8) for e in (0, 1)}


def mma(c: dict[str, int], text: str) -> Tiling:
    m, n = c["MMA_M"], c["MMA_N"]
    lane = of_mma(range(0, c["WM"], m), range(0, c["WN"], n))
    return tiling(c, "warp", c["WM"], c["WN"], (m, n), lane)


def wgmma(c: dict[str, int], text: str) -> Tiling:
    lane = of_mma(range(0, 16, 16), range(0, c["BN"], 8))
    return tiling(c, "warpgroup", c["MMA_M"], c["BN"], (16, 8), lane)


def tiling(c, group, wm, wn, period, lane) -> Tiling:
    threads = c.get("THREADS", c["BM"] * c["BN"])
    lane = frozenset(lane)
    bk, pipe = c.get("BK"), c.get("PIPE", 1)
    reads = "MMA" not in c and "MMA_M" not in c
    return Tiling(c["BM"], c["BN"], bk, pipe, threads, group, wm, wn, period, lane, reads)


def has_a_tile(stage: str) -> bool:
    """Of stages that choose, those whose tiles differ in width alone."""
    text = sources.header(stage)
    return "Configuration" not in text or bool(re.search(r"^constexpr int BM = ", text, re.M))


def of_stage(stage: str) -> Tiling:
    c, text = dict(sources.constants(stage)), sources.header(stage)
    if "BN" not in c:
        c["BN"] = max(widths(stage))
        c["PIPE"] = sources.evaluated(text, "PIPE", c)
    if "TM" in c:
        return (lane_tile if "WM" in c else spread)(c, text)
    if "MMA" in c:
        return fragments(c, text)
    if "MMA_M" in c:
        return (mma if "WM" in c else wgmma)(c, text)
    return one_element(c, text)


def widths(stage: str) -> list[int]:
    """The tiles' widths among which the stage chooses; of most there is one."""
    found = re.findall(r"configuration<(\d+), \d+>", sources.header(stage))
    return sorted({int(n) for n in found}) or [sources.constants(stage)["BN"]]


def element_bytes(stage: str) -> int:
    return 4 if "fp32" in manifest.stage(stage).types else 2


def shared_bytes(stage: str) -> int:
    return own(read_report(RESULTS, stage, 4096))["shared_bytes"]


def number(count: float) -> str:
    return f"{count:.0f}" if count >= 10 else f"{count:.3g}"


def facts(stage: str, t: Tiling) -> list[str]:
    several = widths(stage)
    wide = f"{several[0]} to {several[-1]}" if len(several) > 1 else str(t.bn)
    c = sources.constants(stage)
    rows = [f"block: {t.bm}x{wide}", f"{t.threads} threads, {t.threads // LANES} warps"]
    if "CONSUMERS" in c:
        rows += [f"{c['CONSUMERS']} warpgroups multiply,", "a thread of another copies"]
    if "CLUSTER" in c:
        rows.append(f"cluster: {c['CLUSTER']} blocks")
    if t.group == "warpgroup":
        rows.append(f"warpgroup: {t.wm}x{t.wn}")
    elif t.group:
        rows.append(f"warp: {t.wm}x{t.wn}")
    if "TM" in c:
        rows.append(f"thread: {c['TM']}x{c['TN']} = {c['TM'] * c['TN']} elements")
    elif t.group == "warp" and t.wm > 1:
        rows.append(f"thread: {t.wm * t.wn // LANES} elements")
    elif t.group == "warpgroup":
        rows.append(f"thread: {t.wm * t.wn // (4 * LANES)} elements")
    else:
        rows.append("thread: 1 element")
    if t.bk is None:
        return [*rows, "no tile is copied:", "each thread reads its row", "and its column itself"]
    tile = t.bk * (t.bm + t.bn) * element_bytes(stage) / 1024
    rows.append(f"a step along K: {t.bk} deep")
    rows.append(f"{t.pipe} buffer{'s' * (t.pipe > 1)} of {number(tile)} KB")
    rows.append(f"shared memory: {number(shared_bytes(stage) / 1024)} KB")
    return rows


def draw_matrices(canvas: Canvas, stage: str, t: Tiling, x: float, y: float) -> None:
    """A, B and C with one block's tile and what it reads."""
    unit = 120 / SIZE
    long, deep = SIZE * unit, DEPTH * unit
    cx, cy = x + deep + 6, y + deep + 6
    canvas.rect(x, cy, deep, long, "a faint")
    canvas.rect(cx, y, long, deep, "b faint")
    canvas.rect(cx, cy, long, long, "c faint")
    row = SIZE // t.bm // 2 * t.bm
    column = SIZE // t.bn // 2 * t.bn
    blocks = sources.constants(stage).get("CLUSTER", 1) if len(widths(stage)) == 1 else 1
    canvas.rect(cx + column * unit, y, t.bn * unit, deep, "b")
    if t.bk:
        canvas.rect(cx + column * unit, y, t.bn * unit, t.bk * unit, "b strong bare")
    for block in range(blocks):
        top = cy + (row + block * t.bm) * unit
        canvas.rect(x, top, deep, t.bm * unit, "a")
        if t.bk:
            canvas.rect(x, top, t.bk * unit, t.bm * unit, "a strong bare")
        canvas.rect(cx + column * unit, top, t.bn * unit, t.bm * unit, "c strong")
    canvas.text(x + deep / 2, cy + long + 16, "A", "label", "middle")
    canvas.text(cx + long / 2, cy + long + 16, f"C, {SIZE}x{SIZE}", "label", "middle")
    canvas.text(cx - 12, y + 16, "B", "label", "end")


def draw_block(canvas: Canvas, stage: str, t: Tiling, x: float, y: float, room: float):
    """The tile with the strips that are in shared memory; where warp 0 is in it, and the scale."""
    deep = t.bk or t.bm // 2
    gap = 5
    unit = (room - gap) / (deep + max(t.bm, t.bn))
    cx, cy = x + deep * unit + gap, y + deep * unit + gap
    w, h = t.bn * unit, t.bm * unit
    canvas.rect(x, cy, deep * unit, h, "a faint")
    canvas.rect(cx, y, w, deep * unit, "b faint")
    canvas.rect(cx, cy, w, h, "c faint")
    if t.group:
        canvas.rect(x, cy, deep * unit, t.wm * unit, "a")
        canvas.rect(cx, y, t.wn * unit, deep * unit, "b")
    for row, height in runs({r for r, _ in t.lane if t.reads}):
        canvas.rect(x, cy + row * unit, deep * unit, height * unit, "a strong bare")
    for column, width in runs({n for _, n in t.lane if t.reads}):
        canvas.rect(cx + column * unit, y, width * unit, deep * unit, "b strong bare")
    if t.group:
        for row in range(t.wm, t.bm, t.wm):
            canvas.line(cx, cy + row * unit, cx + w, cy + row * unit, "thin")
        for column in range(t.wn, t.bn, t.wn):
            canvas.line(cx + column * unit, cy, cx + column * unit, cy + h, "thin")
    for width in widths(stage)[:-1]:
        canvas.line(cx + width * unit, y, cx + width * unit, cy + h, "dash")
    draw_elements(canvas, t.lane, cx, cy, unit)
    canvas.rect(cx, cy, t.wn * unit, t.wm * unit, "empty thick")
    return cx, cy, unit, cy + h


def runs(places: set[int]) -> list[tuple[int, int]]:
    """First and length of what is consecutive."""
    result: list[tuple[int, int]] = []
    for place in sorted(places):
        if result and sum(result[-1]) == place:
            result[-1] = (result[-1][0], result[-1][1] + 1)
        else:
            result.append((place, 1))
    return result


def draw_elements(canvas: Canvas, elements, x: float, y: float, unit: float) -> None:
    rows = runs({r for r, _ in elements})
    columns = runs({n for _, n in elements})  # a lane's elements are a product of the two
    for row, height in rows:
        for column, width in columns:
            place = x + column * unit, y + row * unit
            canvas.rect(*place, width * unit, height * unit, "c strong bare")


def shown_part(t: Tiling) -> tuple[int, int]:
    """Of the warp's tile in the second picture."""
    return (16, 64) if t.group == "warpgroup" else (t.wm, t.wn)


def draw_warp(canvas: Canvas, t: Tiling, x: float, y: float, room: float) -> float:
    rows, columns = shown_part(t)
    unit = room / max(rows, columns)
    w, h = columns * unit, rows * unit
    canvas.rect(x, y, w, h, "c faint")
    step_m, step_n = t.period
    if unit * min(t.period) >= 3:
        for row in range(step_m, rows, step_m):
            canvas.line(x, y + row * unit, x + w, y + row * unit, "thin")
        for column in range(step_n, columns, step_n):
            canvas.line(x + column * unit, y, x + column * unit, y + h, "thin")
    if not t.group:
        for row, height in runs({r + e * step_m for r, _ in t.lane for e in (0, 1) if r < rows}):
            canvas.rect(x, y + row * unit, w, min(height, rows - row) * unit, "c bare")
    inside = {(r, n) for r, n in t.lane if r < rows and n < columns}
    draw_elements(canvas, inside, x, y, unit)
    if not t.lane:
        canvas.rect(x, y, step_n * unit, step_m * unit, "c strong bare")
    canvas.rect(x, y, w, h, "empty thick")
    return y + h


def part_label(stage: str, t: Tiling) -> list[str]:
    rows, columns = shown_part(t)
    c = sources.constants(stage)
    if "MMA" in c:
        return [
            f"one warp: {rows}x{columns};",
            f"solid: a fragment, {c['MMA']}x{c['MMA']},",
            "spread over all 32 lanes",
        ]
    if t.group == "warpgroup":
        return [f"warp 0: {rows} rows, {columns} of {t.wn}", "columns; solid: lane 0"]
    if not t.group:
        return [f"the first {rows}x{columns} of the tile;", "green: warp 0; solid: its lane 0"]
    if t.wm == 1:
        return [f"one warp: {rows}x{columns}; solid: lane 0"]
    return [f"one warp: {rows}x{columns};", "solid: lane 0"]


def draw(stage: str) -> Figure:
    t = of_stage(stage)
    canvas = Canvas(f"{manifest.stage(stage).label}: the tiles of a block and of a warp")
    canvas.title()
    draw_matrices(canvas, stage, t, 8, 36)
    canvas.lines(222, 62, facts(stage, t))
    top = 272
    cx, cy, unit, bottom = draw_block(canvas, stage, t, 8, top, 226)
    step = f"{t.bk} deep" if t.bk else "all of K"
    below = canvas.lines(8, bottom + 18, [f"block: C {t.bm}x{t.bn},", f"A and B {step}"], "label")
    right, room = 262, 206
    end = draw_warp(canvas, t, right, top, room)
    corner_x, corner_y = cx + t.wn * unit, cy + t.wm * unit
    canvas.line(corner_x, cy, right, top, "thin dash")
    canvas.line(corner_x, corner_y, right, end, "thin dash")
    last = canvas.lines(right, end + 18, part_label(stage, t))
    return canvas.figure(max(below, last) - 6, caption(stage, t))


def caption(stage: str, t: Tiling) -> str:
    c = sources.constants(stage)
    what = f"A block of {t.threads} threads computes {t.bm}x{t.bn} elements of C (green)"
    if t.bk is None:
        return f"{what}; every thread reads a row of A (blue) and a column of B (orange) for one."
    what += f" from strips of A (blue) and B (orange), {t.bk} deep at a time"
    if "MMA" in c:
        return f"{what}; a warp has {t.wm // c['MMA']}x{t.wn // c['MMA']} fragments of them."
    if not t.reads:
        return f"{what}. Solid is what one lane holds of its {t.group}'s part."
    return f"{what}. Solid is what one lane computes, and what it reads for that."


WITH_A_TILE = [
    name for name, stage in manifest.load().items() if stage.measured and has_a_tile(name)
]
FIGURES: dict[str, Callable[[], Figure]] = {
    f"tiles_{manifest.stage(name).label}": partial(draw, name) for name in WITH_A_TILE
}
