"""Tables of what ncu counted, and of what the CPU device predicts."""

from ladder import counters as ncu
from ladder import manifest, steps, written
from ladder.docs import sources
from ladder.docs.text import number, table
from ladder.evaluation import Untold
from ladder.measuring import SHAPE
from ladder.project import BadInput
from ladder.results import REFERENCES

# A counter by its short name, in the order of the tables, and in words.
NAMES = {"time": ncu.TIME, **ncu.LIMITS, **ncu.PREDICTED}
WORDS = {
    "time": "time",
    "instructions": "instructions",
    "issue": "issue slots used",
    "fma_pipe": "FMA pipe",
    "tensor_pipe": "tensor pipe",
    "shared_pipe": "data stage (shared-memory pipe)",
    "warps_active": "warps active",
    "sectors_ld": "global load sectors",
    "requests_ld": "global load requests",
    "wavefronts_ld": "shared load wavefronts",
    "bank_conflicts_ld": "shared load bank conflicts",
    "bank_conflicts_st": "shared store bank conflicts",
    "sm_sectors": "received from L2",
    "l2_sectors": "read from L2",
    "dram_bytes": "read from device memory",
    "clock": "clock",
    "possible_share": "FLOPs, of those possible at this clock",
}
# Rows that are shown where a page asks for them.
ASKED_FOR = {
    "requests_st": "global store requests",
    "sectors_st": "global store sectors",
    "wavefronts_st": "shared store wavefronts",
    "tensor_pipe_elapsed": "tensor pipe, of all clocks",
    "lrc_sectors": "asked of L2",
    "merged_hardware": "merged by chance",
    "merged_multicast": "merged by multicast",
}
UNITS = {"time": (1e6, "ms"), "possible_share": (1, "%")}
SECTORS = {"sm_sectors", "l2_sectors", "l2_written", "lrc_sectors"}
SECTORS |= {"merged_hardware", "merged_multicast"}
# The operations of the CPU device's lines that have lanes.
OF_LANES = {"load", "store", "remote load", "remote store", "copy"}
STALLS = "stalls"
STALLS_SHOWN = 4
# Between the columns of a table: what is closer is no difference that a page speaks of.
MOVES = 0.03
# At other shapes those are counted of which a page speaks.
EVERY_VARIANT_AT = "4096"


def scale(name: str) -> tuple[float, str]:
    """What a counter is divided by, and the unit then."""
    counter = NAMES.get(name, "")
    if name in UNITS:
        return UNITS[name]
    if name in SECTORS:
        return 1e9 / 32, "GB"
    if "bytes" in counter:
        return 1e9, "GB"
    if ".pct" in counter:
        return 1, "%"
    if counter.endswith(".per_second"):
        return 1e9, "GHz"
    return (1e6, "M") if counter.endswith((".sum", ".avg", ".max")) else (1, "")


def columns_of(wanted: list[str], at: str) -> list[tuple[str, str]]:
    """Stage and variant of each column; of a stage alone, all its variants."""
    columns, missing = [], []
    for name in wanted:
        stage, _, variant = name.partition("/")
        of_stage = sources.counters(at).get(stage)
        if not of_stage or (variant and variant not in of_stage):
            missing.append(f"no counters of {name} at {at}")
            continue
        why = steps.other_variants(stage, of_stage, sources.ROOT)
        if why and at == EVERY_VARIANT_AT:
            missing.append(f"the counters of {stage} are {why}")
            continue
        columns += [(stage, v) for v in ([variant] if variant else of_stage)]
    if missing:
        raise BadInput(*missing)
    return columns


def counter_row(name: str, values: list[float]) -> list[str]:
    divisor, unit = scale(name)
    words = (WORDS | ASKED_FOR).get(name, name.replace("_", " "))
    return [f"{words}, {unit}" if unit else words, *(number(v / divisor) for v in values)]


def stall_row(counted: list[dict]) -> list[str]:
    cells = []
    for column in counted:
        waits = sorted(((x, reason) for reason, x in ncu.stalls(column).items()), reverse=True)
        shown = [(n, x) for x, n in waits[:STALLS_SHOWN] if x >= 0.05]
        cells.append(", ".join(f"{n} {x:.{2 if x < 1 else 1}f}" for n, x in shown))
    return ["warps waiting, by issued instruction", *cells]


def moves(name: str, counted: list[dict]) -> bool:
    """Whether the columns differ in it; of one column, whether there is any of it."""
    if any(NAMES.get(name) not in column for column in counted):
        return False
    values = [column[NAMES[name]] for column in counted]
    if max(values) / scale(name)[0] < 0.0005:
        return False
    return len(values) == 1 or max(values) - min(values) >= MOVES * max(values)


def chosen_row(
    name: str, counted: list[dict], columns: list[tuple[str, str]], at: str
) -> list[str]:
    """Of a counter, or of anything else that claims name."""
    if name == STALLS:
        return stall_row(counted)
    values = []
    for (stage, variant), column in zip(columns, counted, strict=True):
        if name not in NAMES:
            values.append(claimed_number(name, f"{stage}/{variant}", at))
        elif NAMES[name] in column:
            values.append(column[NAMES[name]])
        else:
            raise BadInput(f"{name} of {stage}/{variant} was not counted")
    return counter_row(name, values)


def claimed_number(name: str, variant: str, at: str) -> float:
    try:
        return sources.measurements(sources.reference()).number(name, variant, at)
    except Untold as error:
        raise BadInput(f"no row '{name}': {error}; and there are time and {STALLS}") from error


def counter_table(*arguments: str) -> str:
    """[SHAPE] STAGE[/VARIANT] ... : ROW, ROW, ...; at 4096 unless a shape is given."""
    names, _, rows_wanted = " ".join(arguments).partition(":")
    wanted = names.split()
    if not wanted:
        raise BadInput("counters wants a stage")
    begins_with_a_shape = SHAPE.fullmatch(wanted[0]) and wanted[0] not in manifest.load()
    at = wanted.pop(0) if begins_with_a_shape else EVERY_VARIANT_AT
    columns = columns_of(wanted, at)
    counted = [sources.counters(at)[stage][variant] for stage, variant in columns]
    if chosen := [row.strip() for row in rows_wanted.split(",") if row.strip()]:
        rows = [chosen_row(name, counted, columns, at) for name in chosen]
    else:
        moving = [name for name in WORDS if moves(name, counted)]
        rows = [counter_row(n, [column[NAMES[n]] for column in counted]) for n in moving]
        rows.append(stall_row(counted))
    several = len({stage for stage, _ in columns}) > 1
    head = [f"{manifest.stage(s).label} `{v}`" if several else f"`{v}`" for s, v in columns]
    shape = f"{at}^3" if at.isdigit() else at
    return table([f"ncu, {shape}", *head], rows)


def in_kernels(file: str) -> str:
    """A file of kernels/, parts/ and the like among it, wherever the project was built."""
    return file.rpartition("/kernels/")[2]


def predict(stage: str, variant: str, *only: str) -> str:
    """`only`: "boxes" for TMA's boxes and wgmma's operands alone."""
    if variant not in sources.predicted(stage):
        raise BadInput(f"{stage} has no variant {variant}")
    if only not in ((), ("boxes",)):
        raise BadInput(f"predict {stage} {variant} {' '.join(only)}: there is 'boxes', or nothing")
    lines = sources.predicted(stage)[variant]["memory"]
    if only:
        lines = [line for line in lines if line["op"] not in OF_LANES]
    rows = []
    for line in lines:
        where = in_kernels(line["file"])
        unit, ideal = (
            ("sectors", "ideal_sectors")
            if line["space"] == "global"
            else ("wavefronts", "ideal_wavefronts")
        )
        cost = line[f"{unit}_per_request"]
        rows.append(
            [
                f"[{where}:{line['line']}](/kernels/{where}#L{line['line']})",
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
        "bytes" if only else "bytes a lane",
        "requests",
        "cost a request",
        "at least",
    ]
    return table(head, rows)


def references() -> str:
    """What is wrong with the exercises' references, and the counters that were not predicted."""
    exercises = written.read(sources.GPUS[sources.reference()], REFERENCES)["exercises"]
    rows, all_of_them = [], 0
    for name, seen in exercises.items():
        for case, counters in seen["counters"].items():
            all_of_them += len(counters)
            rows += [
                [f"[{name}](/exercises/{name}/README.md)", case, counter, *(f"{n:,}" for n in pair)]
                for counter, pair in counters.items()
                if pair[0] != pair[1]
            ]
    right = sum(not seen["wrong"] for seen in exercises.values())
    clean = sum(not any(seen["findings"].values()) for seen in exercises.values())
    text = f"Of {len(exercises)} references {right} are right, and in {clean} compute-sanitizer "
    text += f"finds nothing. Of {all_of_them:,} counters {all_of_them - len(rows):,} are equal."
    head = ["exercise", "launched", "counter", "predicted", "counted"]
    return f"{text} The others:\n\n{table(head, rows)}" if rows else text
