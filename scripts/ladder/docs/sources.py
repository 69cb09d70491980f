"""What the blocks are made of: reports, counters, claims, and what the CPU device predicts."""

import json
from functools import cache

from ladder import claims, steps
from ladder import counters as ncu
from ladder.project import CPU_STAGES, RESULTS, ROOT, BadInput
from ladder.results import load, shape
from ladder.sweep import ALL_VARIANTS_AT


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
