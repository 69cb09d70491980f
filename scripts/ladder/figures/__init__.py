"""Every schematic figure of the docs, by name. scripts/plot.py writes them all."""

from collections.abc import Callable

from ladder.figures import power, swizzle, tiles
from ladder.figures.svg import Figure

FIGURES: dict[str, Callable[[], Figure]] = {**tiles.FIGURES, **swizzle.FIGURES, **power.FIGURES}

__all__ = ["FIGURES", "Figure"]
