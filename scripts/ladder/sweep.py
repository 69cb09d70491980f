"""Runs stages over shapes, each beside cuBLAS, and keeps every report.

ladder sweep DIR [STAGE ...]                            for example /tmp/sweep 05_cp_async
ladder sweep DIR --shapes 4096 16x4096x4096             M=N=K, or MxNxK
ladder sweep DIR 18_layouts --shapes 8192_TN 8192_bf16  in another layout or type than the usual
ladder sweep DIR --documented                           what the documentation is made of
ladder sweep DIR --claimed                              what claims need, and tables of a second GPU
ladder sweep DIR --processes 3                          three runs a cell; the median one is kept

Writes DIR/NN_name_SHAPE.json: all variants at 4096, the stage's own at other shapes, and
DIR/environment.json. What is there already is not measured again, so that an interrupted sweep goes
on where it stopped. --documented: 4096, 8192, the shapes of the stage's `also_at` in
stages/manifest.json, and those that docs/claims.yaml names, with the variants that it names there.
--claimed: the same without `also_at`. Exit code: 0 all right, 1 a stage failed, 2 bad input.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ladder import evaluation, manifest
from ladder.files import parse_json, read_text
from ladder.measuring import (
    ALL_VARIANTS_AT,
    DOCUMENTED,
    StageFailed,
    keep,
    order,
    problem,
    same_commit,
    sizes,
    write_environment,
)
from ladder.project import STAGES, BadInput
from ladder.results import DEVICE, VARIANT, own

SQUARES = ["1024", "2048", "4096", "8192", "16384"]
# Layers of language models; shapes that do not fill a last wave, begin rows off the lines of 128
# bytes, divide by nothing.
OTHERS = ["4096x11008x4096", "4096x4096x11008", "16x4096x4096", "8192x1280x8192"]
OTHERS += ["3072", "5000", "4095x4097x4093"]
NO_DEVICE = 77


@dataclass(frozen=True)
class Cell:
    """A stage at a shape; `variants` beside its own are timed, too."""

    executable: Path
    shape: str
    variants: frozenset[str] = frozenset()


def own_percent(report: dict) -> float:
    return own(report).get("percent_of_cublas", 0.0)


def measure(cell: Cell) -> str:
    """The report of one process, as it wrote it. Raises StageFailed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [cell.executable, *problem(cell.shape), "--json", report]
        if cell.shape != ALL_VARIANTS_AT:
            listed = subprocess.run([cell.executable, "--list"], capture_output=True, text=True)
            there = listed.stdout.split()
            missing = sorted(cell.variants - set(there))
            if missing:
                raise StageFailed(f"{cell.executable.name} has no variant {missing[0]}", 1)
            command += ["--variant", *(v for v in there if v in cell.variants or v == there[-1])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise StageFailed(done.stderr.strip() or done.stdout.strip(), done.returncode)
        text = read_text(report)
        parse_json(text, report, {"device?": DEVICE, "variants": [VARIANT, ...]})
        return text


def documented(stages: dict[str, Path], also: bool) -> list[Cell]:
    """What of these stages the documentation needs, with `also_at` or without it; the short ones
    first."""
    wanted = {
        (name, shape): set()
        for name in stages
        if name in manifest.at_squares()
        for shape in DOCUMENTED
    }
    for name in stages if also else ():
        for shape in manifest.stage(name).also_at:
            wanted.setdefault((name, shape), set())
    claims = evaluation.load_claims(evaluation.CLAIMS)
    for name, variant, shape in evaluation.shapes_claimed(claims):
        if name in stages:
            wanted.setdefault((name, shape), set()).add(variant)
    cells = sorted(wanted, key=lambda cell: (manifest.place(cell[0]), order(cell[1])))
    return [Cell(stages[name], shape, frozenset(wanted[name, shape])) for name, shape in cells]


def sweep(folder: Path, cells: list[Cell], processes: int) -> int:
    failed = 0
    for number, cell in enumerate(cells, 1):
        name = cell.executable.name
        path = folder / f"{name}_{cell.shape}.json"
        print(f"[{number}/{len(cells)}] {name} {cell.shape}: ", end="", flush=True)
        if path.exists():
            print("kept")
            continue
        begin = time.monotonic()
        try:
            reports = [measure(cell) for _ in range(processes)]
        except StageFailed as failure:
            print("skipped" if failure.code == NO_DEVICE else "FAILED")
            print(f"  {failure}", file=sys.stderr)
            failed += failure.code != NO_DEVICE
            continue
        ranked = sorted((own_percent(json.loads(report)), report) for report in reports)
        keep(ranked[len(ranked) // 2][1], path)
        write_environment(folder, json.loads(ranked[0][1])["device"])
        percents = " ".join(f"{percent:.1f}" for percent, _ in ranked)
        print(f"{percents} % of cuBLAS, {time.monotonic() - begin:.1f} s")
    return 1 if failed else 0


def main(arguments: list[str], build: Path = STAGES) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--shapes", nargs="+", default=SQUARES + OTHERS)
    which.add_argument("--documented", action="store_true")
    which.add_argument("--claimed", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    try:
        for shape in options.shapes:
            sizes(shape)
        if options.processes < 1:
            raise BadInput("--processes: at least 1")
        there = manifest.built(build)
        if not there:
            raise BadInput(f"no stage in {build}; ./scripts/run_all.sh builds them")
        for name in options.stages:
            if name not in there:
                raise BadInput(f"no stage '{name}'; there are: {' '.join(there)}")
        with contextlib.suppress(FileExistsError):
            options.folder.mkdir(parents=True)
        if not options.folder.is_dir():
            raise BadInput(f"{options.folder} is no folder")
        same_commit(options.folder)
        stages = {name: there[name] for name in options.stages or there}
        if options.documented or options.claimed:
            cells = documented(stages, also=options.documented)
        else:
            cells = [Cell(path, shape) for path in stages.values() for shape in options.shapes]
    except BadInput as error:
        print(f"ladder sweep: {error}", file=sys.stderr)
        return 2
    try:
        return sweep(options.folder, cells, options.processes)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here", file=sys.stderr)
        return 130
