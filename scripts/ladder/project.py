"""Where things are, and the one kind of error that is the user's to put right."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The GPUs of which results are committed, by the names of their folders. The first is the one that
# the pages speak of.
GPU_NAMES = ("h200", "h100")
GPUS = {
    name: ROOT / "docs/results" / name
    for name in GPU_NAMES
    if (ROOT / "docs/results" / name).is_dir()
}
RESULTS = GPUS["h200"]
STAGES = ROOT / "build/stages"
CPU_STAGES = ROOT / "build/stages/cpu"


class BadInput(Exception):
    """Something the user can put right. Each argument is a message of one line."""

    def __str__(self) -> str:
        return "\n".join(self.args)


def read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from error
