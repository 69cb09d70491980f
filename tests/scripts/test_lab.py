"""Compiles stages in a page, in headless Chromium, and compares them with the native programs."""

import json
import subprocess
from pathlib import Path

import pytest

from ladder import manifest, traces

ROOT = Path(__file__).resolve().parents[2]
STAGES = list(manifest.load())
SIZE = 64

# Compiles and runs in the worker. A fresh one each time would load the compiler again.
ASK = """message => new Promise((done, failed) => {
  window.lab ??= new Worker("worker.mjs", { type: "module" });
  lab.onerror = error => failed(error.message);
  lab.onmessage = ({ data }) => data.doing === undefined && done({ ...data, ...data.runs?.[0] });
  lab.postMessage(message);
})"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ask(engine_page):
    """ask(source, files, *arguments): what the lab's worker answers."""
    return lambda source, files, *arguments: engine_page.evaluate(
        ASK, {"source": source, "files": files, "runs": [arguments]}
    )


@pytest.fixture(scope="module")
def of_stage(ask, engine):
    """of_stage(name, edit): the answer for its main with its kernel as `edit` makes it."""

    def answer(name, edit=lambda kernel: kernel):
        stage = json.loads((engine / f"stages/{name}.json").read_text())
        files = {"stage.h": stage["header"], f"{name}.cuh": edit(stage["kernel"])}
        return ask(stage["main"], files, *[str(SIZE)] * 3)

    return answer


def test_what_the_page_knows_of_a_stage_is_what_cmake_makes_of_it(engine):
    for name in STAGES:
        generated = ROOT / f"build/generated/{name}/stage.h"
        if not generated.is_file():
            pytest.skip("CMake has not configured build/")
        stage = json.loads((engine / f"stages/{name}.json").read_text())
        assert stage["header"] == generated.read_text()


# Clang 23 reads the parts of these float4 where they are used, g++ where they are copied. The
# device makes one load of them again, at the first of their lines, or at that of their loop.
MOVED = {
    ("03_transposed_b.cuh", 98, "sA"): 97,
    ("03_transposed_b.cuh", 98, "sB"): 97,
    ("04_register_blocked.cuh", 48, "sA"): 47,
    ("04_register_blocked.cuh", 46, "sB"): 45,
}
# Several copies of one line, of which any may be the example.
COPIED = {
    ("vector_access.cuh", 26, "C"),
    ("04d_register_banks.cuh", 116, "C"),
    ("05c_split_k.cuh", 45, "workspace"),
}


# Where Clang moves many loads of a float4 from line to line: what is counted, without lines.
MOVED_WIDELY = {"05d_split_in_cluster", "05e_few_rows", "14_few_rows", "19_tf32"}


def counts_of(report, variant):
    """Of each kind of access: requests, lanes and what they cost."""
    [memory] = [v["memory"] for v in report["variants"] if v["name"] == variant]
    found = {}
    for row in memory:
        kind = tuple(row[key] for key in ("array", "space", "op", "bytes"))
        cost = row.get("wavefronts_per_request", row.get("sectors_per_request", 0))
        counts = (row["requests"], row["lanes"], row["requests"] * cost)
        found[kind] = tuple(map(sum, zip(found.get(kind, (0, 0, 0)), counts, strict=True)))
    return found


def rows_of(report, variant):
    """What was counted line by line, with each file's name alone."""
    [memory] = [v["memory"] for v in report["variants"] if v["name"] == variant]
    rows = []
    for row in memory:
        name = Path(row["file"]).name
        line = MOVED.get((name, row["line"], row["array"]), row["line"])
        left_out = {"text", "sample"} if (name, line, row["array"]) in COPIED else {"text"}
        counts = {key: value for key, value in row.items() if key not in left_out}
        rows.append({**counts, "file": name, "line": line})
    return sorted(rows, key=lambda row: (row["line"], row["array"], row["op"], row["bytes"]))


@pytest.mark.parametrize("name", STAGES)
def test_counts_what_the_native_device_counts(of_stage, name, tmp_path):
    program = ROOT / "build/stages/cpu" / name
    if not program.is_file():
        pytest.skip(f"{name} is not built")
    subprocess.run(
        [program, "--size", str(SIZE), "--json", tmp_path / "native.json"],
        check=True,
        capture_output=True,
    )
    native = json.loads((tmp_path / "native.json").read_text())
    answer = of_stage(name)
    assert answer.get("code") == 0, answer
    report = json.loads(answer["out"])
    assert report["problem"] == native["problem"]
    for mine, other in zip(report["variants"], native["variants"], strict=True):
        variant = other["name"]
        assert mine["name"] == variant
        assert mine["check"] == other["check"]
        assert mine["totals"] == other["totals"]
        assert mine["findings"] == other["findings"] == []
        assert counts_of(report, variant) == counts_of(native, variant)
        if name not in MOVED_WIDELY:
            assert rows_of(report, variant) == rows_of(native, variant)


TRACE = """([answer, stage]) => import("/stepping.mjs").then(
  ({ traceOf }) => traceOf(JSON.parse(answer.file), answer.shared, stage))"""


def steps_of(trace):
    """By variant and line: what the stepper shows of it."""

    def offsets(what, first):
        if isinstance(what, list):
            return [o + i * step for o, step, lanes in what for i in range(lanes)]
        return [o + what if o >= 0 else o for o in first]

    found = {}
    for variant in trace["variants"]:
        for line in variant["lines"]:
            first = offsets(line["first"][0][0], None)
            requests = [(offsets(what, first), cost) for what, cost, *_ in line["first"]]
            number = MOVED.get((line["file"], line["line"], line["array"]), line["line"])
            key = (variant["name"], line["file"], number, line["op"], line["array"], line["bytes"])
            rest = (line["space"], line["element"], line["pitch"], line["requests"])
            found.setdefault(key, []).append((rest, requests))
    return found


@pytest.mark.parametrize("name", ["03_transposed_b", "06_wmma"])
def test_the_stepper_shows_what_it_shows_of_the_native_program(
    of_stage, engine_page, name, monkeypatch
):
    program = ROOT / "build/stages/cpu" / name
    if not program.is_file():
        pytest.skip(f"{name} is not built")
    monkeypatch.setattr(traces, "SIZE", SIZE)
    declared = traces.declarations(traces.debug_information(program))
    native = traces.page_of(traces.trace(program), declared)
    mine = engine_page.evaluate(TRACE, [of_stage(name), name])
    assert steps_of(mine) == steps_of(native)


def test_conflicted_has_32_wavefronts(of_stage):
    report = json.loads(of_stage("03_transposed_b")["out"])
    stores = [
        row
        for row in rows_of(report, "conflicted")
        if row["array"] == "sB" and row["op"] == "store"
    ]
    assert [(row["line"], row["wavefronts_per_request"]) for row in stores] == [(33, 32.0)]


@pytest.mark.parametrize(
    ("barrier", "finding"),
    [
        ("", "02_smem_tiled.cuh:33: race: reads what another thread has written"),
        (
            "for (;;) {}",
            "02_smem_tiled.cuh:31: still running after 2 s of one block: an endless loop",
        ),
    ],
)
def test_what_stands_in_the_place_of_a_barrier_is_found_at_its_line(of_stage, barrier, finding):
    answer = of_stage("02_smem_tiled", lambda text: text.replace("__syncthreads();", barrier, 1))
    assert answer["code"] == 1
    [variant] = json.loads(answer["out"])["variants"]
    assert any(finding in found for found in variant["findings"]), variant["findings"]


def test_division_by_zero_is_a_finding(of_stage):
    answer = of_stage(
        "02_smem_tiled", lambda text: text.replace("acc = 0.0f", "acc = K / (K - 64)")
    )
    assert "divides an integer by zero" in answer["out"]


def test_what_does_not_compile_is_refused(of_stage):
    answer = of_stage("01_naive", lambda text: text.replace("blockIdx", "blockIdy"))
    assert "01_naive.cuh" in answer["refused"]
    assert "error:" in answer["refused"]


def test_common_headers_are_compiled_already(ask):
    answer = ask("int main() { return ladder::ceil_div(9, 4) - 3; }", {})
    assert answer.get("code") == 0, answer
