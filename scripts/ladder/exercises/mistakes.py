"""The wrong solutions of an exercise: wrong.yaml, a list of mistakes.

    - id: no_barrier
      refused: a regular expression of what the grader says
      mistake: what is wrong, in a sentence or two
      old: lines of solution.cuh, which stand there once
      new: what stands there instead

Where one edit will not do there are `edits`, each an old and a new. `of` is another mistake's id,
where edits are of that one's text instead of the solution's. What has nothing in common with either
is a `text`, and where the answers are numbers, a mistake is an `answer`.
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from ladder.edits import EDIT, pattern, replaced
from ladder.exercises.catalogue import Exercise
from ladder.files import Closed, a_name, one_line, read_text, read_yaml
from ladder.project import BadInput

OF_ALL = {"id": a_name, "refused": pattern, "mistake": one_line}
OF_KERNELS = (
    Closed(OF_ALL | EDIT | {"of?": a_name}),
    Closed(OF_ALL | {"edits": [Closed(EDIT), ...], "of?": a_name}),
    Closed(OF_ALL | {"text": str}),
)
OF_ANSWERS = Closed(OF_ALL | {"answer": {str: int}})
FIRST = 2  # are in the program with the solution; the others are tested where there is time


@dataclass(frozen=True)
class Mistake:
    id: str
    refused: re.Pattern
    mistake: str
    text: str  # of the wrong solution
    answer: dict | None = None  # the same, where it is numbers

    def shown(self) -> str:
        """The wrong solution, with what is to be known of it."""
        mark = "//" if self.answer is None else "#"
        known = [f"refused: {self.refused.pattern}", *textwrap.wrap(self.mistake, 96)]
        return "".join(f"{mark} {line}\n" for line in known) + self.text


def text_of(entry: dict, others: dict, solution: str) -> str:
    """Raises BadInput."""
    if "text" in entry:
        return entry["text"]
    base, text = "solution.cuh", solution
    if "of" in entry:
        base = entry["of"]
        if base not in others or "of" in others[base]:
            raise BadInput(f"{entry['id']}: of: there is no '{base}' that is of the solution")
        text = text_of(others[base], others, solution)
    for edit in entry.get("edits", [entry]):
        text = replaced(text, edit["old"], edit["new"], f"{entry['id']}: {base}")
    return text


def read_mistakes(path: Path, solution: str | None) -> list[Mistake]:
    """Of kernels, or, without the solution's text, of answers. Raises BadInput."""
    entries = read_yaml(path, [OF_ANSWERS if solution is None else OF_KERNELS, ...])
    by_id = {entry["id"]: entry for entry in entries}
    mistakes = []
    for entry in entries:
        answer = entry.get("answer")
        try:
            if by_id[entry["id"]] is not entry:
                raise BadInput(f"there are two '{entry['id']}'")
            text = (
                text_of(entry, by_id, solution)
                if answer is None
                else "".join(f"{name}: {number}\n" for name, number in answer.items())
            )
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from error
        refused = re.compile(entry["refused"])
        mistakes.append(Mistake(entry["id"], refused, entry["mistake"], text, answer))
    return mistakes


def mistakes_of(exercise: Exercise) -> list[Mistake]:
    """Raises BadInput."""
    solution = None if exercise.is_predict else read_text(exercise.solution)
    return read_mistakes(exercise.folder / "wrong.yaml", solution)


def mistakes_in(exercise: Exercise, rest: bool) -> list[Mistake]:
    """Those of the program with the solution, or the rest. Answers need none of their own. Raises
    BadInput."""
    every = mistakes_of(exercise)
    if exercise.is_predict:
        return every
    return every[FIRST:] if rest else every[:FIRST]


def find_mistake(exercise: Exercise, name: str) -> Mistake:
    """Raises BadInput."""
    every = {mistake.id: mistake for mistake in mistakes_of(exercise)}
    if name not in every:
        raise BadInput(
            f"{exercise.name} has no wrong solution '{name}'; there are {', '.join(every)}"
        )
    return every[name]
