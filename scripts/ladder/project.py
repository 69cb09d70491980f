"""Where things are, and the one kind of error that is the user's to put right."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"
CPU_STAGES = ROOT / "build/stages/cpu"
GPU_STAGES = ROOT / "build/stages"


class BadInput(Exception):
    """Something the user can put right; the message is one line."""


def read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from error
