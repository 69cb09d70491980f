"""What the page has to know of the exercises, as lab/build.py writes it."""

from ladder.exercises import catalogue, costs, judging, refusals
from ladder.files import read_text


def cost_json(cost) -> dict | None:
    """Which lines count, and what of them: by the operations that its function lets through."""
    if cost is None:
        return None
    is_wanted, unit = cost
    every = ("load", "store", "copy", "tma load", "tma store", "wgmma")
    for space in ("global", "shared"):
        operations = [o for o in every if is_wanted({"space": space, "operation": o})]
        if operations:
            return {"space": space, "operations": operations, "unit": unit}
    raise AssertionError(cost)


def words() -> dict:
    """What lab/judging.mjs and lab/refusals.mjs say and look for."""
    return {
        "advice": judging.ADVICE,
        "nan": judging.NAN,
        "costs": {name: cost_json(cost) for name, cost in costs.COSTS.items()},
        "shared": refusals.SHARED,
        "cuda": refusals.CUDA.pattern,
        "usual": refusals.USUAL,
        "refused": refusals.REFUSED,
        "hostNames": refusals.HOST_NAMES.pattern,
        "notState": sorted(refusals.NOT_STATE),
        "spellings": refusals.SPELLINGS.pattern,
    }


def exercise_json(exercise: catalogue.Exercise) -> dict:
    return {
        "name": exercise.name,
        "kind": exercise.kind,
        "limits": exercise.limits,
        "questions": exercise.questions,
        "check": read_text(exercise.folder / "check.cpp"),
        "starter": read_text(exercise.folder / "exercise.cuh"),
        "solution": read_text(exercise.kernels),
    }
