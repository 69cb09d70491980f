"""Tables of what ncu counted, and of what the CPU device predicts."""

from ladder import counters as ncu
from ladder import manifest, steps
from ladder.docs import sources
from ladder.docs.text import number, table
from ladder.project import BadInput

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


def counter_table(*wanted: str) -> str:
    columns, missing = [], []
    for name in wanted:
        stage, _, variant = name.partition("/")
        of_stage = sources.counters().get(stage)
        if not of_stage or (variant and variant not in of_stage):
            missing.append(f"no counters of {name}")
            continue
        why = steps.other_variants(stage, of_stage, sources.ROOT)
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
        values = [sources.counters()[s][v][counter] / scale for s, v in columns]
        if any(value >= 0.0005 for value in values):
            rows.append([f"{words}, {unit}", *(number(value) for value in values)])
    stalls = []
    for s, v in columns:
        waits = sorted(
            ((x, reason) for reason, x in ncu.stalls(sources.counters()[s][v]).items()),
            reverse=True,
        )
        stalls.append(", ".join(f"{n} {x:.1f}" for x, n in waits[:STALLS_SHOWN] if x >= 0.05))
    rows.append(["warps waiting, by issued instruction", *stalls])
    return table(["ncu, 4096^3", *head], rows)


def in_kernels(file: str) -> str:
    """A file of kernels/, parts/ and the like among it, wherever the project was built."""
    return file.rpartition("/kernels/")[2]


def predict(stage: str, variant: str) -> str:
    if variant not in sources.predicted(stage):
        raise BadInput(f"{stage} has no variant {variant}")
    rows = []
    for line in sources.predicted(stage)[variant]["memory"]:
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
