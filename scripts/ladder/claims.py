"""Checks what the documentation claims of the kernels against what was measured.

ladder claims                    every claim of docs/claims.yaml, with its numbers on each GPU
ladder claims --results DIR      with the measurements in DIR instead of the committed ones
ladder claims --cpu-stages DIR   claims on counters at 128 once more, with those that the CPU device
                             predicts now (DIR: build/stages/cpu)
ladder claims --lint             what is wrong with a claim itself, whatever was measured
ladder claims --unused           the claims that no page cites
ladder claims --stages           the claims by stage, as a table

A claim is a sentence and an expression over named variants that has to hold:

  - id: transposed-slower
    claim: Storing B transposed without padding makes it five to six times slower.
    holds: 5 < time(03_transposed_b/conflicted) / time(03_transposed_b/padded) < 6

It may have, too:
  on, why_not_elsewhere   the GPUs that it is about ([h200]), and why it is not about all of them
  wide                    why a bound may be far from what was measured, or be missing
  given                   numbers of the sentence that are no results, as a tile's size
  not_predicted           why the CPU device's counters are known to be others than ncu's

Results, at 4096 or the shape given (tflops(05_cp_async/cp_async, 8192); 8192_TN, 8192_bf16: in
another layout or type): time (ms), tflops,
percent_of_cublas, percent_of_best (of cuBLAS's own and cublasLt's best), percent_of_peak,
sustained_percent_of_cublas, sustained_percent_of_best, registers, shared_bytes, threads,
occupancy.
Counters of ncu, at 128 or, with a second argument, at 4096 or another shape: requests_ld,
sectors_ld, sectors_per_request_ld, wavefronts_ld, bank_conflicts_ld, and the same with _st. At
4096, or the shape given: instructions, copies (cp.async), matrix_loads (ldmatrix), dram_bytes,
l2_sectors (read from L2),
sm_sectors (that the SMs received), issue, fma_pipe, tensor_pipe, shared_pipe, dram, warps_active,
l2_hits (all in %), clock (Hz), threads_per_instruction, ncu_time (s), sm_throughput (the
busiest pipe over all clocks, %: the tensor pipe in tensor kernels), stall_REASON (warps that wait
for it, by issued instruction). Made of them: l1_wavefronts (of L1's data stage, whoever
asked), possible_share (% of the FLOPs that all multiprocessors could do at this clock in this
time: 4096 a clock with fp16 operands, 256 with fp32).
Of ./ladder power, at 8192 with a kind of data (power_watts(09_wgmma/wgmma, zeros)): data_tflops;
with power_, burst_, cublas_power_ or cublas_burst_ before it tflops, watts, clock, cap, thermal;
launch_clock, launch_tensor_pipe.
Of ./ladder peers --sweep: swept (shapes), and faster_in_sweep(STAGE/VARIANT, cublas), those at
which the stage is faster than cuBLAS's choice; with best than the fastest library.
Numbers, + - * /, comparisons, `and`.

A number that is not there is an error. Exit code: 0 all hold, 1 one does not or cannot be told, 2
bad input.
"""

import argparse
import ast
import operator
import re
import sys
from pathlib import Path

from ladder import manifest, power_results
from ladder.counters import AT_128, LIMITS, PREDICTED, PREDICTED_SIZE, STALL, TIME, load_counters
from ladder.files import Closed, a_name, one_line, read_text, read_yaml
from ladder.measuring import cpu_report
from ladder.project import GPUS, ROOT, BadInput
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


def check(claims: list[dict], measured: dict[str, Measurements], heading: str) -> int:
    """Prints every claim with its numbers on each GPU. How many do not hold."""
    bad = set()
    for claim in claims:
        print(f"{claim['id']}: {claim['claim']}\n  {claim['holds']}")
        for gpu, its in measured.items():
            if not is_about(claim, gpu):
                print(f"  {gpu}: not claimed: {claim['why_not_elsewhere']}")
                continue
            said, numbers = verdict(claim, its)
            print(f"  {gpu}: {said}")
            for name, number in numbers.items():
                print(f"    {name} = {number:.6g}")
            if said != "holds":
                bad.add(claim["id"])
    print(f"== {heading}: {len(claims) - len(bad)} of {len(claims)} claims hold")
    return len(bad)


def measured_counters(results: Path) -> list[dict]:
    """ncu's, wherever it counted; where that was not at 128, there those of the pages' GPU."""
    found = load_counters(results)
    if AT_128 not in found:
        found[AT_128] = load_counters(next(iter(GPUS.values())))[AT_128]
    return [*found.values()]


def predicted_counters(stages: Path, wanted: set[str]) -> dict:
    """As ladder counters writes them, from the CPU device."""
    counters = {}
    for name in sorted(wanted):
        variants = cpu_report(stages, name)
        counters[name] = {variant: report["totals"] for variant, report in variants.items()}
    return {"size": PREDICTED_SIZE, "counters": counters}


def adopted() -> dict[str, Measurements]:
    """What is committed, by GPU."""
    return {gpu: Measurements(path, [*load_counters(path).values()]) for gpu, path in GPUS.items()}


def cited(root: Path) -> set[str]:
    """The claims that pages show."""
    pages = "".join(read_text(path) for path in sorted((root / "docs").rglob("*.md")))
    blocks = re.findall(r"<!-- claims ([^>]*) -->", pages)
    return {name for block in blocks for name in block.split()}


def by_stage(claims: list[dict]) -> str:
    """A table: each stage with the claims whose last stage it is, which is where they are told."""
    told: dict[str, list[str]] = {stage: [] for stage in manifest.load()}
    for claim in claims:
        last = max(stages_of(claim), key=manifest.place, default=None)
        if last not in told:
            raise BadInput(f"'{claim['id']}' is about no stage")
        told[last].append(f"`{claim['id']}`")
    rows = [f"| {stage} | {' '.join(ids)} |" for stage, ids in told.items()]
    return "\n".join(["| stage | claims |", "| --- | --- |", *rows])


def print_lines(lines: list[str], heading: str) -> int:
    """Findings, and how many they are."""
    print("\n".join([*lines, f"== {heading}: {len(lines)}"]))
    return len(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--claims", type=Path, default=CLAIMS)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--cpu-stages", type=Path)
    parser.add_argument("--lint", action="store_true")
    parser.add_argument("--unused", action="store_true")
    parser.add_argument("--stages", action="store_true")
    options = parser.parse_args(arguments)
    try:
        claims = load_claims(options.claims)
        if options.stages:
            print(by_stage(claims))
            return 0
        if options.unused:
            known = cited(ROOT)
            unused = [claim["id"] for claim in claims if claim["id"] not in known]
            return 1 if print_lines(unused, "cited by no page") else 0
        measured = adopted()
        if options.results:
            counters = measured_counters(options.results)
            measured = {options.results.name: Measurements(options.results, counters)}
        if options.lint:
            from ladder import claims_lint  # which imports this module

            return 1 if print_lines(claims_lint.findings(claims, measured), "findings") else 0
        bad = check(claims, measured, "as measured")
        if options.cpu_stages:
            predictable = [claim for claim in claims if is_predicted(claim)]
            stages = {stage for claim in predictable for stage in stages_of(claim)}
            counters = predicted_counters(options.cpu_stages, stages)
            # Sectors and wavefronts are the same on every GPU: the first one's results will do.
            results = options.results or next(iter(GPUS.values()))
            cpu = {"cpu device": Measurements(results, [counters])}
            bad += check(predictable, cpu, "as predicted")
    except BadInput as error:
        print(f"ladder claims: {error}", file=sys.stderr)
        return 2
    return 1 if bad else 0
