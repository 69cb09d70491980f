"""Draws the figures of the docs: schematic ones from the kernels' sources, and those of results.

ladder figures [RESULTS [OUT]]      default: docs/results/h200 docs/figures

Writes to OUT every figure of ladder.figures as NAME.svg, for light and dark pages. The stages are
those of stages/manifest.json. Exit code: 0 all right, 2 bad input, results that are missing among
it; then the figures of results are as they were.
"""

import argparse
import sys
from pathlib import Path

from ladder import counters as ncu
from ladder import manifest, steps
from ladder.figures import figures_of, schematic
from ladder.project import RESULTS, ROOT, BadInput
from ladder.results import load, shape

SIZES = ("4096", "8192")  # of the results that every stage has


def require_all(reports: list[dict], counters: dict) -> None:
    """Raises BadInput with a line for each thing that the figures would lack or have too many."""
    there = {(r["stage"], shape(r)) for r in reports}
    wanted = [(name, size) for name in manifest.measured_at_squares() for size in SIZES]
    lines = [
        f"no results of {name} at {size}" for name, size in wanted if (name, size) not in there
    ]
    lines += [
        f"no counters of {name}" for name in manifest.measured_at_squares() if name not in counters
    ]
    for r in reports:
        why = steps.other_variants(r["stage"], [v["name"] for v in r["variants"]], ROOT)
        if why and shape(r) == SIZES[0]:
            lines.append(f"the results of {r['stage']} at {SIZES[0]} are {why}")
    unknown = sorted({stage for stage, _ in there} - set(manifest.load()))
    lines += [f"results of {name}, which is no stage" for name in unknown]
    if lines:
        raise BadInput(*lines)


def draw_all(results: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in schematic().items():
        (out / f"{name}.svg").write_text(draw().svg)
    require_all(load(results), ncu.at_4096(results))
    for name, draw in figures_of(results).items():
        (out / f"{name}.svg").write_text(draw().svg)


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
            print(f"ladder figures: {line}", file=sys.stderr)
        return 2
    return 0
