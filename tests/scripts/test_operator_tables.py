"""The tables of docs/pytorch.md, of results made here and of those that are committed."""

import json

import pytest

from ladder.docs import operator, sources
from ladder.files import read_lines
from ladder.project import BadInput

BY, OWN = "the library", "torch's own: rows do not start at multiples of 16 bytes"


def row(shape, percent, kind="fp16", by=BY):
    times = {"ladder_ms": 0.01, "torch_ms": percent / 1e4}
    return {"shape": shape, "type": kind, "by": by, "percent": percent, "wrong": False} | times


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Writes docs/results/operator.jsonl of a project of its own."""
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / "docs/results").mkdir(parents=True)

    def write(*products, layers=(), **more):
        found = {"gpu": "NVIDIA H200", "torch": "2.11.0", "products": products, "layers": layers}
        found |= more
        (tmp_path / "docs/results/operator.jsonl").write_text(json.dumps(found))

    return write


def both(shape, fp16, bf16, by=BY):
    return row(shape, fp16, "fp16", by), row(shape, bf16, "bf16", by)


def test_each_family_has_its_means_and_its_worst(results):
    results(
        *both("512x512x512", 100.0, 90.0),
        *both("8x64x128", 50.0, 100.0),
        *both("8x128x64", 200.0, 121.0),
        *both("64x63x64", 300.0, 300.0, BY + " on aligned copies of b C: rows"),
        *both("64x61x64", 100.0, 100.0, OWN),
    )
    assert operator.block("products").splitlines()[2:] == [
        "| squares | 1 | 100.0 | 90.0 | 90.0 at 512x512x512, bf16 |",
        "| 8 rows | 2 | 100.0 | 110.0 | 50.0 at 8x64x128, fp16 |",
        "| rows not aligned, on copies | 1 | 300.0 | 300.0 | 300.0 at 64x63x64, fp16 |",
        "| rows not aligned, torch's own | 1 | 100.0 | 100.0 | 100.0 at 64x61x64, fp16 |",
        "| all | 5 | 124.6 | 126.7 | 50.0 at 8x64x128, fp16 |",
    ]


def test_any_rows_are_told_by_how_many_there_are(results, tmp_path):
    def timed(shape, call, percent):
        return row(shape, percent, "bf16") | {"call": call}

    rows = [
        timed(f"{m}x64x64", call, percent)
        for m, linear, matmul in (
            (1, 100.0, 121.0),
            (16, 100.0, 100.0),
            (17, 80.0, 90.0),
            (65, 100.0, 100.0),
            (257, 100.0, 100.0),
            (4096, 100.0, 100.0),
        )
        for call, percent in (("linear", linear), ("matmul", matmul))
    ]
    folder = tmp_path / "docs/results/h200"
    folder.mkdir()
    found = {"gpu": "NVIDIA H200", "torch": "2.11.0", "rows": rows}
    (folder / "rows.jsonl").write_text(json.dumps(found))
    lines = operator.block("rows").splitlines()
    assert (
        lines[2] == "| 1 to 16 | 2 | 100.0 | 0 | 100.0 at 1x64x64 | 110.0 | 0 | 100.0 at 16x64x64 |"
    )
    assert (
        lines[3] == "| 17 to 64 | 1 | 80.0 | 1 | 80.0 at 17x64x64 | 90.0 | 0 | 90.0 at 17x64x64 |"
    )
    assert lines[7].startswith("| 1 to 4096 | 6 | 96.3 | 1 | 80.0 at 17x64x64 |")
    assert lines[-1] == "H200, PyTorch 2.11.0."


def test_a_layer_has_a_line_for_each_epilogue(results):
    def layer(shape, activation, percent):
        return row(shape, percent) | {"activation": activation}

    results(
        layers=(
            layer("8x64->32", None, 101.4),
            layer("8x64->32", "gelu_tanh", 110.0),
            layer("1x64->32", None, 99.6),
            layer("1x64->32", "gelu_tanh", 120.0),
        )
    )
    assert operator.block("layers").splitlines() == [
        "| K->N | type | activation | 1 row, % | 8 rows, % |",
        "| --- | --- | --- | ---: | ---: |",
        "| 64->32 | fp16 | none | 100 | 101 |",
        "| 64->32 | fp16 | `gelu_tanh` | 120 | 110 |",
    ]


def test_weights_of_four_bits_stand_beside_both_of_torchs(results):
    times = {"ladder_ms": 0.01, "torch_ms": 0.025, "torch_int4_ms": 0.3}
    off = {"wrong": False, "kernel": 0.002, "rounding": 0.1, "percent": 3000.0}
    steps = {"torch_ms": 5.0, "ladder_ms": 4.0, "torch_int4_ms": 8.0, "ladder_int4_ms": 2.0}
    results(
        int4=[{"shape": "1x64x128"} | times | off],
        decoding=[{"texts": 4, "length": 9, "percent": 125.0} | steps],
    )
    assert operator.block("int4").splitlines()[2:] == ["| 1x64x128 | 10 | 300 | 25 | 30.0 | 2.5 |"]
    assert operator.block("decoding").splitlines()[2:] == ["| 4 | 800 | 1000 | 500 | 2000 |"]


def test_numbers_of_eight_bits_stand_beside_those_of_torch(results):
    times = {"ladder_ms": 0.01, "torch_ms": 0.0105, "percent": 105.0}
    kind = {"shape": "1x64x128", "scales": "rows", "fast": True, "wrong": False}
    results(fp8=[kind | times])
    assert operator.block("fp8").splitlines()[2:] == [
        "| 1x64x128 | per row | True | 10 | 10.5 | 105.0 |"
    ]


def test_int8_and_tf32_stand_beside_those_of_torch(results):
    times = {"shape": "1x64x128", "ladder_ms": 0.01, "torch_ms": 0.0105, "percent": 105.0}
    results()
    assert operator.block("int8") == operator.block("tf32") == "Not measured."
    right = times | {"wrong": False}
    results(int8=[right | {"to": "int32"}], tf32=[right | {"by": "the library, in TF32"}])
    assert operator.block("int8").splitlines()[2:] == ["| 1x64x128 | int32 | 10 | 10.5 | 105.0 |"]
    assert operator.block("tf32").splitlines()[2:] == [
        "| 1x64x128 | the library, in TF32 | 10 | 10.5 | 105.0 |"
    ]


def test_batches_say_how_many_launches_they_are(results):
    times = {"ladder_ms": 0.01, "torch_ms": 0.0105, "percent": 105.0, "type": "fp16"}
    of = {"batch": 64, "shape": "8x64x128", "b_by": "columns", "wrong": False} | times
    results()
    assert operator.block("bmm") == "Not measured."
    each = of | {"by": "the library, a launch for each product", "batch": 4}
    results(bmm=[of | {"by": "the library, in one launch"}, each])
    assert operator.block("bmm").splitlines()[2:] == [
        "| 64 | 8x64x128 | fp16 | columns | 1 | 10 | 10.5 | 105.0 |",
        "| 4 | 8x64x128 | fp16 | columns | 4 | 10 | 10.5 | 105.0 |",
    ]


def test_results_in_fp32_stand_beside_those_of_16_bits(results):
    times = {"ladder_ms": 0.01, "torch_ms": 0.0105, "rounded_ms": 0.008, "percent": 105.0}
    results()
    assert operator.block("to_float") == "Not measured."
    results(to_float=[{"shape": "1x64x128", "type": "bf16", "wrong": False} | times])
    assert operator.block("to_float").splitlines()[2:] == [
        "| 1x64x128 | bf16 | 10 | 10.5 | 8 | 105.0 |"
    ]


def test_gradients_are_told_by_the_number_of_tokens(results):
    results()
    assert operator.block("gradients") == "Not measured."

    def of(which, shape, percent, kind="fp16"):
        return {key: value for key, value in row(shape, percent, kind).items() if key != "by"} | {
            "of": which
        }

    results(
        gradients=[
            of("weight", "64x32x1055", 100.0),
            of("weight", "96x32x1055", 121.0, "bf16"),
            of("input", "1055x32x64", 90.0),
            of("input", "7x32x64", 80.0),
            of("weight", "64x32x7", 70.0),
        ]
    )
    assert operator.block("gradients").splitlines()[2:] == [
        "| 7 | 70.0 | 70 at 64x32x7, fp16 | 80.0 | 80 at 7x32x64, fp16 |",
        "| 1,055 | 110.0 | 100 at 64x32x1055, fp16 | 90.0 | 90 at 1055x32x64, fp16 |",
    ]


def test_training_is_told_in_tokens_per_second(results):
    names = ("torch", "ladder", "compiled", "ladder_compiled")
    steps = {f"{name}_ms": ms for name, ms in zip(names, (10.0, 8.0, 5.0, 4.0), strict=True)}
    off = {"off": dict.fromkeys(names, 0.01), "wrong": False, "percent": 125.0}
    results()
    assert operator.block("training") == "Not measured."
    results(training=[{"texts": 3, "length": 333} | steps | off])
    assert operator.block("training").splitlines()[2:] == [
        "| 3 x 333 | 99,900 | 124,875 | 199,800 | 249,750 |"
    ]


def test_an_unknown_table_is_refused():
    with pytest.raises(BadInput, match="operator tea: there are products, "):
        operator.block("tea")


def test_the_committed_results_are_complete_and_right():
    found = read_lines(sources.ROOT / operator.FILE, operator.BENCH)
    assert {
        len({r["shape"] for r in found["products"] if r["type"] == t}) for t in ("fp16", "bf16")
    } == {100}
    for part in (
        *("products", "fused", "layers", "gradients", "bmm", "to_float"),
        *("int4", "training", "int8", "tf32"),
    ):
        assert not any(r["wrong"] for r in found.get(part, []))
    # Sums of 14 bits are off by more than bench.py let through then.
    assert not any(r["wrong"] for r in found["fp8"] if not r["fast"])
    for what in operator.TABLES:
        assert operator.block(what)
