"""What build/timeline recorded (docs/results/GPU/timelines.jsonl), told as what each warp was doing
when. A recorded span is a wait, or an instant; what lies between two spans is work, and which work
follows from the span before it.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ladder import reports
from ladder.files import Closed, a_name, at_least_1, one_line, positive, read_json
from ladder.project import RESULTS, ROOT, BadInput

NAME = "timelines"

INSTANTS = {"copy", "bulk_store"}


def read_stages(path: Path) -> dict:
    """What a stage's warps do behind the first and the second barrier of a loop over K, where it
    has two; where it has one, they multiply. And which stages are not recorded, and why."""
    stages = {f"copies_behind_{barrier}_barrier": [a_name] for barrier in ("first", "second")}
    return read_json(path, stages | {"not_recorded": {str: one_line}})


STAGES = read_stages(ROOT / "stages/timeline.json")


class Doing(Enum):
    """What a warp does or waits for, in the order of legends."""

    STARTS = "starts, as its block does"
    MULTIPLIES = "multiplies"
    ISSUES = "orders wgmmas"
    WGMMA = "waits for its wgmmas, which run"
    COPIES = "copies a tile, waiting for memory"
    ORDERS = "orders copies of tiles"
    DATA = "waits for a tile of operands"
    BARRIER = "waits at a barrier"
    EMPTY = "waits for an empty buffer"
    STORES = "stores C"
    STAGED = "waits for C's store to be read"


WAITS = {
    "barrier": Doing.BARRIER,
    "cluster": Doing.BARRIER,
    "split_barrier": Doing.BARRIER,
    "cp_async": Doing.DATA,
    "mbarrier": Doing.DATA,
    "wgmma": Doing.WGMMA,
    "wgmma_all": Doing.WGMMA,
    "bulk_read": Doing.STAGED,
}


@dataclass(frozen=True)
class Span:
    kind: str
    line: int  # of the kernel's header
    begin: int  # clocks since the window's begin
    end: int


@dataclass(frozen=True)
class Piece:
    doing: Doing
    begin: int
    end: int


@dataclass(frozen=True)
class Warp:
    block: int
    warp: int
    role: str  # "copies", "multiplies", or "all" where every warp does both
    spans: tuple[Span, ...]


ROLES = ("copies", "multiplies", "all")
WAITING = dict.fromkeys((f"{kind}?" for kind in WAITS), float)
WINDOW = {
    "clocks": at_least_1,
    "warps": [
        {
            "block": int,
            "warp": int,
            "role": ROLES,
            "spans": [[(*WAITS, *INSTANTS), int, int, int], ...],
        },
        ...,
    ],
}
# What build/timeline writes.
RECORDED = {
    "device": one_line,
    "size": at_least_1,
    "stages": [
        {
            "stage": a_name,
            "time_ms": {"plain": positive, "all_recorded": positive},
            "ns_per_clock": positive,
            "waiting": dict.fromkeys((f"{role}?" for role in ROLES), Closed(WAITING)),
            "windows": {str: WINDOW},
        }
    ],
}


def load(folder: Path = RESULTS) -> dict:
    if not reports.exists(folder, NAME):
        raise BadInput(f"no {NAME} in {folder}; build/timeline --json FILE writes it, on a GPU")
    return reports.read(folder, NAME, RECORDED)


def stage_of(report: dict, name: str) -> dict:
    for stage in report["stages"]:
        if stage["stage"] == name:
            return stage
    raise BadInput(f"{NAME}: no {name}; record it again with build/timeline")


def warps_of(window: dict) -> list[Warp]:
    return [
        Warp(w["block"], w["warp"], w["role"], tuple(Span(*span) for span in w["spans"]))
        for w in window["warps"]
    ]


def waits_for(span: Span, role: str) -> Doing:
    if span.kind == "mbarrier" and role == "copies":
        return Doing.EMPTY
    return WAITS[span.kind]


def work_behind_barrier(stage: str, line: int, lines: list[int]) -> Doing:
    """`lines`: those of the loop's barriers."""
    first, second = STAGES["copies_behind_first_barrier"], STAGES["copies_behind_second_barrier"]
    if len(lines) == 2 and stage in first + second:
        copies_at = lines[1] if stage in first else lines[0]
        if line == copies_at:
            return Doing.COPIES
    return Doing.MULTIPLIES


def pieces(stage: str, warp: Warp, clocks: int) -> list[Piece]:
    """All that the warp did inside the window, without gaps between its first span and its last."""
    barriers = sorted({span.line for span in warp.spans if span.kind == "barrier"})
    landed = min((s.line for s in warp.spans if s.kind == "mbarrier"), default=0)
    has_wgmma = warp.role != "all" or any(span.kind == "wgmma" for span in warp.spans)
    result: list[Piece] = []

    def add(doing: Doing, begin: int, end: int) -> None:
        begin, end = max(begin, 0), min(end, clocks)
        if begin < end:
            result.append(Piece(doing, begin, end))

    starting = warp.spans[0].begin > 0  # before the window there would be one more span
    storing = False
    for span, following in zip(warp.spans, (*warp.spans[1:], None), strict=True):
        if span.kind not in INSTANTS:
            add(waits_for(span, warp.role), span.begin, span.end)
        if span.kind == "wgmma_all":
            storing = True
        elif span.kind == "mbarrier" and span.line == landed:
            storing = False
        if span.kind == "mbarrier":
            starting = False
        if following is None:
            break
        if starting and has_wgmma and span.kind != "copy":
            work = Doing.STARTS
        elif warp.role == "copies":
            work = Doing.ORDERS
        elif storing:
            work = Doing.STORES
        elif span.kind == "barrier" and not has_wgmma:
            work = work_behind_barrier(stage, span.line, barriers)
        elif has_wgmma:
            work = Doing.ORDERS if span.kind == "copy" else Doing.ISSUES
        else:
            work = Doing.MULTIPLIES
        add(work, span.end, following.begin)
    return result


def rows(warps: list[Warp]) -> list[list[Warp]]:
    """The warps that can share a row: a warp of a block and that of the next one, which begins when
    this one has ended."""
    result: list[list[Warp]] = []
    for warp in sorted(warps, key=lambda w: w.spans[0].begin):
        for row in result:
            before = row[-1]
            if before.warp == warp.warp and before.spans[-1].end <= warp.spans[0].begin:
                row.append(warp)
                break
        else:
            result.append([warp])
    return result


def of_row(stage: str, row: list[Warp], clocks: int) -> list[Piece]:
    """Between two blocks the first one stores C, and the second one starts."""
    result: list[Piece] = []
    for warp, following in zip(row, (*row[1:], None), strict=True):
        result += pieces(stage, warp, clocks)
        if following is not None and warp.role != "copies":
            begin, end = max(warp.spans[-1].end, 0), min(following.spans[0].begin, clocks)
            if begin < end:
                result.append(Piece(Doing.STORES, begin, end))
    return result


def share(stage: dict, role: str) -> dict[Doing, float]:
    """What part of their time the warps of a role wait, over the whole recording."""
    result: dict[Doing, float] = {}
    for kind, part in stage["waiting"].get(role, {}).items():
        doing = waits_for(Span(kind, 0, 0, 0), role)
        result[doing] = result.get(doing, 0) + part
    return result


def slower(stage: dict) -> float:
    """How much longer the kernel takes with every multiprocessor recorded, in percent."""
    times = stage["time_ms"]
    return 100 * (times["all_recorded"] / times["plain"] - 1)
