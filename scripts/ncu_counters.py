#!/usr/bin/env python3
"""Measures counters of every variant with ncu, and writes them as JSON.

ncu_counters.py BUILD_FOLDER OUTPUT.json               what the CPU device predicts, at 128^3
ncu_counters.py BUILD_FOLDER OUTPUT.json --size 4096   those, and what limits a kernel

Needs ncu and a GPU. The output is {"device": name, "size": 128, "counters": {stage: {variant:
{counter: value}}}}. A variant of several kernels has their sum, or for ratios and percentages the
average weighted by time.
"""

import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from counters import DRAM_WRITTEN, LIMITS, PREDICTED, PREDICTED_SIZE, STALL, TIME

REASONS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle"),
    *("long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction"),
    *("not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
)
AT_PREDICTED_SIZE = list(PREDICTED.values())
ALL = [
    *AT_PREDICTED_SIZE,
    TIME,
    *LIMITS.values(),
    DRAM_WRITTEN,
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    *(STALL.format(reason) for reason in REASONS),
]


def run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise SystemExit(
            f"{' '.join(command[:1])} failed: {done.stdout[-600:]}{done.stderr[-600:]}"
        )
    return done.stdout


def kernels(text: str) -> list[dict]:
    """The rows of ncu's raw CSV page, which follows other output and has a row of units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]


def number(row: dict, counter: str) -> float:
    if not row.get(counter):
        raise SystemExit(f"ncu reported no {counter}: does this GPU have it? (ncu --query-metrics)")
    value = float(row[counter].replace(",", ""))
    return int(value) if value.is_integer() else value


def combined(rows: list[dict], counter: str) -> float:
    values = [number(row, counter) for row in rows]
    if counter.endswith(".sum"):
        return sum(values)
    if len(rows) == 1:
        return values[0]
    times = [number(row, TIME) for row in rows]
    return sum(v * t for v, t in zip(values, times, strict=True)) / sum(times)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--size", type=int, default=PREDICTED_SIZE)
    options = parser.parse_args(arguments)
    predicted_only = options.size == PREDICTED_SIZE
    counters = AT_PREDICTED_SIZE if predicted_only else ALL
    result = {"device": None, "size": options.size, "counters": {}}
    for stage in sorted((options.build / "stages").glob("[0-9]*")):
        if predicted_only and not (options.build / "tests" / f"{stage.name}_cpu_test").exists():
            continue  # the CPU device cannot run it
        # Units as they are, not scaled: bytes, not Gbyte.
        ncu = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        ncu += ["--metrics", ",".join(counters), str(stage), "--size", str(options.size)]
        variants = run([str(stage), "--list"]).split()
        rows = kernels(run(ncu))
        by_variant = dict(zip(variants, ([row] for row in rows), strict=False))
        if len(rows) != len(variants):  # some have several kernels: one variant at a time
            by_variant = {v: kernels(run([*ncu, "--variant", v])) for v in variants}
        for variant, its_rows in by_variant.items():
            if not its_rows:
                raise SystemExit(f"{stage.name}: ncu saw no kernel of {variant}")
            result["device"] = its_rows[0]["device__attribute_display_name"]
            of_stage = result["counters"].setdefault(stage.name, {})
            of_stage[variant] = {c: combined(its_rows, c) for c in counters}
    options.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
