#!/usr/bin/env python3
"""Measures with ncu what the CPU device predicts: the counters of every variant at 128^3.

ncu_counters.py BUILD_FOLDER OUTPUT.json     needs ncu and a GPU

The output is {"device": name, "counters": {stage: {variant: {counter: value}}}}.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

SIZE = 128
COUNTERS = [
    f"{name}_{op}.sum"
    for op in ("op_ld", "op_st")
    for name in (
        "l1tex__t_requests_pipe_lsu_mem_global",
        "l1tex__t_sectors_pipe_lsu_mem_global",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared",
    )
]


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def kernels(text: str) -> list[dict]:
    """The rows of ncu's raw CSV page, which follows other output and has a row of units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]


def number(row: dict, counter: str) -> int:
    if not row.get(counter):
        raise SystemExit(f"ncu reported no {counter}: does this GPU have it? (ncu --query-metrics)")
    return int(float(row[counter].replace(",", "")))


def main(build: Path, output: Path) -> None:
    result = {"device": None, "counters": {}}
    for stage in sorted((build / "stages").glob("[0-9]*")):
        if not (build / "tests" / f"{stage.name}_cpu_test").exists():
            continue  # the CPU device cannot run it
        variants = run([str(stage), "--list"]).split()
        ncu = ["ncu", "--csv", "--page", "raw", "--clock-control", "none"]
        ncu += ["--metrics", ",".join(COUNTERS), str(stage), "--size", str(SIZE), "--variant"]
        counters = result["counters"][stage.name] = {}
        for variant in variants:
            rows = kernels(run([*ncu, variant]))  # one, or several that follow each other
            if not rows:
                raise SystemExit(f"{stage.name}: ncu saw no kernel of {variant}")
            result["device"] = rows[0]["device__attribute_display_name"]
            counters[variant] = {c: sum(number(row, c) for row in rows) for c in COUNTERS}
    output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
