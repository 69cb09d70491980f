"""The exercises' own test."""

import secrets
from concurrent.futures import ThreadPoolExecutor

from ladder.exercises.catalogue import Exercise, is_starter, read_yaml
from ladder.exercises.compiling import Build
from ladder.exercises.grading import gpu_verdict, refusal_in, run
from ladder.exercises.judging import Verdict, judge, judge_answer
from ladder.exercises.mistakes import Mistake, mistakes_in, mistakes_of
from ladder.exercises.refusals import refusal, refusal_of_object
from ladder.project import ROOT


def test(exercise: Exercise, build: Build, rest: bool) -> list[str]:
    """What is not as it should be, a line each: of the solution, the starter and the first
    mistakes, or of the rest of them. Raises BadInput."""
    program, seed = build.program(exercise), secrets.randbits(32)
    reference = run(program, "solution", seed, "once") if exercise.limits else []
    cases = run(program, "exercise", seed) if exercise.is_predict else None
    its = build.program(exercise, rest)

    def verdict_of(name: str, refused: str = "") -> Verdict:
        if refused:
            return Verdict(False, f"refused: {name}.cuh, {refused}")
        return judge(exercise, run(its, name, seed), reference)

    def verdict_of_mistake(mistake: Mistake) -> Verdict:
        if mistake.answer is not None:
            return judge_answer(exercise, cases, mistake.answer)
        return verdict_of(mistake.id, refusal(mistake.text))

    objections = []
    if not rest:
        wrong = len(mistakes_of(exercise))
        if wrong < 5:
            objections.append(f"{wrong} wrong solutions; at least 5 are expected")
        if not (ROOT / exercise.page).is_file():
            objections.append(f"there is no page {exercise.page}")
        said = (
            judge_answer(exercise, cases, read_yaml(exercise.solution))
            if exercise.is_predict
            else verdict_of("solution", refusal(exercise.solution.read_text()))
        )
        if not said.ok:
            objections.append(f"{exercise.solution.name} does not pass: {said.line}")
        print(exercise.solution.name, said.line, *said.details, sep="\n  ")
    wrong = mistakes_in(exercise, rest)
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(verdict_of_mistake, wrong))
    for mistake, said in zip(wrong, verdicts, strict=True):
        print(f"{mistake.id}: {said.line}")
        if said.ok or not mistake.refused.search(said.line):
            objections.append(f"{mistake.id}: '{said.line}' is not '{mistake.refused.pattern}'")
    if not exercise.is_predict:
        refused = refusal_of_object(build.object_file(exercise, rest))
        if refused:
            objections.append(f"one of the solutions: {refused}")
    if not rest and not exercise.is_predict:
        on_gpu = gpu_verdict(exercise, exercise.solution, build)
        if on_gpu is not None:
            print(f"{exercise.solution.name}, GPU: {on_gpu.line}", *on_gpu.details, sep="\n  ")
            objections += [] if on_gpu.ok else [on_gpu.line]
    if not rest and is_starter(exercise):
        said = (
            judge_answer(exercise, cases, read_yaml(exercise.edited))
            if exercise.is_predict
            else verdict_of("exercise", refusal_in(exercise, exercise.edited.read_text()))
        )
        print(f"{exercise.edited.name}: {said.line}")
        if said.ok or said.line.startswith("refused"):
            objections.append(f"the starter: '{said.line}'")
    return [f"{line} (seed {seed})" for line in objections]
