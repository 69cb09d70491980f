"""Prints a table of all variants in the stages' JSON reports.

ladder table DIR

Exit code: 0 all right, 2 bad input.
"""

import argparse
import sys
from pathlib import Path

from ladder import manifest, reports
from ladder.files import a_name, at_least_1, one_line, positive
from ladder.project import BadInput

# What build/around_gemm --json writes.
AROUND = "around_gemm"
# What ./ladder exercises-on-gpu writes.
REFERENCES = "exercises"

# What bench/harness/json.cpp writes.
LINE = {
    "file": str,
    "line": int,
    "text": str,
    "array": one_line,
    "op": one_line,
    "bytes": at_least_1,
    "requests": at_least_1,
}
SAMPLE = {"sample?": [int] * 32}
OF_GLOBAL = {"space": "global", "sectors_per_request": positive, "ideal_sectors": float}
OF_SHARED = {"space": "shared", "wavefronts_per_request": positive, "ideal_wavefronts": float}
MEMORY = (LINE | SAMPLE | OF_GLOBAL, LINE | SAMPLE | OF_SHARED)
VARIANT = {
    "name": a_name,
    "check?": {"ok": bool},
    "time_ms?": {"median": positive},
    "tflops?": float,
    "percent_of_cublas?": float,
    "percent_of_best?": float,
    "percent_of_peak?": (float, None),
    "sustained?": {"percent_of_cublas?": float, "percent_of_best?": float},
    "registers?": at_least_1,
    "shared_bytes?": int,
    "threads?": at_least_1,
    "occupancy?": float,
    "findings?": [str],
    "memory?": [MEMORY],
    "totals?": {str: float},
}
DEVICE = {
    "kind?": one_line,
    "name?": one_line,
    "sm?": int,
    "multiprocessors?": at_least_1,
    "clock_mhz?": positive,
    "peak_tflops?": (positive, None),
    "memory_gb_s?": positive,
    "driver?": one_line,
    "toolkit?": one_line,
}
REPORT = {
    "stage": a_name,
    "device?": DEVICE,
    "problem": {
        "m": int,
        "n": int,
        "k": int,
        "input?": a_name,
        "output?": a_name,
        "layout?": a_name,
    },
    "variants": [VARIANT, ...],
    "cublas?": {"tflops": float},
}


def read_report(folder: Path, stage: str, size: object) -> dict:
    """Raises BadInput."""
    return reports.read(folder, f"{stage}_{size}", REPORT)


def load(folder: Path) -> list[dict]:
    """The reports of stages in a folder, in the order of the ladder, then by size."""
    found = reports.read_all(folder, reports.STAGES, REPORT)
    if not found:
        raise BadInput(f"no reports in {folder}")
    return sorted(found.values(), key=order)


def order(report: dict) -> tuple:
    m, n, k = (report["problem"][d] for d in "mnk")
    return manifest.place(report["stage"]), report["stage"], m, n, k


def shape(report: dict) -> str:
    """ "4096" or "16x4096x4096"; of a stage that takes several layouts or types, with what is not
    the usual one: "4096_TN", "4096_bf16", "4096_TN_bf16"."""
    problem = report["problem"]
    m, n, k = (problem[d] for d in "mnk")
    words = [str(m) if m == n == k else f"{m}x{n}x{k}"]
    stage = manifest.load().get(report["stage"])
    layout = problem.get("layout", "NN")
    if stage and stage.any_layout and layout != stage.layout:
        words.append(layout)
    if stage and len(stage.types) > 1:
        # int32 is a type of C.
        type_ = "int32" if problem.get("output") == "int32" else problem["input"]
        words += [type_] if type_ != stage.types[0] else []
    return "_".join(words)


def own(report: dict) -> dict:
    """The variant that is the stage's own, the last."""
    return report["variants"][-1]


NOT_TIMED = ("not timed",) * 4


def percent_of_best(variant: dict) -> float:
    """Of the faster one of cuBLAS's own choice and the best of cublasLt's algorithms; an earlier
    harness reported the latter alone."""
    return min(variant["percent_of_best"], variant["percent_of_cublas"])


def terminal_table(reports: list[dict]) -> str:
    head = ["stage", "variant", "M=N=K", "check", "ms", "TFLOP/s", "% of cuBLAS", "% of peak"]
    best = any("percent_of_best" in v for report in reports for v in report["variants"])
    rows = [(*head, "% of best") if best else tuple(head)]
    for report in reports:
        for v in report["variants"]:
            check = {True: "ok", False: "WRONG", None: "off"}[v.get("check", {}).get("ok")]
            numbers = ("-",) * 4 if report.get("device", {}).get("kind") == "cpu" else NOT_TIMED
            if "time_ms" in v:
                peak = v["percent_of_peak"]
                numbers = (
                    f"{v['time_ms']['median']:.4f}",
                    f"{v['tflops']:.2f}",
                    f"{v['percent_of_cublas']:.1f}",
                    "unknown" if peak is None else f"{peak:.1f}",
                )
            if v.get("findings"):
                check = "FOUND"
            if best:
                share = f"{percent_of_best(v):.1f}" if "percent_of_best" in v else "-"
                numbers = (*numbers, share)
            rows.append((report["stage"], v["name"], shape(report), check, *numbers))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = zip(row, widths, strict=True)
        cells = [c.ljust(w) if i < 4 else c.rjust(w) for i, (c, w) in enumerate(padded)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    try:
        print(terminal_table(load(options.folder)))
    except BadInput as error:
        print(f"ladder table: {error}", file=sys.stderr)
        return 2
    return 0
