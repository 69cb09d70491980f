"""Plants mistakes in the project's own kernels, one at a time, and says what the CPU device finds.

ladder planted [EDITS ...]       all of tests/planted_edits, or these files of it
ladder planted --first           of each cause the first edit alone, and no stage unedited

A file of edits is named after the stage that is run. Each edit replaces `old`, which stands once in
the kernel header `file` (the stage's own where nothing is said), by `new`; the stage's main with
`variant` alone (where nothing is said, the stage itself) is compiled with the edited header and
runs at `shape`, with `options` where there are any; of attention these say the shape. Where a
launcher chooses among kernels that
take long to compile, `kernel` is the call of the one that it chooses at that shape; of a stage with
a harness of its own, what its main says behind the variant's name, with that one. The device has
to find what is under `finds`: the `cause`, a regular expression, and the text of the `line` in the
edited header, or in `file`. What else it finds, elsewhere or later, has to have that cause or one
of the regular expression `follows`. `finds: wrong result` stands for that alone. Without an edit
nothing may be found.

--build FOLDER                     a build with the CPU device's libraries (build)

Writes a table of edits and findings. Exit code: 0 all right, 1 an edit is not found, or not as
expected, 2 bad input.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ladder import build_folder
from ladder.edits import EDIT, pattern, replaced
from ladder.files import (
    Closed,
    a_name,
    at_least_1,
    is_a,
    one_line,
    read_json,
    read_text,
    read_yaml,
)
from ladder.project import ROOT, BadInput

OWN_HARNESSES = ("attention_cpu.a", "rows_cpu.a", "four_bits_cpu.a", "own_cpu.a")
EDITS = ROOT / "tests/planted_edits"
FEW_MULTIPROCESSORS = EDITS / "few_multiprocessors.h"
SECONDS = 60  # a program that runs longer hangs
WRONG_RESULT = "wrong result"
# As CMake begins its own commands. It does not trust headers that are new, as the copies are.
CCACHE = [path for path in [shutil.which("ccache")] if path]
SLOPPINESS = "pch_defines,time_macros,include_file_mtime,include_file_ctime"
OF_CCACHE = {**os.environ, "CCACHE_SLOPPINESS": SLOPPINESS}


@dataclass(frozen=True)
class Edit:
    id: str
    stage: str
    mistake: str
    file: str
    old: str
    new: str
    variant: str
    finds: dict | str  # the keys cause, line and file; or WRONG_RESULT
    shape: tuple[int, ...] = ()  # of a stage with a harness of its own in the options
    options: str = ""  # more of them for the program
    follows: str = ""
    kernel: str = ""

    @property
    def other_type(self) -> bool:
        """Whether it is the second one of two that the stage has."""
        return "--type" in self.options


@dataclass(frozen=True)
class Finding:
    file: str
    line: int
    cause: str
    text: str  # of the line


@dataclass(frozen=True)
class Outcome:
    """What a run reported. `ended` says how it ended where that was not with a report."""

    findings: tuple[Finding, ...] = ()
    wrong: bool = False
    ended: str = ""


def options(value: object) -> bool:
    """options of a program"""
    try:
        return is_a(value, str) and shlex.split(value) is not None
    except ValueError:
        return False


def kernel_file(value: object) -> bool:
    """a file in kernels/"""
    return is_a(value, str) and re.fullmatch(r"(\w+/)*\w+\.\w+", value) is not None


PLANTED = Closed(
    {
        "id": one_line,
        "mistake": one_line,
        "file?": kernel_file,
        **EDIT,
        "shape?": [at_least_1, at_least_1, at_least_1],
        "variant?": a_name,
        "finds": (Closed({"cause": pattern, "line": one_line, "file?": kernel_file}), WRONG_RESULT),
        "options?": options,
        "follows?": pattern,
        "kernel?": one_line,
    }
)


def read_edits(path: Path) -> list[Edit]:
    """Raises BadInput."""
    stage, edits = path.stem, []
    own = {"stage": stage, "file": f"{stage}.cuh", "variant": stage.partition("_")[2]}
    for entry in read_yaml(path, [PLANTED, ...]):
        edit = Edit(**(own | entry))
        if edit.finds != WRONG_RESULT:
            edit.finds.setdefault("file", edit.file)
        edits.append(replace(edit, shape=tuple(edit.shape)))
    return edits


def plant(edit: Edit, kernels: Path) -> None:
    """Edits a copy of kernels/. Raises BadInput."""
    path = kernels / edit.file
    where = f"{edit.id}: {edit.file}"
    path.write_text(replaced(read_text(path), edit.old, edit.new, where))
    if edit.finds != WRONG_RESULT:
        line, file = edit.finds["line"], edit.finds["file"]
        times = read_text(kernels / file).count(line)
        if times != 1:
            raise BadInput(f"{edit.id}: the edited {file} has '{line}' {times} times, not once")


def called(edit: Edit) -> str:
    """The variant that calls the edit's kernel."""
    return f'{{"{edit.variant}", [](const auto& p) {{ {edit.kernel}; }}}}'


def in_braces(text: str, start: int) -> str:
    """From the brace at `start` to the one that closes it."""
    depth = 0
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start : end + 1]
    return ""


def own_main_of(stage_main: str, edit: Edit) -> str:
    """The main of a stage with a harness of its own, with the edit's variant. Raises BadInput."""
    entry = in_braces(stage_main, stage_main.find(f'{{"{edit.variant}",'))
    if not entry:
        raise BadInput(f"{edit.id}: {edit.stage} has no variant '{edit.variant}'")
    if edit.kernel:
        entry = f'{{"{edit.variant}", {edit.kernel}}}'
    variants = in_braces(stage_main, stage_main.index('{{"'))
    return stage_main.replace(variants, f"{{{entry}}}")


def main_of(stage_main: str, edit: Edit) -> str:
    """A stage's main with the edit's variant alone, or, where variants are templates of one of two
    types, with those of the first, or, with --type, of the other. Raises BadInput."""
    before, _, body = stage_main.partition("int main(")
    if "harness::run_type(" in body:
        variants = re.findall(r"contents<.*?>\(\)", body)[edit.other_type] + ".variants"
        if edit.kernel:
            variants = f"decltype({variants}){{{called(edit)}}}"
        run_it = f"return ladder::harness::run(ladder::STAGE, {variants}, argc, argv);"
        return f"{before}int main(int argc, char** argv) {{\n  {run_it}\n}}\n"
    if "_bench::run(" in body:
        return own_main_of(stage_main, edit)
    start = re.search(r"return (?:ladder::)?harness::run<.*?>\(", body)
    variant = re.search(rf'\{{"{edit.variant}",[^{{}}]*\}}', body)
    if not start or not variant:
        raise BadInput(f"{edit.id}: {edit.stage} has no variant '{edit.variant}'")
    entry = called(edit) if edit.kernel else variant[0]
    using = "".join(re.findall(r"^  using .*;\n", body, re.MULTILINE))
    run_it = f"  {start[0]}ladder::STAGE, {{{entry}}}, argc, argv);\n"
    return f"{before}int main(int argc, char** argv) {{\n{using}{run_it}}}\n"


class Build:
    """What a build folder says of how stages are made for the CPU device. Raises BadInput."""

    def __init__(self, folder: Path):
        self.commands = {
            file.name: command for file, command in build_folder.commands(folder).items()
        }
        self.folder = folder
        # A harness of its own is not built where none of its stages is.
        self.libraries = [
            word
            for word in build_folder.libraries(folder / "cpu/libraries")
            if not word.endswith(OWN_HARNESSES) or Path(word).exists()
        ]

    def command_of(self, stage: str, precompiled: bool = True) -> list[str]:
        """With the headers that are compiled once, or without, as for an edit in one of them."""
        name = f"{stage}.cu.cpp"
        if name not in self.commands:
            raise BadInput(f"{stage} is no stage that this build makes for the CPU device")
        command = build_folder.words(self.commands[name])
        headers = [i for i, word in enumerate(command) if word.endswith("/cmake_pch.hxx")]
        if headers and not precompiled:
            del command[headers[0] - 1 : headers[0] + 1]
        return command

    def link(self, command: list[str], objects: list[Path], program: Path) -> str:
        link = [build_folder.compiler(command), *objects, "-o", program, *self.libraries]
        done = subprocess.run(link, capture_output=True, text=True)
        return done.stderr if done.returncode else ""

    def unedited(self, stage: str, folder: Path) -> Path:
        """The stage as the build has compiled it, on a device of few multiprocessors."""
        command = self.command_of(stage)
        few, program = folder / "few_multiprocessors.o", folder / stage
        before = command[: command.index("-c")]
        source = ["-w", "-x", "c++", "-c", str(FEW_MULTIPROCESSORS)]
        done = subprocess.run([*before, *source, "-o", few], capture_output=True, text=True)
        objects = [self.folder / command[command.index("-o") + 1], few]
        said = done.stderr if done.returncode else self.link(command, objects, program)
        if said:
            raise BadInput(f"{stage} is not built, or does not link:", *said.splitlines())
        return program

    def compile(self, edit: Edit, kernels: Path, program: Path) -> str:
        """Makes the edit's variant of its stage with another kernels/. Returns what the compiler
        says if it cannot."""
        # launch.cuh, which is compiled once, includes no stage's header and no part.
        is_apart = re.match(r"\d\d|parts/", edit.file) is not None
        command = self.command_of(edit.stage, precompiled=is_apart)
        source = program.with_suffix(".cpp")
        source.write_text(main_of(read_text(ROOT / f"stages/{edit.stage}.cu"), edit))
        command[command.index("-c") + 1] = str(source)
        command[command.index(f"-I{ROOT / 'kernels'}")] = f"-I{kernels}"
        object_file = program.with_suffix(".o")
        command[command.index("-o") + 1] = str(object_file)
        # Of what -g says lines are enough, and a quarter of the compiler's time is saved.
        command += ["-w", "-g1", "-include", str(FEW_MULTIPROCESSORS)]
        if Path(command[0]).name != "ccache":
            command[:0] = CCACHE
        done = subprocess.run(command, capture_output=True, text=True, env=OF_CCACHE)
        return done.stderr if done.returncode else self.link(command, [object_file], program)


FINDING = re.compile(r"(.*?):(\d{1,9}): (.*)", re.DOTALL)


def a_finding(value: object) -> bool:
    """a finding, FILE:LINE: CAUSE"""
    return is_a(value, str) and FINDING.match(value) is not None


RUN = {"check": {"ok": bool}, "findings": [a_finding]}


def finding_of(text: str) -> Finding:
    """Of a report's 'file:line: cause: text of the line', without what it conflicts with."""
    text, _, _ = text.partition("; the other: ")
    file, line, rest = FINDING.fullmatch(text).groups()
    lines = read_text(Path(file)).splitlines() if Path(file).is_file() else []
    code = lines[int(line) - 1].strip() if 0 < int(line) <= len(lines) else ""
    return Finding(Path(file).name, int(line), rest.removesuffix(code).removesuffix(": "), code)


def run(program: Path, edit: Edit) -> Outcome:
    """At the edit's variant and shape."""
    report = program.with_suffix(".json")
    command = [program, "--variant", edit.variant, "--json", report]
    if edit.shape:
        m, n, k = edit.shape
        command += ["--m", m, "--n", n, "--k", k]
    command += shlex.split(edit.options)
    try:
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return Outcome(ended=f"still runs after {SECONDS} s")
    if done.returncode not in (0, 1) or not report.is_file():
        said = done.stderr.strip().splitlines() or ["nothing"]
        return Outcome(ended=f"ends with code {done.returncode} and says {said[-1]}")
    variant = read_json(report, {"variants": [RUN, ...]})["variants"][0]
    return Outcome(
        tuple(finding_of(text) for text in variant["findings"]),
        wrong=not variant["check"]["ok"],
    )


def is_looked_for(finding: Finding, edit: Edit) -> bool:
    looked_for = edit.finds
    return (
        finding.file == Path(looked_for["file"]).name
        and looked_for["line"] in finding.text
        and re.search(looked_for["cause"], finding.cause) is not None
    )


def objections(edit: Edit, outcome: Outcome) -> list[str]:
    """What is not as the edit expects it, a line each."""
    if outcome.ended:
        return [outcome.ended]
    if edit.finds == WRONG_RESULT:
        wrong, causes = ([] if outcome.wrong else ["the result is right"]), []
    else:
        missing = not any(is_looked_for(f, edit) for f in outcome.findings)
        wrong = [f"is not found: {edit.finds['cause']} at '{edit.finds['line']}'"] * missing
        causes = [edit.finds["cause"]]
    causes += [edit.follows] if edit.follows else []
    return wrong + [
        f"is not expected: {f.file}:{f.line}: {f.cause}: {f.text}"
        for f in outcome.findings
        if not any(re.search(cause, f.cause) for cause in causes)
    ]


def try_kernels(kernels: Path, edit: Edit, build: Build, folder: Path) -> Outcome:
    """What the edit's stage reports with these kernels, at its variant and shape."""
    program = folder / "program"
    said = build.compile(edit, kernels, program)
    if said:
        errors = [line for line in said.splitlines() if "error" in line]
        return Outcome(ended=f"does not compile: {(errors or [said])[0]}")
    return run(program, edit)


# What else is asked of an edit's program; returns objections.
Also = Callable[[Edit, Path], list[str]]


def try_edit(edit: Edit, build: Build, also: Also) -> tuple[Outcome, list[str]]:
    # Always the same place, for ccache knows what is compiled by its path, too.
    folder = build.folder.resolve() / "planted" / edit.stage / edit.id
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "kernels", folder / "kernels")
    plant(edit, folder / "kernels")
    outcome = try_kernels(folder / "kernels", edit, build, folder)
    said = objections(edit, outcome)
    if not said:
        said = also(edit, folder / "program")
    shutil.rmtree(folder)
    return outcome, said


def unedited(edits: list[Edit], build: Build) -> list[str]:
    """What a stage reports that nobody has edited, at each variant and shape of the edits."""
    objections = []
    with tempfile.TemporaryDirectory() as folder:
        # By the kernel that is called, which for most is the stage's launcher, as it is built.
        programs = {None: build.unedited(edits[0].stage, Path(folder))}
        for edit in {(e.variant, e.shape, e.options, e.kernel): e for e in edits}.values():
            called_by = (edit.variant, edit.kernel, edit.other_type) if edit.kernel else None
            if called_by not in programs:
                programs[called_by] = Path(folder) / f"program{len(programs)}"
                said = build.compile(edit, ROOT / "kernels", programs[called_by])
                if said:
                    raise BadInput(f"{edit.stage}, {edit.id}: unedited:", *said.splitlines())
            outcome = run(programs[called_by], edit)
            if outcome != Outcome():
                what = "x".join(map(str, edit.shape))
                objections.append(f"{edit.stage}, {edit.variant} at {what}, unedited: {outcome}")
    return objections


def causes(edit: Edit) -> set[str]:
    """What its finding may say, without numbers."""
    if edit.finds == WRONG_RESULT:
        return {WRONG_RESULT}
    return {re.sub(r"\d+", "N", cause) for cause in edit.finds["cause"].split("|")}


def first_of_each_cause(files: list[list[Edit]]) -> list[list[Edit]]:
    """The edits of some files without those whose cause an edit before them has."""
    seen: set[str] = set()
    first = []
    for edits in files:
        first.append([])
        for edit in edits:
            if not causes(edit) & seen:
                seen |= causes(edit)
                first[-1].append(edit)
    return [edits for edits in first if edits]


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table_row(edit: Edit, outcome: Outcome) -> str:
    """The finding that is looked for; where there is none, the first one."""
    if not outcome.findings:
        found = outcome.ended or (WRONG_RESULT if outcome.wrong else "nothing")
        return row(edit.stage, edit.mistake, found, "")
    shown = outcome.findings[0]
    if edit.finds != WRONG_RESULT:
        shown = next((f for f in outcome.findings if is_looked_for(f, edit)), shown)
    cause = re.sub(r" \(\d+ times.*", "", shown.cause)
    return row(edit.stage, edit.mistake, cause, f"{shown.file}:{shown.line}: `{shown.text}`")


def check_unedited(files: list[list[Edit]], build: Build) -> list[str]:
    """What the files' stages report without the edits, which then show nothing."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [o for its in pool.map(lambda edits: unedited(edits, build), files) for o in its]


def check(files: list[list[Edit]], build: Build, also: Also) -> list[str]:
    """Tries the edits of some files. Prints the table's rows; returns what is not as it should be.
    Raises BadInput."""
    wrong = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        edits = [edit for its in files for edit in its]
        tried = pool.map(lambda edit: try_edit(edit, build, also), edits)
        for edit, (outcome, said) in zip(edits, tried, strict=True):
            print(table_row(edit, outcome), flush=True)
            wrong += [f"{edit.stage}, {edit.id}: {o}" for o in said]
    return wrong


def nothing_more(edit: Edit, program: Path) -> list[str]:
    return []


def report(paths: list[Path], build: Build, also: Also = nothing_more, first: bool = False) -> int:
    """Prints the table, and returns the exit code. Raises BadInput."""
    print(row("stage", "edit", "found", "line"), "\n|---|---|---|---|", sep="")
    files = [read_edits(path) for path in paths]
    if first:  # that nothing is found in the stages as they are, their tests say
        wrong = check(first_of_each_cause(files), build, also)
    else:
        wrong = check_unedited(files, build) or check(files, build, also)
    for line in wrong:
        print(f"ladder planted: {line}", file=sys.stderr)
    return 1 if wrong else 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="EDITS")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="FOLDER")
    options = parser.parse_args(arguments)
    try:
        paths = options.files or sorted(EDITS.glob("*.yaml"))
        return report(paths, Build(options.build), first=options.first)
    except BadInput as error:
        print(f"ladder planted: {error}", file=sys.stderr)
        return 2
