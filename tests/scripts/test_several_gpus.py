"""The stages with a harness of their own: their steps, their pages, the tables of several GPUs."""

import subprocess
import sys

import pytest

from ladder import manifest, steps
from ladder.project import ROOT, BadInput

sys.path.insert(0, str(ROOT / "bench/multi_gpu"))
import adopt
import tables

STAGES = manifest.with_own_harness()


def text(name):
    return (ROOT / f"kernels/{name}.cuh").read_text()


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_step_is_within_the_rule_or_says_why(stage):
    name, parent = stage.name, stage.parent
    assert steps.step(name, text(name), parent, text(parent)).within


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_stage_has_its_main_and_its_page(stage):
    assert stage.page == f"docs/{stage.name}.md"
    for path in (stage.page, f"stages/{stage.name}.cu"):
        assert (ROOT / path).exists()


def test_the_tables_are_up_to_date():
    script = ROOT / "bench/multi_gpu/tables.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def timing(operation, ideal, **variants):
    return {
        "m": 8,
        "n": 8,
        "k": 8,
        "operation": operation,
        "communication_ms": ideal,
        "ideal_ms": ideal,
        "variants": [{"name": name.replace("_", " "), "ms": ms} for name, ms in variants.items()],
    }


def test_the_table_of_others_has_the_fastest_of_a_library_and_names_what_is_missing():
    torch = {"multiplication": 2.0, "NCCL, then cuBLAS": 8.0, "AsyncTP": 4.0}
    results = {
        "beside": {
            "timings": [
                timing("all-gather", 1.0, cuBLASMp_split=5.0, cuBLASMp_no_overlap=4.0, ours=1.25),
                timing("reduce-scatter", 1.0, ours=3.0),
            ]
        },
        "async_tp": {"timings": [timing("all-gather", 1.0) | {"ms": torch}]},
    }
    rows = tables.others(results, "all-gather", "ours").splitlines()[2:]
    assert rows == [
        "| NCCL, cuBLAS | not measured |",
        "| NCCL, cuBLAS through PyTorch | 8.000 (25.0%) |",
        "| AsyncTP | 4.000 (50.0%) |",
        "| cuBLASMp | 4.000 (25.0%) |",
        "| ours | 1.250 (80.0%) |",
    ]


def test_what_four_gpus_did_stands_beside_what_two_let_expect():
    two = timing("all-gather", 1.0) | {"multiplication_ms": 3.0}
    four = timing("all-gather", 1.75, ours=4.0) | {"multiplication_ms": 1.25}
    results = {"timings": [two], "four": {"timings": [four]}}
    rows = tables.computed(results, "all-gather", "ours").splitlines()[2:]
    assert rows == [
        "| multiplication, computed | 1.500 |",
        "| multiplication alone | 1.250 |",
        "| communication, computed | 1.500 |",
        "| communication alone | 1.750 |",
        "| at least, computed | 1.500 |",
        "| at least, as measured | 1.750 |",
        "| ours | 4.000 |",
    ]


def test_a_wrong_result_or_one_that_nobody_checked_is_refused():
    right, wrong = {"what": "a", "wrong": 0}, {"what": "b", "wrong": 3}
    assert adopt.checked({"checks": [right]})["checks"] == {"checked": 1, "wrong": 0}
    for checks in ([right, wrong], []):
        with pytest.raises(BadInput):
            adopt.checked({"checks": checks})
    for difference in (1.0, float("nan")):
        result = timing("all-gather", 1.0) | {"largest_difference": difference}
        with pytest.raises(BadInput):
            adopt.async_tp({"timings": [result]})


def test_four_gpus_are_four():
    right = {"ranks": 4, "gpus": 4, "checks": [{"what": "a", "wrong": 0}]}
    assert adopt.four(right)["four"]["checks"] == {"checked": 1, "wrong": 0}
    with pytest.raises(BadInput):
        adopt.four(right | {"gpus": 2})


def test_only_time_lines_that_a_page_shows_are_taken():
    shown = tables.load("timelines", tables.TIMELINES)["timelines"]
    taken = adopt.timelines({"timelines": [*shown, shown[0] | {"variant": "of no page"}]})
    assert taken == {"timelines": {"timelines": shown}}
