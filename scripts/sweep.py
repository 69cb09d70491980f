#!/usr/bin/env python3
"""Runs stages over shapes, each beside cuBLAS, and keeps every report.

sweep.py DIR [STAGE ...]                            for example sweep.py /tmp/sweep 05_cp_async
sweep.py DIR --shapes 4096 16x4096x4096             M=N=K, or MxNxK
sweep.py DIR --processes 3                          three runs a cell; the median one is kept

Writes DIR/NN_name_SHAPE.json: all variants at 4096, the stage's own at other shapes. What is there
already is not measured again, so that an interrupted sweep goes on where it stopped. Exit code: 0
all right, 1 a stage failed, 2 bad input.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from results_table import BadInput, own

BUILD = Path(__file__).resolve().parents[1] / "build" / "stages"
SQUARES = ["1024", "2048", "4096", "8192", "16384"]
# Layers of language models; shapes that do not fill a last wave, begin rows off the lines of 128
# bytes, divide by nothing.
OTHERS = ["4096x11008x4096", "4096x4096x11008", "16x4096x4096", "8192x1280x8192"]
OTHERS += ["3072", "5000", "4095x4097x4093"]
ALL_VARIANTS_AT = "4096"
NO_DEVICE = 77


class StageFailed(Exception):
    """What the stage said, and its exit code."""

    def __init__(self, text: str, code: int):
        super().__init__(text)
        self.code = code


def sizes(shape: str) -> list[str]:
    """M, N and K of "4096" or "16x4096x4096"."""
    parts = shape.split("x")
    if len(parts) not in (1, 3) or not all(p.isdigit() and int(p) > 0 for p in parts):
        raise BadInput(f"no shape: '{shape}'; write 4096 or 16x4096x4096")
    return parts * 3 if len(parts) == 1 else parts


def own_percent(report: dict) -> float:
    return own(report).get("percent_of_cublas", 0.0)


def measure(executable: Path, shape: str) -> str:
    """The report of one process, as it wrote it. Raises StageFailed."""
    m, n, k = sizes(shape)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [executable, "--m", m, "--n", n, "--k", k, "--json", report]
        if shape != ALL_VARIANTS_AT:
            variants = subprocess.run([executable, "--list"], capture_output=True, text=True)
            command += ["--variant", *variants.stdout.split()[-1:]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise StageFailed(done.stderr.strip() or done.stdout.strip(), done.returncode)
        return report.read_text()


def keep(report: str, path: Path) -> None:
    """Whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(report)
    os.replace(partial, path)


def sweep(folder: Path, stages: list[Path], shapes: list[str], processes: int) -> int:
    cells = [(stage, shape) for stage in stages for shape in shapes]
    failed = 0
    for number, (stage, shape) in enumerate(cells, 1):
        path = folder / f"{stage.name}_{shape}.json"
        print(f"[{number}/{len(cells)}] {stage.name} {shape}: ", end="", flush=True)
        if path.exists():
            print("kept")
            continue
        try:
            reports = [measure(stage, shape) for _ in range(processes)]
        except StageFailed as failure:
            print("skipped" if failure.code == NO_DEVICE else "FAILED")
            print(f"  {failure}", file=sys.stderr)
            failed += failure.code != NO_DEVICE
            continue
        ranked = sorted((own_percent(json.loads(report)), report) for report in reports)
        keep(ranked[len(ranked) // 2][1], path)
        print(" ".join(f"{percent:.1f}" for percent, _ in ranked), "% of cuBLAS")
    return 1 if failed else 0


def main(arguments: list[str], build: Path = BUILD) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--shapes", nargs="+", default=SQUARES + OTHERS)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    try:
        for shape in options.shapes:
            sizes(shape)
        if options.processes < 1:
            raise BadInput("--processes: at least 1")
        there = {path.name: path for path in sorted(build.glob("[0-9]*")) if path.is_file()}
        if not there:
            raise BadInput(f"no stage in {build}; ./scripts/run_all.sh builds them")
        for name in options.stages:
            if name not in there:
                raise BadInput(f"no stage '{name}'; there are: {' '.join(there)}")
        with contextlib.suppress(FileExistsError):
            options.folder.mkdir(parents=True)
        if not options.folder.is_dir():
            raise BadInput(f"{options.folder} is no folder")
    except BadInput as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        return 2
    stages = [there[name] for name in options.stages or there]
    try:
        return sweep(options.folder, stages, options.shapes, options.processes)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
