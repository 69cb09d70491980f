"""How the times of a few problems show what a launch, a step along K and a tile of C take."""

import re
from collections.abc import Callable

from ladder.figures.svg import Canvas, Figure
from ladder.project import ROOT

# An example with round numbers, in us: what a kernel might take.
START, STEP, TILE = 5.0, 0.25, 1.0

LEFT, BOTTOM, WIDE, HIGH = 52, 318, 396, 250
MOST_STEPS, MOST_US = 70, 30


def counts() -> tuple[int, int, int]:
    """Few steps, many steps, some waves, as bench/tune has them."""
    text = (ROOT / "bench/tune/probes.h").read_text()
    names = ("FEW_STEPS", "MANY_STEPS", "SOME_WAVES")
    few, many, waves = (int(re.search(rf"\b{name} = (\d+)", text)[1]) for name in names)
    return few, many, waves


def total(waves: int, steps: float) -> float:
    return START + waves * (steps * STEP + TILE)


def solved(short: float, long: float, some: float) -> tuple[float, float, float]:
    """Start, step and tile of the three times: without_memory of bench/tune/probes.cpp."""
    few, many, waves = counts()
    step = (long - short) / (many - few)
    tile = (some - short) / (waves - 1) - few * step
    return short - few * step - tile, step, tile


def probes() -> Figure:
    few, many, waves = counts()
    canvas = Canvas("Three times, and what they show")
    canvas.title()
    canvas.text(8, 44, "us, over steps of 64 along K", "small soft")

    def x(steps: float) -> float:
        return LEFT + WIDE * steps / MOST_STEPS

    def y(us: float) -> float:
        return BOTTOM - HIGH * us / MOST_US

    canvas.line(LEFT, BOTTOM, LEFT + WIDE, BOTTOM)
    canvas.line(LEFT, BOTTOM, LEFT, y(MOST_US))
    for us in range(0, MOST_US + 1, 10):
        canvas.text(LEFT - 6, y(us) + 4, str(us), "small soft", "end")
        canvas.line(LEFT, y(us), LEFT + WIDE, y(us), "thin")
    for steps in (0, few, many):
        canvas.text(x(steps), BOTTOM + 17, str(steps), "small soft", "middle")
    last = (MOST_US - START - waves * TILE) / (waves * STEP)  # steps at the upper edge
    canvas.path([(x(0), y(total(1, 0))), (x(many), y(total(1, many)))], "wide a")
    canvas.path([(x(0), y(total(waves, 0))), (x(last), y(MOST_US))], "wide b dash")
    canvas.line(x(0), y(START), x(many), y(START), "dash")
    canvas.text(x(30), y(START) + 16, f"start: {START:g} us", "small")
    points = (
        (1, few, "a", "short", 10, 15, "start"),
        (1, many, "a", "long", 0, -10, "end"),
        (waves, few, "b", "waves", 12, 8, "start"),
    )
    for count, steps, color, name, aside, below, anchor in points:
        us = total(count, steps)
        canvas.circle(x(steps), y(us), 4, color)
        canvas.text(x(steps) + aside, y(us) + below, f"{name}: {us:g} us", "label bold", anchor)
    canvas.text(x(36), y(total(1, 36)) + 22, f"one wave: {STEP:g} us a step", "small")
    canvas.text(x(last) + 8, y(MOST_US) + 14, f"{waves} waves: {waves} times as steep", "small")
    start, step, tile = solved(total(1, few), total(1, many), total(waves, few))
    canvas.text(
        8,
        BOTTOM + 42,
        f"solved: step {step:g} us, tile {tile:g} us, start {start:g} us",
        "label bold",
    )
    return canvas.figure(
        BOTTOM + 54,
        f"An example with round numbers: the slope of one wave (blue) is what a step takes. "
        f"{waves} waves (orange) are {waves} times as steep, so that one point of them is enough; "
        f"they begin {waves - 1} tiles higher.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"probes": probes}
