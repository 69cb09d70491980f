"""Which of ctest's longer tests cannot find anything new in a change, for .ci/run.

ladder unconcerned BASE

The change is what differs between the commit BASE and HEAD. The tests of a stage on the CPU device,
its planted edits, an exercise, and the sanitizers run programs: where neither a file of these
programs nor what makes and runs them has changed, they find what they found at BASE. So do three
tests of the scripts, where neither a module that they import nor what these read has changed.
Writes their names as a regular expression, nothing where all tests are concerned.

Exit code: 0 all right, 2 there is no such commit.
"""

import argparse
import ast
import re
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from ladder.project import ROOT, BadInput

# In which folders an #include "..." is looked for, besides that of the file that has it.
FOLDERS = ("kernels", "bench", "bench/exercises", "")
# What makes and runs every program. The rest of cmake/ makes what other projects use.
EVERYWHERE = re.compile(
    r"(.*/)?CMakeLists\.txt|cmake/(?!Gemm|Jit|Library)|stages/manifest\.json|cpu_device/"
    r"|bench/harness/|tests/data/|\.ci/run|scripts/(lib|test)\.sh"
    r"|scripts/ladder/(build_folder|edits|files|project|unconcerned)\.py"
)
OF_STAGES = re.compile(r"bench/(attention|four_bits|rows)/")
OF_COUNTERS = re.compile(r"docs/results/h200/counters\.jsonl")
OF_EDITS = re.compile(
    r"bench/(attention|four_bits|rows)/|tests/planted_edits/few_multiprocessors"
    r"|scripts/ladder/(coverage|planted|prove|proved)\.py"
)
OF_EXERCISES = re.compile(r"bench/exercises/|scripts/ladder/exercise(s/|\.py)")
OF_SANITIZERS = re.compile(r"bench/")
# Of each test of the scripts its files, and what else it reads or runs. The pages themselves it
# reads at every size, too: they change with every commit, and other tests look at them.
OF_SCRIPTS = {
    "scripts_in_browser": (
        ("tests/scripts/test_site.py", "tests/scripts/test_stepper.py", "scripts/mkdocs_hooks.py"),
        r"docs/(assets|overrides)/|lab/|mkdocs|scripts/(docs|lib)\.sh",
    ),
    "scripts_that_compile": (
        tuple(f"tests/scripts/test_{name}.py" for name in ("exercise", "prove", "try")),
        r"(bench|cmake|cpu_device|exercises|stages|kernels(?!/library)|tests/proof_edits)/"
        r"|(.*/)?CMakeLists\.txt|docs/results/proved|ladder$|scripts/[^/]*$|scripts/ladder/shell/",
    ),
    "fuzz_readers": (("tests/scripts/fuzz_readers.py",), r"tests/scripts/tables\.py"),
}
OF_ALL_SCRIPTS = re.compile(r"\.ci/run|pyproject\.toml|requirements/|tests/scripts/conftest\.py")


@cache
def included_by(path: Path) -> list[Path]:
    """What a file includes, wherever that may be."""
    places = (path.parent, *(ROOT / folder for folder in FOLDERS))
    names = re.findall(r'#include "([\w/.]+)"', path.read_text())
    found = (place / name for name in names for place in places)
    return [file.resolve() for file in found if file.is_file()]


@cache
def imported_by(path: Path) -> list[Path]:
    """The modules of scripts/ladder that a module imports, wherever it does."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    places = [ROOT / "scripts" / name.replace(".", "/") for name in names]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return [file for file in files if file.is_file()]


def reached(roots: Iterable[Path], needed_by: Callable[[Path], list[Path]]) -> set[str]:
    """These files, what they need, what that needs and so on, by their paths in the clone."""
    left, found = [path.resolve() for path in roots], set()
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += needed_by(path)
    return {path.relative_to(ROOT).as_posix() for path in found}


def files_of(roots: Iterable[Path]) -> set[str]:
    """These files and all that they include."""
    return reached(roots, included_by)


def modules_of(roots: Iterable[str]) -> set[str]:
    """These files and all modules of scripts/ladder that they import."""
    return reached((ROOT / name for name in roots), imported_by)


def unconcerned(changed: set[str]) -> list[str]:
    """Names of tests."""

    def has_changed(files: re.Pattern) -> bool:
        return any(files.match(name) for name in changed)

    names = []
    if not has_changed(OF_ALL_SCRIPTS):
        for test, (roots, others) in OF_SCRIPTS.items():
            if not changed & modules_of(roots) and not has_changed(re.compile(others)):
                names.append(test)
    if has_changed(EVERYWHERE):
        return names
    if not has_changed(OF_SANITIZERS):
        its = [*(ROOT / "stages").glob("*.cu"), *(ROOT / "tests").glob("*.c*")]
        if not changed & files_of(its):
            names.append("sanitizers")
    if not has_changed(OF_STAGES):
        stages = sorted((ROOT / "stages").glob("*.cu"))
        for stage in stages:
            if not changed & files_of([stage, ROOT / "tests/stage_test.cpp"]):
                names.append(f"{stage.stem}_cpu_traced")
        for stage in [] if has_changed(OF_COUNTERS) else stages:
            if not changed & files_of([stage, ROOT / "tests/counters_test.cpp"]):
                names.append(f"H200/Counters.EqualThoseOfNcu/{stage.stem}")
    if not has_changed(OF_EDITS):
        edited = sorted((ROOT / "tests/planted_edits").glob("*.yaml"))
        same = [
            edits.stem
            for edits in edited
            if not changed & files_of([edits, ROOT / f"stages/{edits.stem}.cu"])
        ]
        names += [f"planted_edits_{stage}" for stage in same]
        if len(same) == len(edited):
            names.append("planted_edits")  # the first of each cause, of all stages
    if not has_changed(OF_EXERCISES):
        ours = files_of((ROOT / "bench/exercises").glob("*.*"))
        for exercise in sorted((ROOT / "exercises").glob("*/exercise.yaml")):
            folder = exercise.parent
            its = [path for path in folder.iterdir() if path.suffix in (".cuh", ".cpp", ".yaml")]
            if not changed & (ours | files_of(its)):
                names += [f"exercises_{folder.name}", f"exercises_{folder.name}_rest"]
    return names


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", metavar="BASE")
    options = parser.parse_args(arguments)
    command = ["git", "diff", "--name-only", f"{options.base}...HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"{options.base}: {done.stderr.strip().splitlines()[-1]}")
    print("|".join(f"{name}$" for name in unconcerned(set(done.stdout.splitlines()))))
    return 0
