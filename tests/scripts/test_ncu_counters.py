import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ncu_counters  # noqa: E402
from counters import LIMITS, PREDICTED  # noqa: E402

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
    rows = ncu_counters.kernels(OUTPUT)
    assert [row["Kernel Name"] for row in rows] == ["one", "two"]
    assert ncu_counters.combined(rows, TIME) == 4000
    assert ncu_counters.combined(rows, ISSUE) == pytest.approx((50.5 + 3 * 90.5) / 4)
    assert ncu_counters.combined(rows[:1], ISSUE) == 50.5


@pytest.mark.parametrize("value", ["", None])
def test_a_missing_counter_ends_it_with_its_name(value):
    with pytest.raises(SystemExit, match="ncu reported no gpu__time_duration"):
        ncu_counters.number({TIME: value}, TIME)


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
def test_counters_by_variant(tmp_path, monkeypatch, kernels_of_a, kernels_of_b):
    (tmp_path / "stages").mkdir()
    stage = tmp_path / "stages/01_x"
    stage.write_text("#!/bin/sh\necho a; echo b\n")
    kernels = {"x": {"a": kernels_of_a, "b": kernels_of_b}}
    ncu = tmp_path / "ncu"
    ncu.write_text(FAKE.replace("KERNELS", repr(kernels)))
    stage.chmod(0o755)
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    output = tmp_path / "counters.json"
    ncu_counters.main([str(tmp_path), str(output), "--size", "4096"])
    result = json.loads(output.read_text())
    assert (result["device"], result["size"]) == ("Some GPU", 4096)
    counted = result["counters"]["01_x"]
    assert [counted[v][TIME] for v in ("a", "b")] == [kernels_of_a, kernels_of_b]
    assert counted["a"][ISSUE] == 1


def test_a_missing_ncu_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"^ncu: No such file or directory$"):
        ncu_counters.run(["ncu"])


def test_what_claims_may_name_is_measured():
    assert {*PREDICTED.values(), *LIMITS.values()} <= set(ncu_counters.ALL)
