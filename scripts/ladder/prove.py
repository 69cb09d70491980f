"""Proves of a stage, at one shape after another, what runs on the CPU device can prove.

ladder prove [STAGES ...]        these, or all that are built
ladder prove --shape MxNxK       at this shape alone

Two things, of each stage's own variant: that no access, barrier or copy depends on the data, so
that what the device finds out about races in one run holds for all data; and that C is the product,
by exact sums of wide random integers, in so many runs that a wrong element goes unseen with a
probability below 2^-60. docs/proofs.md has the argument and what it assumes.

Without --shape: every pair of the remainders 0, 1 and tile - 1 of M, N and K, 1x1x1, and several
waves, for which the launcher is told of a GPU with 2 multiprocessors.

--build FOLDER                   a build with the CPU device's libraries (build)

Exit code: 0 proved, 1 refused, with a line that says why, 2 bad input.
"""

import argparse
import math
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ladder import manifest, planted
from ladder.files import Closed, at_least_1, is_a, read_json, read_text
from ladder.model import SHAPES
from ladder.project import ROOT, BadInput

BELOW = 60  # bits: what goes unseen does with a probability below 2^-60
DEGREE = 2  # of a product's elements, as polynomials in those of A and B
SECONDS = 60  # a program that runs longer hangs
# The sets of data at which accesses have to be the same.
SETS = ("wide", "random", "zeros")
# Of a stage whose launcher chooses the tile: near one of its large ones.
CHOSEN_TILE = (128, 256, 64)
BUFFERED = 5  # tiles along K, more than most stages hold
# The product alone, in the type in which sums are C.
OPTIONS = {"16": ("--alpha", "1"), "20": ("--type", "int32")}
# What the argument about races needs beside the runs, by what a kernel's text has.
EVERYWHERE = (
    f"accesses that are the same with {len(SETS)} sets of data are the same with all",
    "threads of one block or cluster do not meet in global memory: only blocks are compared there",
    "the generator's numbers are as good as random ones",
    f"an element of a wrong C is a polynomial of degree {DEGREE}, too, and its sums are exact",
)
ASSUMED = {
    r"\bmbarrier_wait\w*\(": (
        "mbarriers: a thread that has waited knows of the phases that were complete in this run"
    ),
    r"\bfence_proxy_async\w*\(": "fences: a thread's fence covers all that it knows to be written",
    r"\b(shared_of_block|cluster_sync|cluster_arrive)\w*\(": (
        "clusters: threads of their blocks took turns in one order"
    ),
    r"\batomic\w+\(": (
        "atomics: their order is that of this run, and they order the blocks of their launch"
    ),
    r"\btma_reduce_add\(": "additions by TMA: they order the blocks of their launch",
    r"\b(load_acquire|store_release|add_release)_\w+\(": "flags: what is read is that of this run",
    r"\bstore_async\(": "st.async: it lands when its mbarrier's phase completes",
    r"\b(let_next_grid_start|wait_for_grids_before)\(": (
        "an early start: launches run one after the other here"
    ),
}


class Refused(Exception):
    """Why nothing is proved, in one line."""


@dataclass(frozen=True)
class Case:
    shape: tuple[int, int, int]
    several_waves: bool = False

    def __str__(self) -> str:
        waves = ", 2 multiprocessors" if self.several_waves else ""
        return "x".join(map(str, self.shape)) + waves


@dataclass(frozen=True)
class Proof:
    """`values`: of which A and B are made; `too_large`: how likely a result is rounded."""

    values: int
    too_large: float
    runs: int
    events: int

    @property
    def bits(self) -> float:
        """-log2 of the probability that a wrong element is right in all runs."""
        return -self.runs * math.log2(unseen(self.values, self.too_large))


def unseen(values: int, too_large: float) -> float:
    """At most the probability that a wrong element is right in one run (Schwartz and Zippel)."""
    return min(1.0, DEGREE / values + too_large)


def runs_needed(values: int, too_large: float) -> int:
    """Raises BadInput where no number of runs is enough."""
    chance = unseen(values, too_large)
    if chance >= 1:
        raise BadInput(f"{values} values for A and B prove nothing: K is too large for these sums")
    return math.floor(BELOW / -math.log2(chance)) + 1


def own_tile(stage: str) -> tuple[int, int, int]:
    known = SHAPES.get(f"{stage}/{stage.partition('_')[2]}")
    return tuple(known.tile) if known else CHOSEN_TILE


def sizes(tile: int, least: int, tiles: int) -> list[int]:
    """One for each of the remainders 0, 1 and tile - 1, from `least` on, the last of them with at
    least so many whole tiles."""
    whole = -(-least // tile) * tile
    return [whole, whole + 1 % tile, max(whole, tiles * tile) + tile - 1]


def cases(tile: tuple[int, int, int]) -> list[Case]:
    """Nine shapes have every pair of remainders of two dimensions. K is longer than what buffers
    hold, so that they are filled again, in three of them and where there are several waves."""
    m, n = (sizes(t, 1, 1) for t in tile[:2])
    k = sizes(tile[2], 64, BUFFERED)
    pairs = [(m[i], n[j], k[(i + j) % 3]) for i in range(3) for j in range(3)]
    waves = Case((2 * tile[0] + 1, 2 * tile[1] + 1, k[2]), several_waves=True)
    return [Case((1, 1, 1)), *map(Case, dict.fromkeys(pairs)), waves]


def whole_number(value: object) -> bool:
    """16 hexadecimal digits"""
    return is_a(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None


LINE = {"file": str, "line": int, "text": str, "digest": whole_number}
RAN = {
    "problem": {"wide?": Closed({"values": at_least_1, "too_large": float})},
    "variants": [
        {
            "check": {"ok": bool},
            "findings": [planted.a_finding],
            "digest?": {"all": whole_number, "events": int, "lines": [LINE]},
        },
        ...,
    ],
}


@dataclass(frozen=True)
class Stage:
    """A stage's program, and how it is asked."""

    program: Path
    variant: str
    options: tuple[str, ...] = ()

    def run(self, case: Case, data: str, seed: int, digest: bool) -> dict:
        """What it reports. Raises Refused."""
        m, n, k = case.shape
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            words = [self.program, "--m", m, "--n", n, "--k", k, "--variant", self.variant]
            words += ["--data", data, "--seed", seed, "--json", report, *self.options]
            words.append("--digest" if digest else "--no-memory")
            try:
                done = subprocess.run(
                    [str(word) for word in words], capture_output=True, text=True, timeout=SECONDS
                )
            except subprocess.TimeoutExpired:
                raise Refused(f"with {data} data it still runs after {SECONDS} s") from None
            said = (done.stderr.strip() or "nothing").splitlines()[-1]
            if done.returncode == 2:
                raise BadInput(said)
            if done.returncode not in (0, 1) or not report.is_file():
                raise Refused(f"with {data} data it ends with {done.returncode} and says {said}")
            ran = read_json(report, RAN)
        (variant,) = ran["variants"]
        if variant["findings"]:
            found = planted.finding_of(variant["findings"][0])
            cause = re.sub(r" \(\d+ times\)", "", found.cause)
            raise Refused(f"{found.file}:{found.line}: {cause}: {found.text}")
        if not variant["check"]["ok"]:
            where = re.search(r"(row \d+, column|wrote (before|past)).*", done.stdout)
            what = where[0].strip() if where else "C is not the product"
            raise Refused(f"wrong result with {data} data, seed {seed}: {what}")
        return ran


def difference(one: dict, other: dict) -> str:
    """The first line that accesses something else."""
    digests = {(at["file"], at["line"]): at["digest"] for at in other["lines"]}
    of_one = {(at["file"], at["line"]) for at in one["lines"]}
    changed = [at for at in one["lines"] if digests.get((at["file"], at["line"])) != at["digest"]]
    changed += [at for at in other["lines"] if (at["file"], at["line"]) not in of_one]
    if not changed:
        return "the way through the code, or the order of accesses"
    return f"{Path(changed[0]['file']).name}:{changed[0]['line']}: {changed[0]['text']}"


def prove(stage: Stage, case: Case) -> Proof:
    """Raises Refused."""

    def traced(data: str) -> dict:
        return stage.run(case, data, secrets.randbits(64), digest=True)

    def untraced(_: int) -> None:
        stage.run(case, "wide", secrets.randbits(64), digest=False)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(traced, SETS))
        first, *others = (ran["variants"][0]["digest"] for ran in reports)
        for data, digest in zip(SETS[1:], others, strict=True):
            if digest["all"] != first["all"]:
                where = difference(first, digest)
                raise Refused(f"accesses depend on the data ({SETS[0]} or {data}): {where}")
        wide = reports[0]["problem"]["wide"]
        runs = runs_needed(wide["values"], wide["too_large"])
        list(pool.map(untraced, range(runs - 1)))
    return Proof(wide["values"], wide["too_large"], runs, first["events"])


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


def assumptions(stage: str) -> list[str]:
    """What the argument needs beside the runs."""
    text = "\n".join(headers(f"{stage}.cuh", set()))
    return [*EVERYWHERE, *(said for word, said in ASSUMED.items() if re.search(word, text))]


def lines_of(proof: Proof) -> list[str]:
    chance = f"{DEGREE} / {proof.values:,}"
    if proof.too_large:
        chance += f" + {proof.too_large:.1g} for a result that is rounded"
    return [
        f"  C is the product: {proof.runs} runs with {proof.values:,} values; a wrong element goes"
        f" unseen with at most 2^-{proof.bits:.1f}, in one run with {chance}",
        f"  the same {proof.events:,} accesses and waits with {', '.join(SETS)} data, and no race"
        " among them: none at this shape with any data, under what is assumed",
    ]


def prove_stage(name: str, build: planted.Build, given: tuple[int, int, int] | None) -> int:
    """Prints what is proved. Returns how many shapes are refused."""
    built = build.folder / "stages/cpu" / name
    if not built.is_file():
        raise BadInput(f"no {built}: build the stages for the CPU device first")
    label, _, variant = name.partition("_")
    options = OPTIONS.get(label, ())
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in [Case(given)] if given else cases(own_tile(name)):
            program = build.unedited(name, Path(folder)) if case.several_waves else built
            try:
                proof = prove(Stage(program, variant, options), case)
            except Refused as why:
                refused += 1
                print(f"{name}, {case}: refused: {why}", flush=True)
            else:
                print(f"{name}, {case}: proved", *lines_of(proof), sep="\n", flush=True)
    print(f"{name}: assumed is that", *assumptions(name), sep="\n  - ")
    return refused


def a_shape(text: str) -> tuple[int, int, int]:
    if not re.fullmatch(r"[1-9]\d{0,6}(x[1-9]\d{0,6}){2}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not MxNxK")
    return tuple(map(int, text.split("x")))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--shape", type=a_shape, metavar="MxNxK")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="FOLDER")
    options = parser.parse_args(arguments)
    build = planted.Build(options.build)
    names = [manifest.stage(name).name for name in options.stages] or [
        name for name in manifest.load() if (options.build / "stages/cpu" / name).is_file()
    ]
    if not names:
        raise BadInput(f"{options.build} has no stage for the CPU device")
    refused = sum(prove_stage(name, build, options.shape) for name in names)
    if refused:
        print(f"ladder prove: {refused} refused", file=sys.stderr)
    return 1 if refused else 0
