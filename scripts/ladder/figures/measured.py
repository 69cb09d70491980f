"""The ladder as it was measured: percent of cuBLAS at one size, and over sizes."""

from collections.abc import Callable
from pathlib import Path

from ladder import manifest
from ladder.figures.svg import Canvas, Figure
from ladder.project import BadInput
from ladder.results import load, own, shape

SIZE = 4096
SIZES_OF_A_LINE = 4
OVER_SIZES = "fp32", "fp16"  # e4m3 is measured at two powers of two
KINDS = {"fp32": "a", "fp16": "b", "e4m3": "c", "tf32": "c", "int8": "c"}


def squares(results: Path) -> list[dict]:
    """Those that were timed, in the order of the ladder."""
    reports = load(results)
    names = sorted({r["device"]["name"] for r in reports})
    if len(names) > 1:
        raise BadInput(f"results of several devices: {', '.join(names)}")
    return [r for r in reports if shape(r).isdigit() and "tflops" in own(r)]


def of_kind(results: Path, kind: str) -> list[dict]:
    found = [r for r in squares(results) if r["problem"]["input"] == kind]
    if not found:
        raise BadInput(f"no results of {kind}")
    return found


def at_size(results: Path) -> list[dict]:
    found = [r for r in squares(results) if r["problem"]["m"] == SIZE]
    if not found:
        raise BadInput(f"no results at {SIZE}")
    return found


def kinds_at_size(results: Path) -> list[str]:
    measured = {r["problem"]["input"] for r in at_size(results)}
    return [kind for kind in KINDS if kind in measured]


def gpu(results: Path) -> str:
    return load(results)[0]["device"]["name"].removeprefix("NVIDIA ")


LEFT, AT_100, ROW = 168, 360, 20  # where bars begin and where 100% is; the height of a row


def draw_panel(canvas: Canvas, y: float, reports: list[dict], kind: str) -> float:
    """Bars of percent from zero, which cover the line at 100 where they reach beyond it. The y
    below."""
    canvas.text(8, y + 14, kind, "label bold")
    top = y + 20
    canvas.line(AT_100, y + 16, AT_100, top + len(reports) * ROW, "dash")
    for place, r in enumerate(reports):
        variant, base = own(r), top + place * ROW
        percent, tflops = variant["percent_of_cublas"], variant["tflops"]
        with canvas.link(f"../{Path(manifest.stage(r['stage']).page).name}"):
            canvas.text(LEFT - 6, base + 14, r["stage"], "small", "end")
            width = percent / 100 * (AT_100 - LEFT)
            canvas.rect(LEFT, base + 2, width, ROW - 5, f"{KINDS[kind]} strong bare")
        value = f"{tflops:.0f}" if tflops >= 100 else f"{tflops:.1f}"
        canvas.text(424, base + 14, value, "small soft", "end")
        canvas.text(472, base + 14, f"{percent:.1f}", "small", "end")
    return top + len(reports) * ROW


def ladder_linear(results: Path) -> Figure:
    canvas = Canvas(f"Every stage at {SIZE}^3 beside cuBLAS, {gpu(results)}")
    canvas.title()
    for x, words in ((AT_100, "100% is cuBLAS"), (424, "TFLOP/s"), (472, "%")):
        canvas.text(x, 44, words, "small soft", "end")
    reports, y = at_size(results), 40.0
    for kind in kinds_at_size(results):
        y = draw_panel(canvas, y, [r for r in reports if r["problem"]["input"] == kind], kind) + 8
    drawn = {r["stage"] for r in reports}
    others = [*manifest.load().values(), *manifest.with_own_harness()]
    left_out = sorted(s.name.split("_")[0] for s in others if s.name not in drawn)
    return canvas.figure(
        y,
        "Percent of cuBLAS in the same run, with the same types; a bar that covers the dashed "
        "line is faster."
        + (f" Not timed at this size: {', '.join(left_out)}." if left_out else ""),
    )


LINES = ("c", "a", "d", "b", "hot", "gray")


def spread(wanted: list[float], least: float, most: float, distance: float) -> list[float]:
    """Places near the wanted ones, which fall, that are `distance` apart and not beyond `most`."""
    places: list[float] = []
    for y in wanted:
        places.append(max(y, places[-1] + distance if places else least))
    for i in range(len(places) - 1, -1, -1):
        below = places[i + 1] - distance if i + 1 < len(places) else most
        places[i] = min(places[i], below)
    return places


def draw_lines(canvas: Canvas, y: float, results: Path, kind: str) -> float:
    by_stage: dict[str, dict[int, float]] = {}
    for r in of_kind(results, kind):
        if r["problem"]["m"].bit_count() == 1:
            values = by_stage.setdefault(r["stage"], {})
            values[r["problem"]["m"]] = own(r)["percent_of_cublas"]
    lines = {s: v for s, v in by_stage.items() if len(v) >= SIZES_OF_A_LINE}
    if not lines:
        raise BadInput(f"no stage of {kind} was measured at {SIZES_OF_A_LINE} powers of two")
    sizes = sorted({size for values in lines.values() for size in values})
    left, right, height = 44, 400, 190
    top, most = y + 26, 120
    step = (right - left) / (len(sizes) - 1)

    def at(size: int, percent: float) -> tuple[float, float]:
        return left + sizes.index(size) * step, top + height * (1 - percent / most)

    canvas.text(8, y + 14, f"{kind}: % of cuBLAS", "label bold")
    for percent in (0, 50, 100):
        level = at(sizes[0], percent)[1]
        canvas.line(left, level, right, level, "thin dash" if percent == 100 else "thin")
        canvas.text(left - 6, level + 4, str(percent), "small soft", "end")
    for size in sizes:
        canvas.text(at(size, 0)[0], top + height + 17, str(size), "small soft", "middle")
    ends = sorted(lines, key=lambda stage: -lines[stage][max(lines[stage])])
    wanted = [at(max(lines[s]), lines[s][max(lines[s])])[1] + 4 for s in ends]
    for stage, place in zip(ends, spread(wanted, top, top + height, 16), strict=True):
        color = LINES[list(lines).index(stage) % len(LINES)]
        points = [at(size, percent) for size, percent in sorted(lines[stage].items())]
        dash = " dash" if list(lines).index(stage) >= len(LINES) else ""
        canvas.path(points, f"{color} wide{dash}")
        canvas.line(points[-1][0] + 2, points[-1][1], right + 16, place - 4, f"{color} thin")
        value = lines[stage][max(lines[stage])]
        canvas.text(right + 18, place, f"{manifest.stage(stage).label} {value:.0f}", "small")
    return top + height + 26


def percent_sizes(results: Path) -> Figure:
    canvas = Canvas(f"Percent of cuBLAS over the size, {gpu(results)}")
    canvas.title()
    y = 32.0
    for kind in OVER_SIZES:
        y = draw_lines(canvas, y, results, kind) + 8
    return canvas.figure(
        y - 4,
        "M = N = K, twice as large from place to place; at the right each stage with its "
        "percentage at its largest size.",
    )


OF_RESULTS: dict[str, Callable[[Path], Figure]] = {
    "ladder_linear": ladder_linear,
    "percent_sizes": percent_sizes,
}
