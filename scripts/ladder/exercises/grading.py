"""Grades a solution: compiles it, runs it, judges it."""

import json
import secrets
import subprocess
import tempfile
from pathlib import Path

from ladder.exercises.catalogue import Exercise, read_yaml
from ladder.exercises.compiling import Build, compile_for_gpu
from ladder.exercises.judging import DRAWN, Verdict, judge, judge_answer, judge_on_gpu
from ladder.exercises.refusals import refusal
from ladder.project import BadInput

SECONDS = 60  # a program that runs longer hangs


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


def refusal_in(exercise: Exercise, text: str) -> str:
    """Why a solution of the exercise is not even compiled; "" if it may be."""
    refused = refusal(text)
    # The CPU device does not count those in shared memory.
    if "atomicAdd" in text and "atomicAdd" not in exercise.solution.read_text():
        refused = refused or "`atomicAdd`: this one is without atomics"
    return refused


def grade(exercise: Exercise, solution: Path, build: Build, seed: int) -> Verdict:
    """Of the learner's file, or another in its place. Raises BadInput."""
    try:
        text = solution.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{solution}: {error}") from error
    kernels = exercise.folder / "exercise.cuh" if exercise.is_predict else solution
    refused = "" if exercise.is_predict else refusal_in(exercise, text)
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
        return judge_answer(exercise, cases, read_yaml(solution))
    return judge(exercise, cases, reference)


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
