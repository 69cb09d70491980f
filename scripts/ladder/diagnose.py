"""Says what limits a kernel, by ncu's counters, and which stage shows the remedy.

diagnose.py REPORT            of the kernel that ran longest
diagnose.py REPORT KERNEL     of the longest whose name has KERNEL in it

REPORT is a report of ncu (where ncu is there to read it), what ncu writes with --csv (one row a
kernel, as with --page raw, or one row a counter), or a counters.json of docs/results, whose kernels
are called 01_naive/naive. Asks the questions of docs/reading_ncu.md, the first that decides being
the last. Exit code: 0 a diagnosis, 2 bad input.
"""

import argparse
import csv
import io
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ladder import manifest
from ladder.counters import LIMITS, PREDICTED, STALL, TIME
from ladder.project import ROOT, BadInput

# What a warp can wait for that something can be done about. `wait` is the latency that every
# instruction has, and `gmma` a short part of the wait for wgmma.
REASONS = (
    *("barrier", "dispatch_stall", "lg_throttle", "long_scoreboard", "math_pipe_throttle"),
    *("mio_throttle", "short_scoreboard"),
)
WAVES = "launch__waves_per_multiprocessor"  # of the counters the only one that may be missing
NAMES = PREDICTED | LIMITS | {f"stall_{r}": STALL.format(r) for r in (*REASONS, "gmma")}
NEEDED = (
    *("requests_ld", "sectors_ld", "wavefronts_ld", "bank_conflicts_ld", "copies"),
    *("matrix_loads", "sm_sectors", "issue", "fma_pipe", "tensor_pipe", "shared_pipe", "dram"),
    *(f"stall_{reason}" for reason in (*REASONS, "gmma")),
)
UNITS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "s": 1.0}  # of seconds, by their first letter


@dataclass(frozen=True)
class Kernel:
    """One of a report: its counters by ncu's names."""

    name: str
    counters: dict[str, float]

    def __getitem__(self, name: str) -> float:
        return self.counters[NAMES[name]]


@dataclass(frozen=True)
class Threshold:
    limit: float
    source: str


@dataclass(frozen=True)
class Remedy:
    """What was found: two sentences, and the stages that show what to do."""

    means: str
    stages: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """`shown` is what the value is called; the answer is yes where it is at least the threshold's
    limit. Without a value it is no."""

    asks: str
    shown: str
    value: Callable[[Kernel], float | None]
    threshold: Threshold
    yes: "Question | Remedy"
    no: "Question | Remedy"

    def answer(self, kernel: Kernel) -> bool:
        value = self.value(kernel)
        return value is not None and value >= self.threshold.limit


# --- what is asked of a kernel ---


def ratio(above: str, below: str) -> Callable[[Kernel], float]:
    return lambda kernel: kernel[above] / kernel[below] if kernel[below] else 0.0


def counter(name: str) -> Callable[[Kernel], float]:
    return lambda kernel: kernel[name]


def missing_part_of_last_wave(kernel: Kernel) -> float | None:
    """Percent of the time in which a multiprocessor has no block, if all blocks take as long."""
    waves = kernel.counters.get(WAVES)
    return 100 * (1 - waves / math.ceil(waves)) if waves else None


def data_stage_if_busiest(kernel: Kernel) -> float:
    busy = kernel["shared_pipe"]
    return busy if busy > max(kernel["fma_pipe"], kernel["tensor_pipe"]) else 0.0


def sectors_of_plain_loads(kernel: Kernel) -> float:
    """cp.async into padded rows has a few more than its bytes are."""
    return 0.0 if kernel["copies"] else ratio("sectors_ld", "requests_ld")(kernel)


def data_stage_over_tensor_pipe(kernel: Kernel) -> float:
    return kernel["shared_pipe"] / kernel["tensor_pipe"]


def other_slots(kernel: Kernel) -> float:
    """Percent of the used issue slots that no FMA had."""
    return 100 * (1 - kernel["fma_pipe"] / kernel["issue"]) if kernel["issue"] else 0.0


def leads(*reasons: str) -> Callable[[Kernel], float]:
    """Of some reasons to wait the longest, if none of the others is longer."""

    def value(kernel: Kernel) -> float:
        longest = max(kernel[f"stall_{reason}"] for reason in reasons)
        return longest if longest == max(kernel[f"stall_{r}"] for r in REASONS) else 0.0

    return value


def waits_without_copies(kernel: Kernel) -> float:
    """For global memory, where its loads go through registers: no cp.async, and not TMA's tiles."""
    plain = kernel["requests_ld"] > 0 and not kernel["copies"]
    return leads("long_scoreboard")(kernel) if plain else 0.0


def padded_copies(kernel: Kernel) -> float:
    return ratio("sectors_ld", "requests_ld")(kernel) if kernel["copies"] else 0.0


# --- thresholds ---

BUSY = Threshold(60, "ncu's rule: where no pipe is above 60%, warps wait")
FULL = Threshold(80, "ncu's rule: above 80% a pipe is the limit")
LAST_WAVE = Threshold(15, "05c divides a last wave that is filled below 85%")
WIDEST = Threshold(16.25, "32 lanes of 16 bytes are 16 sectors of 32 bytes; a quarter is room")
AGAIN = Threshold(2, "measured: 1.2 in 06, 5.7 where its tiles are left out, 21 in 01")
CONFLICTS = Threshold(10, "measured: at most 2% of arbitration, 82% and more of real conflicts")
TENSOR = Threshold(3, "measured: at most 1% where there are no tensor instructions, 8.5% where few")
LARGER = Threshold(1, "the pipe that should be the limit is the less busy one")
OTHERS = Threshold(20, "measured: 37% in 04, at most 13% from 04b on")
ANY = Threshold(0.001, "there are some")
LEADS = Threshold(0.001, "it is the longest wait of the seven")
STOPS = Threshold(0.05, "measured: 0.06 in 05, less than 0.03 in 05b")

# --- what is found ---

NO_LIMIT = Remedy(
    "No pipe is busy and no wait of the seven leads. Look at the launch: a kernel of a few "
    "microseconds is its own start and end.",
    ("11c_chosen_by_shape",),
)
IDLE = Remedy(
    "In the last wave of blocks most multiprocessors have none, and it takes as long as a full one. "
    "Divide the tiles of that wave along K, or choose a width of tile that fills it.",
    ("05c_split_k", "11c_chosen_by_shape"),
)
DEVICE_MEMORY = Remedy(
    "Bytes of device memory are the limit, which no kernel of this ladder at 4096^3 shows. Read each "
    "byte less often: larger tiles, and an order of blocks that shares them in L2.",
    ("04c_warp_tiled",),
)
UNCOALESCED = Remedy(
    "The lanes of a request lie in more sectors than their bytes need, and L1 passes them one after "
    "another. Let neighbouring lanes read neighbouring elements.",
    ("01_naive",),
)
AGAIN_AND_AGAIN = Remedy(
    "L1 is asked for the same sectors again and again, by every thread that needs them. Copy a tile to "
    "shared memory once, and read it from there.",
    ("02_smem_tiled", "06_wmma"),
)
PAD = Remedy(
    "Lanes of one request want different words of the same bank, and take turns. Pad the rows of the "
    "tile, so that they begin in different banks.",
    ("03_transposed_b",),
)
SWIZZLE = Remedy(
    "The rows that ldmatrix reads together begin in the same banks, and take turns. Swizzle the tile; "
    "where WMMA wants rows at one distance, pad them by 16 bytes.",
    ("07b_swizzle", "06_wmma"),
)
REGISTER_TILE = Remedy(
    "L1's data stage is full of wavefronts that are needed: too few operations for each operand that is "
    "read. Give a thread or a warp more elements of C.",
    ("04_register_blocked", "06b_wmma_pipelined"),
)
RING = Remedy(
    "Warps wait for global memory, and nothing is on its way while a tile is multiplied. Copy tiles "
    "ahead with cp.async, into a ring of buffers.",
    ("06b_wmma_pipelined",),
)
WARP_TILE = Remedy(
    "L1's data stage is busier than the tensor pipe: each fragment that is read serves too few "
    "multiplications. Give a warp a larger tile.",
    ("06b_wmma_pipelined",),
)
BUFFERS = Remedy(
    "Warps wait for global memory although copies run ahead: they do not run far enough ahead. One "
    "more buffer gives a copy the time of one more tile.",
    ("07b_swizzle",),
)
FRAGMENTS = Remedy(
    "A multiplication waits for its fragments from shared memory, which are read just before it. Read "
    "those of the next step while this one is multiplied.",
    ("06c_fragments_ahead",),
)
DRAINED = Remedy(
    "The warps wait for their own wgmma, which ncu counts as barrier, and the tensor pipe runs dry "
    "between two groups. Leave one group in flight while the next is started.",
    ("09_wgmma",),
)
MEETING = Remedy(
    "Warps wait for each other, and while all wait nobody multiplies. Make a tile deeper, or split the "
    "barrier into an arrival and a wait.",
    ("06c_fragments_ahead", "05b_split_barrier"),
)
PADDED = Remedy(
    "The tensor pipe is the limit, and copies bring more sectors than their bytes are: padded rows "
    "are off the sectors. A swizzle needs no padding.",
    ("07b_swizzle",),
)
MMA_SYNC = Remedy(
    "The tensor pipe is the limit through mma.sync, which in a busy cycle does two thirds of the work "
    "that wgmma does. Change the instruction.",
    ("09_wgmma",),
)
WGMMA = Remedy(
    "The tensor pipe is full through wgmma, and on an H200 the clock falls below its highest. What "
    "is left lies between tiles of C and in the number of blocks.",
    ("11_persistent", "11c_chosen_by_shape"),
)
WIDE = Remedy(
    "Of the issue slots too many go to instructions that are no FMAs. Move 16 bytes with each "
    "instruction.",
    ("04b_vectorized",),
)
AHEAD = Remedy(
    "Warps wait for global memory where they load from it, and nobody multiplies meanwhile. Load the "
    "next tile into registers before this one is multiplied.",
    ("04c_warp_tiled",),
)
BANKS = Remedy(
    "FFMAs wait for their operands from the register file. Order them, and place the sums, so that "
    "both banks deliver.",
    ("04d_register_banks",),
)
OPERANDS = Remedy(
    "FMAs wait for their operands from shared memory, most of all behind a barrier where all warps read "
    "at once. Read operands ahead and split the barrier.",
    ("05b_split_barrier",),
)
SPLIT = Remedy(
    "The FMA pipe is nearly full, and warps still stop together at a barrier. Split it into an arrival "
    "in the middle of a tile and a wait at its end.",
    ("05b_split_barrier",),
)
FP32_FULL = Remedy(
    "The FMA pipe and the issue slots are full, which is as good as fp32 gets here. Fill the last wave "
    "of blocks, or leave fp32 for the tensor cores.",
    ("05c_split_k", "06_wmma"),
)

# --- the questions, the last one first ---

_instruction = Question(
    "Are the fragments read by ldmatrix?",
    "ldmatrix instructions",
    counter("matrix_loads"),
    ANY,
    MMA_SYNC,
    WGMMA,
)
_tensor_pipe = Question(
    "Do cp.async's requests cost more than 16 sectors?",
    "sectors a request",
    padded_copies,
    WIDEST,
    PADDED,
    _instruction,
)
_tensor_waits = Question(
    "Is the longest wait the one for wgmma?",
    "stall barrier, with stall gmma",
    lambda kernel: leads("barrier")(kernel) if kernel["stall_gmma"] > 0.1 else 0.0,
    LEADS,
    DRAINED,
    Question(
        "Is it the one for copies that run ahead?",
        "stall long_scoreboard",
        leads("long_scoreboard"),
        LEADS,
        BUFFERS,
        Question(
            "Is it the one for shared memory?",
            "stall mio_throttle or short_scoreboard",
            leads("mio_throttle", "short_scoreboard"),
            LEADS,
            FRAGMENTS,
            Question(
                "Is it the one for other warps?",
                "stall barrier",
                leads("barrier"),
                LEADS,
                MEETING,
                _tensor_pipe,
            ),
        ),
    ),
)
_tensor = Question(
    "Is the tensor pipe full?",
    "tensor pipe, %",
    counter("tensor_pipe"),
    FULL,
    _tensor_pipe,
    Question(
        "Is the longest wait the one for plain loads from global memory?",
        "stall long_scoreboard",
        waits_without_copies,
        LEADS,
        RING,
        Question(
            "Is L1's data stage busier than the tensor pipe?",
            "data stage / tensor pipe",
            data_stage_over_tensor_pipe,
            LARGER,
            WARP_TILE,
            _tensor_waits,
        ),
    ),
)
_fp32_waits = Question(
    "Is the longest wait the one for global memory?",
    "stall long_scoreboard or lg_throttle",
    leads("long_scoreboard", "lg_throttle"),
    LEADS,
    AHEAD,
    Question(
        "Is it the one for the register file?",
        "stall dispatch_stall",
        leads("dispatch_stall"),
        LEADS,
        BANKS,
        Question(
            "Is it the one for shared memory or for other warps?",
            "stall short_scoreboard, mio_throttle or barrier",
            leads("short_scoreboard", "mio_throttle", "barrier"),
            LEADS,
            OPERANDS,
            NO_LIMIT,
        ),
    ),
)
_fp32 = Question(
    "Are the issue slots full?",
    "issue slots used, %",
    counter("issue"),
    FULL,
    Question(
        "Do warps still stop at a barrier?",
        "stall barrier",
        counter("stall_barrier"),
        STOPS,
        SPLIT,
        FP32_FULL,
    ),
    Question(
        "Do instructions that are no FMAs take the slots?",
        "of the used slots, %",
        lambda kernel: other_slots(kernel) if kernel["issue"] >= BUSY.limit else 0.0,
        OTHERS,
        WIDE,
        _fp32_waits,
    ),
)
_pipes = Question(
    "Are there tensor instructions?",
    "tensor pipe, %",
    counter("tensor_pipe"),
    TENSOR,
    _tensor,
    _fp32,
)
_data_stage = Question(
    "Do plain loads cost more than 16 sectors a request?",
    "sectors a request",
    sectors_of_plain_loads,
    WIDEST,
    UNCOALESCED,
    Question(
        "Is L1 asked for each sector that L2 sends more than twice?",
        "sectors loaded / received from L2",
        ratio("sectors_ld", "sm_sectors"),
        AGAIN,
        AGAIN_AND_AGAIN,
        Question(
            "Are wavefronts of shared loads bank conflicts?",
            "of the wavefronts, %",
            lambda kernel: 100 * ratio("bank_conflicts_ld", "wavefronts_ld")(kernel),
            CONFLICTS,
            Question(
                "Are the tiles read by ldmatrix?",
                "ldmatrix instructions",
                counter("matrix_loads"),
                ANY,
                SWIZZLE,
                PAD,
            ),
            Question(
                "Is the data stage full?",
                "L1's data stage, %",
                counter("shared_pipe"),
                FULL,
                REGISTER_TILE,
                _pipes,
            ),
        ),
    ),
)
TREE = Question(
    "Is the last wave of blocks mostly empty?",
    "of all waves missing, %",
    missing_part_of_last_wave,
    LAST_WAVE,
    IDLE,
    Question(
        "Is device memory busy?",
        "device memory, %",
        counter("dram"),
        BUSY,
        DEVICE_MEMORY,
        Question(
            "Is L1's data stage busy, more than the pipes that compute?",
            "L1's data stage, %",
            data_stage_if_busiest,
            BUSY,
            _data_stage,
            _pipes,
        ),
    ),
)


def walk(kernel: Kernel) -> tuple[list[Question], Remedy]:
    """The questions that were asked, and what was found."""
    asked, node = [], TREE
    while isinstance(node, Question):
        asked.append(node)
        node = node.yes if node.answer(kernel) else node.no
    return asked, node
