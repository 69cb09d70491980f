"""What the data of a product cost: TFLOP/s, clock and watts, as ./ladder power measured them."""

from collections.abc import Callable

from ladder import manifest, reports
from ladder.figures.svg import WIDTH, Canvas, Figure
from ladder.power_results import DATA, NAME, load
from ladder.project import RESULTS

LEFT, TOP, HEIGHT, GAP = 44, 74, 110, 40  # of the first panel's area, and between two
BAR, GROUP = 17, (WIDTH - LEFT - 4) / len(DATA)
COLORS = ("gray", "a", "b", "c", "d")  # of the kernels, in the order of the ladder, and of cuBLAS


def series(power: dict) -> dict[str, dict[str, dict]]:
    """By kernel and kind of data what was measured without rests."""
    rows = {
        variant.split("/")[0]: {data: run["stage"]["sustained"] for data, run in of_data.items()}
        for variant, of_data in power["runs"].items()
    }
    *_, beside = power["runs"].values()  # the last stage's
    return rows | {"cuBLAS": {data: run["cublas"]["sustained"] for data, run in beside.items()}}


def label(name: str) -> str:
    return name if name == "cuBLAS" else manifest.stage(name).label


def legend(canvas: Canvas, names: list[str]) -> None:
    for place, name in enumerate(names):
        x = LEFT + place * 80
        canvas.rect(x, 34, 11, 11, f"{COLORS[place]} strong bare")
        canvas.text(x + 16, 44, label(name), "small")


def panel(canvas, top: float, title: str, rows: dict, scale: tuple) -> None:
    """Bars by kind of data, one for each kernel. `scale`: the axis' end, ticks and their format."""
    end, ticks, form = scale
    bottom = top + HEIGHT
    canvas.text(LEFT, top - 8, title, "label")
    for tick in ticks:
        y = bottom - HEIGHT * tick / end
        canvas.line(LEFT, y, WIDTH - 4, y, "thin dash" if tick else "")
        canvas.text(LEFT - 5, y + 4.5, format(tick, form), "small", "end")
    for column, data in enumerate(DATA):
        for place, values in enumerate(rows.values()):
            if data in values:
                x = LEFT + column * GROUP + 10 + place * (BAR + 2)
                height = HEIGHT * values[data] / end
                canvas.rect(x, bottom - height, BAR, height, f"{COLORS[place]} strong bare")


def drawn(power: dict) -> Figure:
    measured = series(power)
    limit = power["limit_watts"]
    panels = {
        "TFLOP/s": ("tflops", 1, (1100, [0, 250, 500, 750, 1000], "g")),
        "clock, GHz": ("sm_mhz", 1e-3, (2.1, [0, 0.5, 1, 1.5, 2], "g")),
        f"power, W (limit {limit:.0f})": ("watts", 1, (1.1 * limit, [0, limit / 2, limit], ".0f")),
    }
    canvas = Canvas("The same product, other numbers in it")
    canvas.title()
    legend(canvas, list(measured))
    top = TOP
    for title, (key, factor, scale) in panels.items():
        rows = {
            name: {data: run[key] * factor for data, run in runs.items()}
            for name, runs in measured.items()
        }
        panel(canvas, top, title, rows, scale)
        top += HEIGHT + GAP
    for column, words in enumerate(DATA.values()):
        canvas.text(LEFT + (column + 0.5) * GROUP, top - GAP + 18, words, "small", "middle")
    return canvas.figure(
        top - GAP + 28,
        f"{power['device']}, {power['size']}³, each kernel by itself without rests: the same "
        "instructions in the same order, on data of more and more entropy.",
    )


def draw() -> Figure:
    return drawn(load(RESULTS))


# As with the results of a GPU: there is the figure when there is what it shows.
FIGURES: dict[str, Callable[[], Figure]] = (
    {"power_data": draw} if reports.exists(RESULTS, NAME) else {}
)
