"""Claims of docs/claims.yaml, and whether they hold of the measurements in a folder. What a claim
may be made of is in the help of ladder claims."""

import ast
import operator
import re
from pathlib import Path

from ladder import power_results
from ladder.counters import LIMITS, PREDICTED, PREDICTED_SIZE, STALL, TIME
from ladder.files import Closed, a_name, one_line, read_yaml
from ladder.project import ROOT, BadInput
from ladder.results import load, percent_of_best, shape
from ladder.sweep_records import SWEEP, merge, read_lines, rows_of

CLAIMS = ROOT / "docs/claims.yaml"


class Untold(Exception):
    """Why a claim can be neither true nor false."""


RESULTS = {
    "time": lambda v: v["time_ms"]["median"],
    "tflops": lambda v: v["tflops"],
    "percent_of_cublas": lambda v: v["percent_of_cublas"],
    "percent_of_best": percent_of_best,
    "percent_of_peak": lambda v: v["percent_of_peak"],
    "sustained_percent_of_cublas": lambda v: v["sustained"]["percent_of_cublas"],
    "sustained_percent_of_best": lambda v: percent_of_best(v["sustained"]),
    "registers": lambda v: v["registers"],
    "shared_bytes": lambda v: v["shared_bytes"],
    "threads": lambda v: v["threads"],
    "occupancy": lambda v: v["occupancy"],
    "multiprocessors": lambda v: v["device"]["multiprocessors"],
    "flops_per_clock": lambda v: FLOPS_PER_CLOCK[v["problem"]["input"]],
    "flops": lambda v: 2 * v["problem"]["m"] * v["problem"]["n"] * v["problem"]["k"],
}
# Operations that a multiprocessor can do in a clock, by the type of A and B.
FLOPS_PER_CLOCK = {"e4m3": 8192, "fp16": 4096, "fp32": 256}
# Made of other numbers of the same variant, which `n` finds by their names.
DERIVED = {
    "sectors_per_request_ld": lambda n: n("sectors_ld") / n("requests_ld"),
    "sectors_per_request_st": lambda n: n("sectors_st") / n("requests_st"),
    "ncu_time": lambda n: n("ncu_nanoseconds") / 1e9,
    "sm_cycles": lambda n: n("clock") * n("ncu_time") * n("multiprocessors"),
    "l1_wavefronts": lambda n: n("shared_pipe") / 100 * n("sm_cycles"),
    "possible_share": lambda n: 100 * n("flops") / (n("flops_per_clock") * n("sm_cycles")),
}
# Of stages over many shapes.
SWEPT = ("swept", "faster_in_sweep")
# Counters that no table of the pages has.
MORE = {
    "ncu_nanoseconds": TIME,
    "sm_throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
CLAIM = Closed(
    {
        "id": one_line,
        "claim": str,
        "holds": str,
        "on?": [a_name, ...],
        "why_not_elsewhere?": str,
        "wide?": str,
        "given?": [float],
        "not_predicted?": str,
    }
)


def counter_of(name: str) -> str | None:
    """ncu's name of a counter."""
    if name.startswith("stall_"):
        return STALL.format(name.removeprefix("stall_"))
    return PREDICTED.get(name) or LIMITS.get(name) or MORE.get(name)


def default_size(name: str) -> int:
    """Where a counter is looked up if no size is given."""
    return PREDICTED_SIZE if name in PREDICTED else 4096


class Measurements:
    """Numbers by (stage/variant, shape), and counters by stage/variant."""

    def __init__(self, results: Path, counters: list[dict]):
        self.results = results
        self.variants = {}
        for report in load(results):
            for variant in report["variants"]:
                at = f"{report['stage']}/{variant['name']}", shape(report)
                self.variants[at] = variant | {
                    "device": report.get("device"),
                    "problem": report["problem"],
                }
        self.counters = {
            (f"{stage}/{variant}", str(of_size["size"])): numbers
            for of_size in counters
            for stage, variants in of_size["counters"].items()
            for variant, numbers in variants.items()
        }

    def number(self, name: str, variant: str, at: str | None) -> float:
        if name in power_results.FUNCTIONS:
            return self.of_data(name, variant, at or "random")
        if name in SWEPT:
            return self.of_sweep(name, variant.split("/")[0], at)
        if name in DERIVED:
            return DERIVED[name](lambda part: self.number(part, variant, at))
        if counter := counter_of(name):
            return self.counter(counter, variant, at or str(default_size(name)))
        return self.result(name, variant, at or "4096")

    def of_data(self, name: str, variant: str, data: str) -> float:
        try:
            return power_results.number(power_results.load(self.results), name, variant, data)
        except BadInput as error:
            raise Untold(str(error)) from error

    def of_sweep(self, name: str, stage: str, than: str | None) -> float:
        records = merge(read_lines(self.results / SWEEP), "fp16")
        rows = [row for row in rows_of(records.values()) if stage in row.stages]
        if not rows:
            raise Untold(f"no sweep with {stage}")
        if name == "swept":
            return len(rows)
        if than not in ("cublas", "best"):
            raise Untold(f"{name} is than cublas or than best, not than '{than}'")
        libraries = [r.cublas if than == "cublas" else r.fastest_library for r in rows]
        return sum(r.stages[stage] < ms for r, ms in zip(rows, libraries, strict=True))

    def counter(self, counter: str, variant: str, at: str) -> float:
        if (variant, at) not in self.counters:
            raise Untold(f"no counters of {variant} at {at}")
        if counter not in self.counters[variant, at]:
            raise Untold(f"no {counter} of {variant} at {at}")
        return self.counters[variant, at][counter]

    def result(self, name: str, variant: str, at: str) -> float:
        if name not in RESULTS:
            known = [*RESULTS, *PREDICTED, *DERIVED, *LIMITS, "stall_REASON"]
            known += [*power_results.FUNCTIONS, *SWEPT]
            raise Untold(f"no function '{name}'; there are: {', '.join(known)}")
        found = self.variants.get((variant, at))
        if found is None:
            raise Untold(f"no results of {variant} at {at}")
        try:
            value = RESULTS[name](found)
        except (KeyError, TypeError):
            value = None
        if value is None:
            raise Untold(f"no {name} in the results of {variant} at {at}")
        return value


def parse(text: str) -> ast.expr:
    """Variants, which come first in a call, and shapes that are no number are names to us, but not
    to Python's parser."""
    shapes = r"\d+x\d+x\d+(?:_\w+)?|\d+_\w+"
    quoted = re.sub(rf"(?<=\w\()\s*(\w+/\w+)|\b({shapes})\b", r'"\1\2"', text)
    try:
        return ast.parse(quoted, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Untold(f"'{text:.80}' is no expression: {error}") from error


def argument(rest: list[ast.expr]) -> str | None:
    """What a call has after its variant: a shape, or a kind of data."""
    match rest:
        case [ast.Constant(value)]:
            return str(value)
        case [ast.Name(name)]:
            return name
        case []:
            return None
    raise Untold(f"'{', '.join(map(ast.unparse, rest))}' is neither a shape nor a kind of data")


def evaluate(node: ast.expr, measured: Measurements, numbers: dict):
    """The value of an expression; `numbers` collects those it is made of."""
    try:
        return value_of(node, measured, numbers)
    except (ArithmeticError, RecursionError) as error:
        raise Untold(f"it has no value: {error}") from error


def value_of(node: ast.expr, measured: Measurements, numbers: dict):
    def value(part):
        return value_of(part, measured, numbers)

    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](value(left), value(right))
        case ast.UnaryOp(ast.USub(), operand):
            return -value(operand)
        case ast.BoolOp(ast.And(), values):  # all of them: a number that is missing is an error
            return all([value(v) for v in values])
        case ast.Compare(left, ops, others) if all(type(op) in OPERATORS for op in ops):
            sides = [value(side) for side in [left, *others]]
            return all(
                OPERATORS[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)
            )
        case ast.Call(ast.Name(name), [ast.Constant(str() as variant), *rest], []) if len(rest) < 2:
            at = argument(rest)
            number = measured.number(name, variant, at)
            numbers[f"{name}({variant}{', ' + at if at else ''})"] = number
            return number
    raise Untold(f"'{ast.unparse(node)}' is not understood; see ladder claims --help")


def calls(claim: dict) -> list[tuple[str, str, str | None]]:
    """The numbers that a claim is made of: function, stage/variant, shape."""
    found = []
    try:
        for part in ast.walk(parse(claim["holds"])):
            match part:
                case ast.Call(ast.Name(name), [ast.Constant(str() as variant), *rest]):
                    found.append((name, variant, argument(rest)))
    except Untold:
        return []
    return found


def stages_of(claim: dict) -> set[str]:
    return {variant.split("/")[0] for _, variant, _ in calls(claim)}


def is_predicted(claim: dict) -> bool:
    """Made of nothing but counters at 128."""
    made_of = calls(claim)
    ratios = {"sectors_per_request_ld", "sectors_per_request_st"}
    known = all(name in {*PREDICTED, *ratios} and at is None for name, _, at in made_of)
    return bool(made_of) and known and "not_predicted" not in claim


def shapes_claimed(claims: list[dict]) -> set[tuple[str, str, str]]:
    """The stages, shapes and variants of which a claim names a time or the like."""
    return {
        (*variant.split("/"), at or "4096")
        for claim in claims
        for name, variant, at in calls(claim)
        if name in RESULTS and re.fullmatch(r"\w+/\w+", variant)
    }


def load_claims(path: Path) -> list[dict]:
    seen = set()
    claims = read_yaml(path, [CLAIM, ...])
    for claim in claims:
        if ("on" in claim) != ("why_not_elsewhere" in claim):
            raise BadInput(f"{path}: '{claim['id']}' has one of on and why_not_elsewhere alone")
        if claim["id"] in seen:
            raise BadInput(f"{path}: the id '{claim['id']}' stands twice")
        seen.add(claim["id"])
    return claims


def is_about(claim: dict, gpu: str) -> bool:
    return gpu in claim.get("on", [gpu])


def verdict(claim: dict, measured: Measurements) -> tuple[str, dict[str, float]]:
    """holds, FALSE or ERROR, and the numbers that it was told from."""
    numbers: dict[str, float] = {}
    try:
        holds = evaluate(parse(claim["holds"]), measured, numbers)
        if not isinstance(holds, bool):
            raise Untold(f"'{claim['holds']}' is a number, not a comparison")
    except Untold as reason:
        return f"ERROR: {reason}", numbers
    return "holds" if holds else "FALSE", numbers
