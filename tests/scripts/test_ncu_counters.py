import json
from pathlib import Path

import pytest

from ladder import ncu
from ladder.counters import LIMITS, PREDICTED
from ladder.project import BadInput

OUTPUT = """==PROF== Connected
"ID","Kernel Name","gpu__time_duration.sum","smsp__issue_active.avg.pct_of_peak_sustained_active"
"","","ns","%"
"0","one","1,000","50.5"
"1","two","3,000","90.5"
==PROF== Disconnected
"""
TIME = "gpu__time_duration.sum"
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"


def test_sums_are_added_and_percentages_averaged_over_time():
    rows = ncu.kernels(OUTPUT)
    assert [row["Kernel Name"] for row in rows] == ["one", "two"]
    assert ncu.combined(rows, TIME) == 4000
    assert ncu.combined(rows, ISSUE) == pytest.approx((50.5 + 3 * 90.5) / 4)
    assert ncu.combined(rows[:1], ISSUE) == 50.5


@pytest.mark.parametrize("cycles", [LIMITS["cycles_active"], LIMITS["cycles_elapsed"]])
def test_cycles_of_several_kernels_are_added(cycles):
    assert ncu.combined([{cycles: "100", TIME: "1"}, {cycles: "50", TIME: "9"}], cycles) == 150


@pytest.mark.parametrize("value", ["", None])
def test_a_missing_counter_ends_it_with_its_name(value):
    with pytest.raises(SystemExit, match="ncu reported no gpu__time_duration"):
        ncu.number({TIME: value}, TIME)


FAKE = """#!/usr/bin/env python3
import sys

arguments = sys.argv[1:]
variants = arguments[arguments.index("--variant") + 1 :] if "--variant" in arguments else ["a", "b"]
counters = arguments[arguments.index("--metrics") + 1].split(",")
stage = next(a for a in arguments if "/stages/" in a)
print("==PROF== Connected")
for row in (["ID", "device__attribute_display_name", *counters], ["", "", *counters]):
    print(",".join(f'"{cell}"' for cell in row))
for variant in variants:
    for _ in range(KERNELS[stage[-1]][variant]):
        print(",".join(f'"{cell}"' for cell in ["0", "Some GPU", *(["1"] * len(counters))]))
"""


@pytest.mark.parametrize("kernels_of_a, kernels_of_b", [(1, 1), (2, 1), (3, 3)])
def test_counters_by_variant(tmp_path, monkeypatch, manifest_of, kernels_of_a, kernels_of_b):
    manifest_of("01_x")
    stage = tmp_path / "stages/01_x"
    stage.write_text("#!/bin/sh\necho a; echo b\n")
    kernels = {"x": {"a": kernels_of_a, "b": kernels_of_b}}
    fake = tmp_path / "ncu"
    fake.write_text(FAKE.replace("KERNELS", repr(kernels)))
    stage.chmod(0o755)
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    output = tmp_path / "counters.json"
    ncu.main([str(tmp_path), str(output), "--size", "4096"])
    result = json.loads(output.read_text())
    assert (result["device"], result["size"]) == ("Some GPU", 4096)
    counted = result["counters"]["01_x"]
    assert [counted[v][TIME] for v in ("a", "b")] == [kernels_of_a, kernels_of_b]
    assert counted["a"][ISSUE] == 1


@pytest.fixture
def two_stages(tmp_path, monkeypatch, manifest_of):
    """ncu counts one kernel a variant."""
    manifest_of("01_x", "02_x")
    for name in ("01_x", "02_x"):
        (tmp_path / f"stages/{name}").write_text("#!/bin/sh\necho a; echo b\n")
        (tmp_path / f"stages/{name}").chmod(0o755)
    (tmp_path / "ncu").write_text(FAKE.replace("KERNELS", repr({"x": {"a": 1, "b": 1}})))
    (tmp_path / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_at_shapes_every_stage_has_a_list_of_numbers_by_shape(two_stages):
    output = two_stages / "shapes.json"
    assert ncu.main([str(two_stages), str(output), "--shapes"]) == 0
    result = json.loads(output.read_text())
    assert result["names"] == ncu.AT_SHAPES
    assert list(result["counters"]) == ["01_x", "02_x"]
    by_shape = result["counters"]["02_x"]["b"]
    assert list(by_shape)[1] == "131x97x75" and len(by_shape) == len(ncu.SHAPES)
    assert by_shape["131x97x75"] == [1] * len(ncu.AT_SHAPES)
    assert any(line.strip().startswith('"131x97x75": [ 1, 1') for line in output.open())


def test_an_interrupted_run_goes_on_where_it_stopped(two_stages, capsys):
    output = two_stages / "counters.json"
    arguments = [str(two_stages), str(output), "--size", "4096"]
    right = (two_stages / "stages/02_x").read_text()
    (two_stages / "stages/02_x").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SystemExit):
        ncu.main(arguments)
    assert not output.exists()
    (two_stages / "stages/02_x").write_text(right)
    assert ncu.main(arguments) == 0
    assert "01_x: kept" in capsys.readouterr().out
    assert list(json.loads(output.read_text())["counters"]) == ["01_x", "02_x"]
    assert not output.with_suffix(".partial").exists()


@pytest.mark.parametrize("size, said", [("512", 512), ("16x32x64", "16x32x64"), ("64_TN", "64_TN")])
def test_of_some_stages_and_variants_at_a_shape(two_stages, size, said):
    output = two_stages / "counters.json"
    arguments = [str(two_stages), str(output), "--size", size, "--only", "02_x/b", "01_x"]
    assert ncu.main(arguments) == 0
    result = json.loads(output.read_text())
    assert result["size"] == said
    counted = {stage: list(variants) for stage, variants in result["counters"].items()}
    assert counted == {"02_x": ["b"], "01_x": ["a", "b"]}


def test_kernels_of_the_only_variant_are_added(two_stages):
    fake = (two_stages / "ncu").read_text()
    (two_stages / "ncu").write_text(fake.replace("{'a': 1, 'b': 1}", "{'a': 1, 'b': 3}"))
    output = two_stages / "counters.json"
    ncu.main([str(two_stages), str(output), "--size", "4096", "--only", "01_x/b"])
    assert json.loads(output.read_text())["counters"]["01_x"]["b"][TIME] == 3


@pytest.mark.parametrize(
    "arguments, message", [(["--only", "03_x"], "no stage '03_x'"), (["--size", "4x4"], "no shape")]
)
def test_what_is_no_stage_or_shape_is_one_line(two_stages, arguments, message):
    with pytest.raises(BadInput, match=message):
        ncu.main([str(two_stages), str(two_stages / "counters.json"), *arguments])


def test_a_build_without_stages_is_an_error(tmp_path, manifest_of):
    manifest_of("01_x")
    with pytest.raises(BadInput, match="no stage in"):
        ncu.main([str(tmp_path), str(tmp_path / "out.json")])


def test_a_missing_ncu_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"^ncu: No such file or directory$"):
        ncu.run(["ncu"])


@pytest.mark.parametrize("row", [{TIME: "n/a"}, {}])
def test_a_counter_that_another_gpu_does_not_have_is_named(row):
    with pytest.raises(SystemExit, match="ncu reported no gpu__time_duration"):
        ncu.number(row, TIME)


def test_ncu_is_told_layout_and_type():
    command = ncu.command(Path("x"), [TIME], "64_TN_bf16")
    assert " ".join(command).endswith(" x --m 64 --n 64 --k 64 --layout TN --type bf16")


def test_what_claims_may_name_is_measured():
    assert {*PREDICTED.values(), *LIMITS.values()} <= set(ncu.ALL)
