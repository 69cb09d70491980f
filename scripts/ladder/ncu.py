"""Measures counters of every variant with ncu, and writes them as JSON.

ladder counters BUILD_FOLDER OUTPUT.json               what the CPU device predicts, at 128^3
ladder counters BUILD_FOLDER OUTPUT.json --size 4096   those, and what limits a kernel
ladder counters BUILD_FOLDER OUTPUT.json --size 16x4096x4096 --only STAGE STAGE/VARIANT
                                                       the same there, of these alone; 4096_TN and
                                                       4096_bf16 are another layout and type
ladder counters BUILD_FOLDER OUTPUT.json --shapes      what the CPU device predicts, at ten shapes

Needs ncu and a GPU. The output is {"device": name, "size": 128, "counters": {stage: {variant:
{counter: value}}}}; the size may be "MxNxK", or a string with layout and type. A variant of several
kernels has their sum, also of cycles, or for ratios and percentages the average weighted by time.
OUTPUT.partial holds what an interrupted run has; the same command goes on from there. With --shapes
the output is {"device": name, "names": [counter, ...], "counters": {stage: {variant: {"MxNxK":
[value, ...]}}}}.
Exit code: 0 all right, 1 ncu or a stage failed, 2 bad input.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ladder import manifest
from ladder.counters import (
    AT_SHAPES,
    DRAM_WRITTEN,
    LIMITS,
    PREDICTED,
    PREDICTED_SIZE,
    SHAPES,
    STALL,
    TIME,
)
from ladder.files import one_line, read_json
from ladder.measuring import problem, split
from ladder.project import BadInput

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
    try:
        value = float(row[counter].replace(",", ""))
    except (KeyError, AttributeError, ValueError):  # no column, a short row, "" or "n/a"
        raise SystemExit(
            f"ncu reported no {counter}: does this GPU have it? (ncu --query-metrics)"
        ) from None
    return int(value) if value.is_integer() else value


def combined(rows: list[dict], counter: str) -> float:
    values = [number(row, counter) for row in rows]
    if counter.endswith((".sum", "cycles_active.avg", "cycles_elapsed.max")):
        return sum(values)
    if len(rows) == 1:
        return values[0]
    times = [number(row, TIME) for row in rows]
    return sum(v * t for v, t in zip(values, times, strict=True)) / sum(times)


def profiler(counters: list[str]) -> list[str]:
    """What stands before a program's command. Units as they are, not scaled: bytes, not Gbyte."""
    ncu = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    return [*ncu, "--metrics", ",".join(counters)]


def command(stage: Path, counters: list[str], shape: str) -> list[str]:
    return [*profiler(counters), str(stage), *problem(shape)]


def counted(stage: Path, counters: list[str], shape: str, only: list[str]) -> tuple[str, dict]:
    """The GPU's name, and the counters of these variants; of every one, if there are none."""
    ncu = command(stage, counters, shape)
    variants = only or run([str(stage), "--list"]).split()
    rows = kernels(run([*ncu, "--variant", *only] if only else ncu))
    by_variant = dict(zip(variants, ([row] for row in rows), strict=False))
    if len(variants) == 1:
        by_variant = {variants[0]: rows}
    elif len(rows) != len(variants):  # some have several kernels: one variant at a time
        by_variant = {v: kernels(run([*ncu, "--variant", v])) for v in variants}
    for variant, its_rows in by_variant.items():
        if not its_rows:
            raise SystemExit(f"{stage.name}: ncu saw no kernel of {variant}")
    device = by_variant[variants[0]][0]["device__attribute_display_name"]
    return device, {
        variant: {c: combined(its_rows, c) for c in counters}
        for variant, its_rows in by_variant.items()
    }


# ncu's own start takes seconds, its measurement none; it lets one process measure at a time.
PROCESSES = 4


def counted_at_shapes(stage: Path, only: list[str]) -> tuple[str, dict]:
    """The GPU's name, and of these variants their numbers by shape."""
    shapes = ["x".join(map(str, shape)) for shape in SHAPES]
    with ThreadPoolExecutor(PROCESSES) as pool:
        at_shapes = list(pool.map(lambda shape: counted(stage, AT_SHAPES, shape, only), shapes))
    by_variant: dict = {variant: {} for variant in at_shapes[0][1]}
    for shape, (_, at_shape) in zip(shapes, at_shapes, strict=True):
        for variant, numbers in at_shape.items():
            by_variant[variant][shape] = list(numbers.values())
    return at_shapes[0][0], by_variant


def with_short_lists(result: dict) -> str:
    """JSON in which a list of numbers is one line."""
    text = json.dumps(result, indent=1)
    return re.sub(r"\[[-0-9.e+,\s]*\]", lambda list_: re.sub(r"\s+", " ", list_[0]), text) + "\n"


def selected(stages: dict[str, Path], only: list[str]) -> dict[str, list[str]]:
    """The variants wanted of each stage that is wanted; none where all are."""
    if not only:
        return {name: [] for name in stages}
    wanted: dict[str, list[str]] = {}
    for entry in only:
        name, _, variant = entry.partition("/")
        if name not in stages:
            raise BadInput(f"no stage '{name}'; there are: {' '.join(stages)}")
        wanted.setdefault(name, []).extend([variant] if variant else [])
    return wanted


PARTIAL = {
    "device": (one_line, None),
    "counters": {str: {str: ({str: float}, {str: [float]})}},
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("output", type=Path)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--size", default=str(PREDICTED_SIZE))
    which.add_argument("--shapes", action="store_true")
    parser.add_argument("--only", nargs="+", default=[], metavar="STAGE[/VARIANT]")
    options = parser.parse_args(arguments)
    split(options.size)
    size = int(options.size) if options.size.isdigit() else options.size
    stages = manifest.built(options.build / "stages")
    if options.shapes:
        result = {"device": None, "names": AT_SHAPES, "counters": {}}
    else:
        result = {"device": None, "size": size, "counters": {}}
    if not stages:
        raise BadInput(f"no stage in {options.build / 'stages'}")
    partial = options.output.with_suffix(".partial")
    if partial.exists():
        before = read_json(partial, PARTIAL)
        if all(before.get(key) == result.get(key) for key in ("size", "names")):
            result = before
    for name, only in selected(stages, options.only).items():
        if name in result["counters"]:
            print(f"{name}: kept")
            continue
        begin = time.monotonic()
        if options.shapes:
            result["device"], result["counters"][name] = counted_at_shapes(stages[name], only)
        else:
            counters = AT_PREDICTED_SIZE if size == PREDICTED_SIZE else ALL
            found = counted(stages[name], counters, options.size, only)
            result["device"], result["counters"][name] = found
        partial.write_text(with_short_lists(result))
        print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    os.replace(partial, options.output)
    return 0
