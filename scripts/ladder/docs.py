"""Writes what is generated in README.md and docs/: tables, code, figures, claims.

update_docs.py             rewrites the files
update_docs.py --check     fails when one of them would change

Generated text stands between `<!-- KIND ARGUMENTS -->` and `<!-- end -->`. The kinds:

  stages [FOLDER]            all stages at 4096 and 8192, with the first sentence of their pages,
                             which are in FOLDER
  results STAGE              all variants at 4096: time, TFLOP/s, percent of cuBLAS, resources
  shapes STAGE               percent of cuBLAS over all shapes that were measured
  counters STAGE[/VARIANT] ...   what ncu counted at 4096
  predict STAGE VARIANT      what the CPU device says of every source line, at 128
  code FILE "FIRST" "LAST"   the lines of a file from the one with FIRST to the next with LAST
  diff STAGE [STAGE]         of two kernels; with one, against its parent
  steps [FOLDER]             what each stage adds to its parent, as scripts/steps.py counts
  access STAGE VARIANT ARRAY OPERATION   a figure: 32 lanes and the sectors or banks they touch
  claims ID ...              claims of docs/claims.yaml, with their values
  machine                    the GPU that was measured

Stages, their order and their parents are those of stages/manifest.json; results and counters come
from docs/results/h200, predictions from build/stages/cpu. A block that cannot be written, because a
result is missing or a claim does not hold, stays as it is, and why is said in a line. --check looks
at the plots, too (scripts/plot.py). Exit code: 0 all right, 1 a file is not up to date, 2 a block
could not be written, or bad input.
"""

import argparse
import difflib
import json
import re
import shlex
import sys
import tempfile
from functools import cache
from pathlib import Path

from ladder import access_figure, claims, manifest, steps
from ladder import counters as ncu
from ladder.project import CPU_STAGES, RESULTS, ROOT, BadInput
from ladder.results import load, own, percent_of_best, shape
from ladder.sweep import ALL_VARIANTS_AT, DOCUMENTED, volume

BLOCK = re.compile(r"<!-- (?P<kind>[a-z]+)(?P<arguments>[^\n]*?) -->\n.*?<!-- end -->", re.DOTALL)

# What the tables of counters show: the words, the counter, its scale and unit.
COUNTERS = [
    ("time", ncu.TIME, 1e6, "ms"),
    ("instructions", ncu.LIMITS["instructions"], 1e6, "M"),
    ("issue slots used", ncu.LIMITS["issue"], 1, "%"),
    ("FMA pipe", ncu.LIMITS["fma_pipe"], 1, "%"),
    ("tensor pipe", ncu.LIMITS["tensor_pipe"], 1, "%"),
    ("shared-memory pipe", ncu.LIMITS["shared_pipe"], 1, "%"),
    ("warps active", ncu.LIMITS["warps_active"], 1, "%"),
    ("global load sectors", ncu.PREDICTED["sectors_ld"], 1e6, "M"),
    ("global load requests", ncu.PREDICTED["requests_ld"], 1e6, "M"),
    ("shared load wavefronts", ncu.PREDICTED["wavefronts_ld"], 1e6, "M"),
    ("of them bank conflicts", ncu.PREDICTED["bank_conflicts_ld"], 1e6, "M"),
    ("shared store bank conflicts", ncu.PREDICTED["bank_conflicts_st"], 1e6, "M"),
    ("received from L2", ncu.LIMITS["sm_sectors"], 1e9 / 32, "GB"),
    ("read from L2", ncu.LIMITS["l2_sectors"], 1e9 / 32, "GB"),
    ("read from device memory", ncu.LIMITS["dram_bytes"], 1e9, "GB"),
    ("clock", ncu.LIMITS["clock"], 1e9, "GHz"),
]
STALLS_SHOWN = 4
# Shorter launches are not at the power limit: the host that enqueues them sets the pace.
HOST_PACED_MS = 0.02


def number(value: float) -> str:
    """Three digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1g}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Columns that are mostly numbers go to the right."""

    def rule(column: int) -> str:
        numbers = sum(bool(re.match(r"[\d.,]+\b", row[column])) for row in rows)
        return "---:" if column > 0 and numbers > len(rows) / 2 else "---"

    lines = [head, [rule(column) for column in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@cache
def reports() -> dict[tuple[str, str], dict]:
    return {(report["stage"], shape(report)): report for report in load(RESULTS)}


def report(stage: str, size: str) -> dict:
    if (stage, size) not in reports():
        raise BadInput(f"no results of {stage} at {size}")
    found = reports()[stage, size]
    if size == ALL_VARIANTS_AT:
        why = steps.other_variants(stage, [v["name"] for v in found["variants"]], ROOT)
        if why:
            raise BadInput(f"the results of {stage} at {size} are {why}")
    return found


@cache
def provenance() -> list[dict]:
    return json.loads((RESULTS / "provenance.json").read_text())


@cache
def counters() -> dict[str, dict]:
    return ncu.load_counters(RESULTS / "counters.json")["counters"]


@cache
def all_claims() -> dict[str, dict]:
    return {claim["id"]: claim for claim in claims.load_claims(ROOT / "docs/claims.yaml")}


@cache
def measurements() -> claims.Measurements:
    return claims.Measurements(RESULTS, claims.measured_counters(RESULTS))


@cache
def predicted(stage: str) -> dict[str, dict]:
    return claims.cpu_report(CPU_STAGES, stage)


BEST = "% of best"
NOT_COMPARED = "not compared"


def best_cell(variant: dict) -> str:
    return f"{percent_of_best(variant):.1f}" if "percent_of_best" in variant else NOT_COMPARED


def with_best(head: list[str], rows: list[list[str]], variants: list[dict]) -> None:
    """A column more, where the fastest of cublasLt's algorithms was measured."""
    if any("percent_of_best" in variant for variant in variants):
        head.append(BEST)
        for row, variant in zip(rows, variants, strict=True):
            row.append(best_cell(variant))


def page_of(stage: manifest.Stage, folder: str) -> str:
    """A link to it, whatever the folder of the page that it stands in."""
    return f"[{stage.name}]({Path(folder, Path(stage.page).name)})"


def idea(stage: manifest.Stage) -> str:
    """The first sentence of its page."""
    page = ROOT / stage.page
    found = re.search(r"^# .*\n+(.*(?:\n.+)*)", page.read_text()) if page.exists() else None
    if not found:
        raise BadInput(f"{stage.page} does not begin with a heading and a sentence")
    return " ".join(found[1].split()).split(". ")[0].rstrip(".")


def stages(folder: str = ".") -> str:
    rows, missing, best = [], [], []
    for stage in manifest.load().values():
        try:
            row = [page_of(stage, folder), idea(stage)]
        except BadInput as error:
            missing += error.args
            continue
        shares = []
        for size in DOCUMENTED:
            try:
                v = own(report(stage.name, size))
            except BadInput as error:
                missing += error.args
                continue
            row += [f"{v['tflops']:.1f}", f"{v['percent_of_cublas']:.1f}"]
            if "percent_of_best" in v:
                shares.append(f"{best_cell(v)}% at {size}")
        rows.append(row)
        if shares:
            best.append(f"{stage.name} {' and '.join(shares)}")
    if missing:
        raise BadInput(*missing)
    text = table(["stage", "idea", "4096", "% of cuBLAS", "8192", "% of cuBLAS"], rows)
    if best:
        text += (
            "\n\ncuBLAS's own choice is not always the fastest of cublasLt's algorithms. Of the "
            f"fastest, with its own choice among them: {'; '.join(best)}."
        )
    return text


def step_table(folder: str = ".") -> str:
    rows = []
    for step in steps.steps(manifest.MANIFEST):
        stage, parent = manifest.stage(step.stage), manifest.stage(step.parent)
        why = step.reason or ""
        counts = [*step.counts[1:], step.kept_words]
        rows.append([page_of(stage, folder), page_of(parent, folder), *counts, why])
    head = ["stage", "parent", "statements added", "removed", "kept of its kernel"]
    if any(row[-1] for row in rows):
        return table([*head, f"why more than {steps.LIMIT}"], rows)
    return table(head, [row[:-1] for row in rows])


def results(stage: str) -> str:
    variants = report(stage, "4096")["variants"]
    rows = []
    for v in variants:
        rows.append(
            [
                f"`{v['name']}`",
                number(v["time_ms"]["median"]),
                f"{v['tflops']:.1f}",
                f"{v['percent_of_cublas']:.1f}",
                str(v["registers"]),
                f"{v['shared_bytes'] / 1024:.1f}",
                f"{100 * v['occupancy']:g}",
            ]
        )
    head = ["4096^3", "ms", "TFLOP/s", "% of cuBLAS", "registers", "shared KB", "occupancy %"]
    with_best(head, rows, variants)
    return table(head, rows)


def steady_state(variant: dict) -> str:
    if "sustained" not in variant:
        return "not measured"
    ms = variant["time_ms"]["median"]
    if min(ms, ms * variant["percent_of_cublas"] / 100) < HOST_PACED_MS:
        return "too short"
    return f"{variant['sustained']['percent_of_cublas']:.1f}"


def shapes(stage: str) -> str:
    of_stage = [size for name, size in reports() if name == stage]
    if not of_stage:
        raise BadInput(f"no results of {stage}")
    variants = {size: own(report(stage, size)) for size in sorted(of_stage, key=volume)}
    head = ["M x N x K", "TFLOP/s", "% of cuBLAS"]
    rows = [[s, f"{v['tflops']:.1f}", f"{v['percent_of_cublas']:.1f}"] for s, v in variants.items()]
    with_best(head, rows, [*variants.values()])
    after = ""
    if any("sustained" in v for v in variants.values()):
        head.append("sustained")
        for row, variant in zip(rows, variants.values(), strict=True):
            row.append(steady_state(variant))
        after = "\n\nSustained: percent of cuBLAS without rests, at the power limit."
    text = table(head, rows) + after
    files = {f"{stage}_{size}.json" for size in variants}
    runs = sum(bool(files & {*run["files"]}) for run in provenance())
    if runs > 1:
        text += (
            f"\n\nThese rows are from {runs} runs, and H200s differ by about a point: two stages "
            "compare no closer than that. Which row is of which run is in "
            "`docs/results/h200/provenance.json`."
        )
    return text


def counter_table(*wanted: str) -> str:
    columns, missing = [], []
    for name in wanted:
        stage, _, variant = name.partition("/")
        of_stage = counters().get(stage)
        if not of_stage or (variant and variant not in of_stage):
            missing.append(f"no counters of {name}")
            continue
        why = steps.other_variants(stage, of_stage, ROOT)
        if why:
            missing.append(f"the counters of {stage} are {why}")
            continue
        columns += [(stage, v) for v in ([variant] if variant else of_stage)]
    if missing:
        raise BadInput(*missing)
    several = len({stage for stage, _ in columns}) > 1
    head = [f"{manifest.stage(s).label} `{v}`" if several else f"`{v}`" for s, v in columns]
    rows = []
    for words, counter, scale, unit in COUNTERS:
        values = [counters()[s][v][counter] / scale for s, v in columns]
        if any(value >= 0.0005 for value in values):
            rows.append([f"{words}, {unit}", *(number(value) for value in values)])
    stalls = []
    for s, v in columns:
        waits = sorted(
            ((x, reason) for reason, x in ncu.stalls(counters()[s][v]).items()), reverse=True
        )
        stalls.append(", ".join(f"{n} {x:.1f}" for x, n in waits[:STALLS_SHOWN] if x >= 0.05))
    rows.append(["warps waiting, by issued instruction", *stalls])
    return table(["ncu, 4096^3", *head], rows)


def in_kernels(file: str) -> str:
    """A file of kernels/, parts/ and the like among it, wherever the project was built."""
    return file.rpartition("/kernels/")[2]


def predict(stage: str, variant: str) -> str:
    if variant not in predicted(stage):
        raise BadInput(f"{stage} has no variant {variant}")
    rows = []
    for line in predicted(stage)[variant]["memory"]:
        where = in_kernels(line["file"])
        unit, ideal = (
            ("sectors", "ideal_sectors")
            if line["space"] == "global"
            else ("wavefronts", "ideal_wavefronts")
        )
        cost = line[f"{unit}_per_request"]
        rows.append(
            [
                f"[{where}:{line['line']}](../kernels/{where}#L{line['line']})",
                f"{line['op']} {line['array']}",
                str(line["bytes"]),
                f"{line['requests']:,}",
                f"{number(cost)} {unit if cost != 1 else unit.removesuffix('s')}",
                number(line[ideal]),
            ]
        )
    head = [
        "the CPU device, 128^3",
        "access",
        "bytes a lane",
        "requests",
        "cost a request",
        "at least",
    ]
    return table(head, rows)


def code(file: str, first: str, last: str) -> str:
    path = ROOT / file
    if not path.exists():
        raise BadInput(f"there is no {file}")
    lines = path.read_text().splitlines()
    begin = next((i for i, line in enumerate(lines) if first in line), None)
    if begin is None:
        raise BadInput(f"no line of {file} has '{first}'")
    end = next((i for i in range(begin, len(lines)) if last in lines[i]), None)
    if end is None:
        raise BadInput(f"no line of {file} after '{first}' has '{last}'")
    where = f"[{file}](../{file}#L{begin + 1}-L{end + 1}), line {begin + 1}"
    return (
        f'{where}:\n\n```cuda linenums="{begin + 1}"\n'
        + "\n".join(lines[begin : end + 1])
        + "\n```"
    )


def diff(*pair: str) -> str:
    """The older one first, or a stage alone."""
    if len(pair) == 1:
        parent = manifest.stage(pair[0]).parent
        if parent is None:
            raise BadInput(f"{pair[0]} has no parent")
        pair = (parent, *pair)
    old, new = (manifest.stage(name).name for name in pair)
    names = [f"kernels/{stage}.cuh" for stage in (old, new)]
    texts = [(ROOT / name).read_text().splitlines() for name in names]
    lines = list(difflib.unified_diff(*texts, *names, lineterm="", n=2))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    body = "\n".join(lines)
    return (
        f"<details markdown>\n<summary>{added} lines added, {removed} removed</summary>\n\n"
        f"```diff\n{body}\n```\n\n</details>"
    )


def claim_list(*ids: str) -> str:
    lines, problems = [], []
    for name in ids:
        try:
            lines.append(claim_line(name))
        except BadInput as error:
            problems += error.args
    if problems:
        raise BadInput(*problems)
    return "\n".join(lines)


def claim_line(name: str) -> str:
    if name not in all_claims():
        raise BadInput(f"there is no claim '{name}'")
    claim = all_claims()[name]
    numbers: dict[str, float] = {}
    try:
        holds = claims.evaluate(claims.parse(claim["holds"]), measurements(), numbers)
    except claims.Untold as error:
        raise BadInput(f"claim '{name}': {error}") from error
    if holds is not True:
        raise BadInput(f"claim '{name}' does not hold")
    values = "; ".join(
        f"{call} = {number(value)}{' ms' if call.startswith('time(') else ''}"
        for call, value in numbers.items()
    )
    return f"- {' '.join(claim['claim'].split())} <small>`{name}`: {values}</small>"


def access(stage: str, variant: str, array: str, operation: str) -> str:
    """Draws docs/figures/access_*.svg, which is compared and written like the text."""
    found = [
        line
        for line in predicted(stage).get(variant, {}).get("memory", [])
        if (line["array"], line["op"]) == (array, operation)
    ]
    if not found:
        raise BadInput(f"{stage} {variant} has no {operation} of {array}")
    line = max(found, key=lambda line: line["requests"])
    drawn, unit = access_figure.cost(line)
    counted = line[f"{unit}s_per_request"]
    if drawn != counted:
        raise BadInput(
            f"{operation} of {array} of {stage} {variant}: the figure has {drawn} {unit}s, "
            f"the CPU device counts {counted:g} a request"
        )
    name = f"access_{stage}_{variant}_{array}_{operation}.svg".replace(" ", "_")
    figures[ROOT / "docs/figures" / name] = access_figure.draw(line)
    cost = access_figure.words(line)
    what = access_figure.array_name(line)
    return f"![{variant}: {operation} of {what} by one warp, {cost}](figures/{name})"


def machine() -> str:
    last = [manifest.last_of(kind) for kind in ("fp32", "fp16")]
    fp32, fp16 = (report(stage.name, "4096") for stage in last)
    device = fp32["device"]
    cublas = " / ".join(f"{r['cublas']['tflops']:.1f}" for r in (fp32, fp16))
    rows = [
        ["multiprocessors", str(device["multiprocessors"])],
        ["highest clock", f"{device['clock_mhz']} MHz"],
        ["FP32 peak, FFMA", f"{device['peak_tflops']:.1f} TFLOP/s"],
        ["FP16 tensor peak", f"{fp16['device']['peak_tflops']:.1f} TFLOP/s"],
        ["device memory, by its clock and width", f"{device['memory_gb_s']:.0f} GB/s"],
        ["cuBLAS FP32 / FP16 at 4096^3", f"{cublas} TFLOP/s"],
        ["driver, toolkit", f"{device['driver']}, {device['toolkit']}"],
    ]
    return table([device["name"], ""], rows)


KINDS = {
    "stages": stages,
    "steps": step_table,
    "results": results,
    "shapes": shapes,
    "counters": counter_table,
    "predict": predict,
    "code": code,
    "diff": diff,
    "claims": claim_list,
    "access": access,
    "machine": machine,
}
figures: dict[Path, str] = {}


def updated(text: str, path: Path, problems: list[str]) -> str:
    """The page with its blocks written. Where one cannot be, it stays, and `problems` says why."""

    def block(match: re.Match) -> str:
        kind, arguments = match["kind"], shlex.split(match["arguments"])
        try:
            if kind not in KINDS:
                raise BadInput(f"no kind '{kind}'; there are: {', '.join(KINDS)}")
            try:
                body = KINDS[kind](*arguments)
            except TypeError as error:
                raise BadInput(f"{kind} {match['arguments'].strip()}: {error}") from error
        except BadInput as error:
            problems.extend(f"{path}: {line}" for line in error.args)
            return match[0]
        return f"<!-- {kind}{match['arguments']} -->\n{body}\n<!-- end -->"

    if text.count("<!-- end -->") != len(BLOCK.findall(text)):
        raise BadInput(f"{path}: a generated block does not begin or does not end")
    return BLOCK.sub(block, text)


def stale_plots() -> list[Path]:
    """Plots that are others than the results would give."""
    from ladder import plots  # needs matplotlib, which nothing else here does

    with tempfile.TemporaryDirectory() as folder:
        plots.draw_all(RESULTS, Path(folder))
        drawn = {ROOT / "docs/figures" / p.name: p.read_text() for p in Path(folder).iterdir()}
    return [p for p, text in sorted(drawn.items()) if not p.exists() or p.read_text() != text]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    problems: list[str] = []
    stale: list[Path] = []
    try:
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        wanted = {
            path: updated(path.read_text(), path.relative_to(ROOT), problems) for path in pages
        }
    except BadInput as error:
        print(f"update_docs.py: {error}", file=sys.stderr)
        return 2
    wanted |= figures
    stale += [p for p, text in wanted.items() if not p.exists() or p.read_text() != text]
    # A block that was not written may be what has a figure.
    unused = sorted(set((ROOT / "docs/figures").glob("access_*.svg")) - set(figures))
    if problems:
        unused = []
    if options.check:
        try:
            stale += stale_plots()
        except BadInput as error:
            problems += [f"plots: {line}" for line in error.args]
    for line in problems:
        print(f"update_docs.py: {line}", file=sys.stderr)
    if options.check:
        for path in [*stale, *unused]:
            print(f"update_docs.py: {path.relative_to(ROOT)} is not up to date", file=sys.stderr)
    else:
        for path in stale:
            path.write_text(wanted[path])
        for path in unused:
            path.unlink()
    if problems:
        return 2
    return 1 if options.check and (stale or unused) else 0
