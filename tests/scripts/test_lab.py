"""Compiles stages in a page, in headless Chromium, and compares them with the native programs."""

import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAGES = ["01_naive", "02_smem_tiled", "03_transposed_b", "04_register_blocked", "05_cp_async"]
SIZE = 64

# Compiles and runs in the worker. A fresh one each time would load the compiler again.
ASK = """message => new Promise((done, failed) => {
  window.lab ??= new Worker("worker.mjs", { type: "module" });
  lab.onerror = error => failed(error.message);
  lab.onmessage = answer => done(answer.data);
  lab.postMessage(message);
})"""

pytestmark = pytest.mark.slow


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def ask(browser, tmp_path_factory):
    """ask(source, files, *arguments): what the lab's worker answers."""
    if shutil.which("clang++-19") is None or shutil.which("wasm-ld-19") is None:
        pytest.skip("there is no clang++-19 with wasm-ld-19")
    if not Path("/usr/include/wasm32-wasi/c++/v1").exists():
        pytest.skip("there is no libc++-19-dev-wasm32")
    folder = tmp_path_factory.mktemp("lab")
    done = subprocess.run(
        ["python3", ROOT / "lab/build.py", folder, ROOT / "build/lab"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (folder / "index.html").write_text("<!doctype html><title>lab</title>")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Files, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page()
    page.set_default_timeout(300_000)
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    yield lambda source, files, *arguments: page.evaluate(
        ASK, {"source": source, "files": files, "arguments": arguments}
    )
    page.close()
    server.shutdown()


def of_stage(ask, name, edit=lambda kernel: kernel):
    generated = ROOT / f"build/generated/{name}/stage.h"
    if not generated.is_file():
        pytest.skip("CMake has not configured build/")
    files = {
        "stage.h": generated.read_text(),
        f"{name}.cuh": edit((ROOT / f"kernels/{name}.cuh").read_text()),
    }
    source = (ROOT / f"stages/{name}.cu").read_text()
    return ask(source, files, *[str(SIZE)] * 3)


# Clang 23 reads the parts of these float4 where they are used, g++ where they are copied. The
# device makes one load of them again, at the first of their lines, or at that of their loop.
MOVED = {
    ("03_transposed_b.cuh", 98, "sA"): 97,
    ("04_register_blocked.cuh", 48, "sA"): 47,
    ("04_register_blocked.cuh", 46, "sB"): 45,
}
# Two copies of one line, of which either may be the example.
COPIED = {("vector_access.cuh", 26, "C")}


def rows_of(report, variant):
    """What was counted, with each file's name alone."""
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
def test_counts_what_the_native_device_counts(ask, name, tmp_path):
    program = ROOT / "build/stages/cpu" / name
    if not program.is_file():
        pytest.skip(f"{name} is not built")
    subprocess.run(
        [program, "--size", str(SIZE), "--json", tmp_path / "native.json"],
        check=True,
        capture_output=True,
    )
    native = json.loads((tmp_path / "native.json").read_text())
    answer = of_stage(ask, name)
    assert answer.get("code") == 0, answer
    report = json.loads(answer["out"])
    assert report["problem"] == native["problem"]
    for mine, other in zip(report["variants"], native["variants"], strict=True):
        variant = other["name"]
        assert mine["name"] == variant
        assert mine["check"] == other["check"]
        assert mine["totals"] == other["totals"]
        assert mine["findings"] == other["findings"] == []
        assert rows_of(report, variant) == rows_of(native, variant)


def test_conflicted_has_32_wavefronts(ask):
    report = json.loads(of_stage(ask, "03_transposed_b")["out"])
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
def test_what_stands_in_the_place_of_a_barrier_is_found_at_its_line(ask, barrier, finding):
    answer = of_stage(
        ask, "02_smem_tiled", lambda text: text.replace("__syncthreads();", barrier, 1)
    )
    assert answer["code"] == 1
    [variant] = json.loads(answer["out"])["variants"]
    assert any(finding in found for found in variant["findings"]), variant["findings"]


def test_division_by_zero_is_a_finding(ask):
    answer = of_stage(
        ask, "02_smem_tiled", lambda text: text.replace("acc = 0.0f", "acc = K / (K - 64)")
    )
    assert "divides an integer by zero" in answer["out"]


def test_what_does_not_compile_is_refused(ask):
    answer = of_stage(ask, "01_naive", lambda text: text.replace("blockIdx", "blockIdy"))
    assert "01_naive.cuh" in answer["refused"]
    assert "error:" in answer["refused"]


def test_common_headers_are_compiled_already(ask):
    answer = ask("int main() { return ladder::ceil_div(9, 4) - 3; }", {})
    assert answer.get("code") == 0, answer
