"""Predicts the time of every variant from what the CPU device and the SASS say of it and from the
rates of the machine, and compares it with the measurements.

ladder model                      the table of errors
ladder model --gpu NAME           the same on another GPU of docs/results
ladder model --read-requests      writes docs/results/requests.jsonl, from build/stages/cpu
ladder model --read-sass          writes docs/results/sass.jsonl, from build/stages (with a toolkit)

No counter and no time of a variant goes into its own prediction, except of the calibrations that
stages/model.yaml names. docs/model.md explains the rules. Exit code: 0 all right, 2 bad input.
"""

import argparse
import math
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ladder import access_figure, manifest, reports, sass
from ladder.counters import LIMITS, PREDICTED, TIME, at_4096
from ladder.files import (
    Closed,
    a_name,
    as_lines,
    at_least_1,
    one_line,
    parts,
    positive,
    read_json,
    read_lines,
    read_yaml,
)
from ladder.project import CPU_STAGES, GPUS, RESULTS, ROOT, STAGES, BadInput
from ladder.results import DEVICE, VARIANT, read_report

REQUESTS = ROOT / "docs/results/requests.jsonl"
SASS = ROOT / "docs/results/sass.jsonl"
FIRST = ROOT / "docs/results/predicted_first.jsonl"
WHY = ROOT / "docs/model.yaml"
SIZES = (4096, 8192)
PAGE_SIZE = 4096
# The CPU device runs these two: 256 is a multiple of every tile. All counts are linear in K.
MEASURED_MN, MEASURED_K = 256, (256, 512)
LINE, SECTOR = 128, 32  # bytes
GOAL_OWN, GOAL_COUNTEREXAMPLE = 0.10, 0.20
WHY_FROM = 0.03  # differences from here on need a sentence
NOT_KNOWN = "not known"
PAGES_GPU = next(iter(GPUS))  # the one that the pages speak of


@dataclass(frozen=True)
class Constant:
    value: float
    unit: str
    source: str


def of_device(name: str, gpu: str) -> float:
    """What differs from GPU to GPU of one architecture, as the harness reports it."""
    first = next(iter(manifest.load()))
    device = reports.read(GPUS[gpu], f"{first}_4096", {"device": DEVICE})["device"]
    return {"multiprocessors": device["multiprocessors"], "clock": device["clock_mhz"] * 1e6}[name]


# The constant was chosen by looking at variants, whose predictions are none (stages/model.yaml).
CALIBRATED = "calibrated on"
TENSOR_RATE = "measured: `build/tensor_rate`"
MACHINE = {
    "multiprocessors": Constant(of_device("multiprocessors", PAGES_GPU), "", "the device's report"),
    "schedulers": Constant(4, "a multiprocessor", "CUDA C++ Programming Guide"),
    "clock": Constant(of_device("clock", PAGES_GPU), "1/s, fp32", "the device's report"),
    "dispatch": Constant(
        61.6 / 66.9,
        "instructions a clock and scheduler",
        "microbenchmark: FFMAs on registers alone, 61.6 of 66.9 TFLOP/s",
    ),
    "bank_queue": Constant(
        sass.BANK_QUEUE,
        "reads that a register bank may have waiting",
        CALIBRATED,
    ),
    "data_stage": Constant(1, "wavefronts a clock and multiprocessor", "ncu: its peak"),
    "global_request": Constant(0.29, "clocks more a request", CALIBRATED),
    "load_latency": Constant(520, "clocks, from a load to its use", CALIBRATED),
    "l2_bandwidth": Constant(
        64, "bytes a clock and multiprocessor", "assumed: two sectors; 45 bytes have been seen"
    ),
    "mma": Constant(
        6.0,
        "clocks of a scheduler for an m16n8k16",
        TENSOR_RATE,
    ),
    "wgmma": Constant(128, "clocks for an m64n256k16", TENSOR_RATE),
    "tensor_clock": Constant(1.83e9, "1/s, fp16", "datasheet: 989.4 TFLOP/s are 4096 a clock"),
    "power": Constant(
        0.32e9,
        "1/s less at the full rate of the tensor cores",
        CALIBRATED,
    ),
}
TENSOR_FLOPS = 4096  # a clock and multiprocessor, dense fp16, by the datasheet


def rate(name: str, gpu: str = PAGES_GPU) -> float:
    if gpu != PAGES_GPU and name in ("multiprocessors", "clock"):
        return of_device(name, gpu)
    return MACHINE[name].value


@dataclass(frozen=True)
class Shape:
    """What the model has to know of a variant and cannot read from a file; stages/model.yaml says
    what each field means."""

    tile: tuple[int, int, int]
    kernel: str
    multiply: str = "ffma"
    warps: int = 8
    loads: str = "ahead"
    waits: int = 1
    together: bool = True
    fragments_waited: bool = False
    asked_late: float | None = None
    merged: frozenset[str] = frozenset()
    stays: bool = False
    stores_ahead: bool = False
    divides: bool = False
    counts_as: str | None = None
    calibrates: str | None = None


SHAPE = Closed(
    {
        "tile": [at_least_1, at_least_1, at_least_1],
        "kernel": one_line,
        "multiply?": ("ffma", "mma", "wgmma"),
        "warps?": at_least_1,
        "loads?": ("ahead", "waited", "direct"),
        "waits?": at_least_1,
        "together?": bool,
        "fragments_waited?": bool,
        "asked_late?": float,
        "merged?": [a_name],
        "stays?": bool,
        "stores_ahead?": bool,
        "divides?": bool,
        "counts_as?": one_line,
        "calibrates?": a_name,
    }
)


def read_shapes(path: Path) -> tuple[dict[str, Shape], dict[str, str]]:
    """And the stages that are not predicted, with the reasons."""
    entries = read_yaml(path, {"not_predicted": {str: one_line}, str: SHAPE})
    not_predicted = entries.pop("not_predicted")
    if bad := [name for name in entries if not re.fullmatch(r"\w+/\w+", name)]:
        raise BadInput(f"{path}: '{bad[0]}' is no STAGE/VARIANT")
    shapes = {
        variant: Shape(**entry | {"merged": frozenset(entry.get("merged", ()))})
        for variant, entry in entries.items()
    }
    return shapes, not_predicted


SHAPES, NOT_PREDICTED = read_shapes(ROOT / "stages/model.yaml")


def shape_of(variant: str) -> Shape:
    if variant not in SHAPES:
        raise BadInput(f"the model has no variant '{variant}'; there are: {' '.join(SHAPES)}")
    return SHAPES[variant]


# --- Requests: what a warp asks of L1TEX.


def lines_touched(line: dict) -> int:
    """The 128-byte lines of global memory that a request's lanes touch."""
    used = [offset for offset in line["sample"] if offset >= 0]
    return len({byte // LINE for o in used for byte in (o, o + line["bytes"] - 1)})


def kept(line: dict) -> dict:
    """What the model needs of a source line of the CPU device's report."""
    entry = {name: line[name] for name in ("line", "space", "op", "array", "bytes", "requests")}
    if line["space"] == "global":
        return entry | {"sectors": line["sectors_per_request"], "lines": lines_touched(line)}
    entry["wavefronts"] = line["wavefronts_per_request"]
    if line["bytes"] == 4:  # if ptxas makes one instruction of four loads of neighbours
        four = {"bytes": 16, "sample": [o // 16 * 16 for o in line["sample"]]}
        entry["wavefronts_of_four"] = len(access_figure.wavefronts(four))
    return entry


def wavefronts_of(line: dict, merged: bool, asynchronous: bool) -> float:
    """Of one request, in the data stage. The rules of docs/concepts/wavefronts.md."""
    if line["space"] == "shared":
        return line["wavefronts_of_four"] / 4 if merged else line["wavefronts"]
    if asynchronous:  # 16 bytes pass L1 by; 4 bytes are looked up there and then stored
        return 1 if line["bytes"] == 16 else line["lines"] + 1
    return line["lines"]


@dataclass(frozen=True)
class Counts:
    """What a problem, a block or a step asks of L1TEX."""

    shared_loads: float = 0  # wavefronts
    shared_stores: float = 0  # wavefronts
    global_wavefronts: float = 0
    global_requests: float = 0
    load_sectors: float = 0

    @property
    def wavefronts(self) -> float:
        return self.shared_loads + self.shared_stores + self.global_wavefronts

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(self.all(), other.all(), strict=True)))

    def __mul__(self, factor: float) -> "Counts":
        return Counts(*(a * factor for a in self.all()))

    def all(self) -> tuple[float, ...]:
        return (
            self.shared_loads,
            self.shared_stores,
            self.global_wavefronts,
            self.global_requests,
            self.load_sectors,
        )


def counts_of(memory: list[dict], merged: frozenset[str]) -> Counts:
    """Of a run of the CPU device. A copy (cp.async) has a line for global memory and one for the
    shared memory that it writes; the data stage sees the first alone."""
    copies = {line["line"] for line in memory if line["op"] == "copy"}
    total = Counts()
    for line in memory:
        if line["op"] == "copy":
            continue
        n = line["requests"]
        merges = line["op"] == "load" and line["array"] in merged
        w = n * wavefronts_of(line, merges, line["line"] in copies)
        if line["space"] == "shared":
            load = line["op"] == "load"
            total += Counts(shared_loads=w) if load else Counts(shared_stores=w)
        else:
            sectors = n * line["sectors"] if line["op"] == "load" else 0
            total += Counts(global_wavefronts=w, global_requests=n, load_sectors=sectors)
    return total


def for_each_step_and_tile(variant: str, runs: dict[str, list[dict]]) -> tuple[Counts, Counts]:
    """From two lengths of K: what a step along K costs a block, and what a tile costs beside."""
    shape = shape_of(variant)
    bm, bn, bk = shape.tile
    tiles = MEASURED_MN**2 / (bm * bn)
    short, long = (counts_of(runs[str(k)], shape.merged) * (1 / tiles) for k in MEASURED_K)
    steps = (MEASURED_K[1] - MEASURED_K[0]) / bk
    step = (long + short * -1) * (1 / steps)
    return step, short + step * (-MEASURED_K[0] / bk)


def by_formula(shape: Shape) -> tuple[Counts, Counts]:
    """Of stages with TMA, which writes and reads shared memory past the data stage. What is counted
    is what ldmatrix or wgmma reads, and the epilogue."""
    bm, bn, bk = shape.tile
    if shape.multiply == "mma":
        # A warp reads 64 rows of A and 64 columns of B for its 64x64.
        reads = shape.warps * (64 + 64) * bk * 2 / LINE
    else:
        # An m64n256k16 reads 64x16 of A and 16x256 of B, 2 + 8 KB: 80 wavefronts.
        reads = bm / 64 * (64 + bn) * bk * 2 / LINE
    c = bm * bn * 2 / LINE  # of a tile of C: written to shared memory, read from there, stored
    if shape.stores_ahead:  # TMA reads and stores it
        return Counts(shared_loads=reads), Counts(shared_stores=c)
    requests = c / 4  # of 512 bytes
    return Counts(shared_loads=reads), Counts(c, c, c, requests)


REQUEST = {
    "line": int,
    "op": one_line,
    "array": one_line,
    "bytes": at_least_1,
    "requests": at_least_1,
}
OF_GLOBAL = {"space": "global", "sectors": float, "lines": int}
OF_SHARED = {"space": "shared", "wavefronts": float, "wavefronts_of_four?": int}


@cache
def requests(path: Path) -> dict:
    lines = [(REQUEST | OF_GLOBAL, REQUEST | OF_SHARED)]
    return read_lines(path, {"variants": {str: {str(k): lines for k in MEASURED_K}}})["variants"]


def step_and_tile(variant: str) -> tuple[Counts, Counts]:
    shape = shape_of(variant)
    source = shape.counts_as or variant
    runs = requests(REQUESTS)
    if source in runs:
        return for_each_step_and_tile(source, runs[source])
    return by_formula(shape)


# --- Instructions: the main loop in SASS.


@cache
def loops(path: Path) -> dict:
    loop = {"instructions": at_least_1, "multiplications": at_least_1, "dispatch": at_least_1}
    return read_lines(path, {"loops": {str: loop}})["loops"]


def multiplications(shape: Shape) -> float:
    """FFMA, HMMA or HGMMA instructions that a warp executes in a step."""
    bm, bn, bk = shape.tile
    products = bm * bn * bk / shape.warps
    return products / {"ffma": 32, "mma": 16 * 8 * 16, "wgmma": 64 * 256 * 16 / 4}[shape.multiply]


def loop_passes(variant: str) -> tuple[dict, float]:
    """The main loop, and how often a warp goes through it in a step."""
    if variant not in loops(SASS):
        raise BadInput(f"{SASS.name} has no '{variant}': ./ladder model --read-sass writes it")
    loop = loops(SASS)[variant]
    return loop, multiplications(shape_of(variant)) / loop["multiplications"]


# --- Time.


def blocks_that_fit(registers: int, shared_bytes: int, threads: int) -> int:
    """On a multiprocessor: 64 K registers, given out to warps by 256; 228 KB of shared memory, of
    which each block takes 1 KB more than it asks for; 64 warps."""
    warps = threads // 32
    registers_of_warp = -(-registers * 32 // 256) * 256
    return min(
        64 * 1024 // registers_of_warp // warps, 228 * 1024 // (shared_bytes + 1024), 64 // warps
    )


def shared_queue(blocks: int, busy: float, alone: float) -> float:
    """The clocks in which each of so many blocks does one step, where a step needs the busiest pipe
    for `busy` clocks and takes `alone` clocks when no other block is there. Blocks queue for the
    pipe: mean value analysis of a closed queue with one server."""
    elsewhere, waiting = alone - busy, 0.0
    for n in range(1, blocks + 1):
        answer = busy * (1 + waiting)
        waiting = n * answer / (answer + elsewhere)
    return answer + elsewhere


@dataclass(frozen=True)
class Work:
    """Of a block in a step, in clocks of a multiprocessor: what each pipe takes, and what comes on
    top when the block is alone."""

    pipes: dict[str, float]
    exposed: dict[str, float]

    @property
    def busiest(self) -> str:
        return max(self.pipes, key=self.pipes.__getitem__)

    @property
    def busy(self) -> float:
        return self.pipes[self.busiest]

    @property
    def alone(self) -> float:
        return self.busy + sum(self.exposed.values())


PIPES = ("dispatch", "data stage", "tensor cores", "L2")


def tensor_clocks(shape: Shape) -> float:
    bm, bn, bk = shape.tile
    if shape.multiply == "mma":
        return bm * bn * bk / (16 * 8 * 16) * rate("mma") / rate("schedulers")
    if shape.multiply == "wgmma":
        return bm * bn * bk / (64 * 256 * 16) * rate("wgmma")
    return 0.0


def tile_bytes(shape: Shape) -> float:
    bm, bn, bk = shape.tile
    return (bm + bn) * bk * (4 if shape.multiply == "ffma" else 2)


def work(variant: str) -> Work:
    shape = shape_of(variant)
    step, _ = step_and_tile(variant)
    loop, passes = loop_passes(variant)
    dispatch = loop["dispatch"] * passes * shape.warps / rate("schedulers") / rate("dispatch")
    data = step.wavefronts / rate("data_stage") + step.global_requests * rate("global_request")
    tensor = tensor_clocks(shape)
    transfer = tile_bytes(shape) / rate("l2_bandwidth") if shape.loads != "direct" else 0.0
    pipes = dict(zip(PIPES, (dispatch, data, tensor, transfer), strict=True))

    k_steps = shape.tile[2] / (1 if shape.multiply == "ffma" else 16)
    exposed = {}
    if shape.loads == "waited":
        exposed["load"] = shape.waits * rate("load_latency") + transfer
    # While reads and multiplications take turns, the shorter one is waited for: in every k step, or
    # in the first one after all warps have met.
    in_turn = min(step.shared_loads, max(dispatch, tensor))
    if shape.fragments_waited:
        exposed["fragments"] = in_turn
    elif shape.together:
        exposed["together"] = in_turn / k_steps
    if shape.asked_late is not None:
        third = transfer / 3
        late = rate("load_latency") + third - shape.asked_late * max(pipes.values())
        exposed["asked late"] = max(0.0, late)
    return Work(pipes, exposed)


@dataclass(frozen=True)
class Prediction:
    variant: str
    size: int
    work: Work
    blocks: int  # on a multiprocessor at a time
    waves: float
    cycles: float
    clock: float
    pipe_cycles: float  # in which the busiest pipe works, on an average multiprocessor

    @property
    def seconds(self) -> float:
        return self.cycles / self.clock

    @property
    def share(self) -> float:
        return self.pipe_cycles / self.cycles


def between_tiles(shape: Shape, tile: Counts, blocks: int) -> float:
    """What a wave costs beside its steps: the first load, which nothing hides in the only block of
    a multiprocessor, and the epilogue."""
    epilogue = blocks * tile.wavefronts / rate("data_stage")
    if shape.stores_ahead or shape.loads == "direct":
        return epilogue
    bm, bn, _ = shape.tile
    written = blocks * bm * bn * (4 if shape.multiply == "ffma" else 2) / rate("l2_bandwidth")
    first = 0.0
    if shape.loads == "ahead" and not shape.stays:
        first = rate("load_latency") + tile_bytes(shape) / rate("l2_bandwidth")
    return first + epilogue + written


def wave_cycles(variant: str, blocks: int, steps: float) -> float:
    w, (_, tile) = work(variant), step_and_tile(variant)
    return steps * shared_queue(blocks, w.busy, w.alone) + between_tiles(
        shape_of(variant), tile, blocks
    )


def clock_of(shape: Shape, size: int, cycles: float, gpu: str) -> float:
    """Tensor cores lower the clock with what they do a clock."""
    if shape.multiply == "ffma":
        return rate("clock", gpu)
    share = 2 * size**3 / (TENSOR_FLOPS * rate("multiprocessors", gpu) * cycles)
    return rate("tensor_clock") - rate("power") * share


def predict(variant: str, size: int, blocks: int, gpu: str = PAGES_GPU) -> Prediction:
    shape = shape_of(variant)
    bm, bn, bk = shape.tile
    tiles, steps = size**2 // (bm * bn), size / bk
    everywhere = int(rate("multiprocessors", gpu))
    full, rest = divmod(tiles, everywhere * blocks)
    cycles = full * wave_cycles(variant, blocks, steps)
    if shape.divides and 0 < rest <= 0.85 * everywhere:
        cycles += wave_cycles(variant, 1, steps * rest / everywhere)  # divided along K
    elif rest:
        cycles += wave_cycles(variant, -(-rest // everywhere), steps)
    w = work(variant)
    return Prediction(
        variant,
        size,
        w,
        blocks,
        tiles / (everywhere * blocks),
        cycles,
        clock_of(shape, size, cycles, gpu),
        tiles * steps * w.busy / everywhere,
    )


# --- Measurements.


@cache
def report(stage: str, size: int, gpu: str = PAGES_GPU) -> dict | None:
    if not reports.exists(GPUS[gpu], f"{stage}_{size}"):
        return None
    return read_report(GPUS[gpu], stage, size)


def measured(variant: str, size: int, gpu: str = PAGES_GPU) -> dict | None:
    stage, _, name = variant.partition("/")
    found = report(stage, size, gpu)
    return next((v for v in found["variants"] if v["name"] == name), None) if found else None


def resident(variant: str) -> int:
    """Blocks on a multiprocessor, from what the compiler says of the kernel."""
    told = measured(variant, PAGE_SIZE)
    if told is None:
        raise BadInput(f"no result of {variant} at {PAGE_SIZE}, which has its registers")
    return blocks_that_fit(told["registers"], told["shared_bytes"], told["threads"])


def is_own(variant: str) -> bool:
    stage, _, name = variant.partition("/")
    return report(stage, PAGE_SIZE)["variants"][-1]["name"] == name


@dataclass(frozen=True)
class Error:
    variant: str
    size: int
    predicted: float  # seconds
    measured: float

    @property
    def relative(self) -> float:
        return self.predicted / self.measured - 1

    @property
    def goal(self) -> float:
        return GOAL_OWN if is_own(self.variant) else GOAL_COUNTEREXAMPLE

    @property
    def missed(self) -> bool:
        return abs(self.relative) > self.goal

    @property
    def calibrated(self) -> bool:
        """A constant of the model was chosen by looking at the variant."""
        return shape_of(self.variant).calibrates is not None


def errors(gpu: str = PAGES_GPU) -> list[Error]:
    """Of every variant at every size where it was timed."""
    found = []
    for variant in SHAPES:
        for size in SIZES:
            told = measured(variant, size, gpu)
            if told and "time_ms" in told:
                seconds = predict(variant, size, resident(variant), gpu).seconds
                found.append(Error(variant, size, seconds, told["time_ms"]["median"] / 1e3))
    return found


# --- What the pages show.


@cache
def all_counters() -> dict:
    return at_4096(RESULTS)


def counters_of(variant: str) -> dict:
    stage, _, name = variant.partition("/")
    found = all_counters().get(stage, {}).get(name)
    if found is None:
        raise BadInput(f"ncu has not measured {variant}: ./ladder measure does")
    return found


def elapsed(counters: dict) -> float:
    """Clocks that the launch took."""
    return counters[TIME] * 1e-9 * counters[LIMITS["clock"]]


def counted_wavefronts(counters: dict) -> float:
    """Of the data stage, of all multiprocessors."""
    return counters[LIMITS["wavefronts"]]


def share_of_flops(counters: dict, size: int) -> float:
    """What was delivered, of what is possible in the clocks of the launch."""
    return 2 * size**3 / (TENSOR_FLOPS * rate("multiprocessors") * elapsed(counters))


def total(variant: str, size: int) -> Counts:
    shape = shape_of(variant)
    bm, bn, bk = shape.tile
    step, tile = step_and_tile(variant)
    return (step * (size / bk) + tile) * (size**2 / (bm * bn))


def instructions(variant: str, size: int) -> float:
    """Of the main loop alone, by all warps that multiply."""
    shape = shape_of(variant)
    bm, bn, bk = shape.tile
    loop, passes = loop_passes(variant)
    return loop["instructions"] * passes * shape.warps * size**3 / (bm * bn * bk)


@dataclass(frozen=True)
class Row:
    quantity: str
    predicted: float
    measured: float | None
    written: str  # how to write a value

    @property
    def differs(self) -> bool:
        return bool(self.measured) and abs(self.predicted / self.measured - 1) >= WHY_FROM


def busiest(variant: str, p: Prediction, counters: dict) -> Row:
    """Percentages of ncu are of the clocks in which a multiprocessor has a block, but those of the
    data stage, which are of all."""
    active = p.waves / math.ceil(p.waves)
    if p.work.busiest == "dispatch":
        slots = instructions(variant, p.size) / rate("schedulers") / rate("multiprocessors")
        return Row(
            "busiest: issue slots, %",
            100 * slots / p.cycles / active,
            counters[LIMITS["issue"]],
            ".1f",
        )
    if p.work.busiest == "tensor cores":
        return Row(
            "busiest: tensor cores, %",
            100 * p.share / active,
            counters[LIMITS["tensor_pipe"]],
            ".1f",
        )
    wavefronts = total(variant, p.size).wavefronts / rate("multiprocessors")
    return Row(
        "busiest: data stage, %",
        100 * wavefronts / p.cycles,
        counters[LIMITS["shared_pipe"]],
        ".1f",
    )


def sectors(variant: str, size: int, counters: dict) -> Row:
    shape = shape_of(variant)
    bm, bn, bk = shape.tile
    loaded = counters[PREDICTED["sectors_ld"]]
    if loaded:
        return Row(
            "sectors of global loads, M",
            total(variant, size).load_sectors / 1e6,
            loaded / 1e6,
            ",.1f",
        )
    received = tile_bytes(shape) / SECTOR * size**3 / (bm * bn * bk)
    return Row(
        "sectors received from L2, M", received / 1e6, counters[LIMITS["sm_sectors"]] / 1e6, ",.1f"
    )


def rows(variant: str) -> list[Row]:
    """Prediction beside measurement at 4096: counters by ncu, the time beside cuBLAS."""
    shape = shape_of(variant)
    p, counters = predict(variant, PAGE_SIZE, resident(variant)), counters_of(variant)
    wavefronts = total(variant, PAGE_SIZE).wavefronts
    found = [
        busiest(variant, p, counters),
        Row(
            "wavefronts of all accesses, M",
            wavefronts / 1e6,
            counted_wavefronts(counters) / 1e6,
            ",.1f",
        ),
        sectors(variant, PAGE_SIZE, counters),
        Row(
            "instructions, M",
            instructions(variant, PAGE_SIZE) / 1e6,
            counters[LIMITS["instructions"]] / 1e6,
            ",.1f",
        ),
        Row("waves of blocks", p.waves, None, ".2f"),
    ]
    if shape.multiply != "ffma":
        found.append(Row("clock, GHz", p.clock / 1e9, counters[LIMITS["clock"]] / 1e9, ".2f"))
    told = measured(variant, PAGE_SIZE)["time_ms"]["median"]
    return [*found, Row("time, ms", p.seconds * 1e3, told, ".3g")]


def reasons() -> dict[str, dict[str, str]]:
    """By variant, then by the first word of a quantity (docs/model.yaml)."""
    return read_yaml(WHY, {str: {str: str}})


def key(quantity: str) -> str:
    return quantity.split()[0].strip(":,")


def why(variant: str, row: Row) -> str:
    if not row.differs:
        return ""
    return reasons().get(variant, {}).get(key(row.quantity), NOT_KNOWN)


def page_rows(variant: str) -> list[tuple[str, str, str, str]]:
    """Quantity, predicted, measured, why they differ."""
    return [
        (
            row.quantity,
            format(row.predicted, row.written),
            "" if row.measured is None else format(row.measured, row.written),
            why(variant, row),
        )
        for row in rows(variant)
    ]


def constants() -> tuple[list[str], list[list[str]]]:
    """The machine, as a table."""

    def written(value: float) -> str:
        return f"{value / 1e9:.3g} x 10^9" if value >= 1e6 else f"{value:.3g}"

    def source(name: str) -> str:
        by = [f"`{variant}`" for variant, shape in SHAPES.items() if shape.calibrates == name]
        return " ".join([MACHINE[name].source, *by])

    rows = [[name, written(c.value), c.unit, source(name)] for name, c in MACHINE.items()]
    return ["constant", "value", "unit", "source"], rows


def shares() -> tuple[list[str], list[list[str]]]:
    """Of the stages with tensor cores: in how many clocks these were busy, of those with a block
    and of all, and what was delivered, of what is possible at the clock."""
    found = []
    for variant in (v for v in SHAPES if shape_of(v).multiply != "ffma" and is_own(v)):
        counters = counters_of(variant)
        busy = counters[LIMITS["tensor_pipe_elapsed"]]
        delivered = 100 * share_of_flops(counters, PAGE_SIZE)
        found.append(
            [
                f"`{variant}`",
                f"{counters[LIMITS['clock']] / 1e9:.2f}",
                f"{counters[LIMITS['tensor_pipe']]:.1f}",
                f"{busy:.1f}",
                f"{delivered:.1f}",
                f"{delivered / busy:.3f}",
            ]
        )
    head = [
        "variant",
        "clock, GHz",
        "busy, % of the clocks with a block",
        "busy, % of all clocks",
        "delivered, % of the FLOPs possible at this clock",
        "work of a busy clock",
    ]
    return head, found


def wavefront_table() -> tuple[list[str], list[list[str]]]:
    """The law against the counters: for stages, and where the data stage is the busiest pipe."""
    found = []
    for variant in SHAPES:
        if not is_own(variant) and work(variant).busiest != "data stage":
            continue
        counters = counters_of(variant)
        mine, ncus = total(variant, PAGE_SIZE).wavefronts, counted_wavefronts(counters)
        share = 100 * mine / rate("multiprocessors") / elapsed(counters)
        found.append(
            [
                f"`{variant}`",
                f"{mine / 1e6:,.1f}",
                f"{ncus / 1e6:,.1f}",
                f"{100 * (mine / ncus - 1):.1f}",
                f"{share:.1f}",
                f"{counters[LIMITS['shared_pipe']]:.1f}",
            ]
        )
    head = [
        "variant",
        "wavefronts, M",
        "ncu",
        "error, %",
        "in percent of the clocks",
        "ncu",
    ]
    return head, found


def first_table() -> tuple[list[str], list[list[str]]]:
    """Variants whose times were predicted before anyone had measured them, as they were then."""
    found = []
    for variant, predicted in read_lines(FIRST, {"ms": {str: positive}})["ms"].items():
        told = measured(variant, PAGE_SIZE)
        ms = told["time_ms"]["median"] if told and "time_ms" in told else None
        later = (
            ["not yet", ""] if ms is None else [f"{ms:.3f}", f"{100 * (predicted / ms - 1):+.1f}"]
        )
        found.append([f"`{variant}`", f"{predicted:.3f}", *later])
    return ["variant", "predicted, ms", "measured, ms", "error, %"], found


def gpu_table() -> tuple[list[str], list[list[str]]]:
    """The errors, in a line for each GPU with results."""
    found = []
    for gpu in GPUS:
        of_gpu = errors(gpu)
        free = [abs(e.relative) for e in of_gpu if not e.calibrated]
        missed = sum(e.missed for e in of_gpu)
        found.append(
            [gpu.upper(), str(len(free)), f"{100 * sum(free) / len(free):.1f}", str(missed)]
        )
    return ["GPU", "without calibrations", "error on average, %", "goal missed"], found


TABLES = {
    "first": first_table,
    "gpus": gpu_table,
    "constants": constants,
    "shares": shares,
    "wavefronts": wavefront_table,
}


def error_line(error: Error) -> str:
    goal = "calibration" if error.calibrated else "missed" if error.missed else "met"
    return (
        f"{error.variant:42} {error.size}  {error.predicted * 1e3:8.3f} {error.measured * 1e3:8.3f}"
        f" {100 * error.relative:+6.1f}%  {goal}"
    )


def error_lines(found: list[Error]) -> str:
    head = f"{'variant':42} size  {'predicted':>8} {'measured':>8}  error"
    free = [abs(e.relative) for e in found if not e.calibrated]
    missed = sum(e.missed for e in found)
    average = 100 * sum(free) / len(free)
    end = f"{len(free)} without calibrations: {average:.1f}% off on average; missed: {missed}"
    return "\n".join([head, *map(error_line, found), end])


# --- Reading.


def run_on_cpu(stage: str, k: int) -> list[dict]:
    executable = CPU_STAGES / stage
    if not executable.is_file():
        raise BadInput(f"no {executable}: build the stages for the CPU device first")
    size = ["--m", str(MEASURED_MN), "--n", str(MEASURED_MN), "--k", str(k)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        done = subprocess.run(
            [executable, *size, "--no-check", "--json", path], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise BadInput(f"{stage} failed: {(done.stderr or done.stdout).strip()[-200:]}")
        return read_json(path, {"variants": [VARIANT, ...]})["variants"]


def read_requests() -> dict:
    """Of every variant that the model counts by requests, by length of K."""
    variants: dict[str, dict] = {}
    for stage in dict.fromkeys(variant.split("/")[0] for variant in SHAPES):
        if "tma" in manifest.stage(stage).features:
            continue  # by_formula
        for k in MEASURED_K:
            for ran in run_on_cpu(stage, k):
                runs = variants.setdefault(f"{stage}/{ran['name']}", {})
                runs[str(k)] = [kept(line) for line in ran["memory"]]
    return {"m": MEASURED_MN, "n": MEASURED_MN, "variants": variants}


def read_sass() -> dict:
    found, architectures = {}, set()
    for stage in dict.fromkeys(variant.split("/")[0] for variant in SHAPES):
        architecture, kernels = sass.read(STAGES / stage)
        architectures.add(architecture)
        for variant in (v for v in SHAPES if v.split("/")[0] == stage):
            wanted = f"ladder::{SHAPES[variant].kernel}"
            of_variant = [loop for name, loop in kernels.items() if wanted in name]
            if len(of_variant) != 1:
                raise BadInput(f"{stage} has {len(of_variant)} kernels '{wanted}...', not one")
            found[variant] = of_variant[0]
    return {"architecture": " ".join(sorted(architectures)), "loops": found}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--read-requests", action="store_true")
    what.add_argument("--read-sass", action="store_true")
    what.add_argument("--gpu", choices=GPUS, default=PAGES_GPU)
    options = parser.parse_args(arguments)
    try:
        if options.read_requests:
            REQUESTS.write_text(as_lines(parts(read_requests(), "variants")))
        elif options.read_sass:
            SASS.write_text(as_lines(parts(read_sass(), "loops")))
        else:
            print(error_lines(errors(options.gpu)))
    except BadInput as error:
        print(f"ladder model: {error}", file=sys.stderr)
        return 2
    return 0
