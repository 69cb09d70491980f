"""The exercises: lists them, or grades one on the CPU device.

ladder exercise                 all exercises, with what is done
ladder exercise 07              grades exercises/07_*; also 7, or a part of its name
ladder exercise 07 my.cuh       grades a file of one's own instead; of a prediction, my.yaml
ladder exercise 07 --all        with all findings, and the lines of a bug without asking for them
ladder exercise 07 --watch      again whenever the file is saved, until Ctrl-C
ladder exercise 07 --hint       the next hint
ladder exercise 07 --solution   the reference, after asking
ladder exercise 07 --wrong ID   a wrong solution, of those that are edits in wrong.yaml

Exit code: 0 all holds, 1 not yet, 2 bad input.

For those who write exercises:
ladder exercise 07 --test       the solution has to pass; the starter and the first two wrong ones
                            must not. With --rest the other wrong ones, which must not either
ladder exercise 07 --write FOLDER [--rest]    the source of the program that is tested, for CMake
ladder exercise --protect       writes exercises/checksums.json
"""

import argparse
import sys
from pathlib import Path

from ladder.exercises.catalogue import find, protect
from ladder.exercises.compiling import Build, write_program
from ladder.exercises.learner import (
    Progress,
    grade_and_show,
    hint,
    list_all,
    show_solution,
    watch,
)
from ladder.exercises.mistakes import find_mistake
from ladder.exercises.testing import test
from ladder.project import ROOT, BadInput


def act(options: argparse.Namespace) -> int:
    """Raises BadInput."""
    if options.protect:
        protect()
        return 0
    progress = Progress()
    of_one = ("all", "watch", "hint", "solution", "wrong", "test", "write")
    wanted = [name for name in of_one if getattr(options, name)]
    if options.exercise is None and wanted:
        raise BadInput(f"--{wanted[0]} of which exercise? ./scripts/exercise.sh 01 --{wanted[0]}")
    if options.exercise is None:
        list_all(progress)
        return 0
    exercise = find(options.exercise)
    mine = options.origin / options.file if options.file else exercise.edited
    if options.file and not mine.is_file():
        raise BadInput(f"{options.file} is no file")
    if options.valid:
        return 0
    if options.hint:
        return hint(exercise, progress)
    if options.wrong is not None:
        print(find_mistake(exercise, options.wrong).shown(), end="")
        return 0
    if options.write:
        write_program(exercise, options.write, options.rest)
        return 0
    if options.solution:
        return show_solution(exercise, progress)
    build = Build(options.build.resolve())
    if options.test:
        objections = test(exercise, build, options.rest)
        for line in objections:
            print(f"{exercise.name}: {line}", file=sys.stderr)
        return 1 if objections else 0
    if options.watch:
        return watch(exercise, mine, build, progress)
    return grade_and_show(exercise, mine, build, progress, "all" if options.all else "ask")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="exercise.sh",
        usage="./scripts/exercise.sh [NN [FILE]] [--watch | --hint | --solution]",
        allow_abbrev=False,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("exercise", nargs="?", metavar="NN")
    parser.add_argument("file", nargs="?", type=Path)
    for option in ("all", "watch", "hint", "solution", "test", "rest", "protect", "valid"):
        parser.add_argument(f"--{option}", action="store_true", help=argparse.SUPPRESS)
    # Where the shell script was called.
    parser.add_argument(
        "--from", dest="origin", type=Path, default=Path.cwd(), help=argparse.SUPPRESS
    )
    parser.add_argument("--wrong", metavar="ID", help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help=argparse.SUPPRESS)
    try:
        return act(parser.parse_args(arguments))
    except BrokenPipeError:
        raise
    except (BadInput, OSError) as error:
        print(f"exercise.sh: {error}", file=sys.stderr)
        return 2
