"""What ./ladder prove has said of each stage, as docs/results/proved.jsonl keeps it, and what its
argument assumes."""

import hashlib
import re
from collections.abc import Iterator
from functools import cache

from ladder import manifest
from ladder.coverage import Coverage
from ladder.files import Closed, as_lines, at_least_1, is_a, one_line, read_lines, read_text
from ladder.project import ROOT

RECORD = ROOT / "docs/results/proved.jsonl"
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
    r"\batomic\w+\(": (
        "atomics: their order is that of this run, and they order the blocks of their launch"
    ),
    r"\btma_reduce_add\(": "additions by TMA: they order the blocks of their launch",
    r"\b(load_acquire|store_release|add_release)_\w+\(": "flags: what is read is that of this run",
    r"\b(let_next_grid_start|wait_for_grids_before)\(": (
        "an early start: launches run one after the other here"
    ),
}


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
    }
)


def read() -> dict[str, dict]:
    """Raises BadInput."""
    return read_lines(RECORD, {str: ENTRY}) if RECORD.is_file() else {}


def record(stage: str, shapes: int, refused: list[str], coverage: Coverage) -> None:
    """Keeps what was said of a stage, in the order of the ladder."""
    entry = {
        "kernel": kernel(stage),
        "shapes": shapes,
        "refused": refused,
        "blocks": [*coverage.counts()],
        "missed": coverage.missed(),
    }
    known = read() | {stage: entry}
    RECORD.write_text(
        as_lines({name: known[name]} for name in manifest.of_one_gpu() if name in known)
    )


def state(stage: str) -> str:
    """Of a stage, in a word or two."""
    known = read().get(stage)
    if known is None:
        return "no"
    if known["kernel"] != kernel(stage):
        return "not since its last change"
    return "in part" if known["refused"] else "yes"
