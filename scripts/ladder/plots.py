"""Plots of the stages' results, as SVG for light and for dark pages, and the schematic figures.

plot.py [RESULTS [OUT]]      default: docs/results/h200 docs/figures

Writes to OUT, each as NAME_light.svg and NAME_dark.svg: ladder, TFLOP/s of every stage at 4096^3;
percent, of cuBLAS, at 4096 and 8192; sizes, TFLOP/s over the powers of two, of the stages that were
measured at four of them or more; split_k, that stage and its parent in percent of cuBLAS over
those; and from the counters at 4096^3 (RESULTS/counters.json)
roofline, over the bytes of device memory; stalls, what warps wait for; tensor, how busy the tensor
pipe is, and the clock; traffic, bytes from L2 and device memory. Each figure of ladder.figures is
one file, NAME.svg, for both kinds of pages. The stages are those of
stages/manifest.json. Exit code: 0 all right, 2 bad input, results that are missing among it; then
nothing is written.
"""

import argparse
import math
import sys
from collections import Counter
from pathlib import Path

try:
    import matplotlib
except ModuleNotFoundError:
    print("plot.py needs matplotlib; ./scripts/test.sh installs it into .venv", file=sys.stderr)
    raise SystemExit(2) from None

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ladder import counters as ncu
from ladder import manifest, steps
from ladder.figures import FIGURES
from ladder.project import RESULTS, ROOT, BadInput
from ladder.results import load, own, shape

LADDER_SIZE = 4096
LARGE_SIZE = 8192
SIZES_OF_A_LINE = 4
WIDTH = 5.6  # inches; a phone shows it 3.5 wide
THEMES = {"light": "#24292f", "dark": "#d0d7de"}  # of text and axes; there is no background
COLORS = {"fp32": "#2f81f7", "fp16": "#db6d28"}
SETTINGS = {
    "svg.hashsalt": "gemm_ladder",  # the same file from the same numbers
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def squares(reports: list[dict]) -> list[dict]:
    """Those of square problems with a power of two that were timed, by stage and size."""
    return [r for r in reports if shape(r).isdigit() and "tflops" in own(r) and power_of_two(r)]


def power_of_two(report: dict) -> bool:
    return report["problem"]["m"].bit_count() == 1


def cublas_tflops(reports: list[dict]) -> float:
    """The mean of what cuBLAS reached beside each of them."""
    return sum(r["cublas"]["tflops"] for r in reports) / len(reports)


def device(reports: list[dict]) -> str:
    names = {r["device"]["name"] for r in reports}
    if len(names) != 1:
        raise BadInput(f"results of several devices: {', '.join(sorted(names))}")
    return names.pop()


def at_ladder_size(reports: list[dict]) -> list[dict]:
    at = [r for r in squares(reports) if r["problem"]["m"] == LADDER_SIZE]
    if not at:
        raise BadInput(f"no results at {LADDER_SIZE}")
    return at


def legend_below(figure: Figure, columns: int = 2) -> None:
    """Where no bar is, however many stages there are."""
    figure.legend(loc="outside lower center", ncols=columns, fontsize=10, frameon=False)


def first_at_the_top(axes) -> None:
    axes.margins(y=0.01)
    axes.invert_yaxis()


def ladder(reports: list[dict]) -> Figure:
    at = at_ladder_size(reports)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.36 * len(at) + 1.3), layout="constrained")
    inputs = [r["problem"]["input"] for r in at]
    values = [own(r)["tflops"] for r in at]
    axes.barh([r["stage"] for r in at], values, color=[COLORS[i] for i in inputs])
    for row, report in enumerate(at):
        text = f"{own(report)['tflops']:.0f} ({own(report)['percent_of_cublas']:.0f}%)"
        axes.text(1.3 * max(values), row, text, va="center")
    for kind in dict.fromkeys(inputs):
        average = cublas_tflops([r for r in at if r["problem"]["input"] == kind])
        axes.axvline(average, color=COLORS[kind], linestyle="--", label=f"cuBLAS {kind}")
    axes.set_xscale("log")
    axes.set_xlim(1, 4 * max(values))
    first_at_the_top(axes)
    axes.set_xlabel("TFLOP/s (% of cuBLAS of the same types)")
    axes.set_title(f"{device(at)}, {LADDER_SIZE}³", loc="left")
    legend_below(figure)
    return figure


def lines_over_sizes(axes, reports: list[dict], number: str) -> list[int]:
    """A line a stage. The sizes."""
    for stage in dict.fromkeys(r["stage"] for r in reports):
        line = [r for r in reports if r["stage"] == stage]
        values = [own(r)[number] for r in line]
        axes.plot([r["problem"]["m"] for r in line], values, marker="o", markersize=4, label=stage)
    ticks = sorted({r["problem"]["m"] for r in reports})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(t) for t in ticks])
    axes.set_xlabel("M = N = K")
    return ticks


def sizes(reports: list[dict]) -> Figure:
    all_sizes = squares(reports)
    counts = Counter(r["stage"] for r in all_sizes)
    lines = [r for r in all_sizes if counts[r["stage"]] >= SIZES_OF_A_LINE]
    if not lines:
        raise BadInput(f"no stage was measured at {SIZES_OF_A_LINE} powers of two")
    kinds = [k for k in COLORS if any(r["problem"]["input"] == k for r in lines)]
    figure, grid = plt.subplots(
        len(kinds), 1, figsize=(WIDTH, 4 * len(kinds)), layout="constrained"
    )
    for kind, axes in zip(kinds, [grid] if len(kinds) == 1 else grid, strict=True):
        at = [r for r in lines if r["problem"]["input"] == kind]
        ticks = lines_over_sizes(axes, at, "tflops")
        cublas = [cublas_tflops([r for r in at if r["problem"]["m"] == size]) for size in ticks]
        axes.plot(ticks, cublas, "--", color="#808080", label="cuBLAS")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("TFLOP/s")
        axes.set_title(f"{device(at)}, {kind}", loc="left")
        axes.legend(fontsize=8, frameon=False)
    return figure


def percent(reports: list[dict]) -> Figure:
    stages = [r["stage"] for r in at_ladder_size(reports)]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.5 * len(stages) + 1.2), layout="constrained")
    for place, size in enumerate((LADDER_SIZE, LARGE_SIZE)):
        of_size = {r["stage"]: r for r in squares(reports) if r["problem"]["m"] == size}
        rows = [i for i, stage in enumerate(stages) if stage in of_size]
        values = [own(of_size[stages[i]])["percent_of_cublas"] for i in rows]
        color = list(COLORS.values())[place]
        axes.barh([i + 0.4 * place for i in rows], values, 0.38, color=color, label=f"{size}³")
    axes.axvline(100, color="#808080", linestyle="--")
    axes.set_yticks([i + 0.2 for i in range(len(stages))], stages)
    first_at_the_top(axes)
    axes.set_xlabel("% of cuBLAS of the same types")
    axes.set_title(device(reports), loc="left")
    legend_below(figure)
    return figure


def label_of(report: dict) -> str:
    return manifest.stage(report["stage"]).label


def of_own(counters: dict, report: dict) -> dict:
    counted = counters.get(report["stage"], {}).get(own(report)["name"])
    if counted is None:
        raise BadInput(f"no counters of {report['stage']}")
    return counted


def roofline(reports: list[dict], counters: dict) -> Figure:
    """Over operations for each byte that ncu counted in device memory."""
    at = at_ladder_size(reports)
    figure, axes = plt.subplots(figsize=(WIDTH, 5), layout="constrained")
    peaks, widest = {}, 0.0
    groups: list[tuple[float, float, list[str]]] = []  # points that lie together have one label
    for r in at:
        variant, kind = own(r), r["problem"]["input"]
        counted = of_own(counters, r)
        moved = counted[ncu.LIMITS["dram_bytes"]] + counted[ncu.DRAM_WRITTEN]
        x, y = 2.0 * LADDER_SIZE**3 / moved, variant["tflops"]
        widest = max(widest, x)
        peaks[kind] = r["device"]["peak_tflops"]
        axes.plot(x, y, "o", color=COLORS[kind])
        near = [
            g for g in groups if abs(math.log(g[0] / x)) < 0.5 and abs(math.log(g[1] / y)) < 0.2
        ]
        if near:
            near[0][2].append(label_of(r))
        else:
            groups.append((x, y, [label_of(r)]))
    for x, y, numbers in groups:
        offset = {"xytext": (-9, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
        axes.annotate(", ".join(numbers), (x, y), **offset)
    bandwidth = at[0]["device"]["memory_gb_s"] / 1000
    xs = [1, 3 * widest]
    for kind, peak in peaks.items():
        ridge = peak / bandwidth
        label = f"{kind}: {peak:.0f} TFLOP/s, {bandwidth:.1f} TB/s"
        axes.plot(
            [xs[0], ridge, xs[1]], [xs[0] * bandwidth, peak, peak], color=COLORS[kind], label=label
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations for each byte of device memory")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(f"{device(at)}, {LADDER_SIZE}³", loc="left")
    legend_below(figure, columns=1)
    return figure


REASONS_SHOWN = 9


def stalls(reports: list[dict], counters: dict) -> Figure:
    at = at_ladder_size(reports)
    waits: dict[str, list[float]] = {}
    for r in at:
        for reason, value in ncu.stalls(of_own(counters, r)).items():
            waits.setdefault(reason, []).append(value)
    ranked = sorted(waits, key=lambda reason: -sum(waits[reason]))
    shown = ranked[:REASONS_SHOWN]
    waits["other"] = [
        sum(column) for column in zip(*(waits[r] for r in ranked[REASONS_SHOWN:]), strict=True)
    ]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.36 * len(at) + 2.4), layout="constrained")
    colors = plt.get_cmap("tab10").colors
    left = [0.0] * len(at)
    for reason, color in zip([*shown, "other"], colors, strict=True):
        axes.barh([r["stage"] for r in at], waits[reason], left=left, color=color, label=reason)
        left = [a + b for a, b in zip(left, waits[reason], strict=True)]
    first_at_the_top(axes)
    axes.set_xlabel("warps waiting for each instruction issued")
    axes.set_title(f"{device(at)}, {LADDER_SIZE}³", loc="left")
    legend_below(figure, columns=3)
    return figure


SPLIT_K = "split_k"


def split_k(reports: list[dict]) -> Figure:
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6), layout="constrained")
    stage = next((r["stage"] for r in reports if own(r)["name"] == SPLIT_K), None)
    if stage is None:
        raise BadInput(f"no results of a stage whose own variant is {SPLIT_K}")
    pair = (manifest.stage(stage).parent, stage)
    lines_over_sizes(axes, [r for r in squares(reports) if r["stage"] in pair], "percent_of_cublas")
    axes.axhline(100, color="#808080", linestyle="--")
    axes.set_ylabel("% of cuBLAS")
    axes.set_title(device(reports), loc="left")
    axes.legend(frameon=False)
    return figure


def on_tensor_cores(reports: list[dict]) -> list[dict]:
    return [
        r for r in at_ladder_size(reports) if "tensor_cores" in manifest.stage(r["stage"]).features
    ]


def tensor(reports: list[dict], counters: dict) -> Figure:
    rows = []
    for r in on_tensor_cores(reports):
        for name, counted in counters.get(r["stage"], {}).items():
            clock = counted[ncu.LIMITS["clock"]] / 1e9
            rows.append((f"{label_of(r)} {name}", counted[ncu.LIMITS["tensor_pipe"]], clock))
    figure, axes = plt.subplots(figsize=(WIDTH, 0.36 * len(rows) + 1.1), layout="constrained")
    axes.barh([row[0] for row in rows], [row[1] for row in rows], color=COLORS["fp16"])
    for place, (_, _, clock) in enumerate(rows):
        axes.text(104, place, f"{clock:.2f} GHz", va="center")
    axes.set_xlim(0, 130)
    axes.set_xticks(range(0, 101, 20))
    first_at_the_top(axes)
    axes.set_xlabel("tensor pipe, % of the time; the clock beside it")
    axes.set_title(f"{device(reports)}, {LADDER_SIZE}³", loc="left")
    return figure


def traffic(reports: list[dict], counters: dict) -> Figure:
    at = on_tensor_cores(reports)
    kinds = {
        "received by the multiprocessors": (ncu.LIMITS["sm_sectors"], 32e-9),
        "read from L2": (ncu.LIMITS["l2_sectors"], 32e-9),
        "read from device memory": (ncu.LIMITS["dram_bytes"], 1e-9),
    }
    figure, axes = plt.subplots(figsize=(WIDTH, 0.6 * len(at) + 1.8), layout="constrained")
    for place, (label, (counter, scale)) in enumerate(kinds.items()):
        values = [of_own(counters, r)[counter] * scale for r in at]
        rows = [i + 0.27 * place for i in range(len(at))]
        axes.barh(rows, values, 0.25, color=plt.get_cmap("tab10").colors[place], label=label)
    axes.set_yticks([i + 0.27 for i in range(len(at))], [r["stage"] for r in at])
    first_at_the_top(axes)
    axes.set_xlabel("GB")
    axes.set_title(f"{device(reports)}, {LADDER_SIZE}³", loc="left")
    legend_below(figure, columns=1)
    return figure


def write(draw, out: Path, *numbers) -> None:
    for theme, color in THEMES.items():
        names = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        with plt.rc_context({**SETTINGS, **dict.fromkeys(names, color)}):
            figure = draw(*numbers)
            path = out / f"{draw.__name__}_{theme}.svg"
            figure.savefig(path, transparent=True, metadata={"Date": None})
            plt.close(figure)


def require_all(reports: list[dict], counters: dict) -> None:
    """Raises BadInput with a line for each thing that the plots would lack or have too many."""
    there = {(r["stage"], shape(r)) for r in reports}
    sizes = [str(size) for size in (LADDER_SIZE, LARGE_SIZE)]
    wanted = [(name, size) for name in manifest.load() for size in sizes]
    lines = [
        f"no results of {name} at {size}" for name, size in wanted if (name, size) not in there
    ]
    lines += [f"no counters of {name}" for name in manifest.load() if name not in counters]
    for r in reports:
        why = steps.other_variants(r["stage"], [v["name"] for v in r["variants"]], ROOT)
        if why and shape(r) == sizes[0]:
            lines.append(f"the results of {r['stage']} at {sizes[0]} are {why}")
    unknown = sorted({stage for stage, _ in there} - set(manifest.load()))
    lines += [f"results of {name}, which is no stage" for name in unknown]
    if lines:
        raise BadInput(*lines)


def draw_all(results: Path, out: Path) -> None:
    reports = load(results)
    counters = ncu.load_counters(results / "counters.json")["counters"]
    require_all(reports, counters)
    out.mkdir(parents=True, exist_ok=True)
    for draw in (ladder, percent, sizes, split_k):
        write(draw, out, reports)
    for draw in (roofline, stalls, tensor, traffic):
        write(draw, out, reports, counters)
    for name, schematic in FIGURES.items():
        (out / f"{name}.svg").write_text(schematic().svg)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="?", type=Path, default=RESULTS)
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "docs/figures")
    options = parser.parse_args(arguments)
    try:
        draw_all(options.results, options.out)
    except (BadInput, OSError) as error:
        for line in str(error).splitlines():
            print(f"plot.py: {line}", file=sys.stderr)
        return 2
    return 0
