"""What is wrong with a claim itself, whatever was measured (./ladder claims --lint).

A claim has to be able to fail in both directions, to say in words what its expression says in
numbers, and to be told from counters that can see what it speaks of.
"""

import ast
import math
import re
from random import Random

from ladder import manifest
from ladder.evaluation import DERIVED, Measurements, Untold, calls, evaluate, is_about, parse

SPAN = 2.0  # a bound is at most this factor away from what was measured
ROUNDING = 0.06  # a sentence may say "a fifth" of 19%
TRIALS = 100  # of numbers drawn, among which a comparison has to be false once
POINTS = 6.0  # and a difference's bounds at most this far apart
# What a function cannot leave, so that a bound there, or beyond, is none.
PERCENT = (
    *("issue", "fma_pipe", "tensor_pipe", "shared_pipe", "dram", "warps_active", "l2_hits"),
    *("possible_share", "percent_of_peak", "sm_throughput"),
)
LIMITS = {name: (0, 100) for name in PERCENT} | {
    "occupancy": (0, 1),
    "threads_per_instruction": (1, 32),
    "sectors_per_request_ld": (1, 32),
    "sectors_per_request_st": (1, 32),
    "registers": (0, 255),
    "power_cap": (0, 1),
    "burst_cap": (0, 1),
}
# A sentence that has the words needs one of the functions.
TIMES = (
    *("time", "tflops", "percent_of_cublas", "percent_of_best"),
    *("sustained_percent_of_cublas", "sustained_percent_of_best"),
)
OF_DATA = ("data_", "power_", "burst_", "launch_", "cublas_")
CAN_SEE = {
    r"bank conflicts?": ("bank_conflicts_ld", "bank_conflicts_st"),
    r"wavefronts?": (*("wavefronts", "l1_wavefronts", "bank_conflicts_ld", "bank_conflicts_st"),),
    r"data stage": ("shared_pipe", "l1_wavefronts", "wavefronts"),
    r"sectors?": (
        *("sectors_ld", "sectors_st", "sectors_per_request_ld", "sectors_per_request_st"),
        *("sm_sectors", "l2_sectors", "l1_wavefronts"),
    ),
    r"L2": ("sm_sectors", "l2_sectors", "l2_hits"),
    r"device memory": ("dram_bytes", "dram"),
    r"occupancy": ("occupancy", "warps_active"),
    r"FMA pipe": ("fma_pipe",),
    r"tensor pipe": ("tensor_pipe", "sm_throughput", "launch_tensor_pipe"),
    r"issue slots": ("issue", "instructions"),
    r"cuBLAS|cublasLt": (*TIMES[2:], "cublas_"),
    r"GHz|(?:the|its|a) clock\b": ("clock", "possible_share", *OF_DATA),
    r"power|watts": ("clock", "sustained_", *OF_DATA),
    r"registers (?:a thread|each)": ("registers",),
    r"ldmatrix": ("matrix_loads",),
    r"faster|slower|times as fast": (*TIMES, *OF_DATA),
    r"warps wait|waits?\b": ("stall_",),
    r"dispatch stall": ("stall_dispatch_stall",),
}
FRACTIONS = {
    **{"half": 1 / 2, "halve": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5},
    **{"sixth": 1 / 6, "seventh": 1 / 7, "eighth": 1 / 8, "ninth": 1 / 9, "tenth": 1 / 10},
    **{"sixteenth": 1 / 16, "twentieth": 1 / 20, "thousandth": 1 / 1000},
}
NUMBERS = {
    **{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9},
    "ten": 10,
}
DIGITS = (
    r"(?<![\w.^/x-])(\d+(?:,\d{3})*(?:\.\d+)?)(?![\w^.]*[a-z^]|\d|x\d)"
    r"(%| times| points| to \d[\d.]*(?:%| times| points))?"
)


def normalized(node: ast.AST) -> str:
    return ast.unparse(node)


def is_constant(node: ast.AST) -> bool:
    return not any(isinstance(part, ast.Call) for part in ast.walk(node))


def comparisons(claim: dict) -> list[ast.Compare]:
    """What all has to hold. A claim that is no such list is a finding of its own."""
    expression = parse(claim["holds"])
    parts = expression.values if isinstance(expression, ast.BoolOp) else [expression]
    if not all(isinstance(part, ast.Compare) for part in parts):
        raise Untold("is no comparison, nor several with `and`")
    return parts


def function_of(node: ast.AST) -> str | None:
    """The function, if the node is one call."""
    return node.func.id if isinstance(node, ast.Call) else None


class Anything:
    """In the place of measurements: every number is one that it could be."""

    def __init__(self, random: Random):
        self.random, self.drawn = random, {}

    def number(self, name: str, variant: str, at: str | None) -> float:
        if name in DERIVED:
            return DERIVED[name](lambda part: self.number(part, variant, at))
        key = (name, variant, at)
        if key not in self.drawn:
            low, high = LIMITS.get(name, (None, None))
            large = 10 ** self.random.uniform(-3, 12)
            self.drawn[key] = large if low is None else self.random.uniform(low, high)
        return self.drawn[key]


def can_be_false(node: ast.Compare) -> bool:
    random = Random(1)
    return any(not evaluate(node, Anything(random), {}) for _ in range(TRIALS))


def follows_from_its_form(node: ast.Compare) -> str | None:
    sides = [node.left, *node.comparators]
    if all(is_constant(side) for side in sides):
        return "compares constants"
    if len({normalized(side) for side in sides}) < len(sides):
        return "has the same on both sides"
    for part in ast.walk(node):
        match part:
            case ast.BinOp(left, ast.Div() | ast.Sub(), right):
                if normalized(left) == normalized(right):
                    return "has the same on both sides of an operator"
    return None if can_be_false(node) else "is true whatever was measured"


def bounds(node: ast.Compare) -> tuple[ast.AST, float | None, float | None]:
    """What is compared, and the constants below and above it; those that are no bound, because
    nothing could be beyond them, are None. Two quantities are compared as their ratio with 1."""
    sides = [node.left, *node.comparators]
    value = [evaluate(side, None, {}) if is_constant(side) else None for side in sides]
    match node.ops, value:
        case [ast.Lt() | ast.LtE(), ast.Lt() | ast.LtE()], [low, None, high]:
            quantity = sides[1]
        case [ast.Eq()], [None, None]:
            return sides[0], 1, 1
        case [ast.Eq()], [None, number] | [number, None]:
            quantity, low, high = sides[value.index(None)], number, number
        case [ast.Lt() | ast.LtE()], [low, high]:
            quantity = sides[0] if low is None else sides[1]
        case [ast.Gt() | ast.GtE()], [high, low]:
            quantity = sides[1] if low is None else sides[0]
        case _:
            raise Untold("is neither low < quantity < high nor an equality")
    if low != high:
        least, most = LIMITS.get(function_of(quantity), (None, None))
        low = None if low is None or (least is not None and low <= least) else low
        high = None if high is None or (most is not None and high >= most) else high
        if low is not None and low <= 0 and not has_difference(quantity):
            low = None
    return quantity, low, high


def has_difference(node: ast.AST) -> bool:
    """Whether it can be less than nothing."""
    return any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) for part in ast.walk(node)
    )


def too_wide(quantity: ast.AST, low: float, high: float, value: float | None) -> str | None:
    if low == high or value is None:
        return None
    if isinstance(quantity, ast.BinOp) and isinstance(quantity.op, ast.Sub):
        return f"leaves {high - low:g} points" if high - low > POINTS else None
    if low * SPAN < value or value * SPAN < high:
        return f"is further than a factor of {SPAN:g} from {value:.4g}"
    return None


def numbers_said(claim: dict) -> list[tuple[str, float]]:
    """The numbers of a sentence as it has them, without those that are given and the shapes."""
    text = claim["claim"]
    shapes = {at or "4096" for _, _, at in calls(claim)} | {"4096", "8192", "128"}
    names = shapes | {stage.label for stage in manifest.load().values()}
    found = [
        (number, float(number.replace(",", "")))
        for number, amount in re.findall(DIGITS, text)
        if amount or number not in names
    ]
    stems = "|".join(FRACTIONS)
    counted = "|".join([*NUMBERS, "all"])
    for count, word in re.findall(rf"\b(?:({counted}) )?({stems})(?:s|d)?\b", text):
        found.append((f"{count} {word}".strip(), NUMBERS.get(count, 1) * FRACTIONS[word]))
    for word in re.findall(rf"\b({'|'.join(NUMBERS)}) times\b", text):
        found.append((f"{word} times", NUMBERS[word]))
    found += [(word, 2) for word in re.findall(r"\b(?:twice|doubles?)\b", text)]
    given = {float(number) for number in claim.get("given", [])}
    return [(said, n) for said, n in found if n not in given]


def readings(said: str, number: float) -> list[float]:
    """What an expression may have where a sentence has a number: `8%` may be 8, 108, 92, 0.08,
    1.08, 0.92 or the inverse of those; `a third` the third left or the third gone."""
    if said.replace(",", "").replace(".", "").isdigit():
        shares = [number / 100, 1 + number / 100, 1 - number / 100]
        scaled = [number * factor for factor in (1, -1, 1e9, 1e6, 1e-3, 100)]
        scaled += [100 + number, 100 - number]
    else:
        shares, scaled = [number, 1 + number, 1 - number], [100 * number, 100 - 100 * number]
    return [*scaled, *shares, *(1 / share for share in shares if share)]


def is_told(number: float, low: float | None, high: float | None, value: float | None) -> bool:
    """Whether a number is a bound, or what was measured, rounded."""
    bound = any(math.isclose(number, end, rel_tol=1e-3) for end in (low, high) if end is not None)
    return bound or (value is not None and math.isclose(number, value, rel_tol=ROUNDING))


def unsupported(claim: dict, told: list[tuple]) -> list[str]:
    """Numbers of the sentence that no comparison has."""
    return [
        f"says {said}, which is no bound and not what was measured"
        for said, number in numbers_said(claim)
        if not any(is_told(reading, *tells) for reading in readings(said, number) for tells in told)
    ]


def unseen(claim: dict) -> list[str]:
    """What the sentence speaks of and no number of the expression can see."""
    used = [name for name, _, _ in calls(claim)]
    return [
        f"speaks of '{found[0]}', which {' and '.join(sorted(set(used)))} cannot see"
        for words, functions in CAN_SEE.items()
        if (found := re.search(rf"\b(?:{words})", claim["claim"]))
        and not any(name.startswith(functions) for name in used)
    ]


def measured_value(quantity: ast.AST, measured: Measurements) -> float | None:
    """None where it cannot be told, which ladder claims says."""
    try:
        return evaluate(quantity, measured, {})
    except Untold:
        return None


def findings_of(claim: dict, measured: dict[str, Measurements]) -> list[str]:
    try:
        parts = comparisons(claim)
        intervals = [bounds(part) for part in parts]
        found = [f"'{normalized(p)}' {why}" for p in parts if (why := follows_from_its_form(p))]
    except Untold as reason:
        return [str(reason)]
    about = {gpu: its for gpu, its in measured.items() if is_about(claim, gpu)}
    told = [
        (low, high, measured_value(quantity, its))
        for quantity, low, high in intervals
        for its in about.values()
    ]
    found += unsupported(claim, told) + unseen(claim)
    if "wide" in claim:
        return found
    for part, (quantity, low, high) in zip(parts, intervals, strict=True):
        if low is None or high is None:
            found.append(f"'{normalized(part)}' can fail in one direction only")
            continue
        for gpu, its in about.items():
            if why := too_wide(quantity, low, high, measured_value(quantity, its)):
                found.append(f"'{normalized(part)}' {why} ({gpu})")
    return found


def twice(claims: list[dict]) -> list[str]:
    """Comparisons that two claims have."""
    owners: dict[str, str] = {}
    found = []
    for claim in claims:
        for part in comparisons(claim):
            owner = owners.setdefault(normalized(part), claim["id"])
            if owner != claim["id"]:
                found.append(f"{claim['id']}: '{normalized(part)}' is claimed by {owner} already")
    return found


def findings(claims: list[dict], measured: dict[str, Measurements]) -> list[str]:
    own = [f"{claim['id']}: {what}" for claim in claims for what in findings_of(claim, measured)]
    return own or twice(claims)
