"""Times the fastest stages beside cuBLAS, cublasLt, CUTLASS and Triton's matmul, shape by shape,
and prints a table; ./ladder peers builds build/peers first.

ladder race 4096 16x4096x4096                 these shapes; none: the usual ones
ladder race --list FILE                       shapes from a file, one a line, # begins a comment
ladder race --sweep --out sweep.jsonl         the shapes of ladder/sweep_shapes.py
ladder race --out sweep.jsonl --show          no measurement: what is there already
ladder race --out sweep.jsonl --plot x.svg    and a figure of it

--out: a line of JSON for every shape, written when it is done. The same command goes on where it
was cut off. A competitor that takes the process with it, or hangs, is named and left out from then
on.
Exit code: 0 all right, 1 something failed, 2 bad input, 77 no GPU.
"""

import argparse
import contextlib
import json
import math
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ladder.figures.sweep import percent_of_best
from ladder.files import check, parse_json, read_text
from ladder.project import ROOT, BadInput
from ladder.sweep_records import (
    LIBRARIES,
    RECORD,
    Row,
    geometric_mean,
    gpu_of,
    merge,
    read_lines,
    rows_of,
    short,
    stages_of,
    worst,
)
from ladder.sweep_shapes import USUAL, USUAL_FP32, full, sizes, sweep_shapes

PROGRAM = ROOT / "build/peers"
TRITON = ROOT / "bench/peers/triton_matmul.py"
NO_DEVICE = 77
# Without a line of the program for so long, it hangs.
SILENCE_S = 30
# Processes that a run may lose.
MOST_LOST = 12


# ---- records -----------------------------------------------------------------------------------


class Log:
    """A file of records that only grows; none where nothing is to be kept."""

    def __init__(self, path: Path):
        self.path = path
        self.lines = read_lines(path)
        if path.exists():
            # Behind a line that was cut off, a whole one.
            text = read_text(path)
            if text and not text.endswith("\n"):
                with path.open("a") as file:
                    file.write("\n")

    def add(self, line: dict) -> None:
        self.lines.append(check(line, RECORD, self.path))
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def thin(record: dict) -> dict:
    """Of each family its own choice and the fastest: what tables and figures are made of."""
    fastest: dict[str, dict] = {}
    for c in record["competitors"]:
        if c["ms"] < fastest.get(c["family"], {"ms": math.inf})["ms"]:
            fastest[c["family"]] = c
    kept = [c for c in record["competitors"] if c["own"] or c is fastest[c["family"]]]
    other = {k: v for k, v in record.items() if k not in ("competitors", "slower", "left_out")}
    return {**other, "competitors": kept}


# ---- the program -------------------------------------------------------------------------------


class Silence(Exception):
    """The program has said nothing for too long."""


class ProgramFailed(Exception):
    pass


def lines_of(process: subprocess.Popen, silence_s: float) -> Iterator[dict]:
    """What the process prints. Raises Silence."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=silence_s)
        except queue.Empty:
            raise Silence from None
        if line is None:
            return
        with contextlib.suppress(BadInput):  # whatever else it prints
            yield parse_json(line, process.args[0], {})


@dataclass
class Run:
    """Measures shapes with one process after another, until all are done or the time is over."""

    log: Log
    kind: str
    options: list[str]
    deadline: float = math.inf
    program: Path = PROGRAM
    silence_s: float = SILENCE_S
    leave_out: list[str] = field(default_factory=list)
    lost: int = 0

    def all(self, shapes: list[str]) -> bool:
        """Whether all of them are there in the end."""
        started = time.monotonic()
        total = len(shapes)
        while left := self.to_do(shapes):
            if time.monotonic() >= self.deadline or self.lost > MOST_LOST:
                break
            if not self.some(left, total, started):
                break
        return not self.to_do(shapes)

    def to_do(self, shapes: list[str]) -> list[str]:
        there = merge(self.log.lines, self.kind)
        return [shape for shape in shapes if shape not in there]

    def command(self, shapes: list[str]) -> list[str]:
        command = [str(self.program), "--type", self.kind, *self.options]
        if self.deadline < math.inf:
            command += ["--budget", f"{max(1, self.deadline - time.monotonic()):.0f}"]
        for name in self.leave_out:
            command += ["--leave-out", name]
        return [*command, *shapes]

    def some(self, shapes: list[str], total: int, started: float) -> bool:
        """One process. False where another would not get further."""
        done = total - len(shapes)
        at, doing = None, None
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                self.command(shapes), stdout=subprocess.PIPE, stderr=errors, text=True
            )
            try:
                for line in lines_of(process, self.silence_s):
                    if "begins" in line:
                        at, doing = line["begins"], None
                    elif "trying" in line:
                        doing = line["trying"]
                    elif "stopped" in line:
                        return False
                    else:
                        self.log.add(line)
                        if "shape" in line:
                            done += 1
                            seconds = time.monotonic() - started
                            progress(f"[{done}/{total}] {line['shape']}, {seconds:.0f} s")
                code = process.wait()
                why = f"exit code {code}"
            except Silence:
                code, why = 1, f"nothing for {self.silence_s} s"
            finally:
                process.kill()
                process.wait()
            errors.seek(0)
            said = errors.read().strip()
        if code == 0:
            return True
        if code in (2, NO_DEVICE) or at is None:
            raise ProgramFailed(said or why, code)
        self.lose(at, doing, f"{why}: {said}" if said else why)
        return True

    def lose(self, shape: str, doing: str | None, why: str) -> None:
        """The process is gone, and may have been lost to a competitor."""
        self.lost += 1
        say(f"lost at {shape}, {doing}: {why}")
        self.log.add({"lost": doing, "at": shape, "why": why})
        if is_blamed(doing):
            self.leave_out.append(doing)
        else:  # this shape stays without a result
            self.log.add({"shape": shape, "type": self.kind, "competitors": [], "failed": why})


def is_blamed(doing: str | None) -> bool:
    """Whether one competitor alone was at work."""
    return doing is not None and doing != "a race" and not doing.startswith("cuBLAS: ")


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def say(text: str) -> None:
    progress("")
    print(f"ladder race: {text}", file=sys.stderr, flush=True)


def run_triton(log: Log, shapes: list[str], deadline: float, program: Path = TRITON) -> None:
    """Adds Triton's times where there is PyTorch and Triton; otherwise says so."""
    there = {line["shape"] for line in log.lines if "triton" in line}
    left = [shape for shape in shapes if shape not in there]
    if not left or time.monotonic() >= deadline:
        return
    command = [sys.executable, str(program)]
    if deadline < math.inf:
        command += ["--budget", f"{deadline - time.monotonic():.0f}"]
    process = subprocess.Popen([*command, *left], stdout=subprocess.PIPE, text=True)
    try:
        for line in lines_of(process, 5 * SILENCE_S):  # it compiles
            if "unavailable" in line:
                say(f"without Triton: {line['unavailable']}")
            elif "triton" in line:
                log.add(line)
                progress(f"Triton {line['shape']}")
    except Silence:
        say("Triton's matmul hangs")
    finally:
        process.kill()
        process.wait()


# ---- what it means -----------------------------------------------------------------------------


def label(stage: str) -> str:
    return stage.split("_")[0]


def aligned(cells: list[list[str]]) -> str:
    """Columns, the first one to the left."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = []
    for row in cells:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join((row[0].ljust(widths[0]), *rest)).rstrip())
    return "\n".join(lines)


def table(rows: list[Row]) -> str:
    """Percent of cuBLAS's own choice, and geometric means."""
    stages = stages_of(rows)
    libraries = [name for name in LIBRARIES[1:] if any(name in r.libraries for r in rows)]
    triton = any(r.triton_percent for r in rows)
    head = ["M x N x K", "cuBLAS us", *libraries, *(["Triton"] if triton else [])]
    head += [*map(label, stages), "all stages"]
    cells = [head]

    def text(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"

    columns: list[list[float | None]] = []
    for row in rows:
        values = [
            row.percent_of_cublas(row.libraries[n]) if n in row.libraries else None
            for n in libraries
        ]
        if triton:
            values.append(row.triton_percent)
        for stage in stages:
            ms = row.stages.get(stage)
            values.append(None if ms is None else row.percent_of_cublas(ms))
        values.append(None if row.best is None else row.percent_of_cublas(row.best))
        columns.append(values)
        cells.append([short(row.shape), f"{1e3 * row.cublas:.2f}", *map(text, values)])
    means = []
    for i in range(len(columns[0])):
        there = [values[i] for values in columns if values[i] is not None]
        means.append(text(geometric_mean(there) if there else None))
    cells.append(["geometric mean", "", *means])
    return aligned(cells)


def report(records: list[dict]) -> str:
    """The table; of each stage its mean over the fastest library; of the last its worst shapes."""
    rows = rows_of(sorted(records, key=lambda r: (math.prod(sizes(r["shape"])), r["shape"])))
    if not rows:
        raise BadInput("there are no results")
    head = "Percent of cuBLAS's own choice; all stages: the fastest of their configurations"
    parts = [head, table(rows)]
    stages = stages_of(rows)
    libraries = ", ".join(sorted({name for r in rows for name in r.libraries}, key=LIBRARIES.index))
    lines = [f"Percent of the fastest of {libraries}:"]
    for stage in stages:
        there = [r for r in rows if stage in r.stages]
        percents = [r.percent_of_best(stage) for r in there]
        lines.append(
            f"  {stage}: geometric mean {geometric_mean(percents):.1f}, "
            f"lowest {min(percents):.1f}, of {len(there)} shapes; its choice "
            f"{geometric_mean(100 * r.best / r.stages[stage] for r in there):.1f} "
            f"of the best configuration"
        )
    if stages:
        last = stages[-1]
        lines.append(f"The lowest of {last}:")
        lines += [
            f"  {short(r.shape)}: {r.percent_of_best(last):.1f} of the fastest library, "
            f"{r.percent_of_cublas(r.stages[last]):.1f} of cuBLAS; all stages: {r.best_name}, "
            f"{100 * r.fastest_library / r.best:.1f}"
            for r in worst(rows, last)
        ]
    parts.append("\n".join(lines))
    if trouble := troubles(records):
        parts.append("\n".join(trouble))
    return "\n\n".join(parts)


def troubles(records: list[dict]) -> list[str]:
    """What went wrong; what cannot run a shape is no news."""
    lines = [f"{short(r['shape'])}: {r['failed']}" for r in records if "failed" in r]
    wrong: dict[str, list[str]] = {}
    for r in records:
        for c in r.get("left_out", []):
            if "wrong" in c["why"] or c["family"] not in LIBRARIES:
                wrong.setdefault(f"{c['family']}: {c['name']}: {c['why']}", []).append(r["shape"])
        for c in r["competitors"]:
            if "note" in c:
                wrong.setdefault(f"{c['family']}: {c['name']} {c['note']}", []).append(r["shape"])
    for what, shapes in wrong.items():
        more = f" and {len(shapes) - 1} more" if len(shapes) > 1 else ""
        lines.append(f"{what} at {short(shapes[0])}{more}")
    return lines


# ---- the command -------------------------------------------------------------------------------


def shapes_from(path: Path) -> list[str]:
    return [word for line in read_text(path).splitlines() for word in line.split("#")[0].split()]


def wanted_shapes(options: argparse.Namespace) -> list[str]:
    shapes = list(options.shapes)
    if options.list:
        shapes += shapes_from(options.list)
    if options.sweep:
        shapes += sweep_shapes()
    if not shapes:
        shapes = list(USUAL if options.type == "fp16" else USUAL_FP32)
    return list(dict.fromkeys(map(full, shapes)))


def measure(options: argparse.Namespace, log: Log, shapes: list[str]) -> bool:
    deadline = time.monotonic() + options.budget
    wants_triton = options.type == "fp16" and options.triton
    if options.program_wanted:
        given = ["--milliseconds", f"{options.milliseconds:g}"]
        if not options.configurations:
            given.append("--no-configurations")
        for family in options.only:
            given += ["--only", family]
        if not options.program.exists():
            raise BadInput(f"there is no {options.program}; ./ladder peers builds it")
        blamed = [
            line["lost"] for line in log.lines if line.get("lost") and is_blamed(line["lost"])
        ]
        leave_out = [*options.leave_out, *dict.fromkeys(blamed)]
        run = Run(log, options.type, given, deadline, options.program, leave_out=leave_out)
        complete = run.all(shapes)
        progress("")
    else:
        complete = True
    if wants_triton:
        run_triton(log, shapes, deadline)
        progress("")
    return complete


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("shapes", nargs="*", metavar="SHAPE", help="4096 or 16x4096x4096")
    p.add_argument("--list", type=Path, metavar="FILE", help="with shapes")
    p.add_argument("--sweep", action="store_true", help="hundreds of shapes")
    p.add_argument("--out", type=Path, metavar="FILE", help="records, as lines of JSON")
    p.add_argument("--type", choices=("fp16", "fp32"), default="fp16")
    p.add_argument("--budget", type=float, default=math.inf, metavar="SECONDS")
    p.add_argument("--milliseconds", type=float, default=150, help="of a shape's precise part")
    p.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="FAMILY",
        help="CUTLASS, 11c, ...: beside cuBLAS",
    )
    p.add_argument("--leave-out", action="append", default=[], metavar="'FAMILY: NAME'")
    p.add_argument(
        "--no-configurations",
        dest="configurations",
        action="store_false",
        help="of each stage only what its launcher chooses",
    )
    p.add_argument(
        "--triton",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="not with --sweep, unless told",
    )
    p.add_argument(
        "--triton-only",
        dest="program_wanted",
        action="store_false",
        help="add Triton's times to what is there",
    )
    p.add_argument("--show", action="store_true", help="measure nothing")
    p.add_argument("--plot", type=Path, metavar="SVG", help="draw, and measure nothing")
    p.add_argument("--thin", type=Path, metavar="FILE", help="write what tables are made of")
    p.add_argument("--program", type=Path, default=PROGRAM, help=argparse.SUPPRESS)
    return p


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    if options.triton is None:
        options.triton = not options.sweep or not options.program_wanted
    with tempfile.TemporaryDirectory() as folder:
        try:
            log = Log(options.out or Path(folder) / "records.jsonl")
            complete = True
            if not (options.show or options.plot):
                complete = measure(options, log, wanted_shapes(options))
            records = list(merge(log.lines, options.type).values())
            if not (options.show or options.plot or (options.out and options.sweep)):
                wanted = set(wanted_shapes(options))
                records = [r for r in records if r["shape"] in wanted]
            if options.plot:
                options.plot.write_text(percent_of_best(rows_of(records), gpu_of(log.lines)).svg)
            if options.thin:
                heads = [line for line in log.lines if "gpu" in line][-1:]
                lines = map(json.dumps, [*heads, *map(thin, records)])
                options.thin.write_text("".join(f"{line}\n" for line in lines))
            print(report(records))
        except BadInput as error:
            print(f"ladder race: {error}", file=sys.stderr)
            return 2
        except ProgramFailed as failure:
            text, code = failure.args
            print(text.replace("peers: ", "ladder race: ", 1), file=sys.stderr)
            return code if code in (2, NO_DEVICE) else 1
        except KeyboardInterrupt:
            print("\ninterrupted; with --out, the same command goes on from here", file=sys.stderr)
            return 130
    return 0 if complete else 1
