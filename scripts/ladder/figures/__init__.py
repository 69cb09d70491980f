"""Every figure of the docs that is one SVG file for light and dark pages, by name; scripts/plot.py
writes them all. To add one: a file with a FIGURES of its own, and its name below."""

from collections.abc import Callable

from ladder.figures import (
    banks,
    copies,
    descriptor,
    fragments,
    machine,
    mbarrier,
    measured,
    order,
    power,
    swizzle,
    tiles,
    timelines,
)
from ladder.figures.svg import Figure

TOPICS = (machine, tiles, order, banks, swizzle, mbarrier, fragments, copies, descriptor, measured, power, timelines)
FIGURES: dict[str, Callable[[], Figure]] = {
    name: draw for topic in TOPICS for name, draw in topic.FIGURES.items()
}

__all__ = ["FIGURES", "Figure"]
