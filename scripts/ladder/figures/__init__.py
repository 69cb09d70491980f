"""Every schematic figure of the docs, by name. scripts/plot.py writes them all."""

from collections.abc import Callable

from ladder.figures import power, swizzle, tiles, timelines
from ladder.figures.svg import Figure

TOPICS = (tiles, swizzle, power, timelines)
FIGURES: dict[str, Callable[[], Figure]] = {
    name: draw for topic in TOPICS for name, draw in topic.FIGURES.items()
}

__all__ = ["FIGURES", "Figure"]
