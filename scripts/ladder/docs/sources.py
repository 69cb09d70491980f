"""What the blocks are made of: reports, counters, claims, and what the CPU device predicts."""

from functools import cache

from ladder import counters as ncu
from ladder import manifest, steps, written
from ladder.evaluation import Measurements, load_claims
from ladder.files import read_json
from ladder.measuring import ALL_VARIANTS_AT, cpu_report
from ladder.project import CPU_STAGES, GPUS, ROOT, BadInput
from ladder.results import load, shape


def reference() -> str:
    """The GPU that the pages speak of."""
    return next(iter(GPUS))


def others() -> list[str]:
    return [*GPUS][1:]


def label(gpu: str) -> str:
    return gpu.upper()


@cache
def reports(gpu: str) -> dict[tuple[str, str], dict]:
    return {(report["stage"], shape(report)): report for report in load(GPUS[gpu])}


def report(stage: str, size: str, gpu: str | None = None) -> dict:
    """Of the reference unless told otherwise."""
    on = f" on {label(gpu)}" if gpu else ""
    found = reports(gpu or reference()).get((stage, size))
    if found is None:
        raise BadInput(f"no results of {stage} at {size}{on}")
    if size == ALL_VARIANTS_AT:
        why = steps.other_variants(stage, [v["name"] for v in found["variants"]], ROOT)
        if why:
            raise BadInput(f"the results of {stage} at {size}{on} are {why}")
    return found


def lacks(gpu: str, stage: str) -> str | None:
    """What a GPU would have to be to run a stage."""
    needed = manifest.stage(stage).compute_capability
    has = next(iter(reports(gpu).values()))["device"]["sm"]
    return f"needs sm_{needed}" if has < needed else None


@cache
def provenance() -> list[dict]:
    return read_json(GPUS[reference()] / "provenance.json", written.PROVENANCE)


@cache
def counters(at: str = "4096") -> dict[str, dict]:
    name = ncu.COUNTERS if at == "4096" else f"{ncu.COUNTERS}_{at}"
    found = ncu.load_counters(GPUS[reference()])
    if name not in found:
        raise BadInput(f"no {name} in {GPUS[reference()]}")
    return found[name]["counters"]


@cache
def all_claims() -> dict[str, dict]:
    return {claim["id"]: claim for claim in load_claims(ROOT / "docs/claims.yaml")}


@cache
def measurements(gpu: str) -> Measurements:
    return Measurements(GPUS[gpu], [*ncu.load_counters(GPUS[gpu]).values()])


@cache
def predicted(stage: str) -> dict[str, dict]:
    return cpu_report(CPU_STAGES, stage)
