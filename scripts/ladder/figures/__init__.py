"""Every figure of the docs, by name; ./ladder figures writes them all. To add one: a file with a
FIGURES, or an OF_RESULTS where a figure is of a folder of results, and the file's name below."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ladder.figures import (
    banks,
    copies,
    counted,
    descriptor,
    few_rows,
    fit,
    forms,
    fragments,
    group_end,
    happens_before,
    lanes,
    machine,
    mbarrier,
    measured,
    order,
    power,
    probes,
    rows,
    sweep,
    swizzle,
    tiles,
    timelines,
)
from ladder.figures.svg import Figure
from ladder.project import RESULTS
from ladder.sweep_records import SWEEP

TOPICS = (
    machine,
    tiles,
    lanes,
    order,
    fit,
    banks,
    swizzle,
    mbarrier,
    happens_before,
    fragments,
    copies,
    few_rows,
    descriptor,
    forms,
    group_end,
    power,
    probes,
    rows,
    timelines,
)
MEASURED = (measured, counted)


def schematic() -> dict[str, Callable[[], Figure]]:
    return {name: draw for topic in TOPICS for name, draw in topic.FIGURES.items()}


def figures_of(results: Path) -> dict[str, Callable[[], Figure]]:
    """Those that show the results of this folder."""
    draws = {name: draw for topic in MEASURED for name, draw in topic.OF_RESULTS.items()}
    if (results / SWEEP).exists():
        draws["sweep"] = sweep.of_results
    return {name: partial(draw, results) for name, draw in draws.items()}


FIGURES = schematic() | figures_of(RESULTS)

__all__ = ["FIGURES", "Figure", "figures_of", "schematic"]
