#!/usr/bin/env python3
"""Plots of the stages' results, as SVG for light and for dark pages.

plot.py [RESULTS [OUT]]      default: docs/results/h200 docs/figures

Writes OUT/ladder_{light,dark}.svg, TFLOP/s of every stage at 4096^3, and
OUT/sizes_{light,dark}.svg, TFLOP/s over the powers of two. Exit code: 0 all right, 2 bad input.
"""

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parent))
from results_table import BadInput, load, own, shape

ROOT = Path(__file__).resolve().parents[1]
LADDER_SIZE = 4096
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


def ladder(reports: list[dict]) -> Figure:
    at = [r for r in squares(reports) if r["problem"]["m"] == LADDER_SIZE]
    if not at:
        raise BadInput(f"no results at {LADDER_SIZE}")
    figure, axes = plt.subplots(figsize=(7, 0.36 * len(at) + 1.3), layout="constrained")
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
    axes.invert_yaxis()
    axes.set_xlabel("TFLOP/s (% of cuBLAS of the same types)")
    axes.set_title(f"{device(at)}, {LADDER_SIZE}³", loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return figure


def sizes(reports: list[dict]) -> Figure:
    kinds = [k for k in COLORS if any(r["problem"]["input"] == k for r in squares(reports))]
    figure, grid = plt.subplots(len(kinds), 1, figsize=(7, 4 * len(kinds)), layout="constrained")
    for kind, axes in zip(kinds, [grid] if len(kinds) == 1 else grid, strict=True):
        at = [r for r in squares(reports) if r["problem"]["input"] == kind]
        stages = dict.fromkeys(r["stage"] for r in at)
        for stage in stages:
            line = [r for r in at if r["stage"] == stage]
            axes.plot(
                [r["problem"]["m"] for r in line],
                [own(r)["tflops"] for r in line],
                marker="o",
                markersize=4,
                label=stage,
            )
        ticks = sorted({r["problem"]["m"] for r in at})
        cublas = [cublas_tflops([r for r in at if r["problem"]["m"] == size]) for size in ticks]
        axes.plot(ticks, cublas, "--", color="#808080", label="cuBLAS")
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("M = N = K")
        axes.set_ylabel("TFLOP/s")
        axes.set_title(f"{device(at)}, {kind}", loc="left")
        axes.legend(fontsize=8, frameon=False)
    return figure


def write(draw, reports: list[dict], out: Path) -> None:
    for theme, color in THEMES.items():
        names = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        with plt.rc_context({**SETTINGS, **dict.fromkeys(names, color)}):
            figure = draw(reports)
            path = out / f"{draw.__name__}_{theme}.svg"
            figure.savefig(path, transparent=True, metadata={"Date": None})
            plt.close(figure)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="?", type=Path, default=ROOT / "docs/results/h200")
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "docs/figures")
    options = parser.parse_args(arguments)
    try:
        reports = load(options.results)
        options.out.mkdir(parents=True, exist_ok=True)
        for draw in (ladder, sizes):
            write(draw, reports, options.out)
    except (BadInput, FileExistsError) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
