"""Reports in a folder: as programs write them, each a NAME.json, or as they are committed, in a few
files of JSON Lines. There each line begins with its report's name, as {"NN_name_4096": {...}}; a
long report has a line for each of its records.
"""

import os
import pickle
from functools import lru_cache
from pathlib import Path

from ladder.files import as_lines, check, parse_lines, parts, read_json, read_lines, read_text
from ladder.project import BadInput

STAGES = "stages"
# The committed files, by how the names of the reports in them begin, and what in such a report has
# lines of its own. What begins with none of them is of a stage.
FILES = {
    "around_gemm": "kernels",
    "counters": "counters",
    "exercises": "exercises",
    "jit_": None,
    "library_": None,
    "power": "runs",
    "programs/": None,
    "timelines": "stages",
    STAGES: None,
}
NO_REPORTS = {"environment", "provenance"}  # but of all of them


def kind(name: str) -> str:
    """Which of FILES has a report."""
    return next((begin for begin in FILES if name.startswith(begin)), STAGES)


def file(folder: Path, kind: str) -> Path:
    return folder / f"{kind.strip('_/')}.jsonl"


def is_of_stage(name: str) -> bool:
    return name not in NO_REPORTS and kind(name) == STAGES


def read_all(folder: Path, of: str, shape: object) -> dict[str, dict]:
    """The reports of a kind, by name. Raises BadInput."""
    kept = file(folder, of)
    found = read_lines(kept, {str: shape}) if kept.exists() else {}
    for path in sorted(folder.glob("*.json")):
        if kind(path.stem) == of and path.stem not in NO_REPORTS:
            found[path.stem] = read_json(path, shape)
    return found


def exists(folder: Path, name: str) -> bool:
    return os.path.exists(folder / f"{name}.json") or name in known(folder, kind(name))


def committed(folder: Path, of: str, begin: str = "") -> dict[str, dict]:
    """Those of a kind whose names begin so. Raises BadInput."""
    found = known(folder, of)
    return {name: pickle.loads(its) for name, its in found.items() if name.startswith(begin)}


def known(folder: Path, of: str) -> dict[str, bytes]:
    """All of a kind, pickled. Raises BadInput."""
    path = file(folder, of)
    return parsed(path, read_text(path)) if path.exists() else {}


# Pages and figures ask for hundreds of reports, one by one, and may change what they get.
@lru_cache(maxsize=64)
def parsed(path: Path, text: str) -> dict[str, bytes]:
    found = parse_lines(text, path, {str: {}})
    return {name: pickle.dumps(its) for name, its in found.items()}


def read(folder: Path, name: str, shape: object) -> dict:
    """One report. Raises BadInput."""
    path = folder / f"{name}.json"
    if os.path.exists(path):  # unlike Path's, False for a name that is none
        return read_json(path, shape)
    found = known(folder, kind(name))
    if name not in found:
        raise BadInput(f"no {name} in {folder}")
    return check(pickle.loads(found[name]), shape, f"{file(folder, kind(name))}: {name}")


def texts(folder: Path, content: dict[str, dict]) -> dict[Path, str]:
    """The committed files of reports."""
    lines: dict[Path, list[dict]] = {file(folder, of): [] for of in FILES}
    for name in sorted(content):
        of = kind(name)
        lines[file(folder, of)] += [{name: part} for part in parts(content[name], FILES[of])]
    return {path: as_lines(its) for path, its in lines.items() if its}
