"""Who knows what of whom in a ring of two buffers, as the CPU device reckons it: with clocks. And
the clock that is missing where a consumer releases its buffer one tile too early."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ladder.figures.svg import Canvas, Figure

PRODUCER, COPIES, CONSUMER, WGMMA = "P", "T", "C", "W"
LANES = {PRODUCER: "producer", COPIES: "TMA", CONSUMER: "consumer", WGMMA: "wgmma"}
BESIDE = (COPIES, WGMMA)  # what works beside the threads: it knows what who orders it knows
KINDS = {PRODUCER: "a", COPIES: "b", CONSUMER: "a", WGMMA: "c"}
X = {agent: 56 + 122 * number for number, agent in enumerate(LANES)}  # the middle of each lane
WIDTH, HEIGHT, ROW = 94, 26, 56  # of a box; from a row to the next


@dataclass
class Step:
    """What an agent does, in a row of the drawing. `after`: the step that it was ordered by or
    learns of, by its place among all. `touches`: fills or reads buffer 0."""

    agent: str
    words: str
    row: int
    after: int | None = None
    touches: bool = False
    clock: int = 0  # of this step, among those of its agent
    knows: dict[str, int] = field(default_factory=dict)  # before it, the clocks of all agents


def ring(early: bool) -> list[Step]:
    """Tile 0 and tile 2, which follow each other in buffer 0. `early`: tile 0 is released when its
    multiplication has begun, instead of when it has been waited for."""
    steps = [
        Step(PRODUCER, "asks for tile 0", 0),
        Step(COPIES, "fills buffer 0", 0, after=0, touches=True),
        Step(CONSUMER, "waits: full", 0, after=1),
        Step(WGMMA, "reads buffer 0", 0, after=2, touches=True),
    ]
    if not early:
        steps += [
            Step(CONSUMER, "the next tile", 1),
            Step(WGMMA, "reads buffer 1", 1, after=4),
            Step(CONSUMER, "waits: group", 2, after=3),
        ]
    row = steps[-1].row + 1
    steps += [
        Step(CONSUMER, "releases 0", row),
        Step(PRODUCER, "waits: empty", row, after=len(steps)),
        Step(PRODUCER, "asks for tile 2", row + 1),
        Step(COPIES, "fills buffer 0", row + 1, after=len(steps) + 2, touches=True),
    ]
    return with_clocks(steps)


def with_clocks(steps: list[Step]) -> list[Step]:
    """A step knows what the one that it comes after knew, and that one itself; a thread also knows
    what it knew before."""
    last: dict[str, Step] = {}
    for step in steps:
        before = [steps[step.after]] if step.after is not None else []
        if step.agent in last and step.agent not in BESIDE:
            before.append(last[step.agent])
        step.clock = last[step.agent].clock + 1 if step.agent in last else 1
        for one in before:
            for agent, clock in (one.knows | {one.agent: one.clock}).items():
                step.knows[agent] = max(step.knows.get(agent, 0), clock)
        last[step.agent] = step
    return steps


def missing(steps: list[Step]) -> list[Step]:
    """Of what touched the buffer before the last step, that which this does not know of."""
    knows = steps[-1].knows
    return [s for s in steps[:-1] if s.touches and knows.get(s.agent, 0) < s.clock]


def draw_ring(canvas: Canvas, y: float, steps: list[Step]) -> float:
    """Where the next drawing could begin."""
    end = y + (steps[-1].row + 1) * ROW
    for agent, name in LANES.items():
        canvas.text(X[agent], y - 8, name, "label bold", "middle")
        canvas.line(X[agent], y, X[agent], end - 6, "thin dash")

    def middle(step: Step) -> float:
        return y + 6 + step.row * ROW + HEIGHT / 2

    lacks = missing(steps)
    for step in steps:
        x, at = X[step.agent], middle(step)
        if step.after is not None:
            source = steps[step.after]
            side = WIDTH / 2 if x > X[source.agent] else -WIDTH / 2
            kind = "" if step.agent in BESIDE else "d"
            canvas.arrow(X[source.agent] + side, middle(source), x - side, at, kind)
        hot = lacks and step is steps[-1]
        canvas.rect(
            x - WIDTH / 2, at - HEIGHT / 2, WIDTH, HEIGHT, "hot" if hot else KINDS[step.agent]
        )
        canvas.text(x, at + 4.5, step.words, "small", "middle")
        if step.agent in BESIDE:
            canvas.text(x, at + 27, f"{step.agent}:{step.clock}", "small bold", "middle")
        elif step.words == "waits: empty":
            clocks = " ".join(f"{agent}:{step.knows.get(agent, 0)}" for agent in BESIDE)
            canvas.text(x, at + 27, f"knows {clocks}", "small bold", "middle")
    for step in lacks:
        x, at = X[step.agent], middle(steps[-1])
        canvas.line(x, middle(step) + 34, x, at, "hot dash")
        canvas.arrow(x, at, X[steps[-1].agent] + WIDTH / 2, at, "hot dash")
    return end


def draw() -> Figure:
    canvas = Canvas("Who knows what, in a ring of two buffers")
    canvas.title()
    canvas.text(8, 44, "gray: who starts it; violet: who waits, and learns of it", "small soft")
    canvas.text(8, 72, "released when its multiplication is waited for", "label bold")
    y = draw_ring(canvas, 106, ring(early=False))
    canvas.text(8, y + 22, "released one tile early", "label bold")
    y = draw_ring(canvas, y + 56, ring(early=True))
    return canvas.figure(
        y + 4,
        "Above, a way of arrows leads from the first reading of buffer 0 (W:1) to the copy that "
        "fills it again. Below, the release has come before the wait, the producer does not know "
        "W:1, and no way leads there (red, dashed): a race, whenever the two happen.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"happens_before": draw}
