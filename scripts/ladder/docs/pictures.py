"""Figures: what a warp's request touches, drawn here, and those of ladder.figures."""

from functools import cache
from pathlib import Path

from ladder import access_figure
from ladder.docs import sources
from ladder.figures import access as request
from ladder.project import BadInput

# What the blocks have drawn; written, or compared, when all pages have been.
drawn: dict[Path, str] = {}


def access(stage: str, variant: str, array: str, operation: str) -> str:
    """Draws docs/figures/access_*.svg, which is compared and written like the text."""
    found = [
        line
        for line in sources.predicted(stage).get(variant, {}).get("memory", [])
        if (line["array"], line["op"]) == (array, operation)
    ]
    if not found:
        raise BadInput(f"{stage} {variant} has no {operation} of {array}")
    line = max(found, key=lambda line: line["requests"])
    in_figure, unit = access_figure.cost(line)
    counted = line[f"{unit}s_per_request"]
    if in_figure != counted:
        raise BadInput(
            f"{operation} of {array} of {stage} {variant}: the figure has {in_figure} {unit}s, "
            f"the CPU device counts {counted:g} a request"
        )
    name = f"access_{stage}_{variant}_{array}_{operation}.svg".replace(" ", "_")
    drawn[sources.ROOT / "docs/figures" / name] = request.draw(line)
    cost = access_figure.words(line)
    what = access_figure.array_name(line)
    return f"![{variant}: {operation} of {what} by one warp, {cost}](/docs/figures/{name})"


@cache
def caption(name: str) -> str:
    from ladder.figures import FIGURES  # of the stages that there are when it is loaded

    if name not in FIGURES:
        raise BadInput(f"no figure '{name}'; there are: {', '.join(FIGURES)}")
    return FIGURES[name]().caption


def figure(name: str, alternative: str) -> str:
    """What ./ladder figures draws; the words are for those who do not see it."""
    return f"![{alternative}](/docs/figures/{name}.svg)\n\n*{caption(name)}*"
