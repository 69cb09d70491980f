"""What programs share that measure stages: how a shape is written, what a stage is told of it, and
the folder that is measured into."""

import datetime
import json
import math
import os
import re
import subprocess
import tempfile
from pathlib import Path

from ladder.counters import PREDICTED_SIZE
from ladder.files import one_line, read_json
from ladder.project import ROOT, BadInput
from ladder.results import VARIANT

ALL_VARIANTS_AT = "4096"
DOCUMENTED = [ALL_VARIANTS_AT, "8192"]  # of every stage
UNKNOWN_COMMIT = "unknown: not a git checkout"


class StageFailed(Exception):
    """What the stage said, and its exit code."""

    def __init__(self, text: str, code: int):
        super().__init__(text)
        self.code = code


# As results.shape() writes it.
SIZE = "[1-9][0-9]{0,9}"
SHAPE = re.compile(rf"({SIZE}(?:x{SIZE}x{SIZE})?)(?:_(NN|NT|TN|TT))?(?:_([a-z][a-z0-9]*))?")


def split(shape: str) -> tuple[list[int], str | None, str | None]:
    """M, N and K of "4096", "16x4096x4096" or "4096_TN_bf16", its layout and its type."""
    found = SHAPE.fullmatch(shape)
    if not found:
        raise BadInput(f"no shape: '{shape}'; write 4096, 16x4096x4096 or 4096_TN_bf16")
    parts = [int(part) for part in found[1].split("x")]
    return parts * 3 if len(parts) == 1 else parts, found[2], found[3]


def sizes(shape: str) -> list[int]:
    return split(shape)[0]


def problem(shape: str) -> list[str]:
    """What a stage is told of it."""
    (m, n, k), layout, type_ = split(shape)
    words = ["--m", str(m), "--n", str(n), "--k", str(k)]
    words += ["--layout", layout] if layout else []
    return words + (["--type", type_] if type_ else [])


def order(shape: str) -> tuple:
    """By the amount of work; the usual layout and type first."""
    of, layout, type_ = split(shape)
    return math.prod(of), type_ or "", layout or ""


def keep(text: str, path: Path) -> None:
    """Whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)


def commit() -> str:
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    except OSError:
        return UNKNOWN_COMMIT
    return done.stdout.strip() if done.returncode == 0 else UNKNOWN_COMMIT


def write_environment(folder: Path, device: dict) -> None:
    """What ladder adopt wants to know. A folder is of one commit; see same_commit()."""
    path = folder / "environment.json"
    if path.exists():
        return
    environment = {
        "gpu": device["name"],
        "driver": device["driver"],
        "toolkit": device["toolkit"],
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
    }
    keep(json.dumps(environment, indent=2) + "\n", path)


def same_commit(folder: Path) -> None:
    path = folder / "environment.json"
    if path.exists() and read_json(path, {"commit": one_line})["commit"] != commit():
        raise BadInput(f"{folder} has measurements of another commit; write to another folder")


def cpu_report(stages: Path, name: str) -> dict[str, dict]:
    """What the CPU device says of a stage at PREDICTED_SIZE^3, now, by variant."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [stages / name, "--size", str(PREDICTED_SIZE), "--json", report]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise BadInput(f"{stages / name}: {error.strerror}") from error
        if done.returncode != 0:
            raise BadInput(done.stderr.strip() or f"{name} ends with {done.returncode}")
        return {v["name"]: v for v in read_json(report, {"variants": [VARIANT, ...]})["variants"]}
