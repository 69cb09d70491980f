"""Where things are, and the one kind of error that is the user's to put right."""

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


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class BadInput(Exception):
    """Something the user can put right. Each argument is a message of one line, whatever characters
    a file has brought into it."""

    def __init__(self, *lines: object):
        super().__init__(*(printable(str(line)) for line in lines))

    def __str__(self) -> str:
        return "\n".join(self.args)
