"""What the programs that measure write, by the names of the reports."""

from pathlib import Path

from ladder import power_results, reports, timeline
from ladder.counters import AT_MANY_SHAPES, COUNTED, COUNTED_AT_SHAPES, COUNTERS
from ladder.files import a_name, at_least_1, check, file_name, one_line, positive
from ladder.results import AROUND, REFERENCES, REPORT
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
# Of build/groups and build/feed_forward, beside reports of 21.
CONTENDERS = {"contenders": [{"name": one_line, "ms": positive}, ...]}
PROGRAM = (
    {"workloads": [{"groups": [int, ...]} | CONTENDERS, ...]},
    dict.fromkeys(("tokens", "width", "hidden"), at_least_1) | CONTENDERS,
)
OF_KERNEL = {"registers?": at_least_1, "spilled_bytes?": int, "warps?": at_least_1}
PAIR = {"pair": one_line, "variant": one_line, "ms": positive} | OF_KERNEL
PAIR |= {"threads?": at_least_1, "gb_per_s?": positive, "error?": positive}
ATTENTION = {
    "device?": one_line,
    **dict.fromkeys(("batch", "heads", "kv_heads", "queries", "keys", "width"), at_least_1),
    "causal": bool,
    "variants": [
        {"name": one_line, "ms?": positive, "tflops?": positive, "gbytes_per_s?": positive},
        ...,
    ],
    "copy?": {"ms": positive, "gbytes_per_s": positive},
}
ROWS = {
    "device?": one_line,
    **dict.fromkeys(("rows", "width"), at_least_1),
    "operation": one_line,
    "type": one_line,
    "variants": [{"name": one_line, "ms": positive, "percent_of_copy": positive}, ...],
    "copy": {"ms": positive, "gbytes_per_s": positive},
}
RATES = ("ms", "percent_of_copy", "percent_of_cublas")
FOUR_BITS = {
    "device?": one_line,
    **dict.fromkeys(("m", "n", "k"), at_least_1),
    "type": one_line,
    "variants": [{"name": one_line} | dict.fromkeys(RATES, positive), ...],
    "cublas": {"ms": positive},
    "copy": {"ms": positive, "gbytes_per_s": positive},
}
# The first that fits, by how a name begins.
REPORTS = {
    power_results.NAME: power_results.MEASURED,
    timeline.NAME: timeline.RECORDED,
    AROUND: {"device?": one_line, "kernels": [KERNEL | SHARES, ...]},
    REFERENCES: {"device?": one_line, "exercises": {str: EXERCISE}},
    "library_in_a_row": FACTS | {"shapes": [TIMES | {"early_us": positive}, ...]},
    "library_": FACTS
    | {f"{part}host_us?": float for part in ("", "plan_", "workspace_bytes_", "cublas_")}
    | {"shapes": [TIMES | {"percent": positive, "stage": one_line}, ...]},
    "jit_call_": FACTS
    | {"call": {"shape": a_shape} | dict.fromkeys(("first_ms", "next_ms", "host_us"), float)},
    "jit_": FACTS | {"shapes": [JIT_SHAPE, ...]},
    AT_MANY_SHAPES: COUNTED_AT_SHAPES,
    COUNTERS: COUNTED,
    "programs/21_": REPORT,
    "programs/22": ATTENTION,
    "programs/23": ROWS,
    "programs/24": FOUR_BITS,
    "programs/pairs": {"device?": one_line, "pairs": [PAIR, ...]},
    "programs/": PROGRAM,
    "": REPORT,
}
PROVENANCE = [
    dict.fromkeys(("gpu?", "driver?", "toolkit?", "date?", "commit?"), one_line)
    | {"files": [file_name]}
]


def read(folder: Path, name: str) -> dict:
    """Raises BadInput."""
    return reports.read(folder, name, expected(name))


def committed(folder: Path, begin: str = "") -> dict[str, dict]:
    """All reports in files of JSON Lines whose names begin so. Raises BadInput."""
    return {
        name: check(its, expected(name), f"{reports.file(folder, kind)}: {name}")
        for kind in reports.FILES
        for name, its in reports.committed(folder, kind, begin).items()
    }


def expected(name: str) -> object:
    return next(of for begin, of in REPORTS.items() if name.startswith(begin))
