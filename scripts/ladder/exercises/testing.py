"""The exercises' own test."""

import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ladder.exercises.catalogue import Exercise, is_starter
from ladder.exercises.compiling import Build
from ladder.exercises.grading import gpu_verdict, grade, run
from ladder.exercises.judging import Verdict, judge, judge_answer
from ladder.exercises.refusals import refusal, refusal_of_object
from ladder.project import ROOT, BadInput


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
