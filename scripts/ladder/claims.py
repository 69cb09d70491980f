"""Checks what the documentation claims of the kernels against what was measured.

ladder claims                    every claim of docs/claims.yaml, with its numbers on each GPU
ladder claims --results DIR      with the measurements in DIR instead of the committed ones
ladder claims --cpu-stages DIR   claims on counters at 128 once more, with those that the CPU device
                             predicts now (DIR: build/stages/cpu)
ladder claims --lint             what is wrong with a claim itself, whatever was measured
ladder claims --unused           the claims that no page cites
ladder claims --stages           the claims by stage, as a table

A claim is a sentence and an expression over named variants that has to hold:

  - id: transposed-slower
    claim: Storing B transposed without padding makes it five to six times slower.
    holds: 5 < time(03_transposed_b/conflicted) / time(03_transposed_b/padded) < 6

It may have, too:
  on, why_not_elsewhere   the GPUs that it is about ([h200]), and why it is not about all of them
  wide                    why a bound may be far from what was measured, or be missing
  given                   numbers of the sentence that are no results, as a tile's size
  not_predicted           why the CPU device's counters are known to be others than ncu's

Results, at 4096 or the shape given (tflops(05_cp_async/cp_async, 8192); 8192_TN, 8192_bf16: in
another layout or type): time (ms), tflops,
percent_of_cublas, percent_of_best (of cuBLAS's own and cublasLt's best), percent_of_peak,
sustained_percent_of_cublas, sustained_percent_of_best, registers, shared_bytes, threads,
occupancy.
Counters of ncu, at 128 or, with a second argument, at 4096 or another shape: requests_ld,
sectors_ld, sectors_per_request_ld, wavefronts_ld, bank_conflicts_ld, and the same with _st. At
4096, or the shape given: instructions, copies (cp.async), matrix_loads (ldmatrix), dram_bytes,
l2_sectors (read from L2),
sm_sectors (that the SMs received), issue, fma_pipe, tensor_pipe, shared_pipe, dram, warps_active,
l2_hits (all in %), clock (Hz), threads_per_instruction, ncu_time (s), sm_throughput (the
busiest pipe over all clocks, %: the tensor pipe in tensor kernels), stall_REASON (warps that wait
for it, by issued instruction). Made of them: l1_wavefronts (of L1's data stage, whoever
asked), possible_share (% of the FLOPs that all multiprocessors could do at this clock in this
time: 4096 a clock with fp16 operands, 256 with fp32).
Of ./ladder power, at 8192 with a kind of data (power_watts(09_wgmma/wgmma, zeros)): data_tflops;
with power_, burst_, cublas_power_ or cublas_burst_ before it tflops, watts, clock, cap, thermal;
launch_clock, launch_tensor_pipe.
Of ./ladder peers --sweep: swept (shapes), and faster_in_sweep(STAGE/VARIANT, cublas), those at
which the stage is faster than cuBLAS's choice; with best than the fastest library.
Numbers, + - * /, comparisons, `and`.

A number that is not there is an error. Exit code: 0 all hold, 1 one does not or cannot be told, 2
bad input.
"""

import argparse
import re
import sys
from pathlib import Path

from ladder import claims_lint, manifest
from ladder.counters import AT_128, PREDICTED_SIZE, load_counters
from ladder.evaluation import (
    CLAIMS,
    Measurements,
    is_about,
    is_predicted,
    load_claims,
    stages_of,
    verdict,
)
from ladder.files import read_text
from ladder.measuring import cpu_report
from ladder.project import GPUS, ROOT, BadInput


def check(claims: list[dict], measured: dict[str, Measurements], heading: str) -> int:
    """Prints every claim with its numbers on each GPU. How many do not hold."""
    bad = set()
    for claim in claims:
        print(f"{claim['id']}: {claim['claim']}\n  {claim['holds']}")
        for gpu, its in measured.items():
            if not is_about(claim, gpu):
                print(f"  {gpu}: not claimed: {claim['why_not_elsewhere']}")
                continue
            said, numbers = verdict(claim, its)
            print(f"  {gpu}: {said}")
            for name, number in numbers.items():
                print(f"    {name} = {number:.6g}")
            if said != "holds":
                bad.add(claim["id"])
    print(f"== {heading}: {len(claims) - len(bad)} of {len(claims)} claims hold")
    return len(bad)


def measured_counters(results: Path) -> list[dict]:
    """ncu's, wherever it counted; where that was not at 128, there those of the pages' GPU."""
    found = load_counters(results)
    if AT_128 not in found:
        found[AT_128] = load_counters(next(iter(GPUS.values())))[AT_128]
    return [*found.values()]


def predicted_counters(stages: Path, wanted: set[str]) -> dict:
    """As ladder counters writes them, from the CPU device."""
    counters = {}
    for name in sorted(wanted):
        variants = cpu_report(stages, name)
        counters[name] = {variant: report["totals"] for variant, report in variants.items()}
    return {"size": PREDICTED_SIZE, "counters": counters}


def adopted() -> dict[str, Measurements]:
    """What is committed, by GPU."""
    return {gpu: Measurements(path, [*load_counters(path).values()]) for gpu, path in GPUS.items()}


def cited(root: Path) -> set[str]:
    """The claims that pages show."""
    pages = "".join(read_text(path) for path in sorted((root / "docs").rglob("*.md")))
    blocks = re.findall(r"<!-- claims ([^>]*) -->", pages)
    return {name for block in blocks for name in block.split()}


def by_stage(claims: list[dict]) -> str:
    """A table: each stage with the claims whose last stage it is, which is where they are told."""
    told: dict[str, list[str]] = {stage: [] for stage in manifest.load()}
    for claim in claims:
        last = max(stages_of(claim), key=manifest.place, default=None)
        if last not in told:
            raise BadInput(f"'{claim['id']}' is about no stage")
        told[last].append(f"`{claim['id']}`")
    rows = [f"| {stage} | {' '.join(ids)} |" for stage, ids in told.items()]
    return "\n".join(["| stage | claims |", "| --- | --- |", *rows])


def print_lines(lines: list[str], heading: str) -> int:
    """Findings, and how many they are."""
    print("\n".join([*lines, f"== {heading}: {len(lines)}"]))
    return len(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--claims", type=Path, default=CLAIMS)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--cpu-stages", type=Path)
    parser.add_argument("--lint", action="store_true")
    parser.add_argument("--unused", action="store_true")
    parser.add_argument("--stages", action="store_true")
    options = parser.parse_args(arguments)
    try:
        claims = load_claims(options.claims)
        if options.stages:
            print(by_stage(claims))
            return 0
        if options.unused:
            known = cited(ROOT)
            unused = [claim["id"] for claim in claims if claim["id"] not in known]
            return 1 if print_lines(unused, "cited by no page") else 0
        measured = adopted()
        if options.results:
            counters = measured_counters(options.results)
            measured = {options.results.name: Measurements(options.results, counters)}
        if options.lint:
            return 1 if print_lines(claims_lint.findings(claims, measured), "findings") else 0
        bad = check(claims, measured, "as measured")
        if options.cpu_stages:
            predictable = [claim for claim in claims if is_predicted(claim)]
            stages = {stage for claim in predictable for stage in stages_of(claim)}
            counters = predicted_counters(options.cpu_stages, stages)
            # Sectors and wavefronts are the same on every GPU: the first one's results will do.
            results = options.results or next(iter(GPUS.values()))
            cpu = {"cpu device": Measurements(results, [counters])}
            bad += check(predictable, cpu, "as predicted")
    except BadInput as error:
        print(f"ladder claims: {error}", file=sys.stderr)
        return 2
    return 1 if bad else 0
