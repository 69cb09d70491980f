"""Claims, with their values."""

from ladder import claims
from ladder.docs import sources
from ladder.docs.text import number
from ladder.project import BadInput


def claim_list(*ids: str) -> str:
    lines, problems = [], []
    for name in ids:
        try:
            lines.append(claim_line(name))
        except BadInput as error:
            problems += error.args
    if problems:
        raise BadInput(*problems)
    return "\n".join(lines)


def claim_line(name: str) -> str:
    if name not in sources.all_claims():
        raise BadInput(f"there is no claim '{name}'")
    claim = sources.all_claims()[name]
    numbers: dict[str, float] = {}
    try:
        holds = claims.evaluate(claims.parse(claim["holds"]), sources.measurements(), numbers)
    except claims.Untold as error:
        raise BadInput(f"claim '{name}': {error}") from error
    if holds is not True:
        raise BadInput(f"claim '{name}' does not hold")
    values = "; ".join(
        f"{call} = {number(value)}{' ms' if call.startswith('time(') else ''}"
        for call, value in numbers.items()
    )
    return f"- {' '.join(claim['claim'].split())} <small>`{name}`: {values}</small>"
