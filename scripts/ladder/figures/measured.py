"""The ladder as it was measured: TFLOP/s at one size, and percent of cuBLAS over sizes."""

from collections.abc import Callable
from pathlib import Path
from statistics import mean

from ladder import manifest
from ladder.figures.svg import Canvas, Figure
from ladder.project import BadInput
from ladder.results import load, own, shape

SIZE = 4096
SIZES_OF_A_LINE = 4
OVER_SIZES = "fp32", "fp16"  # e4m3 is measured at two powers of two
KINDS = {"fp32": "a", "fp16": "b", "e4m3": "c", "tf32": "c", "int8": "c"}


def squares(results: Path) -> list[dict]:
    """Of products alone, those that were timed, in the order of the ladder."""
    reports = load(results)
    names = sorted({r["device"]["name"] for r in reports})
    if len(names) > 1:
        raise BadInput(f"results of several devices: {', '.join(names)}")
    alone = [r for r in reports if "epilogue" not in r["problem"]]
    return [r for r in alone if shape(r).isdigit() and "tflops" in own(r)]


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


def draw_panel(canvas: Canvas, y: float, results: Path, kind: str) -> float:
    """Bars of TFLOP/s from zero, and cuBLAS as a line. The y below."""
    reports = [r for r in of_kind(results, kind) if r["problem"]["m"] == SIZE]
    cublas = mean(r["cublas"]["tflops"] for r in reports)
    left, row = 168, 21
    unit = 205 / max(cublas, *(own(r)["tflops"] for r in reports))
    x = left + cublas * unit
    words = f"cuBLAS {cublas:.0f} TFLOP/s"
    canvas.text(8, y + 15, f"{kind} at {SIZE}^3", "label bold")
    canvas.text(x, y + 15, words, "label", "end")
    top = y + 22
    for place, r in enumerate(reports):
        variant, base = own(r), top + place * row
        canvas.text(left - 6, base + 15, r["stage"], "small", "end")
        canvas.rect(left, base + 2, variant["tflops"] * unit, row - 5, f"{KINDS[kind]} strong bare")
        value = f"{variant['tflops']:.3g} ({variant['percent_of_cublas']:.0f}%)"
        canvas.text(472, base + 15, value, "small", "end")
    end = top + len(reports) * row
    canvas.line(x, y + 19, x, end, "thick dash")
    return end


def ladder_linear(results: Path) -> Figure:
    canvas = Canvas(f"TFLOP/s of every stage, {gpu(results)}")
    canvas.title()
    y = 36.0
    kinds = kinds_at_size(results)
    if not kinds:
        raise BadInput(f"no results at {SIZE} of any type that a stage has")
    for kind in kinds:
        y = draw_panel(canvas, y, results, kind) + 16
    best = [f"{best_of(results, kind)} for {kind}" for kind in kinds]
    return canvas.figure(
        y - 8,
        f"Every panel is linear and begins at zero; the dashed line is cuBLAS with the same types. "
        f"{', '.join(best[:-1])} and {best[-1]} are the fastest.",
    )


def best_of(results: Path, kind: str) -> str:
    at = [r for r in of_kind(results, kind) if r["problem"]["m"] == SIZE]
    return manifest.stage(max(at, key=lambda r: own(r)["tflops"])["stage"]).label


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
