"""What the programs that measure write, by the names of the files."""

from pathlib import Path

from ladder import power, timeline
from ladder.counters import COUNTED, COUNTED_AT_SHAPES
from ladder.files import a_name, at_least_1, file_name, one_line, positive, read_json
from ladder.results import AROUND, COUNTERS, REFERENCES, REPORT
from ladder.sweep_shapes import a_shape

KERNEL = {"exercise": a_name, "variant": one_line, "ms": positive, "gb_per_s": float}
SHARES = {"of_copy": float, "of_read?": float}
EXERCISE = {
    "wrong": str,
    "findings": {str: [str]},
    "counters": {str: {str: [float, float]}},
}
TIMES = {"shape": a_shape, "us": positive, "cublas_us": positive}
JIT_SHAPE = {"shape": a_shape, "tuned_percent": positive, "model_percent": positive}
FACTS = {"gpu?": one_line}
# The first that fits, by how a name begins.
FILES = {
    power.FILE: power.MEASURED,
    timeline.TIMELINES.name: timeline.RECORDED,
    AROUND: {"device?": one_line, "kernels": [KERNEL | SHARES, ...]},
    REFERENCES: {"device?": one_line, "exercises": {str: EXERCISE}},
    "library_in_a_row": FACTS | {"shapes": [TIMES | {"early_us": positive}, ...]},
    "library_": FACTS
    | {f"{part}host_us?": float for part in ("", "workspace_bytes_", "cublas_")}
    | {"shapes": [TIMES | {"percent": positive, "stage": one_line}, ...]},
    "jit_call_": FACTS
    | {"call": {"shape": a_shape} | dict.fromkeys(("first_ms", "next_ms", "host_us"), float)},
    "jit_": FACTS | {"shapes": [JIT_SHAPE, ...]},
    "counters_shapes": COUNTED_AT_SHAPES,
    COUNTERS: COUNTED,
    "": REPORT,
}
PROVENANCE = [
    dict.fromkeys(("gpu?", "driver?", "toolkit?", "date?", "commit?"), one_line)
    | {"files": [file_name]}
]
# Of build/groups and build/feed_forward.
CONTENDERS = {"contenders": [{"name": one_line, "ms": positive}, ...]}
PROGRAM = (
    {"workloads": [{"groups": [int, ...]} | CONTENDERS, ...]},
    dict.fromkeys(("tokens", "width", "hidden"), at_least_1) | CONTENDERS,
)


def read(path: Path) -> dict:
    """Raises BadInput."""
    return read_json(path, expected(path.name))


def expected(name: str) -> object:
    return next(of for begin, of in FILES.items() if name.startswith(begin))
