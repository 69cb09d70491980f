"""What ./ladder prove has said of each stage, as docs/results/proved.jsonl keeps it, and what its
argument assumes."""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ladder import manifest
from ladder.coverage import Coverage
from ladder.files import Closed, as_lines, at_least_1, is_a, one_line, read_lines, read_text
from ladder.project import ROOT

RECORD = ROOT / "docs/results/proved.jsonl"
RECORD_ON_GPU = ROOT / "docs/results/proved_on_gpu.jsonl"
# What the argument about races needs beside the runs, by what a kernel's text has.
EVERYWHERE = (
    "accesses that are the same with all data that were tried are the same with all",
    "threads of one block or cluster do not meet in global memory: only blocks are compared there",
)
OF_PRODUCTS = (
    "the generator's numbers are as good as random ones",
    "an element of a wrong C is a polynomial of degree 2, too, and its sums are exact",
)
ASSUMED = {
    r"\bfence_proxy_async\w*\(": "fences: a thread's fence covers all that it knows to be written",
    r"\bsetmaxnreg_inc\b": (
        "registers: what warpgroups give back is enough for the others, whoever asks first"
    ),
    r"\bmbarrier_(test|try)_wait\w*\(": (
        "tests of a phase: where it is not complete yet, a kernel asks again and does nothing else"
    ),
    r"\bmbarrier_arrive_cluster\(": (
        "lanes: those of a warp that arrive in several blocks with one instruction arrive together"
    ),
    r"\batomic\w+\(": (
        "atomics: their order is that of this run, and they order the blocks of their launch"
    ),
    r"\btma_reduce_add\(": "additions by TMA: they order the blocks of their launch",
    r"\b(load_acquire|store_release|add_release)_\w+\(": "flags: what is read is that of this run",
    r"\b(let_next_grid_start|wait_for_grids_before)\(": (
        "an early start: launches run one after the other here"
    ),
}


SEVERAL_WAYS = "ways: where data choose the way through the code, all ways access the same"


def headers(name: str, seen: set[str]) -> Iterator[str]:
    """The texts of a kernel's header and of those that it includes, without comments and without
    the definitions of instructions."""
    path = ROOT / "kernels" / name
    if name in seen or name.startswith("ptx/") or not path.is_file():
        return
    seen.add(name)
    text = read_text(path)
    yield re.sub(r"//.*", "", text)
    for included in re.findall(r'#include "([\w/.]+)"', text):
        yield from headers(included, seen)


@cache
def text_of(stage: str) -> str:
    return "\n".join(headers(f"{stage}.cuh", set()))


@cache
def special(stage: str) -> list[str]:
    """What is assumed of this stage beside what is assumed of all."""
    return [said for word, said in ASSUMED.items() if re.search(word, text_of(stage))]


def assumptions(stage: str) -> list[str]:
    of_products = OF_PRODUCTS if stage in manifest.load() else ()
    return [*EVERYWHERE, *of_products, *special(stage)]


def kernel(stage: str) -> str:
    """Which text was proved: another number after a change that is no comment."""
    words = " ".join(text_of(stage).split())
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def a_number(value: object) -> bool:
    """16 hexadecimal digits"""
    return is_a(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None


ENTRY = Closed(
    {
        "kernel": a_number,
        "shapes": at_least_1,
        "refused": [one_line],
        "blocks": [at_least_1, at_least_1],  # that were entered, and all
        "missed": [one_line],  # lines
        "several_ways?": bool,
    }
)


# Of a stage of which nothing was refused.
ENTRY_ON_GPU = Closed(
    {
        "kernel": a_number,
        "gpu": one_line,
        "toolkit": one_line,
        "shapes": at_least_1,  # in all types and layouts
        "variants": at_least_1,  # likewise, with what a launcher chooses among
        "runs": at_least_1,  # of all variants
    }
)


def read() -> dict[str, dict]:
    """Raises BadInput."""
    return read_lines(RECORD, {str: ENTRY}) if RECORD.is_file() else {}


def read_on_gpu() -> dict[str, dict]:
    """Raises BadInput."""
    return read_lines(RECORD_ON_GPU, {str: ENTRY_ON_GPU}) if RECORD_ON_GPU.is_file() else {}


def write(path: Path, known: dict[str, dict]) -> None:
    """In the order of the ladder."""
    if known:
        path.write_text(
            as_lines({name: known[name]} for name in manifest.of_one_gpu() if name in known)
        )
    else:
        path.unlink(missing_ok=True)


def record(
    stage: str, shapes: int, refused: list[str], coverage: Coverage, several_ways: bool
) -> None:
    """Keeps what was said of a stage."""
    entry = {
        "kernel": kernel(stage),
        "shapes": shapes,
        "refused": refused,
        "blocks": [*coverage.counts()],
        "missed": coverage.missed(),
    } | ({"several_ways": True} if several_ways else {})
    write(RECORD, read() | {stage: entry})


def record_on_gpu(stage: str, entry: dict | None) -> None:
    """Keeps what was proved of a stage, or nothing."""
    known = read_on_gpu()
    known.pop(stage, None)
    if entry:
        known[stage] = {"kernel": kernel(stage)} | entry
    write(RECORD_ON_GPU, known)


def on_gpu() -> dict[str, dict]:
    """The entries of stages whose kernel is as it was then."""
    return {name: e for name, e in read_on_gpu().items() if e["kernel"] == kernel(name)}


def state(stage: str, recorded: dict[str, dict]) -> str:
    """Of a stage, in a word or two."""
    known = recorded.get(stage)
    if known is None:
        return "no"
    if known["kernel"] != kernel(stage):
        return "not since its last change"
    return "in part" if known["refused"] else "yes"


def in_short(stage: str) -> str:
    """Likewise, and whether C was proved on a GPU."""
    return state(stage, read()) + ", GPU" * (stage in on_gpu())
