"""Says what limits a kernel, by ncu's counters, and which stage shows the remedy.

ladder diagnose REPORT            of the kernel that ran longest
ladder diagnose REPORT KERNEL     of the longest whose name has KERNEL in it

REPORT is a report of ncu (where ncu is there to read it), what ncu writes with --csv (one row a
kernel, as with --page raw, or one row a counter), or a counters.jsonl of docs/results, whose
kernels, those at 4096, are called 01_naive/naive. Asks the questions of docs/reading_ncu.md, the
first that decides being the last. Exit code: 0 a diagnosis, 2 bad input.
"""

import argparse
import csv
import io
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ladder import manifest
from ladder.counters import COUNTED, COUNTERS, LIMITS, PREDICTED, STALL, TIME
from ladder.files import a_name, one_line, read_json, read_lines, read_text
from ladder.project import ROOT, BadInput

# What a warp can wait for that something can be done about. `wait` is the latency that every
# instruction has, and `gmma` a short part of the wait for wgmma.
REASONS = (
    *("barrier", "dispatch_stall", "lg_throttle", "long_scoreboard", "math_pipe_throttle"),
    *("mio_throttle", "short_scoreboard"),
)
NAMES = PREDICTED | LIMITS | {f"stall_{r}": STALL.format(r) for r in (*REASONS, "gmma")}
NEEDED = (
    *("requests_ld", "sectors_ld", "wavefronts_ld", "bank_conflicts_ld", "copies"),
    *("matrix_loads", "sm_sectors", "issue", "fma_pipe", "tensor_pipe", "shared_pipe", "dram"),
    *(f"stall_{reason}" for reason in (*REASONS, "gmma")),
)
UNITS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "s": 1.0}  # of seconds, by their first letter


@dataclass(frozen=True)
class Kernel:
    """One of a report: its counters by ncu's names."""

    name: str
    counters: dict[str, float]

    def __getitem__(self, name: str) -> float:
        return self.counters[NAMES[name]]


@dataclass(frozen=True)
class Threshold:
    """`said` stands for the limit where that says more than the number."""

    limit: float
    source: str
    said: str = ""

    def __str__(self) -> str:
        return self.said or f"yes from {self.limit:g} on"


@dataclass(frozen=True)
class Remedy:
    """What was found: two sentences, and the stages that show what to do."""

    means: str
    stages: tuple[str, ...]


def always(_: Kernel) -> bool:
    return True


@dataclass(frozen=True)
class Question:
    """`shown` is what the value is called; the answer is yes where it is at least the threshold's
    limit, `when` the question makes sense. Without a value it is no."""

    asks: str
    shown: str
    value: Callable[[Kernel], float | None]
    threshold: Threshold
    yes: "Question | Remedy"
    no: "Question | Remedy"
    when: Callable[[Kernel], bool] = always

    def answer(self, kernel: Kernel) -> bool:
        value = self.value(kernel)
        return value is not None and value >= self.threshold.limit and self.when(kernel)


# --- what is asked of a kernel ---


def ratio(above: str, below: str) -> Callable[[Kernel], float]:
    return lambda kernel: kernel[above] / kernel[below] if kernel[below] else 0.0


def counter(name: str) -> Callable[[Kernel], float]:
    return lambda kernel: kernel[name]


def missing_part_of_last_wave(kernel: Kernel) -> float | None:
    """Percent of the time in which a multiprocessor has no block, if all blocks take as long."""
    waves = kernel.counters.get(LIMITS["waves"])  # the only one that may be missing
    return 100 * (1 - waves / math.ceil(waves)) if waves else None


def other_slots(kernel: Kernel) -> float:
    """Percent of the used issue slots that no FMA had."""
    return 100 * (1 - kernel["fma_pipe"] / kernel["issue"]) if kernel["issue"] else 0.0


def conflicts(kernel: Kernel) -> float:
    return 100 * ratio("bank_conflicts_ld", "wavefronts_ld")(kernel)


def wait_for(*reasons: str) -> Callable[[Kernel], float]:
    """The longest wait of some."""
    return lambda kernel: max(kernel[f"stall_{reason}"] for reason in reasons)


def leads(*reasons: str) -> Callable[[Kernel], bool]:
    return lambda kernel: wait_for(*reasons)(kernel) == wait_for(*REASONS)(kernel)


def computes_less(kernel: Kernel) -> bool:
    """Than L1's data stage passes."""
    return kernel["shared_pipe"] > max(kernel["fma_pipe"], kernel["tensor_pipe"])


def copies_ahead(kernel: Kernel) -> bool:
    """With cp.async; its requests into padded rows have a few sectors more than their bytes are."""
    return kernel["copies"] > 0


def loads_to_registers(kernel: Kernel) -> bool:
    """And neither with cp.async nor with TMA, whose tiles are no loads."""
    return kernel["requests_ld"] > 0 and not copies_ahead(kernel)


def waits_for_plain_loads(kernel: Kernel) -> bool:
    return loads_to_registers(kernel) and leads("long_scoreboard")(kernel)


def waits_for_wgmma(kernel: Kernel) -> bool:
    return kernel["stall_gmma"] >= 0.1 and leads("barrier")(kernel)


def issues(kernel: Kernel) -> bool:
    return kernel["issue"] >= BUSY.limit


# --- thresholds ---

BUSY = Threshold(60, "ncu's rule: where no pipe is above 60%, warps wait")
FULL = Threshold(80, "ncu's rule: above 80% a pipe is the limit")
ISSUE_FULL = Threshold(
    82, "measured: at most 79% in 04d's variants, where FFMAs wait for operands, 83% in 05"
)
LAST_WAVE = Threshold(15, "05c divides a last wave that is filled below 85%")
WIDEST = Threshold(
    16.25, "32 lanes of 16 bytes, the widest load, are 16 sectors; the rest is for edges"
)
AGAIN = Threshold(2, "measured: 1.2 in 06, 5.7 where its tiles are left out, 21 in 01")
CONFLICTS = Threshold(10, "measured: at most 2% of arbitration, 82% and more of real conflicts")
TENSOR = Threshold(3, "measured: at most 1% where there are no tensor instructions, 8.5% where few")
LARGER = Threshold(1, "the tensor pipe should be the busier one")
OTHERS = Threshold(20, "measured: 37% in 04, 24% in 04b's `scalar`, at most 13% elsewhere")
ANY = Threshold(1, "one is enough", "yes if there are any")
LEADS = Threshold(0.001, "the others are shorter", "yes if it is the longest of seven waits")
STOPS = Threshold(0.05, "measured: 0.06 in 05, less than 0.03 in 05b")

# --- what is found ---


class Remedies(dict):
    def __missing__(self, name: str) -> Remedy:
        raise BadInput(f"{REMEDIES_FILE} has no '{name}'")


def read_remedies(path: Path) -> Remedies:
    found = read_json(path, {str: {"means": one_line, "stages": [a_name, ...]}})
    return Remedies({name: Remedy(r["means"], tuple(r["stages"])) for name, r in found.items()})


REMEDIES_FILE = ROOT / "stages/remedies.json"
REMEDIES = read_remedies(REMEDIES_FILE)

# --- the questions, the last one first ---

_instruction = Question(
    "Are the fragments read by ldmatrix?",
    "ldmatrix instructions",
    counter("matrix_loads"),
    ANY,
    REMEDIES["mma_sync"],
    REMEDIES["wgmma"],
)
_tensor_pipe = Question(
    "Do cp.async's requests cost more than 16 sectors?",
    "sectors per request",
    ratio("sectors_ld", "requests_ld"),
    WIDEST,
    REMEDIES["padded"],
    _instruction,
    when=copies_ahead,
)
_tensor_waits = Question(
    "Is the longest wait the one for wgmma?",
    "stall barrier, with stall gmma",
    wait_for("barrier"),
    LEADS,
    REMEDIES["drained"],
    Question(
        "Is it the one for copies that run ahead?",
        "stall long_scoreboard",
        wait_for("long_scoreboard"),
        LEADS,
        REMEDIES["buffers"],
        Question(
            "Is it the one for shared memory?",
            "stall mio_throttle or short_scoreboard",
            wait_for("mio_throttle", "short_scoreboard"),
            LEADS,
            REMEDIES["fragments"],
            Question(
                "Is it the one for other warps?",
                "stall barrier",
                wait_for("barrier"),
                LEADS,
                REMEDIES["meeting"],
                Question(
                    "Is it the one for the pipe itself?",
                    "stall math_pipe_throttle",
                    wait_for("math_pipe_throttle"),
                    LEADS,
                    _tensor_pipe,
                    REMEDIES["no_limit"],
                    when=leads("math_pipe_throttle"),
                ),
                when=leads("barrier"),
            ),
            when=leads("mio_throttle", "short_scoreboard"),
        ),
        when=leads("long_scoreboard"),
    ),
    when=waits_for_wgmma,
)
_tensor = Question(
    "Is the tensor pipe full?",
    "tensor pipe, %",
    counter("tensor_pipe"),
    FULL,
    _tensor_pipe,
    Question(
        "Is the longest wait the one for plain loads from global memory?",
        "stall long_scoreboard",
        wait_for("long_scoreboard"),
        LEADS,
        REMEDIES["ring"],
        Question(
            "Is L1's data stage busier than the tensor pipe?",
            "data stage / tensor pipe",
            ratio("shared_pipe", "tensor_pipe"),
            LARGER,
            REMEDIES["warp_tile"],
            _tensor_waits,
        ),
        when=waits_for_plain_loads,
    ),
)
_fma_waits = Question(
    "Is the longest wait the one for global memory?",
    "stall long_scoreboard or lg_throttle",
    wait_for("long_scoreboard", "lg_throttle"),
    LEADS,
    REMEDIES["ahead"],
    Question(
        "Is it the one for the register file?",
        "stall dispatch_stall",
        wait_for("dispatch_stall"),
        LEADS,
        REMEDIES["banks"],
        Question(
            "Is it the one for shared memory or for other warps?",
            "stall short_scoreboard, mio_throttle, barrier",
            wait_for("short_scoreboard", "mio_throttle", "barrier"),
            LEADS,
            REMEDIES["operands"],
            REMEDIES["no_limit"],
            when=leads("short_scoreboard", "mio_throttle", "barrier"),
        ),
        when=leads("dispatch_stall"),
    ),
    when=leads("long_scoreboard", "lg_throttle"),
)
_fp32 = Question(
    "Are the issue slots full?",
    "issue slots used, %",
    counter("issue"),
    ISSUE_FULL,
    Question(
        "Do warps still stop at a barrier?",
        "stall barrier",
        counter("stall_barrier"),
        STOPS,
        REMEDIES["split"],
        REMEDIES["fma_full"],
    ),
    Question(
        "Do instructions that are no FMAs take the slots?",
        "of the used slots, %",
        other_slots,
        OTHERS,
        REMEDIES["wide"],
        _fma_waits,
        when=issues,
    ),
)
_pipes = Question(
    "Are there tensor instructions?",
    "tensor pipe, %",
    counter("tensor_pipe"),
    TENSOR,
    _tensor,
    _fp32,
)
_data_stage = Question(
    "Do plain loads cost more than 16 sectors per request?",
    "sectors per request",
    ratio("sectors_ld", "requests_ld"),
    WIDEST,
    REMEDIES["uncoalesced"],
    Question(
        "Does L1 load each sector that L2 sends more than twice?",
        "sectors loaded / received from L2",
        ratio("sectors_ld", "sm_sectors"),
        AGAIN,
        REMEDIES["again_and_again"],
        Question(
            "Are wavefronts of shared loads bank conflicts?",
            "of the wavefronts, %",
            conflicts,
            CONFLICTS,
            Question(
                "Are the tiles read by ldmatrix?",
                "ldmatrix instructions",
                counter("matrix_loads"),
                ANY,
                REMEDIES["swizzle"],
                REMEDIES["pad"],
            ),
            Question(
                "Is the data stage full?",
                "L1's data stage, %",
                counter("shared_pipe"),
                FULL,
                REMEDIES["register_tile"],
                _pipes,
            ),
        ),
    ),
    when=loads_to_registers,
)
TREE = Question(
    "Does the last wave of blocks leave multiprocessors idle?",
    "of all waves missing, %",
    missing_part_of_last_wave,
    LAST_WAVE,
    REMEDIES["idle"],
    Question(
        "Is device memory busy?",
        "device memory, %",
        counter("dram"),
        BUSY,
        REMEDIES["device_memory"],
        Question(
            "Is L1's data stage busy, more than the pipes that compute?",
            "L1's data stage, %",
            counter("shared_pipe"),
            BUSY,
            _data_stage,
            _pipes,
            when=computes_less,
        ),
    ),
)


def places(node: Question | Remedy, depth: int = 0) -> list[tuple[Question, int]]:
    """Every question as often as others lead to it, with how far to the right it stands there, in
    the order of the lines."""
    if isinstance(node, Remedy):
        return []
    return [(node, depth), *places(node.yes, depth + 1), *places(node.no, depth)]


@cache
def stands() -> dict[int, tuple[int, int]]:
    """By question: its number, and how far to the right it stands. One that several lead to stands
    once, furthest to the left."""
    left: dict[int, int] = {}
    for question, depth in places(TREE):
        left[id(question)] = min(depth, left.get(id(question), depth))
    order = dict.fromkeys(id(q) for q, depth in places(TREE) if depth == left[id(q)])
    return {question: (number, left[question]) for number, question in enumerate(order, 1)}


def walk(kernel: Kernel) -> tuple[list[Question], Remedy]:
    """The questions that were asked, and what was found."""
    asked, node = [], TREE
    while isinstance(node, Question):
        asked.append(node)
        node = node.yes if node.answer(kernel) else node.no
    return asked, node


# --- reports ---


def seconds(value: float, unit: str) -> float:
    return value * UNITS.get(unit[:1].lower(), 1.0)


def of_stages(counters: dict) -> list[Kernel]:
    return [
        Kernel(f"{stage}/{variant}", counted)
        for stage, variants in counters["counters"].items()
        for variant, counted in variants.items()
    ]


def numbers(cells: dict[str, str], units: dict[str, str]) -> dict[str, float]:
    """Those of a row's cells that are numbers; times in seconds."""
    found = {}
    for name, cell in cells.items():
        try:
            value = float((cell or "").replace(",", ""))
        except (ValueError, AttributeError):
            continue
        found[name] = seconds(value, units.get(name) or "") if name == TIME else value
    return found


def from_csv(text: str, path: Path) -> list[Kernel]:
    """ncu's table follows whatever the program printed. It has a row a kernel below a row of units,
    or a row a counter."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    try:
        rows = list(csv.DictReader(io.StringIO("\n".join(lines)), restval=""))
    except csv.Error as error:
        raise BadInput(f"{path} is no table of ncu's: {error}") from error
    needed = ["Kernel Name", *(["Metric Value"] if rows and "Metric Name" in rows[0] else [])]
    if missing := [column for column in needed if not rows or column not in rows[0]]:
        raise BadInput(f"{path} is no table of ncu's: no column '{missing[0]}'")
    if "Metric Name" not in rows[0]:
        units = rows[0] if not rows[0]["Kernel Name"] else {}
        measured = rows[1:] if units else rows
        return [Kernel(row["Kernel Name"], numbers(row, units)) for row in measured]
    kernels: dict[tuple, Kernel] = {}
    for row in rows:
        name = row["Kernel Name"]
        kernel = kernels.setdefault((row.get("ID"), name), Kernel(name, {}))
        metric = row["Metric Name"]
        one = numbers({metric: row["Metric Value"]}, {metric: row.get("Metric Unit", "")})
        kernel.counters.update(one)
    return list(kernels.values())


def exported(path: Path) -> str:
    """What ncu says of a report of its own."""
    command = ["ncu", "--import", str(path), "--csv", "--page", "raw", "--print-units", "base"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise BadInput(
            f"{path}: no ncu here to read it; where there is one: {' '.join(command)} > report.csv"
        ) from error
    if done.returncode != 0:
        said = " ".join((done.stdout + done.stderr).split())
        raise BadInput(f"{path}: ncu cannot read it: {said[-200:]}")
    return done.stdout


def kernels_of(path: Path) -> list[Kernel]:
    if path.suffix == ".ncu-rep":
        return from_csv(exported(path), path)
    if path.suffix == ".jsonl":  # of all shapes there are, those at 4096
        kernels = of_stages(read_lines(path, {COUNTERS: COUNTED})[COUNTERS])
    elif path.suffix == ".json":
        kernels = of_stages(read_json(path, COUNTED))
    else:
        kernels = from_csv(read_text(path), path)
    if not kernels:
        raise BadInput(f"{path} has no kernel")
    return kernels


def chosen(kernels: list[Kernel], part: str, path: Path) -> Kernel:
    """The one of a name if it is whole, otherwise the longest of those that have it in theirs."""
    matching = [k for k in kernels if k.name == part] or [k for k in kernels if part in k.name]
    if not matching:
        names = ", ".join(sorted({kernel.name for kernel in kernels}))
        raise BadInput(f"{path} has no kernel '{part}'; there are: {names[:300]}")
    return max(matching, key=lambda kernel: kernel.counters.get(TIME, 0.0))


def complete(kernel: Kernel, path: Path) -> Kernel:
    missing = [NAMES[name] for name in NEEDED if NAMES[name] not in kernel.counters]
    if missing:
        raise BadInput(f"{path}: {kernel.name} lacks {', '.join(missing)} (ncu --metrics)")
    return kernel


# --- what is printed ---


def page(stage: str) -> str:
    return manifest.stage(stage).page


def answered(question: Question, kernel: Kernel) -> str:
    """A line: the question, its value, its answer."""
    value = question.value(kernel)
    said = "not in the report" if value is None else f"{value:.3g}"
    answer = "yes" if question.answer(kernel) else "no"
    number, _ = stands()[id(question)]
    return f"  {number}. {question.asks} {answer} ({question.shown}: {said}; {question.threshold})"


def deciding(asked: list[Question], kernel: Kernel) -> Question | None:
    """The last question that was answered by a measurement; what there is any of says only which
    instruction it was."""
    return next((q for q in reversed(asked) if q.answer(kernel) and q.threshold != ANY), None)


def report(kernel: Kernel, others: int) -> str:
    """One screen."""
    asked, remedy = walk(kernel)
    decided = deciding(asked, kernel)
    lines = [kernel.name, *(answered(question, kernel) for question in asked), ""]
    if decided:
        value = f"{decided.shown} = {decided.value(kernel):.3g}"
        lines.append(f"Decided by: {value} ({decided.threshold})")
        lines.append(f"Threshold:  {decided.threshold.source}")
    lines.append(f"It means:   {remedy.means}")
    lines.append(f"Remedy:     {', '.join(page(stage) for stage in remedy.stages)}")
    if others:
        lines.append(f"({others} more kernels in the report: ladder diagnose REPORT KERNEL)")
    return "\n".join(lines)


# --- what the page has of this ---


def tree() -> str:
    """The questions as indented text."""
    written = set()

    def lines(node: Question | Remedy, depth: int) -> list[str]:
        indent = "  " * depth
        if isinstance(node, Remedy):
            labels = ", ".join(manifest.stage(stage).label for stage in node.stages)
            return [f"{indent}-> {labels}"]
        number, left = stands()[id(node)]
        if depth > left or number in written:
            return [f"{indent}go on at {number}"]
        written.add(number)
        limit = "" if node.threshold.said else f": from {node.threshold.limit:g}"
        head = f"{indent}{number}. {node.asks} ({node.shown}{limit})"
        return [head, *lines(node.yes, depth + 1), *lines(node.no, depth)]

    return "\n".join(lines(TREE, 0))


def thresholds() -> str:
    """A table of those that are numbers, with where they are from."""
    rows = {
        f"| {q.shown} | {q.threshold.limit:g} | {q.threshold.source} |": None
        for q, _ in places(TREE)
        if not q.threshold.said
    }
    return "\n".join(["| value | yes from | why there |", "| --- | ---: | --- |", *rows])


def block(what: str) -> str:
    """For ./ladder docs."""
    if what == "tree":
        return f"```\n{tree()}\n```"
    if what == "thresholds":
        return thresholds()
    raise BadInput(f"diagnosis is of tree or thresholds, not of '{what}'")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path)
    parser.add_argument("kernel", nargs="?", default="")
    options = parser.parse_args(arguments)
    try:
        kernels = kernels_of(options.report)
        kernel = complete(chosen(kernels, options.kernel, options.report), options.report)
        print(report(kernel, len(kernels) - 1))
    except BadInput as error:
        print(f"ladder diagnose: {error}", file=sys.stderr)
        return 2
    return 0
