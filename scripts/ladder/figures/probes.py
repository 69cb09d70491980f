"""How the times of a few problems show what a launch, a step along K and a tile of C take."""

import re
from collections.abc import Callable

from ladder.figures.svg import Canvas, Figure
from ladder.files import read_text
from ladder.project import ROOT

# An example with round numbers, in us: what a kernel might take.
START, STEP, LATER, TILE = 5.0, 0.25, 1.2, 1.0

LEFT, BOTTOM, WIDE, HIGH = 52, 318, 396, 250
MOST_STEPS, MOST_US = 70, 90


def counts() -> tuple[int, int, int]:
    """Few steps, many steps, some waves, as bench/tune has them."""
    text = read_text(ROOT / "bench/tune/probes.h")
    names = ("FEW_STEPS", "MANY_STEPS", "SOME_WAVES")
    few, many, waves = (int(re.search(rf"\b{name} = (\d+)", text)[1]) for name in names)
    return few, many, waves


def total(waves: int, steps: float) -> float:
    return START + steps * STEP + TILE + (waves - 1) * (LATER * steps * STEP + TILE)


def solved(
    short: float, long: float, some: float, long_some: float
) -> tuple[float, float, float, float]:
    """Start, step, later and tile of the four times: without_memory of bench/tune/probes.cpp."""
    few, many, waves = counts()
    step = (long - short) / (many - few)
    short_wave, long_wave = (some - short) / (waves - 1), (long_some - long) / (waves - 1)
    later_step = (long_wave - short_wave) / (many - few)
    tile = short_wave - few * later_step
    return short - few * step - tile, step, later_step / step, tile


def probes() -> Figure:
    few, many, waves = counts()
    canvas = Canvas("Four times, and what they show")
    canvas.title()
    canvas.text(8, 44, "us, over steps of 64 along K", "small soft")

    def x(steps: float) -> float:
        return LEFT + WIDE * steps / MOST_STEPS

    def y(us: float) -> float:
        return BOTTOM - HIGH * us / MOST_US

    canvas.line(LEFT, BOTTOM, LEFT + WIDE, BOTTOM)
    canvas.line(LEFT, BOTTOM, LEFT, y(MOST_US))
    for us in range(0, MOST_US + 1, 30):
        canvas.text(LEFT - 6, y(us) + 4, str(us), "small soft", "end")
        canvas.line(LEFT, y(us), LEFT + WIDE, y(us), "thin")
    for steps in (0, few, many):
        canvas.text(x(steps), BOTTOM + 17, str(steps), "small soft", "middle")
    canvas.path([(x(0), y(total(1, 0))), (x(many), y(total(1, many)))], "wide a")
    canvas.path([(x(0), y(total(waves, 0))), (x(many), y(total(waves, many)))], "wide b")
    points = (
        (1, few, "a", "short", 10, 14, "start"),
        (1, many, "a", "long", 0, -10, "end"),
        (waves, few, "b", "waves", 12, 10, "start"),
        (waves, many, "b", "long_waves", -12, 0, "end"),
    )
    for count, steps, color, name, aside, below, anchor in points:
        us = total(count, steps)
        canvas.circle(x(steps), y(us), 4, color)
        canvas.text(x(steps) + aside, y(us) + below, f"{name}: {us:g} us", "label bold", anchor)
    canvas.text(x(36), y(total(1, 36)) + 22, f"one wave: {STEP:g} us a step", "small")
    canvas.text(x(40), y(total(waves, 40)) + 22, f"{waves} waves", "small")
    start, step, later, tile = solved(
        total(1, few), total(1, many), total(waves, few), total(waves, many)
    )
    canvas.text(
        8,
        BOTTOM + 42,
        f"solved: step {step:g} us, later {later:g}, tile {tile:g} us, start {start:g} us",
        "label bold",
    )
    return canvas.figure(
        BOTTOM + 54,
        f"An example with round numbers: one wave (blue) rises by {STEP:g} us a step; {waves} "
        f"waves (orange) begin {waves - 1} tiles higher and rise by more than {waves} times as "
        f"much, for a step takes {LATER:g} times as long in the later ones.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"probes": probes}
