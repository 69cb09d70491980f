"""The exercises: what there is of each, and what of it nobody but the author may edit."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from ladder.exercises.costs import COSTS
from ladder.files import one_line, read_json
from ladder.project import ROOT, BadInput

EXERCISES = ROOT / "exercises"
KINDS = {"write": "write it", "bug": "find the bug", "cheaper": "make it cheaper"}
KINDS["predict"] = "predict the counter"


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


def read_yaml(path: Path) -> dict:
    """Raises BadInput."""
    try:
        value = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
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


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def of_the_grader(exercise: Exercise) -> list[str]:
    """The files that a learner must not edit."""
    return ["check.cpp", "exercise.yaml", exercise.kernels.name]


def checksums() -> dict:
    """Of these files, and of the starters."""
    return {
        f"{e.name}/{name}": checksum(e.folder / name)
        for e in all_exercises()
        for name in sorted([*of_the_grader(e), e.edited.name])
    }


def known_checksums() -> dict:
    """Raises BadInput."""
    return read_json(EXERCISES / "checksums.json", {str: one_line})


def protect() -> None:
    """Makes what the files are now what they have to be. Raises BadInput."""
    before, now = known_checksums(), checksums()
    (EXERCISES / "checksums.json").write_text(json.dumps(now, indent=0) + "\n")
    for name, _ in now.items() - before.items():
        (EXERCISES / name).touch()  # until now a program was made without this starter


def is_starter(exercise: Exercise) -> bool:
    path = str(exercise.edited.relative_to(EXERCISES))
    known = known_checksums()
    return known.get(path, checksum(exercise.edited)) == checksum(exercise.edited)


def edited_files(exercise: Exercise) -> list[str]:
    """The grader's files that are not as they were, or not known."""
    known = known_checksums()
    return [
        name
        for name in of_the_grader(exercise)
        if known.get(f"{exercise.name}/{name}") != checksum(exercise.folder / name)
    ]
