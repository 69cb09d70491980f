"""Damages files of every kind that the scripts read, and has them read: whatever comes of it is a
result or BadInput, which main() makes one line of. 100 damaged files for each reader take half a
minute of one core; tests/CMakeLists.txt runs that as `fuzz_readers`, test_files.py a few.

fuzz_readers.py [MUTATIONS [READER ...]]
"""

import contextlib
import io
import json
import random
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/multi_gpu"))

import tables

from ladder import (
    adopt,
    claims,
    claims_lint,
    diagnose,
    docs,
    evaluation,
    files,
    manifest,
    measuring,
    model,
    ncu,
    peers,
    planted,
    power_results,
    proved,
    reading,
    reports,
    results,
    rows_beside_torch,
    steps,
    sweep_records,
    timeline,
    traces,
    tune,
    written,
)
from ladder import counters as counted
from ladder.docs import counters as counter_tables
from ladder.docs import operator, pictures, products, proofs, sources, triton_rows, twins
from ladder.docs import results as result_tables
from ladder.exercises.mistakes import read_mistakes
from ladder.figures import measured, timelines
from ladder.figures import power as power_figure
from ladder.figures import sweep as sweep_figure
from ladder.project import RESULTS, ROOT, BadInput
from ladder.twins import Twin, read_table

PIECES = [
    *(None, [], {}, "", -1, 0, True, 0.5, 2**70, "x" * 3000, "\ud800", "a\nb", "\0", "../.."),
    *([[]], {"": None}, [None], "1e999", float("inf"), float("nan"), 10**400),
]
WORDS = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"]", b'"', b"\\u", b"NaN", b"1e999", b"\n\n"]
WORDS += [b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"&a [*a]", b"<<: ", b"- ", b"!!int x", b"| "]
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
OTHERS = [b"", POINTER, b"\x7fELF\xff\0\0", b"null", b"[]", b"{}"]


def places(value: object) -> list[tuple[object, object]]:
    """Every container in a value, with every key of it."""
    found = []
    for key in value if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], dict | list):
            found += places(value[key])
    return found


def other_value(text: str, draw: random.Random) -> str:
    """Of JSON: one place in it is something else, is not there, or stands twice."""
    value = json.loads(text)
    if not isinstance(value, dict | list) or not (there := places(value)):
        return json.dumps(draw.choice(PIECES))
    inside, key = draw.choice(there)
    match draw.randrange(4):
        case 0:
            del inside[key]
        case 1 if isinstance(inside, list):
            inside.insert(key, inside[key])
        case 1:
            inside[f"{key}_"] = inside[key]
        case 2:
            inside[key] = draw.choice(there)[0]
            with contextlib.suppress(ValueError, RecursionError):
                return json.dumps(inside and value)
            return text
        case _:
            inside[key] = draw.choice(PIECES)
    return json.dumps(value)


def other_bytes(data: bytes, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data) + 1)
    end = min(len(data), begin + draw.choice((1, 1, 2, 8, 60)))
    match draw.randrange(6):
        case 0:
            return (
                data[:begin]
                + bytes(b ^ (1 << draw.randrange(8)) for b in data[begin:end])
                + data[end:]
            )
        case 1:
            return data[:begin] + data[end:]
        case 2:
            return data[:begin] + draw.choice(WORDS) + data[begin:]
        case 3:
            return data[:begin] + data[begin:end] * 2 + data[end:]
        case 4:
            return data[:begin]
        case _:
            return draw.choice(
                (b"", POINTER, b"\x7fELF\xff\0\0", b"null", b"[]", b"{}", data[::-1])
            )


def mutated(data: bytes, suffix: str, draw: random.Random) -> bytes:
    if suffix == ".json" and draw.randrange(4):
        return other_value(data.decode(), draw).encode("utf-8", "surrogatepass")
    if suffix == ".jsonl" and draw.randrange(4):
        lines = data.decode().splitlines()
        number = draw.randrange(len(lines))
        lines[number] = other_value(lines[number], draw)
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    if suffix == ".yaml" and draw.randrange(2):  # JSON is YAML, too
        text = json.dumps(files.yaml_reader()(data.decode()))
        return other_value(text, draw).encode("utf-8", "surrogatepass")
    for _ in range(draw.choice((1, 1, 1, 3))):
        data = other_bytes(data, draw)
    return data


@dataclass(frozen=True)
class Reader:
    """`read` gets the file and does with it what the script does. `name`: what the file is called
    where that says what it is."""

    sample: bytes
    name: str
    read: Callable[[Path], object]


@contextlib.contextmanager
def instead(of: object, **values: object):
    before = {name: getattr(of, name) for name in values}
    for name, value in values.items():
        setattr(of, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(of, name, value)


def forget() -> None:
    """What was read of the results in a folder."""
    for cached in (sources.reports, sources.provenance, sources.counters, sources.measurements):
        cached.cache_clear()


def all_of(path: Path, *calls: Callable[[], object]) -> None:
    """Each of them, whatever an earlier one says, with the file's folder as the only results."""
    said = None
    forget()
    with instead(sources, GPUS={"h200": path.parent}):
        for call in calls:
            try:
                call()
            except BadInput as error:
                said = error
    forget()
    if said:
        raise said


def read_report(path: Path) -> None:
    stage, variant = "10b_cluster", "cluster"

    def claim():
        its = evaluation.Measurements(path.parent, [])
        for name in evaluation.RESULTS:
            evaluation.verdict({"holds": f"{name}({stage}/{variant}) > 1"}, its)

    all_of(
        path,
        lambda: results.main([str(path.parent)]),
        lambda: results.terminal_table(results.load(path.parent)),
        claim,
        lambda: result_tables.results(stage),
        lambda: result_tables.shapes(stage),
        lambda: result_tables.facts("h200"),
        lambda: measured.ladder_linear(path.parent),
        lambda: model.of_device("clock", "h200"),
    )


def read_counters(path: Path) -> None:
    all_of(
        path,
        lambda: counter_tables.counter_table("01_naive"),
        lambda: counter_tables.counter_table("01_naive/naive", ":", "time, stalls, possible_share"),
        lambda: read_kernels(path),
        lambda: counted.load_counters(path.parent),
    )


def read_kernels(path: Path) -> None:
    kernels = diagnose.kernels_of(path)
    diagnose.report(diagnose.complete(diagnose.chosen(kernels, "", path), path), 1)


def read_power(path: Path) -> None:
    found = power_results.load(path.parent)
    for name in power_results.FUNCTIONS:
        with contextlib.suppress(BadInput):
            power_results.number(found, name, "09_wgmma/wgmma", "random")
    power_figure.drawn(found)


def read_timelines(path: Path) -> None:
    with instead(timeline.load, __defaults__=(path.parent,)):
        timelines.draw("05_cp_async")


def read_claims(path: Path) -> None:
    found = evaluation.load_claims(path)
    claims.check(found, {"h200": MEASURED}, "")
    claims_lint.findings(found, {"h200": MEASURED})
    evaluation.shapes_claimed(found)
    claims.by_stage(found)


def read_edits(path: Path) -> None:
    for edit in planted.read_edits(path):
        planted.main_of((ROOT / "stages/05_cp_async.cu").read_text(), edit)
        shlex.split(edit.options)
        finding = planted.Finding(edit.file, 1, "a race", "text")
        planted.objections(edit, planted.Outcome((finding,)))


def read_proved(path: Path) -> None:
    with instead(proved, RECORD=path):
        proofs.proofs()


def read_proved_on_gpu(path: Path) -> None:
    with instead(proved, RECORD_ON_GPU=path):
        proofs.proofs()


def read_wrong(path: Path) -> None:
    solution = (ROOT / "exercises/15_cp_async_ring/solution.cuh").read_text()
    all_of(
        path,
        lambda: [mistake.shown() for mistake in read_mistakes(path, solution)],
        lambda: read_mistakes(path, None),
    )


def read_peers(path: Path) -> None:
    lines = sweep_records.read_lines(path)
    records = list(sweep_records.merge(lines, "fp16").values())
    [*map(peers.thin, records)]
    all_of(path, lambda: peers.report(records), lambda: sweep_figure.of_results(path.parent))


def read_tuned(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernels/tuned").mkdir(parents=True)
        tune.adopt(tune.checked(path), "h200", Path(folder))


def adopted(path: Path) -> None:
    """A measurement with this file in it, or one beside results that have it."""
    others = {name: MEASUREMENT[name] for name in MEASUREMENT if name != path.name}
    for name, data in others.items():
        (path.parent / name).write_bytes(data)
    with tempfile.TemporaryDirectory() as root:
        there = Path(root) / "docs/results/h100"
        there.mkdir(parents=True)
        (there / path.name).write_bytes(path.read_bytes())
        adopt.adopt(path.parent, Path(root), "h100", None, False)


def read_committed(path: Path) -> None:
    def diagnosed():
        if path.stem == counted.COUNTERS:
            read_kernels(path)

    all_of(
        path,
        lambda: written.committed(path.parent),
        lambda: adopted(path),
        lambda: results.load(path.parent),
        lambda: counted.load_counters(path.parent),
        diagnosed,
    )


def blocks(file: str, names: dict) -> Callable[[Path], None]:
    """The tables of a file below the project's root."""

    def read(path: Path) -> None:
        place = path.parent / file
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
        with instead(sources, ROOT=path.parent):
            all_of(place, *names.values())

    return read


def read_reasons(path: Path) -> None:
    with instead(model, WHY=path):
        model.reasons()


def read_products(path: Path) -> None:
    for name in MEASUREMENT:
        if not (path.parent / name).exists():
            (path.parent / name).write_bytes(MEASUREMENT[name])
    for name in ("library_bf16.json", "library_contiguous.json"):
        (path.parent / name).write_bytes((path.parent / "library_fp16.json").read_bytes())
    for shape in products.CALLS:
        for way in ("cold", "cached"):
            data = (path.parent / "jit_call_4096_cold.json").read_bytes()
            (path.parent / f"jit_call_{shape}_{way}.json").write_bytes(data)
    all_of(path, *products.LIBRARY.values(), *products.JIT.values())


def read_several(path: Path) -> None:
    """As the pages' tables have it, the others being what is committed, and as adopt.py does."""
    for other in tables.RESULTS.glob("*.jsonl"):
        if other.name != path.name:
            (path.parent / other.name).write_bytes(other.read_bytes())
    with instead(tables, RESULTS=path.parent):
        tables.main(["--check"])


def read_model(name: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        with instead(model, SHAPES=FEW, **{name: path}):
            model.errors()
            model.first_table()

    return read


def read_shapes(path: Path) -> None:
    shapes, _ = model.read_shapes(path)
    with instead(model, SHAPES=shapes):
        model.errors()


def read_trace(path: Path) -> None:
    declared = [traces.Declaration("tile", 4096, 3, 128, 4)]
    traces.page_of(traces.read_json(path, traces.TRACE), declared)


def read_cpu_report(path: Path) -> None:
    report = files.read_json(path, results.REPORT)
    for variant in report["variants"]:
        memory = [model.kept(line) for line in variant["memory"]]
        model.counts_of(memory, frozenset())
    its = {variant["name"]: variant for variant in report["variants"]}
    with instead(sources, predicted=lambda stage: its):
        counter_tables.predict("05_cp_async", "cp_async")
        pictures.access("05_cp_async", "cp_async", "A", "load")


def read_page(path: Path) -> None:
    docs.updated(files.read_text(path), Path("docs/page.md"), [])


def read_kernel(path: Path) -> None:
    text = files.read_text(path)
    parent = (ROOT / "kernels/01_naive.cuh").read_text()
    steps.step("02", text, "01", parent)
    steps.step("02", parent, "01", text)
    steps.words(steps.code(text), "gemm")


def lines_of(path: Path, begin: str, count: int) -> bytes:
    """A file's text with a few of its entries, which begin so."""
    head, *entries = path.read_text().split(f"\n{begin}")
    return begin.join([f"{head}\n", *(f"{entry}\n" for entry in entries[:count])]).encode()


def some(value: object, most: int = 3) -> object:
    """A value with lists and long objects cut short."""
    if isinstance(value, dict):
        kept = [*value.items()][: most if len(value) > 80 else None]
        return {key: some(one, most) for key, one in kept}
    return [some(one, most) for one in value[:most]] if isinstance(value, list) else value


def sample(path: Path, most: int = 3) -> bytes:
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    return "\n".join(json.dumps(some(json.loads(text), most)) for text in lines).encode()


def of_report(name: str) -> bytes:
    return json.dumps(some(reports.read(RESULTS, name, {}))).encode()


FEW = dict([*model.SHAPES.items()][:4])
MEASURED = evaluation.Measurements(RESULTS, [])
ENVIRONMENT = {"gpu": "NVIDIA H200", "driver": "1", "toolkit": "2", "date": "3", "commit": "4"}
REPORT = of_report("10b_cluster_4096")
COUNTERS = reports.read(RESULTS, "counters", {})
COUNTERS["counters"] = {"01_naive": COUNTERS["counters"]["01_naive"]}
MEASUREMENT = {
    "environment.json": json.dumps(ENVIRONMENT).encode(),
    "10b_cluster_4096.json": REPORT,
    "counters.json": json.dumps(COUNTERS).encode(),
    "provenance.json": json.dumps([ENVIRONMENT | {"files": ["counters"]}]).encode(),
    **{
        f"{name}.json": of_report(name)
        for name in (
            *("power", "around_gemm", "library_fp16"),
            *("library_in_a_row", "jit_call_4096_cold", "jit_shapes"),
        )
    },
}
EXERCISES = reports.read(RESULTS, "exercises", {})
EXERCISES["exercises"] = some(dict([*EXERCISES["exercises"].items()][:3]))
MEASUREMENT["exercises.json"] = json.dumps(EXERCISES).encode()
TIMELINE = reports.read(RESULTS, "timelines", {})
TIMELINE["stages"] = [s for s in TIMELINE["stages"] if s["stage"] == "05_cp_async"]
for window in TIMELINE["stages"][0]["windows"].values():
    window["warps"] = [w | {"spans": w["spans"][:9]} for w in window["warps"][:4]]
CPU_LINE = {
    **{"file": "/x/kernels/05_cp_async.cuh", "line": 3, "text": "a = A[i];", "array": "A"},
    **{"space": "global", "op": "load", "bytes": 4, "requests": 8, "lanes": 256},
    **{"sectors_per_request": 4.0, "ideal_sectors": 4.0, "sample": [4 * i for i in range(32)]},
}
SHARED_LINE = CPU_LINE | {"space": "shared", "op": "store", "array": "tile"}
SHARED_LINE |= {"wavefronts_per_request": 1.0, "ideal_wavefronts": 1.0}
CPU_REPORT = {
    "stage": "05_cp_async",
    "device": {"kind": "cpu", "name": "CPU"},
    "problem": {"m": 128, "n": 128, "k": 128, "input": "fp32", "output": "fp32"},
    "variants": [{"name": "cp_async", "findings": [], "memory": [CPU_LINE, SHARED_LINE]}],
}
REQUEST = {"offsets": CPU_LINE["sample"], "cost": 4}
TRACED = {"array_bytes": 4096, "pitch": 128, "warp": 0, "first": [REQUEST, REQUEST]}
TRACE = CPU_REPORT | {"input": "fp32", "output": "fp32"}
TRACE["variants"] = [{"name": "cp_async", "lines": [CPU_LINE | TRACED, SHARED_LINE | TRACED]}]
PROGRAM = {"tokens": 1, "width": 2, "hidden": 3, "contenders": [{"name": "01_x y", "ms": 1.0}]}
NCU_ROWS = b"""==PROF== Connected
"ID","Kernel Name","gpu__time_duration.sum","smsp__inst_executed.sum"
"","","ns","inst"
"0","gemm_kernel","1,234","99"
"""
NCU_METRICS = b""""ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","gemm_kernel","gpu__time_duration.sum","us","1.5"
"""
PAGE = b"""# One

<!-- code kernels/01_naive.cuh "Idea" "vs" -->
<!-- end -->
<!-- counters 01_naive : time, issue -->
<!-- end -->
<!-- claims uncoalesced-sectors -->
<!-- end -->
It takes <!--= time(01_naive/naive) | .1f -->1<!--/--> ms.
<!-- contenders groups_4096 -->
<!-- end -->
<!-- library slow -->
<!-- end -->
"""
TUNED = some(tune.checked(RESULTS / "tune.jsonl")) | {"count": 3}
COMMITTED = reports.texts(
    Path(), {name.removesuffix(".json"): json.loads(data) for name, data in MEASUREMENT.items()}
)
WRONG = lines_of(ROOT / "exercises/15_cp_async_ring/wrong.yaml", "- ", 3)
EDITS = lines_of(ROOT / "tests/planted_edits/05_cp_async.yaml", "- ", 2)


def by_name(name: str, read: Callable[[Path], object]) -> Reader:
    return Reader(MEASUREMENT[name], name, read)


READERS = {
    "stages": Reader(sample(ROOT / "stages/manifest.json"), "manifest.json", manifest.read),
    "order": Reader(sample(ROOT / "docs/order.json"), "order.json", reading.order),
    "glossary": Reader(
        lines_of(ROOT / "docs/glossary.md", "## ", 5),
        "glossary.md",
        lambda path: [term.pattern for term in reading.glossary(files.read_text(path))],
    ),
    "remedies": Reader(
        sample(ROOT / "stages/remedies.json"), "remedies.json", diagnose.read_remedies
    ),
    "timeline": Reader(
        sample(ROOT / "stages/timeline.json"), "timeline.json", timeline.read_stages
    ),
    "triton stages": Reader(
        sample(ROOT / "stages/triton.json"),
        "triton.json",
        lambda path: [Twin(**t) for t in read_table(path)["twins"]],
    ),
    "model": Reader(lines_of(ROOT / "stages/model.yaml", "0", 6), "model.yaml", read_shapes),
    "reasons": Reader(
        b"01_naive/naive: {time: so, busiest: it is}\n",
        "reasons.yaml",
        lambda path: read_reasons(path),
    ),
    "claims": Reader(lines_of(ROOT / "docs/claims.yaml", "- id", 4), "claims.yaml", read_claims),
    "edits": Reader(EDITS, "05_cp_async.yaml", read_edits),
    "wrong solutions": Reader(WRONG, "wrong.yaml", read_wrong),
    "report": by_name("10b_cluster_4096.json", read_report),
    "counters": by_name("counters.json", read_counters),
    "ncu rows": Reader(NCU_ROWS, "report.csv", read_kernels),
    "ncu metrics": Reader(NCU_METRICS, "report.csv", read_kernels),
    "ncu partial": Reader(
        MEASUREMENT["counters.json"],
        "counters.json",
        lambda path: files.read_json(path, ncu.PARTIAL),
    ),
    "power": by_name("power.json", read_power),
    "timelines": Reader(json.dumps(TIMELINE).encode(), "timelines.json", read_timelines),
    "around": by_name("around_gemm.json", lambda path: all_of(path, result_tables.around)),
    "exercises": by_name("exercises.json", lambda path: all_of(path, counter_tables.references)),
    "library": by_name("library_fp16.json", lambda path: read_products(path)),
    "library in a row": by_name("library_in_a_row.json", lambda path: read_products(path)),
    "jit call": by_name("jit_call_4096_cold.json", lambda path: read_products(path)),
    "jit shapes": by_name("jit_shapes.json", lambda path: read_products(path)),
    "programs": Reader(
        json.dumps(PROGRAM).encode(),
        "programs/x.json",
        lambda path: all_of(path.parent, lambda: result_tables.contenders("x")),
    ),
    "adopted environment": by_name("environment.json", adopted),
    "adopted provenance": by_name("provenance.json", adopted),
    "adopted report": by_name("10b_cluster_4096.json", adopted),
    "adopted counters": by_name("counters.json", adopted),
    "adopted library": by_name("library_fp16.json", adopted),
    **{
        f"committed {path.stem}": Reader(text.encode(), path.name, read_committed)
        for path, text in COMMITTED.items()
    },
    "sweep's environment": by_name(
        "environment.json", lambda path: measuring.same_commit(path.parent)
    ),
    "requests": Reader(
        sample(ROOT / "docs/results/requests.jsonl"), "requests.jsonl", read_model("REQUESTS")
    ),
    "sass": Reader(sample(ROOT / "docs/results/sass.jsonl"), "sass.jsonl", read_model("SASS")),
    "predicted first": Reader(
        sample(ROOT / "docs/results/predicted_first.jsonl"), "first.jsonl", read_model("FIRST")
    ),
    "proved": Reader(sample(ROOT / "docs/results/proved.jsonl"), "proved.jsonl", read_proved),
    "proved on a GPU": Reader(
        json.dumps(
            {
                "01_naive": {"kernel": proved.kernel("01_naive"), "gpu": "GPU", "toolkit": "13.0"}
                | dict.fromkeys(("shapes", "variants", "runs"), 12)
            }
        ).encode(),
        "proved_on_gpu.jsonl",
        read_proved_on_gpu,
    ),
    "operator": Reader(
        sample(ROOT / "docs/results/operator.jsonl"),
        "operator.jsonl",
        blocks(operator.FILE, operator.TABLES),
    ),
    "any rows": Reader(
        sample(ROOT / rows_beside_torch.ROWS_FILE),
        "rows.jsonl",
        blocks(
            rows_beside_torch.ROWS_FILE,
            {"rows": operator.any_rows, "slowest": operator.slowest_rows},
        ),
    ),
    "triton": Reader(
        sample(ROOT / "docs/results/triton.jsonl"), "triton.jsonl", blocks(twins.FILE, twins.TABLES)
    ),
    "triton rows": Reader(
        sample(ROOT / "docs/results/triton_rows.jsonl"),
        "triton_rows.jsonl",
        blocks(triton_rows.FILE, triton_rows.TABLES),
    ),
    "tuned": Reader(json.dumps(TUNED).encode(), "tune.json", read_tuned),
    "tune": Reader(lines_of(RESULTS / "tune.jsonl", "{", 3), "tune.jsonl", read_tuned),
    "peers": Reader(lines_of(RESULTS / "sweep.jsonl", "{", 3), "sweep.jsonl", read_peers),
    "shapes of peers": Reader(
        b"4096 # squares\n16x4096x4096\n",
        "shapes.txt",
        lambda path: [*map(peers.full, peers.shapes_from(path))],
    ),
    "trace": Reader(json.dumps(TRACE).encode(), "trace.json", read_trace),
    "CPU report": Reader(json.dumps(CPU_REPORT).encode(), "report.json", read_cpu_report),
    "page": Reader(PAGE, "page.md", read_page),
    "kernel": Reader((ROOT / "kernels/02_smem_tiled.cuh").read_bytes(), "02.cuh", read_kernel),
    "main": Reader(
        (ROOT / "stages/05_cp_async.cu").read_bytes(),
        "05.cu",
        lambda path: steps.listed_variants(files.read_text(path)),
    ),
    **{
        f"several GPUs: {name}": Reader(
            sample(tables.RESULTS / f"{name}.jsonl", most=12), f"{name}.jsonl", read_several
        )
        for name in ("times_all-gather", "timelines", "async_tp", "beside", "four")
    },
}


def fails(reader: Reader, seed: str) -> str:
    """What is wrong with what a reader makes of its file, damaged as the seed says; "" if nothing
    is."""
    data = mutated(reader.sample, Path(reader.name).suffix, random.Random(seed))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / reader.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                reader.read(path)
        except BadInput as error:
            said = error.args
            return (
                "" if all(said) and all(map(str.isprintable, said)) else f"no line: {said!r:.300}"
            )
        except (Exception, SystemExit):
            return f"{traceback.format_exc()}\nof {data!r:.1500}"
    return ""


def fuzz(name: str, mutations: int) -> list[str]:
    """What was wrong, with the seeds."""
    seeds = [f"{name} {number}" for number in range(mutations)]
    found = [(seed, fails(READERS[name], seed)) for seed in seeds]
    return [f"{seed}: {what}" for seed, what in found if what]


def main(arguments: list[str]) -> int:
    count, names = int(arguments[0]) if arguments else 100, arguments[1:] or READERS
    bad = 0
    for name in names:
        begin = time.monotonic()
        found = fuzz(name, count)
        bad += len(found)
        print("\n".join(found[:3]), end="\n" if found else "")
        print(f"{name}: {len(found)} of {count}, {time.monotonic() - begin:.1f} s", flush=True)
    print(f"== {len(names)} readers, {count} damaged files each: {bad} end with a traceback")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
