"""What a report of ladder power says."""

from pathlib import Path

from ladder import reports
from ladder.files import one_line, positive
from ladder.project import BadInput

NAME = "power"
# By entropy, the least first. What the harness calls each, and what a reader does.
DATA = {"zeros": "zeros", "constant": "one value", "exact": "-4 to 4", "random": "random"}

# What claims may ask of a variant and a kind of data: where it is in a run, and the
# factor to the unit that claims have, Hz for a clock. data_tflops: beside cuBLAS, in bursts; the
# others: by itself, launch_ one launch under ncu, burst_ in bursts, power_ without rests.
UNITS = {"tflops": 1, "watts": 1, "clock": 1e6, "cap": 1, "thermal": 1}
KEYS = {"clock": "sm_mhz", "cap": "power_cap"}
FUNCTIONS: dict[str, tuple[tuple[str, ...], float]] = {
    "data_tflops": (("tflops",), 1),
    "cublas_data_tflops": (("cublas_tflops",), 1),
    "launch_clock": (("launch", "sm_mhz"), 1e6),
    "launch_tensor_pipe": (("launch", "tensor_pipe"), 1),
} | {
    f"{prefix}{pace}_{name}": ((contender, place, KEYS.get(name, name)), factor)
    for prefix, contender in (("", "stage"), ("cublas_", "cublas"))
    for pace, place in (("burst", "bursts"), ("power", "sustained"))
    for name, factor in UNITS.items()
}


PACE = {f"{name}?": float for name in ("tflops", "watts", "sm_mhz", "power_cap", "thermal")}
CONTENDER = {"bursts?": PACE, "sustained?": PACE}
RUN = {
    "tflops?": float,
    "cublas_tflops?": float,
    "stage?": CONTENDER,
    "cublas?": CONTENDER,
    "launch?": {"sm_mhz?": float, "tensor_pipe?": float},
}
MEASURED = {
    "device?": one_line,
    "size?": int,
    "limit_watts?": positive,
    "runs": {str: {str: RUN}},
}


def load(folder: Path) -> dict:
    """Raises BadInput where nothing was measured yet."""
    if not reports.exists(folder, NAME):
        raise BadInput(f"no {NAME} in {folder}; on a GPU, ./ladder power measures it")
    return reports.read(folder, NAME, MEASURED)


def number(power: dict, function: str, variant: str, data: str) -> float:
    """A number of load() for claims: of FUNCTIONS, of a stage/variant, of a kind of data."""
    path, factor = FUNCTIONS[function]
    found = power
    for key in ("runs", variant, data, *path):
        if key not in found:
            raise BadInput(f"no {function} of {variant} with {data}: '{key}' is missing")
        found = found[key]
    return found * factor
