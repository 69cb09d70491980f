"""The exercises: lists them, or grades one on the CPU device.

exercise.py                 all exercises, with what is done
exercise.py 07              grades exercises/07_*; also 7, or a part of its name
exercise.py 07 --watch      again whenever the file is saved, until Ctrl-C
exercise.py 07 --hint       the next hint
exercise.py 07 --solution   the reference, after asking

Exit code: 0 all holds, 1 not yet, 2 bad input.

For those who write exercises:
exercise.py 07 --test       the solution has to pass, the starter and every wrong solution must not
exercise.py --protect       writes exercises/checksums.json
"""

import argparse
import errno
import fcntl
import hashlib
import json
import os
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from ladder import build_folder
from ladder.files import one_line, read_json
from ladder.project import ROOT, BadInput

EXERCISES = ROOT / "exercises"
SECONDS = 60  # a program that runs longer hangs
# What a compiler gets. A starter takes 3 s and 0.6 GB.
LIMITS = {resource.RLIMIT_CPU: 60, resource.RLIMIT_AS: 4 << 30}
# Bytes that a device has: of a block's __shared__ arrays, with its dynamic shared memory, and of
# constants.
STATIC_SHARED, SHARED, CONSTANT = 48 * 1024, 227 * 1024, 64 * 1024
DRAWN = "a drawn shape"  # the case of check.cpp with sizes that no kernel can know
KINDS = {"write": "write it", "bug": "find the bug", "cheaper": "make it cheaper"}
KINDS["predict"] = "predict the counter"


# --- An exercise --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exercise:
    folder: Path
    title: str
    kind: str
    page: str
    hints: tuple[str, ...]
    limits: dict  # case -> {cost: the most, or "at least N"}
    questions: dict = field(default_factory=dict)  # name -> {case, cost}

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def number(self) -> str:
        return self.name[:2]

    @property
    def is_predict(self) -> bool:
        return self.kind == "predict"

    @property
    def kernels(self) -> Path:
        """Of the reference; of a prediction those that are given."""
        return self.folder / ("exercise.cuh" if self.is_predict else "solution.cuh")

    @property
    def edited(self) -> Path:
        """What the learner edits."""
        return self.folder / ("answer.yaml" if self.is_predict else "exercise.cuh")

    @property
    def solution(self) -> Path:
        return self.folder / ("solution.yaml" if self.is_predict else "solution.cuh")

    def wrong(self) -> list[Path]:
        return sorted((self.folder / "wrong").glob(f"*{self.solution.suffix}"))


def read_yaml(path: Path) -> dict:
    """Raises BadInput."""
    try:
        value = yaml.safe_load(path.read_text())
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise BadInput(f"{path}: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise BadInput(f"{path}: is nested too deeply") from error
    if not isinstance(value, dict):
        raise BadInput(f"{path}: expected `name: value` lines, with a blank behind the colon")
    return value


def read_exercise(folder: Path) -> Exercise:
    """Raises BadInput."""
    path = folder / "exercise.yaml"
    entry = {"limits": {}} | read_yaml(path)
    try:
        exercise = Exercise(folder, **entry | {"hints": tuple(entry["hints"])})
        named = [cost for costs in exercise.limits.values() for cost in costs]
        named += [question["cost"] for question in exercise.questions.values()]
        unknown = [cost for cost in named if cost.split(" of ")[0] not in COSTS]
    except (TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{path}: {error}") from error
    if exercise.kind not in KINDS:
        raise BadInput(f"{path}: kind is {exercise.kind}; there are {', '.join(KINDS)}")
    if len(exercise.hints) != 3 or not all(isinstance(h, str) for h in exercise.hints):
        raise BadInput(f"{path}: three hints are expected, each a text")
    if unknown:
        raise BadInput(f"{path}: there is no cost '{unknown[0]}'; there are {', '.join(COSTS)}")
    return exercise


def all_exercises() -> list[Exercise]:
    """Raises BadInput."""
    return [read_exercise(path.parent) for path in sorted(EXERCISES.glob("[0-9]*/exercise.yaml"))]


def find(name: str) -> Exercise:
    """Raises BadInput."""
    every = all_exercises()
    wanted = name.zfill(2) if name.isdigit() else name
    found = [e for e in every if e.name == name or e.number == wanted]
    found = found or [e for e in every if wanted in e.name]
    if not found:
        raise BadInput(f"there is no exercise '{name}'; ./scripts/exercise.sh lists them")
    if len(found) > 1:
        names = ", ".join(e.name for e in found)
        raise BadInput(f"several exercises have '{name}' in their names: {names}")
    return found[0]


# --- What nobody but the author may edit --------------------------------------------------------


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def checksums() -> dict:
    """Of all that belongs to the grader, and of the starters."""
    paths = [p for p in EXERCISES.glob("[0-9]*/**/*") if p.is_file() and p.name != "README.md"]
    return {str(p.relative_to(EXERCISES)): checksum(p) for p in sorted(paths)}


def is_starter(exercise: Exercise) -> bool:
    path = str(exercise.edited.relative_to(EXERCISES))
    known = read_json(EXERCISES / "checksums.json", {str: one_line})
    return known.get(path, checksum(exercise.edited)) == checksum(exercise.edited)


def edited_files(exercise: Exercise) -> list[str]:
    """The grader's files that are not as they were, or not known."""
    known = read_json(EXERCISES / "checksums.json", {str: one_line})
    names = ["check.cpp", "exercise.yaml"] + ["exercise.cuh"] * exercise.is_predict
    return [
        name
        for name in names
        if known.get(f"{exercise.name}/{name}") != checksum(exercise.folder / name)
    ]


# --- What a solution may say --------------------------------------------------------------------

# Identifiers that begin with an underscore and are CUDA's; others are the compiler's. All that
# tests/device_functions_test.cu has are among them.
CUDA = re.compile(
    r"__(global|device|host|shared|constant|restrict|forceinline|noinline|launch_bounds|align"
    r"|grid_constant|cluster_dims|unroll)__|__restrict|__half2?|__nv_bfloat162?"
    r"|__(sync(threads|warp)\w*|shfl_\w+|(ballot|any|all)_sync|match_\w+|activemask|reduce_\w+"
    r"|threadfence\w*|ld(g|ca|cg|cs|lu|cv)|st(wb|cg|cs|wt)|(popc|clz|ffs|brev)(ll)?|byte_perm"
    r"|funnelshift_\w+|u?mul(hi|64hi|24)|u?sad|u?r?hadd|dp[24]a\w*|saturatef"
    r"|[fd](add|sub|mul|div|rcp|r?sqrt)_r\w|fmaf?_r\w|(exp(10)?|log(2|10)?|pow|sin|cos|tan|sincos"
    r"|fdivide)f|(float|double|u?int|u?ll|half|bfloat16)2\w+|hiloint2double|\w+_as_\w+"
    r"|h(add|sub|mul|div|fma|neg|abs|max|min|eq|ne|lt|le|gt|ge|isnan|isinf)2?(_\w+)?|h2div"
    r"|(low|high|lows|highs|halves|floats|float2|bfloat162)2\w+|half22\w+|lowhigh2highlow"
    r"|cvta_generic_to_shared|nanosleep|trap|isnan)"
)
REFUSED = {
    "a name of the grader's; take another one": "grader checked cpu_device ladder "
    "solution kernels yours SOLUTION SOLUTION_FILE CHECK_FILE this_block",
    "assembler and other files' symbols": "asm extern import module",
    "the standard library is the host's; min, max, fmaxf and the like are there without it": "std",
    "a kernel cannot print here; the verdict says what it did": "printf",
    "functions of the host": "exit quick_exit abort atexit at_quick_exit terminate longjmp "
    "setjmp siglongjmp sigsetjmp memcpy memmove memset new delete environ stdout stderr",
    "jumps, which a kernel here must not": "try throw catch goto",
    "state between launches": "thread_local mutable",
}
# The runtime's functions and the CPU device's macros, but for what describes a tensor map.
HOST_NAMES = re.compile(
    r"(?!(CUtensorMap|CUresult|CU_TENSOR_MAP_\w+|cuTensorMapEncodeTiled|cuu?int\d+_t)$)"
    r"((cuda[A-Z]|cu[A-Z]|CU|LADDER_)\w*|run_grid)"
)
# What an object may want of C: what the compiler itself calls, and arithmetic. (Of C++, all that is
# mangled: a solution cannot name it without `std`.)
C_FUNCTIONS = re.compile(
    r"_Z\w+|__(tsan|sanitizer|ubsan|cxa|gxx|dso|stack_chk|tls)\w+|_Unwind\w+|_GLOBAL_OFFSET_TABLE_"
    r"|mem(cpy|set|move|cmp)|strlen|(a?(sin|cos|tan)h?|atan2|exp[2m]?1?|log(2|10|1p|b)?|pow|sqrt|cbrt"
    r"|hypot|fabs|fmod|fma|fmax|fmin|erfc?|ceil|floor|round|trunc|rint|nearbyint|ldexp|sincos"
    r"|copysign|[lt]gamma)f?"
)
# What stands behind `static` without being state.
NOT_STATE = {"__global__", "__device__", "__host__", "__forceinline__", "inline", "constexpr"}
TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|::|\S")
COMMENTS_AND_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?P<joined>\w['"])|'(?:\\.|[^'\\\n])'""", re.DOTALL
)
SPELLINGS = re.compile(r"\\\r?\n|\r|\?\?[=/\'()!<>-]|%[:>]|<%|<:(?!:)|:>|\\[uUN]")


def code_of(text: str) -> str:
    """Blanks instead of comments and texts. Raises ValueError for 1'000 and L"text", of which it
    would take a part for a text."""

    def blank(match: re.Match) -> str:
        if match["joined"]:
            raise ValueError("a quotation mark behind a letter or a digit is refused")
        return re.sub(r"[^\n]", " ", match.group())

    return COMMENTS_AND_TEXT.sub(blank, text)


def refusal(text: str) -> str:
    """Why a solution is not even compiled, with its line; "" if it may be."""
    spelling = SPELLINGS.search(text)
    if spelling:
        number = text.count("\n", 0, spelling.start()) + 1
        return f"line {number}: spliced lines and other spellings of characters are refused"
    try:
        code = code_of(text)
    except ValueError as error:
        return str(error)
    originals = text.split("\n")
    tokens = []  # with their lines
    for number, line in enumerate(code.split("\n"), 1):
        if not re.match(r"\s*#", line):
            tokens += [(token, number) for token in TOKEN.findall(line)]
            continue
        original = originals[number - 1]
        if not re.fullmatch(r'\s*#\s*include\s*"exercise\.h"\s*(//.*)?', original) and not re.match(
            r"\s*#\s*pragma\s+(once|unroll)\b", line
        ):
            allowed = 'only #include "exercise.h" and #pragma unroll'
            return f"line {number}: `{original.strip()}`: {allowed}"
    return refused_token(tokens)


def refused_token(tokens: list[tuple[str, int]]) -> str:
    reasons = {word: reason for reason, words in REFUSED.items() for word in words.split()}
    words = [token for token, _ in tokens]
    depth = 0
    for i, (token, number) in enumerate(tokens):
        where = f"line {number}: `{token}`: "
        if token in reasons:
            return where + reasons[token]
        if HOST_NAMES.fullmatch(token):
            return where + "functions of the host"
        if token.startswith("_") and not CUDA.fullmatch(token):
            return where + "names that begin with an underscore are the compiler's"
        if token in "\\$@`":
            return where + "no such character in a kernel"
        if words[i : i + 2] == ["[", "["]:
            return f"line {number}: `[[`: attributes are refused"
        if words[i : i + 3] == ["<", "<", "<"]:
            return f"line {number}: `<<<`: the grader launches the kernel"
        if token == "static":
            following = [t for t in words[i + 1 : i + 4] if t not in ("const", "void")]
            if not following or following[0] not in NOT_STATE:
                return where + "state between launches"
        depth += (token == "{") - (token == "}")
        if depth < 0:
            return where + "closes what it has not opened"
    return "`{`: is never closed" if depth > 0 else ""


def refusal_of_object(object_file: Path) -> str:
    """A variable of the solution that outlives a launch, a function of the host, or more memory
    than a device has; "" if there is none. __shared__ arrays are thread-local on the CPU device: in
    sections of their own. Raises BadInput."""
    done = subprocess.run(["nm", "-f", "sysv", object_file], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"nm: {done.stderr.strip()}")
    shared, constants = Counter(), 0  # shared: by function
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.rsplit("|", 6)]
        if len(cells) != 7:
            continue
        if "7kernels" in cells[0] and re.match(r"\.(bss|data)\b(?!\.rel\.ro)", cells[6]):
            name = subprocess.run(["c++filt", cells[0]], capture_output=True, text=True).stdout
            return f"`{name.strip().split('kernels::')[-1]}` keeps its value between launches"
        if cells[2] == "U" and not C_FUNCTIONS.fullmatch(cells[0]):
            return f"`{cells[0]}`: functions of the host"
        size = int(cells[4] or "0", 16)
        if "7kernels" in cells[0] and cells[3] == "TLS":
            shared[re.sub(r"E\d+\w+$", "", cells[0])] += size
        constants += size * cells[6].startswith(".rodata")
    if shared and max(shared.values()) > STATIC_SHARED:
        most = f"{max(shared.values())} bytes of __shared__ arrays"
        return (
            f"{most}: a block has {STATIC_SHARED} at most, and more as dynamic shared memory alone"
        )
    if constants > CONSTANT:
        return f"tables of {constants} bytes: a device has {CONSTANT} for constants"
    return ""


# --- Compiling ----------------------------------------------------------------------------------


def program_text(exercise: Exercise, **solutions: Path) -> str:
    """As add_exercise of bench/exercises/CMakeLists.txt writes it."""
    text = '#include "exercises/exercise.h"\n#include "exercises/grader.h"\n'
    for name, path in solutions.items():
        text += f'#define SOLUTION {name}\n#define SOLUTION_FILE "{path}"\n'
        text += f'#define CHECK_FILE "{exercise.folder / "check.cpp"}"\n'
        text += '#include "exercises/solution.inc"\n'
    return text


def table() -> str:
    """All of them, for the documentation; links are places in the project."""
    kinds = {"write": "write", "bug": "find the bug", "cheaper": "make it cheaper"}
    rows = ["| exercise | what to do | belongs to |", "| --- | --- | --- |"]
    for e in all_exercises():
        number = e.name.split("_")[0]
        page = f"[{Path(e.page).stem}](/{e.page})"
        link = f"[{number} {e.title}](/exercises/{e.name}/README.md)"
        rows.append(f"| {link} | {kinds.get(e.kind, 'predict')} | {page} |")
    return "\n".join(rows)


class Build:
    """What a build folder says of how exercises are compiled. Raises BadInput."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.commands = {str(file): words for file, words in build_folder.commands(folder)}
        self.libraries = build_folder.libraries(folder / "exercises/libraries")

    def program(self, exercise: Exercise) -> Path:
        """With all solutions."""
        path = self.folder / "exercises" / exercise.name
        if not path.is_file():
            raise BadInput(f"{path} is not there; build ladder_exercise_{exercise.name}")
        return path

    def command(self, exercise: Exercise) -> list[str]:
        """That compiles all its solutions."""
        source = str(self.folder / "exercises" / f"{exercise.name}.cpp")
        if source not in self.commands:
            raise BadInput(f"{self.folder} does not know {exercise.name}; configure it again")
        return list(self.commands[source])

    def object_file(self, exercise: Exercise) -> Path:
        """With all solutions."""
        command = self.command(exercise)
        return self.folder / command[command.index("-o") + 1]

    def compile(self, exercise: Exercise, solution: Path, folder: Path) -> str:
        """Makes folder/program, whose one solution is called `yours`. Returns why it cannot."""
        command = self.command(exercise)
        source, object_file = folder / "yours.cpp", folder / "yours.o"
        solutions = {"yours": solution}
        if exercise.limits:  # whose costs are compared where the shape is drawn
            solutions["solution"] = exercise.solution
        source.write_text(program_text(exercise, **solutions))
        command[command.index("-o") + 1] = str(object_file)
        command[command.index("-c") + 1] = str(source)
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
        if done.returncode != 0:
            return compile_errors(done.stderr, solution)
        refused = refusal_of_object(object_file)
        if refused:
            return f"refused: {refused}"
        compiler = build_folder.compiler(command)
        link = [compiler, object_file, "-o", folder / "program", *self.libraries]
        done = subprocess.run(link, capture_output=True, text=True)
        if done.returncode == 0:
            return ""
        (missing,) = re.findall(r"undefined reference to .*", done.stderr)[:1] or [""]
        if not missing:
            raise BadInput(f"the linker fails: {done.stderr.strip()[-500:]}")
        return f"does not link: {missing}"


def limit() -> None:
    """Of the process that becomes the compiler, and of those that it starts."""
    for kind, most in LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(
            kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )


def compile_errors(said: str, solution: Path) -> str:
    """Raises BadInput where the reason is not the solution's."""
    said = re.sub(
        r"\W(__\w+)\W was not declared in this scope.*", r"the CPU device has no \1", said
    )
    if re.search("CPU time limit exceeded|out of memory|memory exhausted|Killed signal", said):
        most = f"{LIMITS[resource.RLIMIT_CPU]} s or {LIMITS[resource.RLIMIT_AS] / 2**30:g} GiB"
        return (
            f"does not compile: it takes more than {most}: is a template, or a constant, endless?"
        )
    errors = list(
        dict.fromkeys(
            re.findall(r"^(.*?):(\d+):\d+: (?:fatal |internal compiler )?error: (.*)$", said, re.M)
        )
    )
    if not errors or os.strerror(errno.ENOSPC) in said:
        raise BadInput(f"the compiler fails: {said.strip()[-500:]}")
    own = [
        f"{solution.name}:{line}: {text}" for file, line, text in errors if file == str(solution)
    ]
    if own:
        return "does not compile: " + "\n".join(own[:3])
    asked = "are the kernel's name and parameters those of the starter?"
    return f"does not compile: {asked} {errors[0][2]}"


# --- Running and judging ------------------------------------------------------------------------


def run(program: Path, solution: str, seed: int, *once: str) -> list[dict] | str:
    """The cases as the program reports them, or how it ended instead. Raises BadInput."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        try:
            done = subprocess.run(
                [program, solution, str(seed), report, *once],
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"still runs after {SECONDS} s"
        try:
            cases = json.loads(report.read_text())["cases"]
            return sorted(
                cases, key=lambda case: case["name"] == DRAWN
            )  # what is named comes first
        except (OSError, ValueError):
            said = done.stderr.strip().splitlines()[-1:] or [""]
            if done.returncode == 2:
                raise BadInput(said[0]) from None
            return f"ended with code {done.returncode} before it was graded {said[0]}".strip()


def lines_with(space: str, *operations: str):
    return lambda line: line["space"] == space and line["operation"] in operations


# By name: which lines of the memory report, and what of them.
COSTS = {
    "sectors": (lines_with("global", "load", "store", "tma load", "tma store"), "cost"),
    "load_sectors": (lines_with("global", "load", "tma load"), "cost"),
    "store_sectors": (lines_with("global", "store", "tma store"), "cost"),
    "requests": (lines_with("global", "load", "store"), "requests"),
    "load_requests": (lines_with("global", "load"), "requests"),
    "store_requests": (lines_with("global", "store"), "requests"),
    "wavefronts": (lines_with("shared", "load", "store"), "cost"),
    "load_wavefronts": (lines_with("shared", "load"), "cost"),
    "store_wavefronts": (lines_with("shared", "store"), "cost"),
    "copy_wavefronts": (lines_with("shared", "copy"), "cost"),
    "operand_wavefronts": (lines_with("shared", "wgmma"), "cost"),
    "shared_requests": (lines_with("shared", "load", "store"), "requests"),
    "copies": (lines_with("shared", "copy"), "requests"),
    "boxes": (lines_with("global", "tma load", "tma store"), "requests"),
    "barriers": None,
    "copies_ahead": None,
    "shared_bytes": None,
}


def cost_lines(case: dict, cost: str) -> list[tuple[int, dict]]:
    """What each line contributes, the most expensive first."""
    name, _, array = cost.partition(" of ")
    if COSTS[name] is None:
        return []
    wanted, unit = COSTS[name]
    lines = [x for x in case["memory"] if wanted(x) and array in ("", x["array"])]
    return sorted(((x[unit], x) for x in lines), key=lambda pair: -pair[0])


def cost_of(case: dict, cost: str) -> int:
    if cost in ("barriers", "copies_ahead"):
        return case[cost]
    if cost == "shared_bytes":
        arrays = {(x["array"], x["array_bytes"]) for x in case["memory"] if x["space"] == "shared"}
        named = sum(size for array, size in arrays if array != "dynamic")
        return case["dynamic_bytes"] + named
    return sum(n for n, _ in cost_lines(case, cost))


@dataclass
class Verdict:
    ok: bool
    line: str  # what the regular expressions of wrong solutions are looked for in
    details: list[str] = field(default_factory=list)


# What a learner can look for. A pattern of the cause, and what stands below it.
ADVICE = {
    "reads shared memory that this block has not written": "Who writes this element, and is "
    "there a barrier between? Perhaps nobody does: look at the index.",
    "race: writes what another thread has read": "A thread that is ahead writes here while "
    "another one still has to read: is a barrier or a wait missing between the two?",
    "race: reads what another thread has written": "Nothing makes the reader wait for the writer: "
    "is a barrier or a wait missing between the two?",
    "race: TMA overwrites what a thread has read": "Either nobody waits until all have read this, "
    "or a thread has read it too early: before it waited for the phase of what TMA brings here.",
    "race: writes what another thread has written": "Both write one element: which of the two "
    "should, or is a barrier or a wait missing between them?",
    "^(reads|writes) (past the end|before)": "What comes here that has no element: a thread, "
    "a turn of a loop, a box?",
}


def place_line(place: dict) -> str:
    return f"{Path(place['file']).name}:{place['line']}"


def finding_details(finding: dict) -> list[str]:
    """The line, the other one that it conflicts with, and what to look for."""
    details = [f"    {finding['text']}"]
    other = finding.get("other")
    if other and place_line(other) == place_line(finding):
        same = "The other access is in the same line, by another thread: do both take one element, "
        return [*details, same + "or is one of them a turn ahead?"]
    if other:
        details += [f"The other access, {place_line(other)}:", f"    {other['text']}"]
    advice = [text for cause, text in ADVICE.items() if re.search(cause, finding["cause"])]
    return details + advice[:1]


def finding_line(finding: dict, case: dict) -> str:
    what = f"{place_line(finding)}: {finding['cause']}"
    what += f": {finding['example']}" if finding["example"] else ""
    return f"{what} (in {case['name']}, {counted(finding['count'], 'time')})"


def number(value) -> str:
    return value if isinstance(value, str) else f"{value:.7g}"


def wrong_line(case: dict) -> str:
    w = case["wrong"]
    return (
        f"wrong result: {w['array']} at row {w['row']}, column {w['column']} is "
        f"{number(w['got'])}, not {number(w['expected'])} "
        f"(in {case['name']}, {counted(case['wrong_elements'], 'element')} wrong)"
    )


def counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def within(cost: int, limit) -> bool:
    if isinstance(limit, str):
        return cost >= int(limit.removeprefix("at least "))
    return cost <= limit


NAN = "An output is NaN before the launch: was this element written at all, and from what?"


def correctness(cases: list[dict]) -> Verdict | None:
    """What is wrong with the results, or None."""
    for case in cases:
        if case["error"]:
            return Verdict(False, f"cannot be launched: {case['error']} (in {case['name']})")
    findings = [(f, c) for c in cases for f in c["findings"]]
    wrong = [c for c in cases if c["wrong"]]
    details = finding_details(findings[0][0]) if findings else []
    if findings and "deadlock" in findings[0][0]["cause"]:  # whoever it is that should have gone on
        others = [f for f, case in findings[1:] if case is findings[0][1]]
        for other in [f for f in others if "deadlock" in f["cause"]]:
            details += [
                f"Others wait, {place_line(other)}: {other['example']}",
                f"    {other['text']}",
            ]
    if findings and wrong:
        details.append(wrong_line(wrong[0]))
    if findings:
        more = len({(f["line"], f["cause"]) for f, _ in findings}) - 1
        details += [f"{counted(more, 'more finding')}, for when this is mended"] * (more > 0)
        return Verdict(False, finding_line(*findings[0]), details)
    if wrong:
        good = [c["name"] for c in cases if not c["wrong"]]
        details = [NAN] if wrong[0]["wrong"]["got"] == "NaN" else []
        return Verdict(
            False, wrong_line(wrong[0]), details + [f"right in {', '.join(good)}"] * bool(good)
        )
    stray = [c for c in cases if c["stray"]]
    if stray:
        return Verdict(False, f"stray write: {stray[0]['stray']} (in {stray[0]['name']})")
    return None


def cost_table(exercise: Exercise, cases: dict) -> tuple[list[str], list[str]]:
    """A line for each limit, with the most expensive source line; and what exceeds its limit."""
    table, exceeded = [], []
    for name, limits in exercise.limits.items():
        if name not in cases:
            raise BadInput(f"{exercise.name}/exercise.yaml: check.cpp has no case '{name}'")
        for cost, limit in limits.items():
            is_ok = within(n := cost_of(cases[name], cost), limit)
            shown = f"{'ok' if is_ok else '--'}  {cost:<20} {n:>10}   limit {limit:>10}   {name}"
            most = cost_lines(cases[name], cost)[:1]
            if most and not is_ok:
                amount, x = most[0]
                shown += (
                    f"\n      {amount} of them in {Path(x['file']).name}:{x['line']}: {x['text']}"
                )
            table.append(shown)
            if not is_ok:
                kind_of, _, array = cost.partition(" of ")
                unit = kind_of.replace("_", " ") + f" of {array}" * bool(array)
                said = (
                    f"the limit is {limit}" if not isinstance(limit, str) else f"it takes {limit}"
                )
                kind = "too expensive" if not isinstance(limit, str) else "not as asked"
                exceeded.append(f"{kind}: {n} {unit} in {name}, {said}")
    return table, exceeded


def dear_where_drawn(exercise: Exercise, cases: dict, reference: dict) -> list[str]:
    """What costs more at the shape that is drawn than the limits allow beside the reference's costs
    there, and a quarter: another good solution may begin and end otherwise."""
    exceeded = []
    case, limits = next(iter(exercise.limits.items()))
    for cost, limit in limits.items():
        n, usual = cost_of(cases[DRAWN], cost), cost_of(reference[DRAWN], cost)
        least, most = isinstance(limit, str), int(str(limit).removeprefix("at least "))
        allowed = usual * most / max(1, cost_of(reference[case], cost)) * (0.75 if least else 1.25)
        if n < allowed if least else n > allowed:
            beside = f"{cost.replace('_', ' ')} in {DRAWN}, where the reference has {usual}"
            exceeded.append(f"{'not as asked' if least else 'too expensive'}: {n} {beside}")
    return exceeded


def judge(exercise: Exercise, cases: list[dict] | str, reference: list[dict] | str) -> Verdict:
    """Of a solution that ran, as the reference did. Raises BadInput."""
    if isinstance(cases, str):
        return Verdict(False, cases)
    wrong = correctness(cases)
    if wrong:
        return wrong
    by_name = {c["name"]: c for c in cases}
    most = max(cost_of(case, "shared_bytes") for case in cases)
    if most > SHARED:
        return Verdict(False, f"{most} bytes of shared memory: a block has {SHARED} at most")
    table, exceeded = cost_table(exercise, by_name)
    if exercise.limits and not exceeded:
        if isinstance(reference, str):
            raise BadInput(f"{exercise.name}: the reference {reference}")
        exceeded = dear_where_drawn(exercise, by_name, {c["name"]: c for c in reference})
    return Verdict(not exceeded, exceeded[0] if exceeded else "all holds", table)


def judge_answer(exercise: Exercise, cases: list[dict] | str, answer: Path) -> Verdict:
    """Of numbers. The verdict does not give away the right ones. Raises BadInput."""
    wrong = judge(exercise, cases, [])
    if not wrong.ok:
        raise BadInput(f"{exercise.name}: the kernel that is given: {wrong.line}")
    by_name = {c["name"]: c for c in cases}
    given = read_yaml(answer)
    missed = []
    for name, question in exercise.questions.items():
        if not isinstance(given.get(name), int):
            missed.append(f"{name} has no whole number yet")
        elif given[name] != cost_of(by_name[question["case"]], question["cost"]):
            missed.append(f"{name} is not {given[name]}")
    return Verdict(not missed, ", ".join(missed) if missed else "all holds")


def grade(exercise: Exercise, solution: Path, build: Build, seed: int) -> Verdict:
    """Of the learner's file, or another in its place. Raises BadInput."""
    try:
        text = solution.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{solution}: {error}") from error
    kernels = exercise.folder / "exercise.cuh" if exercise.is_predict else solution
    refused = "" if exercise.is_predict else refusal(text)
    # The CPU device does not count those in shared memory.
    if "atomicAdd" in text and not exercise.is_predict:
        has_atomics = "atomicAdd" in exercise.solution.read_text()
        refused = refused or ("" if has_atomics else "`atomicAdd`: this one is without atomics")
    if refused:
        return Verdict(False, f"refused: {solution.name}, {refused}")
    with tempfile.TemporaryDirectory() as folder:
        problem = build.compile(exercise, kernels, Path(folder))
        if problem:
            first, *rest = problem.splitlines()
            return Verdict(False, first, rest)
        program = Path(folder) / "program"
        cases = run(program, "yours", seed)
        reference = run(program, "solution", seed, "once") if exercise.limits else []
    if exercise.is_predict:
        return judge_answer(exercise, cases, solution)
    return judge(exercise, cases, reference)


# --- On a GPU ---------------------------------------------------------------------------------


def gpu_architecture() -> str:
    """Of the first GPU, as nvcc calls it; "" where there is none."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True)
    except OSError:
        return ""
    match = re.match(r"(\d+)\.(\d)\s", done.stdout)
    if done.returncode != 0 or not match:
        return ""
    version = match[1] + match[2]
    return f"sm_{version}" + "a" * (version == "90")  # for wgmma


def compile_for_gpu(
    exercise: Exercise, build: Build, folder: Path, architecture: str = "", **solutions: Path
) -> Path | None:
    """The program with all of them, for an architecture as nvcc calls it or for the GPU that is
    here; None where there is none, or no toolkit in the build. Raises BadInput."""
    libraries = build.folder / "exercises/gpu_libraries"
    architecture = (architecture or gpu_architecture()) if libraries.is_file() else ""
    nvcc, *words = build_folder.libraries(libraries) if architecture else [""]
    if not words or not Path(words[0]).is_file():
        return None
    source, program = folder / "yours.cu", folder / "program_gpu"
    source.write_text(program_text(exercise, **solutions))
    target = f"arch={architecture.replace('sm', 'compute')},code={architecture}"
    command = [nvcc, "-std=c++17", "-gencode", target, "-w", "-Xcompiler", "-fopenmp"]
    for include in ("bench", "kernels", "bench/exercises"):
        command += ["-I", str(ROOT / include)]
    done = subprocess.run([*command, "-o", program, source, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"{exercise.name}: nvcc: {(done.stderr + done.stdout).strip()[:2000]}")
    return program


def gpu_verdict(exercise: Exercise, solution: Path, build: Build) -> Verdict | None:
    """Of a solution that holds on the CPU device, or None where there is no GPU; its details are
    times. Raises BadInput."""
    with tempfile.TemporaryDirectory() as folder:
        solutions = {"yours": solution, "solution": exercise.solution}
        program = compile_for_gpu(exercise, build, Path(folder), **solutions)
        if program is None:
            return None
        seed = secrets.randbits(32)
        yours, reference = (run(program, name, seed) for name in ("yours", "solution"))
    return judge_on_gpu(yours, reference)


def judge_on_gpu(yours: list[dict] | str, reference: list[dict] | str) -> Verdict:
    if isinstance(yours, str):
        return Verdict(False, f"on the GPU: {yours}")
    wrong = correctness(yours)
    if wrong:
        return Verdict(False, f"on the GPU: {wrong.line}", wrong.details)
    if isinstance(reference, str) or correctness(reference):
        raise BadInput("the reference fails on this GPU")
    times = []
    for mine, other in zip(yours, reference, strict=True):
        if mine["timed"]:
            line = f"GPU, {mine['name']}: {mine['seconds'] * 1e3:.3f} ms, reference "
            line += f"{other['seconds'] * 1e3:.3f} ms"
            cublas = mine["cublas_seconds"]
            times.append(line + (f", cuBLAS {cublas * 1e3:.3f} ms" if cublas else ""))
    return Verdict(True, "all holds", times)


# --- The exercises' own test --------------------------------------------------------------------


def expectation(path: Path) -> re.Pattern:
    """What a wrong solution is refused for. Raises BadInput."""
    match = re.match(r"(?://|#) refused: (.*)\n(?://|#) .", path.read_text())
    if not match:
        raise BadInput(f"{path}: does not begin with `refused: REGEX` and a line with the mistake")
    return re.compile(match[1])


def test(exercise: Exercise, build: Build) -> list[str]:
    """What is not as it should be, a line each. Raises BadInput."""
    program = build.program(exercise)
    seed = secrets.randbits(32)
    wrong = exercise.wrong()
    objections = (
        [] if len(wrong) >= 5 else [f"{len(wrong)} wrong solutions; at least 5 are expected"]
    )
    if not (ROOT / exercise.page).is_file():
        objections.append(f"there is no page {exercise.page}")

    cases = run(program, "exercise", seed) if exercise.is_predict else None

    def verdict_of(path: Path) -> Verdict:
        if exercise.is_predict:
            return judge_answer(exercise, cases, path)
        refused = refusal(path.read_text())
        if refused:
            return Verdict(False, f"refused: {path.name}, {refused}")
        return judge(exercise, run(program, path.stem, seed), reference)

    reference = run(program, "solution", seed, "once") if exercise.limits else []
    said = verdict_of(exercise.solution)
    if not said.ok:
        objections.append(f"{exercise.solution.name} does not pass: {said.line}")
    print(exercise.solution.name, said.line, *said.details, sep="\n  ")
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(verdict_of, wrong))
    for path, said in zip(wrong, verdicts, strict=True):
        expected = expectation(path)
        print(f"wrong/{path.name}: {said.line}")
        if said.ok or not expected.search(said.line):
            objections.append(f"wrong/{path.name}: '{said.line}' is not '{expected.pattern}'")
    if not exercise.is_predict:
        refused = refusal_of_object(build.object_file(exercise))
        on_gpu = gpu_verdict(exercise, exercise.solution, build)
        if refused:
            objections.append(f"one of the solutions: {refused}")
        if on_gpu is not None:
            print(f"{exercise.solution.name}, GPU: {on_gpu.line}", *on_gpu.details, sep="\n  ")
            objections += [] if on_gpu.ok else [on_gpu.line]
    if is_starter(exercise):
        said = grade(exercise, exercise.edited, build, seed)
        print(f"{exercise.edited.name}: {said.line}")
        if said.ok or re.match("refused|does not", said.line):
            objections.append(f"the starter: '{said.line}'")
    return [f"{line} (seed {seed})" for line in objections]


# --- What the learner sees ----------------------------------------------------------------------


PROGRESS = {str: {"done": bool, "hints": int, "solution": bool}}


class Progress:
    """exercises/progress.json: of each exercise that was begun, the hints seen, and whether it is
    done and the solution was asked for."""

    def __init__(self):
        self.path = EXERCISES / "progress.json"
        self.all = read_json(self.path, PROGRESS) if self.path.is_file() else {}

    def of(self, exercise: Exercise) -> dict:
        return {"done": False, "hints": 0, "solution": False} | self.all.get(exercise.name, {})

    def note(self, exercise: Exercise, **changes) -> None:
        """Beside what others have noted by now. The old file stays until the new one is whole."""
        with open(self.path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.__init__()
            self.all[exercise.name] = self.of(exercise) | changes
            new = self.path.with_suffix(".new")
            with open(new, "w") as file:
                file.write(json.dumps(self.all, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.path)


def listed(done: set[str]) -> list[str]:
    """A line each, then how many of them are done."""
    every = all_exercises()
    lines = [
        f"{'done' if e.name in done else '    '}  {e.number}  {e.title}  ({KINDS[e.kind]})"
        for e in every
    ]
    left = [e for e in every if e.name not in done]
    following = f"Next: ./scripts/exercise.sh {left[0].number}" if left else "All of them."
    return [*lines, "", f"{len(every) - len(left)} of {len(every)} done. {following}"]


def list_all(progress: Progress) -> None:
    print("\n".join(listed({e.name for e in all_exercises() if progress.of(e)["done"]})))


def printed() -> str:
    """The beginning and the end of it, for the documentation."""
    lines = listed(set())
    return "\n".join(["```", *lines[:2], "...", lines[-1], "```"])


def show(exercise: Exercise, verdict: Verdict, progress: Progress) -> None:
    print(f"{'PASSED' if verdict.ok else 'NOT YET'}  {exercise.name}: {verdict.line}")
    for line in verdict.details:
        print(f"  {line}")
    if verdict.ok:
        left = [e.number for e in all_exercises() if not progress.of(e)["done"]]
        following = [number for number in left if number > exercise.number] + left
        print(f"next: ./scripts/exercise.sh {following[0]}" if left else "all are done")
        return
    edited = exercise.edited.relative_to(ROOT)
    print(f"next: edit {edited}; read {exercise.page};", end=" ")
    shown = progress.of(exercise)["hints"]
    more = "--hint has the next of 3 hints" if shown < 3 else "--solution shows the reference"
    print(f"./scripts/exercise.sh {exercise.number} {more}")


def grade_and_show(exercise: Exercise, build: Build, progress: Progress) -> int:
    edited = edited_files(exercise)
    if edited:
        names = ", ".join(edited)
        paths = " ".join(str((exercise.folder / name).relative_to(ROOT)) for name in edited)
        raise BadInput(
            f"{exercise.name}: {names}: not as the grader has it; `git restore {paths}` brings "
            "it back"
        )
    verdict = grade(exercise, exercise.edited, build, secrets.randbits(32))
    if verdict.ok and not exercise.is_predict:
        on_gpu = gpu_verdict(exercise, exercise.edited, build)
        if on_gpu is not None:
            verdict = Verdict(on_gpu.ok, on_gpu.line, verdict.details + on_gpu.details)
    try:
        if verdict.ok or not progress.of(exercise)["done"]:
            progress.note(exercise, done=verdict.ok)
    finally:  # also where it cannot be noted
        show(exercise, verdict, progress)
    return 0 if verdict.ok else 1


def watch(exercise: Exercise, build: Build, progress: Progress) -> int:
    seen, code = None, 1
    try:
        while True:
            now = exercise.edited.stat().st_mtime_ns if exercise.edited.is_file() else None
            if now is not None and now != seen:
                seen = now
                print("\033[2J\033[H" if sys.stdout.isatty() else "", end="")
                try:
                    code = grade_and_show(exercise, build, progress)
                except BadInput as error:
                    code = 2
                    print(f"exercise.sh: {error}")
                print("watching; Ctrl-C ends it", flush=True)
            time.sleep(0.2)
    except KeyboardInterrupt:
        return code


def hint(exercise: Exercise, progress: Progress) -> int:
    seen = progress.of(exercise)["hints"]
    shown = min(seen + 1, len(exercise.hints))
    progress.note(exercise, hints=shown)
    for i in range(shown):
        print(f"hint {i + 1} of {len(exercise.hints)}: {exercise.hints[i]}")
    if seen == shown:
        print(f"There are no more; ./scripts/exercise.sh {exercise.number} --solution has the rest")
    return 0


def show_solution(exercise: Exercise, progress: Progress) -> int:
    if not progress.of(exercise)["solution"]:
        try:
            said = input(
                f"Show the solution of {exercise.name}? You learn more by finding it. [y/N] "
            )
        except EOFError:
            said = ""
        if said.strip().lower() not in ("y", "yes"):
            print("not shown")
            return 1
        progress.note(exercise, solution=True)
    print(exercise.solution.read_text(), end="")
    return 0


def act(options: argparse.Namespace) -> int:
    """Raises BadInput."""
    if options.protect:
        (EXERCISES / "checksums.json").write_text(json.dumps(checksums(), indent=0) + "\n")
        return 0
    progress = Progress()
    wanted = [name for name in ("watch", "hint", "solution", "test") if getattr(options, name)]
    if options.exercise is None and wanted:
        raise BadInput(f"--{wanted[0]} of which exercise? ./scripts/exercise.sh 01 --{wanted[0]}")
    if options.exercise is None:
        list_all(progress)
        return 0
    exercise = find(options.exercise)
    if options.valid:
        return 0
    if options.hint:
        return hint(exercise, progress)
    if options.solution:
        return show_solution(exercise, progress)
    build = Build(options.build.resolve())
    if options.test:
        objections = test(exercise, build)
        for line in objections:
            print(f"{exercise.name}: {line}", file=sys.stderr)
        return 1 if objections else 0
    return (watch if options.watch else grade_and_show)(exercise, build, progress)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="exercise.sh",
        usage="./scripts/exercise.sh [NN] [--watch | --hint | --solution]",
        allow_abbrev=False,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("exercise", nargs="?", metavar="NN")
    for option in ("watch", "hint", "solution", "test", "protect", "valid"):
        parser.add_argument(f"--{option}", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help=argparse.SUPPRESS)
    try:
        return act(parser.parse_args(arguments))
    except BrokenPipeError:
        raise
    except (BadInput, OSError) as error:
        print(f"exercise.sh: {error}", file=sys.stderr)
        return 2
