"""What a file of a sweep over shapes says: the records of ladder race, and what they mean."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ladder.files import absent, one_line, parse_json, positive, read_text
from ladder.project import BadInput
from ladder.sweep_shapes import a_shape, sizes

# Among the results of a GPU.
SWEEP = "sweep.jsonl"
# Others than stages.
LIBRARIES = ("cuBLAS", "cublasLt", "CUTLASS")


TIMED = {"ms", "cublas_ms"}
TRITON_TIMES = {"ms?": positive, "cublas_ms?": positive}
LEFT_OUT = {"family": one_line, "name": one_line}
COMPETITOR = LEFT_OUT | {"own": bool, "ms": positive, "note?": str}
OF_SHAPE = {"shape": a_shape, "type": ("fp16", "fp32")}
RECORD = (
    OF_SHAPE
    | {"competitors": [COMPETITOR], "left_out?": [LEFT_OUT | {"why": str}], "failed?": str}
    | {"triton?": TRITON_TIMES},
    OF_SHAPE | {"triton": TRITON_TIMES},
    {"gpu": one_line, "type?": absent},
    {"lost": (one_line, None), "type?": absent},
)


def read_lines(path: Path) -> list[dict]:
    """The whole records in a file; where a measurement was cut off, there is a part of one.
    Raises BadInput."""
    if not path.exists():
        return []
    lines = []
    for number, text in enumerate(read_text(path).splitlines(), 1):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            if text.startswith("{"):
                continue
        lines.append(parse_json(text, f"{path}:{number}", RECORD))
    return lines


def merge(lines: Iterable[dict], kind: str) -> dict[str, dict]:
    """The records of a type by shape, the last of each, with Triton's time in it."""
    records: dict[str, dict] = {}
    triton: dict[str, dict] = {}
    for line in lines:
        if line.get("type") != kind:
            continue
        (triton if "triton" in line else records)[line["shape"]] = line
    for shape, line in triton.items():
        if shape in records:
            records[shape] = {**records[shape], "triton": line["triton"]}
    return records


@dataclass(frozen=True)
class Row:
    """A shape. Times in ms; of what is not there, nothing."""

    shape: str
    cublas: float
    libraries: dict[str, float]  # the fastest of each
    stages: dict[str, float]  # what a stage's own launcher chooses
    best: float | None  # of all configurations of all stages
    best_name: str
    triton_percent: float | None  # of the cuBLAS that was timed beside it

    @property
    def fastest_library(self) -> float:
        return min(self.libraries.values())

    def percent_of_cublas(self, ms: float) -> float:
        return 100 * self.cublas / ms

    def percent_of_best(self, stage: str) -> float:
        """Of the fastest library."""
        return 100 * self.fastest_library / self.stages[stage]


def row_of(record: dict) -> Row | None:
    competitors = record["competitors"]
    if not competitors:
        return None
    libraries, stages = {}, {}
    best, best_name = None, ""
    for c in competitors:
        family = c["family"]
        if family in LIBRARIES:
            libraries[family] = min(c["ms"], libraries.get(family, math.inf))
            continue
        if c["own"]:
            stages[family] = c["ms"]
        if best is None or c["ms"] < best:
            best, best_name = c["ms"], f"{family}: {c['name']}"
    triton = record.get("triton")
    percent = (
        100 * triton["cublas_ms"] / triton["ms"] if triton and triton.keys() >= TIMED else None
    )
    if "cuBLAS" not in libraries:
        raise BadInput(f"{record['shape']} has no time of cuBLAS")
    return Row(record["shape"], libraries["cuBLAS"], libraries, stages, best, best_name, percent)


def rows_of(records: Iterable[dict]) -> list[Row]:
    return [row for record in records if (row := row_of(record)) is not None]


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    if not logs:
        raise BadInput("there is nothing to take a mean of")
    return math.exp(sum(logs) / len(logs))


def stages_of(rows: Iterable[Row]) -> list[str]:
    """As they come; the ladder's last is the last."""
    return list(dict.fromkeys(stage for row in rows for stage in row.stages))


def short(shape: str) -> str:
    m, n, k = sizes(shape)
    return str(m) if m == n == k else shape


def worst(rows: list[Row], stage: str, count: int = 10) -> list[Row]:
    there = [row for row in rows if stage in row.stages]
    return sorted(there, key=lambda row: row.percent_of_best(stage))[:count]


def gpu_of(lines: Iterable[dict]) -> str:
    names = {line["gpu"] for line in lines if "gpu" in line}
    return " and ".join(sorted(names)).replace("NVIDIA ", "") or "no GPU"
