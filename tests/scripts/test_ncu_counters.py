import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import claims  # noqa: E402
import ncu_counters  # noqa: E402

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


def test_what_claims_may_name_is_measured():
    measured = {*ncu_counters.PREDICTED, *ncu_counters.LIMITS}
    assert {*claims.COUNTERS.values(), *claims.LIMITS.values()} <= measured
