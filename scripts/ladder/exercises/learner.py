"""What the learner sees: the list, a verdict, hints, the solution, and what is done."""

import fcntl
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path

from ladder.exercises import catalogue
from ladder.exercises.catalogue import KINDS, Exercise, all_exercises, edited_files
from ladder.exercises.compiling import Build
from ladder.exercises.grading import gpu_verdict, grade
from ladder.exercises.judging import Verdict, counted
from ladder.exercises.mistakes import mistakes_of
from ladder.files import read_json
from ladder.project import BadInput

PROGRESS = {str: {"done": bool, "hints": int, "solution": bool, "told?": bool}}


class Progress:
    """exercises/progress.json: of each exercise that was begun, the hints seen, and whether it is
    done, the solution was asked for, and the lines of its bug are known."""

    def __init__(self):
        self.path = catalogue.EXERCISES / "progress.json"
        self.all = read_json(self.path, PROGRESS) if self.path.is_file() else {}

    def of(self, exercise: Exercise) -> dict:
        nothing = {"done": False, "hints": 0, "solution": False, "told": False}
        return nothing | self.all.get(exercise.name, {})

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


def is_answered(verdict: Verdict, mine: Path) -> bool:
    """Asks where a bug is, until that is right or somebody wants to be told; False where nobody is
    there."""
    wanted, *others = verdict.places
    number = f"{len(wanted)} lines" if len(wanted) > 1 else "line"
    question = f"  In which {number} of {mine.name}? (Enter shows the report) "
    while True:
        try:
            said = {int(word) for word in re.findall(r"\d+", input(question))}
        except EOFError:
            print()
            return False
        if not said or said in verdict.places:
            print("  Yes." if said else "")
            return True
        right = [str(n) for n in sorted(said & wanted.union(*others))]
        print(f"  No, but {' and '.join(right)} is part of it." if right else "  No.")


def show_report(exercise: Exercise, mine: Path, verdict: Verdict, progress: Progress, how) -> None:
    known = progress.of(exercise)
    head, its = f"{'PASSED' if verdict.ok else 'NOT YET'}  {exercise.name}: ", verdict.line
    is_riddle = exercise.kind == "bug" and verdict.places and not (known["done"] or known["told"])
    if is_riddle and how != "all":
        print(head + verdict.unplaced)
        if how == "quietly" or not is_answered(verdict, mine):
            print("  --all shows the lines; in a terminal, without --watch, you are asked for them")
            return
        head, its = "  ", its.removesuffix(verdict.unplaced).strip()
    print(head + its)
    for line in verdict.details:
        print(f"  {line}")
    if how == "all":
        for line in (line for finding in verdict.more for line in finding):
            print(f"  {line}")
    elif verdict.more:
        n = counted(len(verdict.more), "more finding")
        print(f"  {n}, for when this is mended; --all shows all")
    if is_riddle:
        progress.note(exercise, told=True)


def show(
    exercise: Exercise, mine: Path, verdict: Verdict, progress: Progress, how: str = "ask"
) -> None:
    """With all findings where `how` is "all". Where a bug is to be found, its lines are asked for
    before they are shown, the first time; where `how` is "quietly" they are not shown."""
    show_report(exercise, mine, verdict, progress, how)
    again = f"./scripts/exercise.sh {exercise.number}"
    if verdict.ok:
        left = [e.number for e in all_exercises() if not progress.of(e)["done"]]
        following = [number for number in left if number > exercise.number] + left
        first, *others = [mistake.id for mistake in mistakes_of(exercise)]
        print(f"compare: {again} --solution")
        print(f"         {again} --wrong {first} (refused, and why); or {', '.join(others)}")
        print(f"next: ./scripts/exercise.sh {following[0]}" if left else "all are done")
        return
    edited = mine.relative_to(catalogue.ROOT) if mine.is_relative_to(catalogue.ROOT) else mine
    print(f"next: edit {edited}; read {exercise.page};", end=" ")
    shown = progress.of(exercise)["hints"]
    more = "--hint has the next of 3 hints" if shown < 3 else "--solution shows the reference"
    print(f"./scripts/exercise.sh {exercise.number} {more}")


def grade_and_show(
    exercise: Exercise, mine: Path, build: Build, progress: Progress, how: str = "ask"
) -> int:
    edited = edited_files(exercise)
    if edited:
        names = ", ".join(edited)
        paths = " ".join(
            str((exercise.folder / name).relative_to(catalogue.ROOT)) for name in edited
        )
        raise BadInput(
            f"{exercise.name}: {names}: not as the grader has it; `git restore {paths}` brings "
            "it back"
        )
    with tempfile.TemporaryDirectory() as folder:
        # As it is now, and with nothing beside it that it could include.
        copy = Path(folder) / mine.name
        shutil.copyfile(mine, copy)
        verdict = grade(exercise, copy, build, secrets.randbits(32))
        if verdict.ok and not exercise.is_predict:
            on_gpu = gpu_verdict(exercise, copy, build)
            if on_gpu is not None:
                verdict = Verdict(on_gpu.ok, on_gpu.line, verdict.details + on_gpu.details)
    try:
        if verdict.ok or not progress.of(exercise)["done"]:
            progress.note(exercise, done=verdict.ok)
    finally:  # also where it cannot be noted
        show(exercise, mine, verdict, progress, how)
    return 0 if verdict.ok else 1


def watch(exercise: Exercise, mine: Path, build: Build, progress: Progress) -> int:
    seen, code = None, 1
    try:
        while True:
            now = mine.stat().st_mtime_ns if mine.is_file() else None
            if now is not None and now != seen:
                seen = now
                print("\033[2J\033[H" if sys.stdout.isatty() else "", end="")
                try:
                    code = grade_and_show(exercise, mine, build, progress, "quietly")
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
    known = progress.of(exercise)
    if not known["solution"] and not known["done"]:
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
