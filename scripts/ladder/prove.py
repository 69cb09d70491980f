"""Proves of a stage, at one shape after another, what runs on the CPU device can prove.

ladder prove [STAGES ...]        these, or all that are built
ladder prove --shape MxNxK       at this shape alone
ladder prove --planted FILES     that mistakes are refused: what ladder planted does with the files
                                 of edits, and a run of a proof with each
ladder prove --gpu [STAGES ...]  on a GPU that C is the product, of each variant in each type and
                                 layout, and of what a launcher chooses among

Of each stage's own variant: that no access, barrier or copy depends on the data, and that each wait
is for the same phase in every order of the threads, so that what the device finds out about races
and deadlocks in one run holds for all data and orders; and that C is the product, by exact sums of
wide random integers, in so many runs that a wrong element goes unseen with a probability below
2^-60. The latter is not proved of stages that are no single product. docs/proofs.md has the
argument and what it assumes.

Without --shape: every pair of the remainders 0, 1 and tile - 1 of M, N and K, 1x1x1, several waves,
for which the launcher is told of a GPU with 2 multiprocessors, and 20 tiles along K, at which C is
not proved; of stages that are no single product a list of shapes.

With --gpu several waves are of more tiles than the GPU has multiprocessors, C is proved with 20
tiles along K, too, and so are the products of groups.

--record                         keep what is proved in docs/results/proved.jsonl, or of a GPU in
                                 docs/results/proved_on_gpu.jsonl; not with --shape
--build FOLDER                   a build with the CPU device's libraries, or with the stages for a
                                 GPU (build)

Exit code: 0 proved, 1 refused, with a line that says why, 2 bad input, 77 no GPU.
"""

import argparse
import math
import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ladder import manifest, planted, proved
from ladder.coverage import Coverage
from ladder.files import Closed, a_name, at_least_1, one_line, read_json
from ladder.model import SHAPES
from ladder.project import ROOT, BadInput

DEGREE = 2  # of a product's elements, as polynomials in those of A and B
SECONDS = 120  # a program that runs longer hangs; on busy cores one took over 60
SECONDS_ON_GPU = 240  # all runs of a shape, each compared with what a core of the host computes
NO_DEVICE = 77
# Of a stage whose launcher chooses the tile: near one of its large ones, of which a row of A or B
# has 128 bytes.
CHOSEN_TILE = (128, 256)
DEPTHS = {"fp32": 32, "tf32": 32, "e4m3": 128, "int8": 128}  # else 64
BUFFERED = 5  # tiles along K, more than most stages hold
ROUNDS = 20  # tiles along K, with which most buffers are filled three times
MORE_THAN_MULTIPROCESSORS = (12, 13)  # tiles along M and N
# A stage whose variants are kinds of numbers: the one with more instructions.
OWN_VARIANT = {"24c": "e4m3"}
PRODUCT_ALONE = ("--alpha", "1")
NO_LONG_SUMS = {"17c"}  # of 20 tiles: no integers are left, beside the factors
LAYOUTS = ("NN", "NT", "TN", "TT")
# The product alone, in the type in which sums are C.
OPTIONS = {"16": PRODUCT_ALONE, "20": ("--type", "int32")}


class Refused(Exception):
    """Why nothing is proved, in one line."""


class NoGpu(Exception):
    """Why there is none, in one line."""


@dataclass(frozen=True)
class Case:
    """A product of matrices."""

    shape: tuple[int, int, int]
    several_waves: bool = False
    of_product: bool = True  # whether it is proved, too, that C is the product
    sets = ("wide", "zeros")  # of data at which accesses have to be the same

    @property
    def options(self) -> list[str]:
        return [f"--{name}={size}" for name, size in zip("mnk", self.shape, strict=True)]

    def __str__(self) -> str:
        waves = ", 2 multiprocessors" if self.several_waves else ""
        return "x".join(map(str, self.shape)) + waves


@dataclass(frozen=True)
class OwnCase:
    """What a stage with a harness of its own computes."""

    text: str  # the program's options
    sets: tuple[str, ...]
    several_waves: bool = False
    of_product = False

    @property
    def options(self) -> list[str]:
        return shlex.split(self.text)

    def __str__(self) -> str:
        return self.text + (", 2 multiprocessors" if self.several_waves else "")


@dataclass(frozen=True)
class Product:
    """`values`: of which A and B are made; `too_large`: how likely a result is rounded."""

    values: int
    too_large: float
    runs: int

    @property
    def bits(self) -> float:
        """-log2 of the probability that a wrong element is right in all runs."""
        return -self.runs * math.log2(unseen(self.values, self.too_large))


@dataclass(frozen=True)
class Proof:
    events: int
    blocks: list[int]  # that were entered
    several_ways: bool  # through the code, by the data
    product: Product | None


def unseen(values: int, too_large: float) -> float:
    """At most the probability that a wrong element is right in one run (Schwartz and Zippel)."""
    return min(1.0, DEGREE / values + too_large)


def own_tile(stage: str) -> tuple[int, int, int]:
    known = SHAPES.get(f"{stage}/{stage.partition('_')[2]}")
    return (
        tuple(known.tile)
        if known
        else (*CHOSEN_TILE, DEPTHS.get(manifest.stage(stage).types[0], 64))
    )


def sizes(tile: int, least: int, tiles: int) -> list[int]:
    """One for each of the remainders 0, 1 and tile - 1, from `least` on, the last of them with at
    least so many whole tiles."""
    whole = -(-least // tile) * tile
    return [whole, whole + 1 % tile, max(whole, tiles * tile) + tile - 1]


def cases(tile: tuple[int, int, int]) -> list[Case]:
    """Nine shapes have every pair of remainders of two dimensions. K is longer than what buffers
    hold, so that they are filled again, in three of them and where there are several waves. It is
    longest in the last, where few numbers are left whose sums are exact."""
    m, n = (sizes(t, 1, 1) for t in tile[:2])
    k = sizes(tile[2], 64, BUFFERED)
    pairs = [(m[i], n[j], k[(i + j) % 3]) for i in range(3) for j in range(3)]
    waves = Case((2 * tile[0] + 1, 2 * tile[1] + 1, k[2]), several_waves=True)
    rounds = Case((1, 1, ROUNDS * tile[2] + 1), of_product=False)
    return [Case((1, 1, 1)), *map(Case, dict.fromkeys(pairs)), waves, rounds]


def cases_on_gpu(stage: manifest.Stage) -> list[Case | OwnCase]:
    tile = own_tile(stage.name)
    *one_wave, _, rounds = cases(tile)
    m, n = (
        size * tiles + 1 for size, tiles in zip(tile[:2], MORE_THAN_MULTIPROCESSORS, strict=True)
    )
    groups = f"--groups {tile[0] + 1},0,1,{2 * tile[0] - 1} --n {tile[1] + 1} --k {tile[2] + 1}"
    return [
        Case((m, n, tile[2] + 1)),
        *one_wave,
        *([] if stage.label in NO_LONG_SUMS else [rounds]),
        *([OwnCase(groups, ())] if stage.groups else []),
    ]


def ways(stage: manifest.Stage) -> list[tuple[str, ...]]:
    """Options for each type and layout that the stage has."""
    return [
        ("--type", kind, "--layout", layout, *PRODUCT_ALONE)
        for kind in stage.types
        for layout in (LAYOUTS if stage.any_layout else (stage.layout,))
    ]


RUNS_OF_AN_EDIT = 10  # no proof has fewer: of OWN_CASES five with two sets of data each
EXACT_TOO = ("random", "exact")
OWN_CASES = {
    "attention": [
        OwnCase("--heads 1 --queries 1 --keys 1 --width 64", EXACT_TOO),
        OwnCase("--heads 2 --kv-heads 1 --queries 130 --keys 70 --width 128", EXACT_TOO),
        OwnCase("--heads 1 --queries 70 --keys 333 --width 64 --causal", EXACT_TOO),
        OwnCase("--heads 1 --queries 33 --keys 129 --width 256", EXACT_TOO),
        OwnCase("--heads 4 --kv-heads 2 --queries 1 --keys 700 --width 64", EXACT_TOO),
        OwnCase(
            "--batch 2 --heads 2 --queries 129 --keys 129 --width 128 --causal",
            EXACT_TOO,
            several_waves=True,
        ),
    ],
    "rows": [
        OwnCase(
            f"--rows {rows} --width {width} --operation {operation}", ("random", "far_from_zero")
        )
        for rows, width, operation in (
            (1, 1, "softmax"),
            (5, 1000, "softmax"),
            (6, 33, "rms_norm"),
            (3, 9001, "layer_norm"),
            (2, 1025, "layer_norm_gelu"),
        )
    ],
    "four_bits": [
        *(
            OwnCase(f"--m {m} --n {n} --k {k}", EXACT_TOO)
            for m, n, k in ((1, 1, 1), (16, 256, 256), (17, 72, 300), (65, 100, 200))
        ),
        OwnCase("--m 130 --n 70 --k 1000", EXACT_TOO, several_waves=True),
    ],
}


LINE = {"file": str, "line": int, "text": str, "digest": proved.a_number}
DIGEST = {  # of what was done, with the ways through the code and without
    "all": proved.a_number,
    "accesses": proved.a_number,
    "events": int,
    "lines": [LINE],
    "blocks": [int],
}
RAN = {
    "problem?": {"wide?": Closed({"values": at_least_1, "too_large": float, "runs": int})},
    "variants": [
        {
            "check": {"ok": bool},
            "findings": [planted.a_finding],
            "digest?": DIGEST,
        },
        ...,
    ],
}


def ended(words: list, report: Path, using: str, seconds: int) -> subprocess.CompletedProcess:
    """A program that has written its report. Raises Refused, and NoGpu."""
    try:
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            timeout=seconds,
            env=os.environ | {"OMP_NUM_THREADS": "1"},  # a run for each core is enough
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"{using} it still runs after {seconds} s") from None
    said = (done.stderr.strip() or "nothing").splitlines()[-1]
    if done.returncode == 2:
        raise BadInput(said)
    if done.returncode == NO_DEVICE:
        raise NoGpu(said)
    if done.returncode not in (0, 1) or not report.is_file():
        raise Refused(f"{using} it ends with {done.returncode} and says {said}")
    return done


@dataclass(frozen=True)
class Stage:
    """A stage's program, and how it is asked."""

    program: Path
    variant: str
    options: tuple[str, ...] = ()

    def run(self, case: Case | OwnCase, data: str, seed: int, digest: bool) -> dict:
        """What it reports. Raises Refused."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            words = [self.program, *case.options, "--variant", self.variant]
            words += ["--data", data, "--seed", seed, "--json", report, *self.options]
            words.append("--digest" if digest else "--no-memory")
            done = ended(words, report, f"with {data} data", SECONDS)
            ran = read_json(report, RAN)
        (variant,) = ran["variants"]
        if variant["findings"]:
            found = planted.finding_of(variant["findings"][0])
            cause = re.sub(r" \(\d+ times\)", "", found.cause)
            raise Refused(f"{found.file}:{found.line}: {cause}: {found.text}")
        if not variant["check"]["ok"]:
            where = re.search(r"(row \d+, column|wrote (before|past)).*", done.stdout)
            what = where[0].strip() if where else "the table does not say where"
            raise Refused(f"wrong result with {data} data, seed {seed}: {what}")
        return ran


def difference(one: dict, other: dict) -> str:
    """The first line that accesses something else."""
    digests = {(at["file"], at["line"]): at["digest"] for at in other["lines"]}
    of_one = {(at["file"], at["line"]) for at in one["lines"]}
    changed = [at for at in one["lines"] if digests.get((at["file"], at["line"])) != at["digest"]]
    changed += [at for at in other["lines"] if (at["file"], at["line"]) not in of_one]
    if not changed:
        return "their order"
    return f"{Path(changed[0]['file']).name}:{changed[0]['line']}: {changed[0]['text']}"


def prove(stage: Stage, case: Case | OwnCase) -> Proof:
    """Raises Refused."""

    def traced(data: str) -> dict:
        return stage.run(case, data, secrets.randbits(64), digest=True)

    def untraced(data: str) -> None:
        stage.run(case, data, secrets.randbits(64), digest=False)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(traced, case.sets))
        first, *others = (ran["variants"][0]["digest"] for ran in reports)
        for data, digest in zip(case.sets[1:], others, strict=True):
            if digest["accesses"] != first["accesses"]:
                where = difference(first, digest)
                raise Refused(f"accesses depend on the data ({case.sets[0]} or {data}): {where}")
        several_ways = any(digest["all"] != first["all"] for digest in others)
        if not case.of_product:
            return Proof(first["events"], first["blocks"], several_ways, None)
        wide = reports[0]["problem"]["wide"]
        if wide["runs"] == 0:
            raise BadInput(f"{wide['values']} values for A and B prove nothing: K is too large")
        list(pool.map(untraced, ["random", *["wide"] * (wide["runs"] - 1)]))
    return Proof(first["events"], first["blocks"], several_ways, Product(**wide))


def lines_of(case: Case | OwnCase, proof: Proof) -> list[str]:
    lines = [
        f"  the same {proof.events:,} accesses and waits with {', '.join(case.sets)} data, no race"
        " among them and no wait that is not over: at this shape with any data in any order, under"
        " what is assumed"
    ]
    if proof.several_ways:
        lines.append(
            "  the way through the code depends on the data, which is assumed to change no access"
        )
    if proof.product:
        values, too_large = proof.product.values, proof.product.too_large
        chance = f"{DEGREE} / {values:,}"
        if too_large:
            chance += f" + {too_large:.1g} for a result that is rounded"
        lines.append(
            f"  C is the product: {proof.product.runs} runs with {values:,} values; a wrong element"
            f" goes unseen with at most 2^-{proof.product.bits:.1f}, in one run with {chance}"
        )
    return lines


def cases_of(stage: manifest.Stage | manifest.WithOwnHarness) -> list[Case] | list[OwnCase]:
    return (
        cases(own_tile(stage.name))
        if isinstance(stage, manifest.Stage)
        else OWN_CASES[stage.harness]
    )


def prove_stage(
    name: str, build: planted.Build, at: list[Case] | list[OwnCase], record: bool
) -> int:
    """Prints what is proved. Returns how many shapes are refused."""
    built = build.folder / "stages/cpu" / name
    label, _, variant = name.partition("_")
    variant = OWN_VARIANT.get(label, variant)
    options = OPTIONS.get(label, ())
    refused, coverage, several_ways = [], Coverage(), False
    with tempfile.TemporaryDirectory() as folder:
        for case in at:
            program = build.unedited(name, Path(folder)) if case.several_waves else built
            try:
                proof = prove(Stage(program, variant, options), case)
            except Refused as why:
                refused.append(str(case))
                print(f"{name}, {case}: refused: {why}", flush=True)
            else:
                coverage.add(program, proof.blocks)
                several_ways |= proof.several_ways
                print(f"{name}, {case}: proved", *lines_of(case, proof), sep="\n", flush=True)
        if coverage.entered:
            entered, blocks = coverage.counts()
            print(f"{name}: these runs come to {entered} of {blocks} basic blocks")
            for at_line in coverage.missed():
                print(f"  no run comes to {at_line}")
    print(f"{name}: assumed is that", *proved.assumptions(name), sep="\n  - ")
    if record:
        proved.record(name, len(at), refused, coverage, several_ways)
    return len(refused)


RAN_ON_GPU = {
    "device": {"name": one_line, "toolkit": one_line},
    "problem": {"runs": at_least_1},
    "variants": [{"name": a_name, "check": {"ok": bool}}, ...],
}


def prove_on_gpu(program: Path, way: tuple[str, ...], case: Case | OwnCase) -> dict:
    """What the program reports. Raises Refused, and NoGpu."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = [program, *case.options, *way, "--prove", "--seed", secrets.randbits(64)]
        done = ended([*words, "--json", report], report, "on the GPU", SECONDS_ON_GPU)
        ran = read_json(report, RAN_ON_GPU)
    if done.returncode:
        wrong = re.search(r"WRONG (\w+: .*)", done.stdout)
        raise Refused(f"wrong result: {wrong[1]}")
    return ran


def prove_all_on_gpu(
    at: dict[manifest.Stage, list[Case | OwnCase]], programs: Path, record: bool
) -> int:
    """Prints what is proved. Returns how many shapes are refused. Raises NoGpu."""
    refusals = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(stage, way, case) for stage in at for way in ways(stage) for case in at[stage]]
        started = {
            job: pool.submit(prove_on_gpu, programs / job[0].name, *job[1:])
            for job in sorted(jobs, key=lambda job: job[2] != at[job[0]][0])  # the largest first
        }
        for stage in at:
            reports, refused = [], 0
            for _, way, case in (job for job in jobs if job[0] is stage):
                try:
                    reports.append((way, started[stage, way, case].result()))
                except Refused as why:
                    refused += 1
                    print(f"{stage.name}, {case}, {way[1]} {way[3]}: refused: {why}", flush=True)
                except (BadInput, NoGpu):
                    pool.shutdown(cancel_futures=True)
                    raise
            refusals += refused
            entry = None
            if not refused:
                device = reports[0][1]["device"]
                variants = {(way, v["name"]) for way, ran in reports for v in ran["variants"]}
                entry = {
                    "gpu": device["name"],
                    "toolkit": device["toolkit"],
                    "shapes": len(reports),
                    "variants": len(variants),
                    "runs": sum(ran["problem"]["runs"] for _, ran in reports),
                }
                print(
                    "{}: C is the product: {variants} variants in all types and layouts, {shapes} "
                    "shapes, {runs} runs on {gpu}".format(stage.name, **entry),
                    flush=True,
                )
            if record:
                proved.record_on_gpu(stage.name, entry)
    return refusals


def not_refused(edit: planted.Edit, program: Path) -> list[str]:
    """An objection where the runs of a proof that has the edit's data find nothing. Some mistakes
    are within the tolerance for some random numbers, and a proof draws them for each run."""
    options = shlex.split(edit.options)
    data = "random"
    if "--data" in options:
        at = options.index("--data")
        _, data = options[at : at + 2]
        del options[at : at + 2]
    options += [f"--{name}={size}" for name, size in zip("mnk", edit.shape, strict=False)]
    case = OwnCase(shlex.join(options), (data,))
    for _ in range(RUNS_OF_AN_EDIT):
        try:
            Stage(program, edit.variant).run(case, data, secrets.randbits(64), digest=True)
        except Refused:
            return []
    return ["prove does not refuse it"]


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
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--planted", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.record and options.shape:
        raise BadInput(
            "--record keeps what is proved at all shapes of the list, not at one --shape"
        )
    if options.planted:
        return planted.report(options.planted, planted.Build(options.build), not_refused)
    programs = options.build / ("stages" if options.gpu else "stages/cpu")
    known = manifest.of_one_gpu()
    stages = [known.get(name) or manifest.stage(name) for name in options.stages] or [
        stage
        for stage in (manifest.load() if options.gpu else known).values()
        if (programs / stage.name).is_file()
    ]
    if not stages:
        raise BadInput(f"{programs} has no stage")
    at = {}
    for stage in stages:
        if not isinstance(stage, manifest.Stage):
            if options.gpu:
                raise BadInput(f"{stage.name} is no single product: --gpu proves nothing of it")
            if options.shape:
                raise BadInput(f"{stage.name} is no single product: --shape does not say its shape")
        if not (programs / stage.name).is_file():
            raise BadInput(f"no {programs / stage.name}: build the stages first")
        of_list = cases_on_gpu if options.gpu else cases_of
        at[stage] = [Case(options.shape)] if options.shape else of_list(stage)
    try:
        if options.gpu:
            refusals = prove_all_on_gpu(at, programs, options.record)
        else:
            build = planted.Build(options.build)
            refusals = sum(
                prove_stage(stage.name, build, cases, options.record) for stage, cases in at.items()
            )
    except NoGpu as why:
        print(f"ladder prove: {why}", file=sys.stderr)
        return NO_DEVICE
    if refusals:
        print(f"ladder prove: {refusals} refused", file=sys.stderr)
    return 1 if refusals else 0
