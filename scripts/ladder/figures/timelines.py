"""What a multiprocessor's warps did over a few steps along K, as build/timeline recorded it."""

from collections.abc import Callable
from functools import partial

from ladder import manifest, reports, timeline
from ladder.figures.svg import WIDTH, Canvas, Figure
from ladder.project import RESULTS
from ladder.timeline import Doing, Warp

COLORS = {
    Doing.STARTS: "gray strong",
    Doing.MULTIPLIES: "c strong",
    Doing.WGMMA: "c",
    Doing.ISSUES: "c strong",
    Doing.COPIES: "a strong",
    Doing.ORDERS: "a strong",
    Doing.DATA: "b strong",
    Doing.BARRIER: "hot strong",
    Doing.EMPTY: "gray",
    Doing.STORES: "d strong",
    Doing.STAGED: "d",
}
LEFT, RIGHT = 118, 12  # of the time axis
ROW, BAR = 20, 16
PANELS = {"steady": "In the middle of a tile of C", "change": "From one tile of C to the next"}
BESIDE, MOST = 4, 8  # rows of warps that multiply: beside one that copies, and alone

WORDS = {
    Doing.WGMMA: "for wgmmas of their own",
    Doing.DATA: "for operands",
    Doing.BARRIER: "at barriers",
    Doing.EMPTY: "for empty buffers",
    Doing.STAGED: "for C's store",
}
WHO = {
    "all": "the warps wait",
    "multiplies": "the warps that multiply wait",
    "copies": "the one that copies waits",
}


def chosen(rows: list[list[Warp]]) -> list[list[Warp]]:
    """Who copies, then some of the others, evenly."""
    ordered = sorted(rows, key=lambda row: (row[0].role != "copies", row[0].block, row[0].warp))
    copying = [row for row in ordered if row[0].role == "copies"]
    others = [row for row in ordered if row[0].role != "copies"]
    room = BESIDE if copying else MOST
    if len(others) > room:
        others = [others[i * len(others) // room] for i in range(room)]
    return copying + others


def label(row: list[Warp], several_blocks: bool) -> str:
    warp = row[0]
    if warp.role == "copies":
        return f"copies: warp {warp.warp}"
    return f"block {warp.block}, {warp.warp}" if several_blocks else f"warp {warp.warp}"


def tick_of(length: float) -> float:
    """A round distance that goes four to nine times into the length."""
    step = 1e-9
    while True:
        for factor in (1, 2, 5):
            if length / (step * factor) < 10:
                return step * factor
        step *= 10


def draw_axis(canvas: Canvas, y: float, length: float) -> None:
    """`length` in microseconds."""
    step = tick_of(length)
    digits = 0 if step >= 1 else 1 if step >= 0.1 else 2 if step >= 0.01 else 3
    width = WIDTH - LEFT - RIGHT
    canvas.line(LEFT, y, WIDTH - RIGHT, y)
    for i in range(int(length / step) + 1):
        x = LEFT + i * step / length * width
        canvas.line(x, y, x, y + 4)
        if i % 2 == 0 and x < WIDTH - 60:
            canvas.text(x, y + 17, f"{i * step:.{digits}f}", "small soft", "middle")
    canvas.text(WIDTH - RIGHT, y + 17, "µs", "small soft", "end")


def draw_panel(canvas: Canvas, y: float, stage: dict, name: str, used: set[Doing]) -> float:
    window = stage["windows"][name]
    clocks = window["clocks"]
    scale = (WIDTH - LEFT - RIGHT) / clocks
    rows = chosen(timeline.rows(timeline.warps_of(window)))
    several = len({row[0].block for row in rows}) > 1
    canvas.text(8, y, PANELS[name], "label bold")
    y += 10
    for row in rows:
        canvas.text(LEFT - 6, y + BAR - 3.5, label(row, several), "small", "end")
        for piece in timeline.of_row(stage["stage"], row, clocks):
            used.add(piece.doing)
            x, width = LEFT + piece.begin * scale, (piece.end - piece.begin) * scale
            canvas.rect(x, y, width, BAR, f"{COLORS[piece.doing]} bare")
        y += ROW
    draw_axis(canvas, y + 2, clocks * stage["ns_per_clock"] / 1000)
    return y + 42


def draw_legend(canvas: Canvas, y: float, used: set[Doing]) -> float:
    for doing in Doing:
        if doing in used:
            canvas.rect(8, y - 11, 14, 13, f"{COLORS[doing]} bare")
            canvas.text(30, y, doing.value, "small")
            y += 18
    return y


def waits(stage: dict, role: str) -> str:
    """What takes at least a percent of the time, the most first."""
    parts = sorted(timeline.share(stage, role).items(), key=lambda item: -item[1])
    return ", ".join(f"{part:.0%} {WORDS[doing]}" for doing, part in parts if part >= 0.01)


def caption(stage: dict) -> str:
    parts = [f"{who} {waits(stage, role)}" for role, who in WHO.items() if waits(stage, role)]
    slower = timeline.slower(stage)
    changes = f"{'slows' if slower > 0 else 'speeds up'} the kernel by {abs(slower):.1f}%"
    waited = (
        f"Of their time {'; '.join(parts)}." if parts else "No wait takes a percent of the time."
    )
    return f"{waited} Recording on all multiprocessors, not only on this one, {changes}."


def draw(name: str) -> Figure:
    report = timeline.load()
    stage = timeline.stage_of(report, name)
    canvas = Canvas(f"{manifest.stage(name).label}: what warps do, step by step")
    canvas.title()
    canvas.text(8, 42, f"{report['device']}, {report['size']}³", "small soft")
    used: set[Doing] = set()
    y = 70.0
    for window in PANELS:
        if window in stage["windows"]:
            y = draw_panel(canvas, y, stage, window, used)
    return canvas.figure(draw_legend(canvas, y, used), caption(stage))


RECORDED = [name for name, stage in manifest.load().items() if stage.timeline]

# None before the first recording: ladder figures draws what there is.
FIGURES: dict[str, Callable[[], Figure]] = (
    {f"timeline_{manifest.stage(name).label}": partial(draw, name) for name in RECORDED}
    if reports.exists(RESULTS, timeline.NAME)
    else {}
)
