"""Writes what is generated in README.md and docs/: tables, code, figures, claims.

ladder docs             rewrites the files
ladder docs --check     fails when one of them would change

Generated text stands between `<!-- KIND ARGUMENTS -->` and `<!-- end -->`. The kinds:

  stages                     all stages at 4096 and 8192, with the first sentence of their pages
  milestones                 the stages that the manifest calls milestones, at 4096
  summary STAGE ...          what scripts/run_all.sh prints of these stages, at 4096
  results STAGE              all variants at 4096: time, TFLOP/s, percent of cuBLAS, resources
  shapes STAGE               percent of cuBLAS over all shapes that were measured
  counters STAGE[/VARIANT] ...   what ncu counted at 4096: the rows that differ by 3% or more
  counters STAGE[/VARIANT] ... : ROW, ROW   these rows: what ladder claims --help names, and stalls
  predict STAGE VARIANT      what the CPU device says of every source line, at 128
  predict STAGE VARIANT boxes    of TMA's boxes and wgmma's operands alone
  model STAGE/VARIANT        what the model predicts, what was measured, why they differ; at 4096
  model                      the model's errors, of all
  model constants|first|gpus|shares|wavefronts   other tables of the model
  code FILE "FIRST" "LAST"   the lines of a file from the one with FIRST to the next with LAST
  times                      how long each stage takes to read, and what it needs
  part TITLE                 a part of docs/order.json: the minutes to read it, and its pages
  onward PAGE                what to do after a page below docs/: its exercises, and after a concept
                             the page that is read next
  proofs                     what ./ladder prove --record has kept
  steps                      what each stage adds to its parent, as ./ladder steps counts
  access STAGE VARIANT ARRAY OPERATION   a figure: 32 lanes and the sectors or banks they touch
  figure NAME "WORDS"        a figure of ./ladder figures with its caption; what it shows in words
  claims ID ...              claims of docs/claims.yaml, with their values in footnotes, or below
                             them where they are folded, in <details>
  machine                    the GPUs that were measured
  exercises                  all exercises
  grader                     what scripts/exercise.sh prints, shortened, where nothing is done yet
  references                 what ncu counted of the exercises' references and was not predicted
  around                     the kernels of exercises 49 to 58, as build/around_gemm timed them
  pairs                      the pairs of docs/pairs.md, as build/pairs timed them
  attention STAGE [SHAPE ...]    a stage of attention beside cuDNN, or beside a copy; SHAPE is what
                             its report's name ends with
  rows STAGE                 a stage of operations on rows beside a copy
  packed STAGE               a stage of products by numbers of four bits, beside cuBLAS and a copy
  contenders FILE ...        what build/groups or build/feed_forward timed, by workload
  triton twins|compiled|ragged|tried|refused|versions   the kernels in Triton: speed and lines, and
                             what the compiler made of them
  tritonrows times|compiled|versions   the same of those that work on rows, beside 23 and PyTorch
  library shapes|slow|contiguous|host    the library beside cuBLAS, as build/library timed them
  jit calls|shapes           kernels made to order: what calls take, and how good tuning is
  operator products|rows|fused|layers|bmm|to_float|int4|fp8|decoding|training|host|versions
                             times of python/, beside torch's own
  diagnosis tree             the questions of ./ladder diagnose; thresholds: a table of its limits

A value in the prose stands between `<!--= EXPRESSION | FORMAT -->` and `<!--/-->`: an expression as
claims have it, of the first GPU, and a format of Python's, such as .1f. It does not begin a line,
which would be HTML then. In a table, where a bar ends a cell, it is written as \\|.

Stages, their order and their parents are those of stages/manifest.json; results and counters come
from docs/results, of the first of ladder.project.GPUS, beside which the others have columns;
predictions from build/stages/cpu. A block that cannot be written, because a result is missing or a
claim does not hold, stays as it is, and why is said in a line. --check looks at the plots, too
(./ladder figures). Exit code: 0 all right, 1 a file is not up to date, 2 a block could not be
written, or bad input.
"""

import argparse
import re
import shlex
import sys
import tempfile
from pathlib import Path

from ladder import diagnose, reading
from ladder.docs import (
    claimed,
    counters,
    modelled,
    operator,
    pictures,
    products,
    proofs,
    results,
    road,
    source,
    sources,
    triton_rows,
    twins,
)
from ladder.docs.text import from_page
from ladder.exercises import catalogue, learner
from ladder.files import read_text
from ladder.project import BadInput

BLOCK = re.compile(r"<!-- (?P<kind>[a-z]+)(?P<arguments>[^\n]*?) -->\n.*?<!-- end -->", re.DOTALL)
VALUE = re.compile(
    r"(?P<begin><!--= (?P<expression>[^\n|\\]+) \\?\| (?P<format>\S+) -->)[^<\n]*<!--/-->"
)
MISPLACED_VALUE = re.compile(
    r"^(?:[\s>*+-]*|\d+\. +)<!--=|^\|.*<!--=[^|\n]*[^|\n\\]\|", re.MULTILINE
)
FOOTNOTE = re.compile(r"\[\^([^\]]+)\]:")
KINDS = {
    "stages": results.stages,
    "milestones": results.milestones,
    "summary": results.summary,
    "times": reading.times,
    "part": road.part,
    "onward": road.onward,
    "proofs": proofs.proofs,
    "steps": results.step_table,
    "results": results.results,
    "shapes": results.shapes,
    "counters": counters.counter_table,
    "predict": counters.predict,
    "code": source.code,
    "model": modelled.model,
    "claims": claimed.claim_list,
    "access": pictures.access,
    "figure": pictures.figure,
    "machine": results.machine,
    "around": results.around,
    "pairs": results.pairs,
    "attention": results.attention,
    "rows": results.rows,
    "packed": results.packed,
    "contenders": results.contenders,
    "references": counters.references,
    "diagnosis": diagnose.block,
    "exercises": catalogue.table,
    "grader": learner.printed,
    "triton": twins.block,
    "tritonrows": triton_rows.block,
    "library": products.library,
    "jit": products.jit,
    "operator": operator.block,
}


def updated(text: str, path: Path, problems: list[str]) -> str:
    """The page with its blocks written. Where one cannot be, it stays, and `problems` says why."""

    footnotes: set[str] = set()

    def once(body: str) -> str:
        """Without the footnotes that a block before it on the page has."""
        lines = []
        for line in body.splitlines():
            footnote = FOOTNOTE.match(line)
            if not footnote or footnote[1] not in footnotes:
                lines.append(line)
            if footnote:
                footnotes.add(footnote[1])
        return "\n".join(lines).rstrip()

    def is_folded(place: int) -> bool:
        return text.count("<details", 0, place) > text.count("</details>", 0, place)

    def block(match: re.Match) -> str:
        kind = match["kind"]
        try:
            try:
                arguments = shlex.split(match["arguments"])
            except ValueError as error:
                raise BadInput(f"{kind}{match['arguments']}: {error}") from error
            if kind not in KINDS:
                raise BadInput(f"no kind '{kind}'; there are: {', '.join(KINDS)}")
            try:
                more = {"folded": True} if kind == "claims" and is_folded(match.start()) else {}
                body = KINDS[kind](*arguments, **more)
            except (TypeError, OSError) as error:  # as of a name that is too long for a file
                raise BadInput(f"{kind} {match['arguments'].strip()}: {error}") from error
        except BadInput as error:
            problems.extend(f"{path}: {line}" for line in error.args)
            return match[0]
        return f"<!-- {kind}{match['arguments']} -->\n{from_page(once(body), path)}\n<!-- end -->"

    def value(match: re.Match) -> str:
        try:
            now = claimed.value(match["expression"].strip(), match["format"])
        except BadInput as error:
            problems.extend(f"{path}: {line}" for line in error.args)
            return match[0]
        return f"{match['begin']}{now}<!--/-->"

    if text.count("<!-- end -->") != len(BLOCK.findall(text)):
        raise BadInput(f"{path}: a generated block does not begin or does not end")
    if not text.count("<!--=") == text.count("<!--/-->") == len(VALUE.findall(text)):
        raise BadInput(f"{path}: a value is not <!--= EXPRESSION | FORMAT -->...<!--/-->")
    if MISPLACED_VALUE.search(text):
        raise BadInput(f"{path}: a value begins a line, or its bar ends a cell of a table")
    return VALUE.sub(value, BLOCK.sub(block, text))


def stale_plots() -> list[Path]:
    """Plots that are others than the results would give."""
    from ladder import plots  # as in pictures

    with tempfile.TemporaryDirectory() as folder:
        plots.draw_all(sources.GPUS[sources.reference()], Path(folder))
        drawn = {
            sources.ROOT / "docs/figures" / p.name: read_text(p) for p in Path(folder).iterdir()
        }
    return [p for p, text in sorted(drawn.items()) if not p.exists() or read_text(p) != text]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    problems: list[str] = []
    stale: list[Path] = []
    try:
        pages = [*sources.ROOT.glob("README*.md"), *sorted((sources.ROOT / "docs").rglob("*.md"))]
        wanted = {
            path: updated(read_text(path), path.relative_to(sources.ROOT), problems)
            for path in pages
        }
    except BadInput as error:
        print(f"ladder docs: {error}", file=sys.stderr)
        return 2
    wanted |= pictures.drawn
    stale += [p for p, text in wanted.items() if not p.exists() or read_text(p) != text]
    # A block that was not written may be what has a figure.
    unused = sorted(set((sources.ROOT / "docs/figures").glob("access_*.svg")) - set(pictures.drawn))
    if problems:
        unused = []
    if options.check:
        try:
            stale += stale_plots()
        except BadInput as error:
            problems += [f"plots: {line}" for line in error.args]
    for line in problems:
        print(f"ladder docs: {line}", file=sys.stderr)
    if options.check:
        for path in [*stale, *unused]:
            print(
                f"ladder docs: {path.relative_to(sources.ROOT)} is not up to date",
                file=sys.stderr,
            )
    else:
        for path in stale:
            path.write_text(wanted[path])
        for path in unused:
            path.unlink()
    if problems:
        return 2
    return 1 if options.check and (stale or unused) else 0
