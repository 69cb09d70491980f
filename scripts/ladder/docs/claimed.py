"""Claims with their values, and single values in the prose."""

from ladder.docs import sources
from ladder.docs.text import number
from ladder.evaluation import Untold, evaluate, parse
from ladder.project import BadInput


def claim_list(*ids: str, folded: bool = False) -> str:
    """Sentences, and what was measured: in footnotes, which a page shows at its end, or below each
    sentence of those that are folded."""
    lines, footnotes, problems = [], [], []
    for name in ids:
        try:
            measured_of_it = values(name)
            sentence = " ".join(sources.all_claims()[name]["claim"].split())
        except BadInput as error:
            problems += error.args
            continue
        if folded:
            lines.append(f"- {sentence}<br>\n  {measured_of_it}.")
        else:
            lines.append(f"- {sentence}[^{name}]")
            footnotes.append(f"[^{name}]: {measured_of_it}.")
    if problems:
        raise BadInput(*problems)
    return "\n".join([*lines, "", *footnotes])


def values(name: str) -> str:
    """What has to hold, and the numbers in it in their order, of each GPU that it is to hold on."""
    if name not in sources.all_claims():
        raise BadInput(f"there is no claim '{name}'")
    claim = sources.all_claims()[name]
    gpus = [gpu for gpu in sources.GPUS if gpu in claim.get("on", sources.GPUS)]
    if not gpus:
        raise BadInput(f"claim '{name}': no results of {', '.join(claim['on'])}")
    columns = []
    for gpu in gpus:
        numbers = ", ".join(shown(*item) for item in measured(name, claim, gpu).items())
        columns.append(f"{numbers} ({sources.label(gpu)})" if len(sources.GPUS) > 1 else numbers)
    return f"`{' '.join(claim['holds'].split())}`: {'; '.join(columns)}"


def shown(call: str, value: float) -> str:
    if value >= 1e6:
        return f"{number(value / 1e6)} M"
    return number(value) + (" ms" if call.startswith("time(") else "")


def measured(name: str, claim: dict, gpu: str) -> dict[str, float]:
    on = f" on {sources.label(gpu)}" if len(sources.GPUS) > 1 else ""
    numbers: dict[str, float] = {}
    try:
        holds = evaluate(parse(claim["holds"]), sources.measurements(gpu), numbers)
    except Untold as error:
        raise BadInput(f"claim '{name}'{on}: {error}") from error
    if holds is not True:
        raise BadInput(f"claim '{name}' does not hold{on}")
    return numbers


def value(expression: str, form: str) -> str:
    """Of an expression as claims have them, on the reference."""
    try:
        found = evaluate(parse(expression), sources.measurements(sources.reference()), {})
    except Untold as error:
        raise BadInput(f"'{expression}': {error}") from error
    if isinstance(found, bool):
        raise BadInput(f"'{expression}' is a comparison, not a number")
    try:
        return format(found, form)
    except ValueError as error:
        raise BadInput(f"'{form}' is no format of a number: {error}") from error
