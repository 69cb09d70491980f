import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ladder import triton_rows
from ladder.docs import sources
from ladder.docs import triton_rows as tables
from ladder.files import read_lines
from ladder.project import BadInput
from ladder.row_twins import FUNCTIONS, KERNELS, OPERATIONS
from ladder.twins import Wrong, triton_lines

ROOT = Path(__file__).resolve().parents[2]

# ---- the command ----


def ran(*arguments):
    command = [sys.executable, ROOT / "ladder", "triton-rows", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["4096"], "no rows: '4096'; write 8192x4096, with rows of up to 99,999 numbers"),
        (["0x7"], "no rows: '0x7'; "),
        (["5x100000"], "no rows: '5x100000'; "),
        (["99999x99999"], "no rows: '99999x99999'; "),
        (["--compile", "5x7"], "--compile takes no shapes"),
        (["--out", "/nowhere/x"], "/nowhere/x: there is no folder /nowhere"),
    ],
)
def test_bad_input_is_said_in_a_line(arguments, message):
    code, said = ran(*arguments)
    assert code == 2
    assert said.startswith(f"ladder triton-rows: {message}") and said.count("\n") == 1


def test_without_the_library_or_pytorch_it_says_what_is_missing(monkeypatch, capsys, tmp_path):
    assert triton_rows.main(["--library", str(tmp_path / "x.so")]) == 77
    assert capsys.readouterr().err.startswith(f"ladder triton-rows: there is no {tmp_path}/x.so")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "ladder.triton_rows_gpu", raising=False)
    assert triton_rows.main(["--compile"]) == 77
    said = capsys.readouterr().err
    assert said.startswith("ladder triton-rows: it needs PyTorch and Triton: ")


# ---- the tables ----


def found(**more):
    facts = {"lines": 8, "registers": 47, "local_bytes": 0, "shared_bytes": 16, "warps": 4}
    facts |= {"counts": {"ld.global 16": 4, "st.global 16": 4, "fma": 63}, "shared_loads": {}}
    compiled = dict.fromkeys(OPERATIONS, facts)
    made = {"gpu": None, "triton": "3.6.0", "torch": "2.11.0", "compiled": compiled, "times": []}
    return made | more


@pytest.fixture
def results(tmp_path, monkeypatch):
    (tmp_path / "docs/results").mkdir(parents=True)
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    return lambda found: (tmp_path / tables.FILE).write_text(json.dumps(found))


def test_what_was_not_measured_is_said(results):
    results(found())
    assert tables.block("times") == "Not measured yet."
    assert "Timed" not in tables.block("versions")


def test_times_are_shares_of_a_copy(results):
    ms = {"triton": 2.0, "tuned": 1.0, "ladder": 0.8, "torch": 4.0, "copy": 1.0}
    time = {"operation": "softmax", "rows": 1000, "width": 1000, "bytes": 4000000, "warps": 2}
    add = {name: ms[name] for name in ("triton", "tuned", "torch", "copy")}
    times = [
        time | {"ms": ms},
        time | {"operation": "add", "bytes": 6000000, "ms": add},
    ]
    results(found(gpu="NVIDIA H200", times=times))
    assert tables.block("times").splitlines()[0] == (
        "| % of a copy on H200 | Triton | tuned | its warps | [23](/docs/23_rows.md) | PyTorch "
        "| copy, GB/s |"
    )
    assert tables.block("times").splitlines()[2:] == [
        "| `softmax`, 1,000 x 1,000 | 50.0 | 100.0 | 2 | 125.0 | 25.0 | 4 |",
        "| `add`, 1,000 x 1,000 | 75.0 | 150.0 | 2 |  | 37.5 | 4 |",
    ]
    assert tables.block("versions").endswith(" Timed on an H200 with PyTorch 2.11.0.")


def test_the_table_of_what_the_compiler_did(results):
    results(found())
    row = "| `softmax` | 8 | 4 | 47 | 4 `ld.global` of 16 B | 4 `st.global` of 16 B |  | 63 |"
    assert row in tables.block("compiled").splitlines()


def test_an_unknown_table_is_refused(results):
    with pytest.raises(BadInput, match="tritonrows tea: there are times, "):
        tables.block("tea")


# ---- what the page says ----


def test_the_committed_results_are_of_the_kernels_as_they_are():
    found = read_lines(ROOT / tables.FILE, {})["compiled"]
    text = KERNELS.read_text()
    for operation, function in FUNCTIONS.items():
        assert found[operation]["lines"] == triton_lines(text, function)


def test_what_the_page_says_of_the_instructions():
    found = read_lines(ROOT / tables.FILE, {})["compiled"]
    counts = {operation: facts["counts"] for operation, facts in found.items()}
    for operation in ("softmax", "layer_norm", "layer_norm_gelu"):
        assert found[operation]["warps"] == 4 and found[operation]["local_bytes"] == 0
        assert counts[operation]["st.global 16"] == 4
    assert counts["softmax"]["ld.global 16"] == 4
    for of_memory in ("ld.global 16", "st.global 16"):
        assert counts["layer_norm"][of_memory] == counts["layer_norm_gelu"][of_memory]
    assert counts["layer_norm"]["ld.global 16"] == 4 + 8
    assert "ex2.approx" not in counts["layer_norm"]


# ---- with PyTorch and Triton ----


@pytest.fixture(scope="module")
def gpu_part():
    """The module that imports them, where Triton's interpreter runs the kernels on a CPU."""
    os.environ["TRITON_INTERPRET"] = "1"  # which is read when Triton is imported
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("triton", reason="Triton is not installed")
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    if tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4):
        pytest.skip("the interpreter of Triton 3.6 needs an older NumPy than 2.4")
    from ladder import triton_rows_gpu

    as_it_is = triton_rows_gpu.ROUNDOFF
    triton_rows_gpu.ROUNDOFF = 2 * as_it_is  # the interpreter cuts what the GPU rounds
    yield triton_rows_gpu
    triton_rows_gpu.ROUNDOFF = as_it_is


def findings(part, tmp_path, edit=("", "")):
    """What the checks say of the kernels with a mistake planted."""
    text = KERNELS.read_text()
    assert edit[0] in text
    (tmp_path / "rows.py").write_text(text.replace(*edit))
    part.torch.manual_seed(1)
    try:
        part.check_all(part.load_kernels(tmp_path / "rows.py"), None, "cpu")
    except Wrong as wrong:
        return str(wrong)
    return ""


def test_every_kernel_is_right(gpu_part, tmp_path):
    assert findings(gpu_part, tmp_path) == ""


@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        (("i < count", "i <= count"), "add by triton, 3x1: wrote past the end of Y"),
        (('other=-float("inf")', "other=0.0"), "softmax by triton, 3x130: row 0"),
        (("tl.exp(x - tl.max(x, axis=0))", "tl.exp(x)"), "softmax by triton, 3x1: row 0"),
        (("tl.where(there, x - mean, 0.0)", "x - mean"), "layer_norm by triton, 3x7: row 0"),
        (
            ("tl.sum(apart * apart, axis=0) / width", "tl.sum(x * x) / width - mean * mean"),
            "layer_norm by triton, 3x7: row 1",
        ),
        (("0.044715 * x", "0.04 * x"), "layer_norm_gelu by triton, 3x7: row 0"),
        (("element_ty), mask=there)\n\n\n# ---- L", "element_ty))\n\n\n# ---- L"), "wrote past"),
    ],
)
def test_a_planted_mistake_is_found(gpu_part, edit, finding, tmp_path):
    assert finding in findings(gpu_part, tmp_path, edit)
