"""Every schematic figure of the docs, by name. scripts/plot.py writes them all."""

from collections.abc import Callable

from ladder.figures import swizzle, tiles, timelines
from ladder.figures.svg import Figure

FIGURES: dict[str, Callable[[], Figure]] = {**tiles.FIGURES, **swizzle.FIGURES, **timelines.FIGURES}

__all__ = ["FIGURES", "Figure"]
