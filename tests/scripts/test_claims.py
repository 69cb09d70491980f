import json
import shutil
from pathlib import Path

import pytest

from ladder import claims, claims_lint, evaluation, manifest, steps

ROOT = Path(__file__).resolve().parents[2]
LD = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
BARRIER = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


# A clock of 2 GHz for 2 ms on a GPU of 4 multiprocessors: 16 million cycles.
MACHINE = {
    "gpu__time_duration.sum": 2e6,
    "smsp__cycles_elapsed.avg.per_second": 2e9,
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed": 10,
}


def variant(name, ms, **more):
    return {"name": name, "time_ms": {"median": ms}, "tflops": 10 / ms, **more}


@pytest.fixture
def place(tmp_path):
    """Results of one stage at two shapes, and counters of one of its variants."""
    results = tmp_path / "results"
    results.mkdir()
    for m, n, k in ((4096, 4096, 4096), (16, 32, 64)):
        report = {
            "stage": "01_naive",
            "problem": {"m": m, "n": n, "k": k, "input": "fp16"},
            "device": {"multiprocessors": 4} if m == 4096 else {},
            "variants": [variant("slow", 8.0), variant("naive", 2.0, percent_of_peak=None)],
        }
        (results / f"{m}.json").write_text(json.dumps(report))
    counters = {"size": 128, "counters": {"01_naive": {"naive": {LD: 10, SECTORS: 40}}}}
    (results / "counters_128.json").write_text(json.dumps(counters))
    large = {SECTORS: 9000, INSTRUCTIONS: 700, BARRIER: 2.5} | MACHINE
    counters = {"size": 4096, "counters": {"01_naive": {"naive": large}}}
    (results / "counters.json").write_text(json.dumps(counters))
    return tmp_path


def run(place, text):
    (place / "claims.yaml").write_text(text)
    return claims.main(
        ["--claims", str(place / "claims.yaml"), "--results", str(place / "results")]
    )


def one(holds):
    return f"- id: the-claim\n  claim: So it is.\n  holds: '{holds}'\n"


@pytest.mark.parametrize(
    "holds",
    [
        "time(01_naive/slow) > 3 * time(01_naive/naive)",
        "time(01_naive/slow, 16x32x64) == 8",
        "sectors_per_request_ld(01_naive/naive) == 4",
        "sectors_ld(01_naive/naive, 4096) == 9000 and instructions(01_naive/naive) == 700",
        "stall_barrier(01_naive/naive) == 2.5",
        "1 < tflops(01_naive/slow) + 1 <= 2.25 and -1 < 2",
        "l1_wavefronts(01_naive/naive) == 1.6e6",
        "possible_share(01_naive/naive) * 655360000 == 137438953472",
        "sectors_ld(01_naive/naive) / requests_ld(01_naive/naive) - 4 == 0",
    ],
)
def test_what_holds(place, holds, capsys):
    assert run(place, one(holds)) == 0
    assert "1 of 1 claims hold" in capsys.readouterr().out


def test_values_and_verdict_are_printed(place, capsys):
    assert run(place, one("time(01_naive/slow) < 3 * time(01_naive/naive)")) == 1
    text = capsys.readouterr().out
    assert "the-claim: So it is." in text and "FALSE" in text
    assert "time(01_naive/slow) = 8\n" in text and "time(01_naive/naive) = 2\n" in text


@pytest.mark.parametrize(
    "holds, reason",
    [
        ("time(01_naive/none) > 1", "no results of 01_naive/none at 4096"),
        ("time(01_naive/naive, 77) > 1", "no results of 01_naive/naive at 77"),
        ("registers(01_naive/naive) > 1", "no registers in the results of 01_naive/naive"),
        ("percent_of_peak(01_naive/naive) > 1", "no percent_of_peak in the results"),
        ("bank_conflicts_ld(01_naive/naive) == 0", "no l1tex__data_bank_conflicts"),
        ("sectors_ld(01_naive/slow) == 0", "no counters of 01_naive/slow"),
        ("sectors_ld(01_naive/naive, 77) == 0", "no counters of 01_naive/naive at 77"),
        ("dram_bytes(01_naive/naive) == 0", "no dram__bytes_read.sum of 01_naive/naive at 4096"),
        ("stall_boredom(01_naive/naive) == 0", "no smsp__average_warps_issue_stalled_boredom"),
        ("2 < 1 and sectors_ld(01_naive/slow) == 0", "no counters of 01_naive/slow"),
        ("1 < 2 or sectors_ld(01_naive/naive) == 1", "is not understood"),
        ("not sectors_ld(01_naive/naive) == 1", "is not understood"),
        ("sectors_ld(01_naive/naive) != 1", "is not understood"),
        ("multiprocessors(01_naive/slow, 16x32x64) == 1", "no multiprocessors in the results"),
        ("speed(01_naive/naive) > 1", "no function 'speed'; there are: time, tflops"),
        ("time(01_naive/naive) >", "is no expression"),
        ("time(01_naive/naive)", "is a number, not a comparison"),
        ("__import__(01_naive/naive) == 1", "no function '__import__'"),
        ("1 / (sectors_ld(01_naive/naive) - 40) > 1", "division by zero"),
        ("[1] == [1]", "'[1]' is not understood"),
        ("time(01_naive/naive, -1) > 1", "'-1' is neither a shape nor a kind of data"),
        ("time(01_naive/naive, 4096 + 0) > 1", "is neither a shape nor a kind of data"),
        ("True", "'True' is not understood"),
        ("time(01_naive/naive) > False", "'False' is not understood"),
        ("1 < " + "(" * 5000 + "2" + ")" * 5000, "is no expression"),
        ("1 < 2" + " + 1" * 5000, "maximum recursion depth"),
        (
            "1e308 * 10 < 1" + "0" * 400 + " / 3.0",
            "it has no value: int",
        ),
    ],
)
def test_what_cannot_be_told_is_an_error_that_names_the_claim(place, holds, reason, capsys):
    assert run(place, one(holds)) == 1
    text = capsys.readouterr().out
    assert text.startswith("the-claim: ") and "ERROR: " in text and reason in text
    assert "0 of 1 claims hold" in text


def test_numbers_of_data_and_power(place, capsys):
    holds = "power_watts(01_naive/naive, zeros) == 400 and power_clock(01_naive/naive) == 1.5e9"
    assert run(place, one(holds)) == 1
    assert "./ladder power measures it" in capsys.readouterr().out
    kinds = {
        kind: {"stage": {"sustained": {"watts": watts, "sm_mhz": mhz}}}
        for kind, watts, mhz in (("zeros", 400, 1700), ("random", 700, 1500))
    }
    text = json.dumps({"runs": {"01_naive/naive": kinds}})
    (place / "results/power.json").write_text(text)
    assert run(place, one(holds)) == 0
    assert run(place, one("power_watts(01_naive/naive, exact) == 400")) == 1
    assert "no power_watts of 01_naive/naive with exact" in capsys.readouterr().out


def test_numbers_of_a_sweep(place, capsys):
    swept = "swept(01_naive/naive) == 3"
    faster = "faster_in_sweep(01_naive/naive, {}) == {}"
    assert run(place, one(swept)) == 1
    assert "no sweep with 01_naive" in capsys.readouterr().out
    lines = []
    for shape, cublas, library, stage in (("1x2x3", 3, 1, 2), ("4", 5, 5, 4), ("5", 1, 1, 1)):
        of_families = {"cuBLAS": cublas, "CUTLASS": library, "01_naive": stage}
        competitors = [
            {"family": family, "name": "x", "own": True, "ms": ms}
            for family, ms in of_families.items()
        ]
        lines.append({"shape": shape, "type": "fp16", "competitors": competitors})
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (place / "results/sweep.jsonl").write_text(text)
    for holds in (swept, faster.format("cublas", 2), faster.format("best", 1)):
        assert run(place, one(holds)) == 0
    assert run(place, one(faster.format("triton", 0))) == 1
    assert "than cublas or than best, not than 'triton'" in capsys.readouterr().out


def test_one_bad_claim_among_good_ones_fails(place, capsys):
    good = one("1 < 2")
    bad = one("2 < 1").replace("the-claim", "another")
    assert run(place, good + bad) == 1
    assert "1 of 2 claims hold" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, message",
    [
        (one("1 < 2") * 2, "the id 'the-claim' stands twice"),
        ("- id: x\n  claim: y\n", "[0] has no 'holds'"),
        ("- id: x\n  claim: y\n  holds: 7\n", "[0].holds is not a text"),
        ("just text", "is no list"),
        ("- id: [", "claims.yaml"),
    ],
)
def test_a_malformed_file_is_one_line_and_code_2(place, text, message, capsys):
    assert run(place, text) == 2
    error = capsys.readouterr().err
    assert error.startswith("ladder claims: ") and message in error and error.count("\n") == 1


def test_predictions_are_checked_too(place, capsys):
    stages = place / "stages"
    stages.mkdir()
    totals = {LD: 10, SECTORS: 50}
    report = json.dumps({"variants": [{"name": "naive", "totals": totals}]})
    (stages / "01_naive").write_text(f"#!/bin/sh\necho '{report}' > $4\n")
    (stages / "01_naive").chmod(0o755)
    (place / "claims.yaml").write_text(one("sectors_per_request_ld(01_naive/naive) == 4"))
    arguments = ["--claims", str(place / "claims.yaml"), "--results", str(place / "results")]
    arguments += ["--cpu-stages", str(stages)]
    assert claims.main(arguments) == 1
    text = capsys.readouterr().out
    assert "as measured: 1 of 1" in text and "as predicted: 0 of 1" in text


def test_only_counters_at_128_are_predicted(place):
    def predicted(holds, **more):
        return evaluation.is_predicted({"holds": holds, **more})

    assert predicted("sectors_ld(01_naive/naive) > 1")
    assert not predicted("sectors_ld(01_naive/naive) > 1", not_predicted="merged by ptxas")
    assert not predicted("sectors_ld(01_naive/naive, 4096) > 1")
    assert not predicted("sectors_ld(01_naive/naive) > 1 and instructions(01_naive/naive) > 1")
    assert not predicted("1 < 2")


def test_results_without_counters_are_refused(place, capsys):
    (place / "results/counters.json").unlink()
    assert run(place, one("1 < 2")) == 2
    assert f"no counters in {place}/results" in capsys.readouterr().err


def test_what_has_to_be_measured_for_the_claims():
    holds = ["time(01_a/x) > time(01_a/y, 16x32x64) and sectors_ld(01_a/z, 4096) == 0"]
    holds += ["tflops(02_b/x, 8192) / 2 > registers(01_a/x)"]
    holds += ["time(01_a/y, 64_TN) < time(01_a/y, 8x8x64_bf16)"]
    wanted = evaluation.shapes_claimed([{"holds": text} for text in holds])
    assert wanted == {
        ("01_a", "x", "4096"),
        ("01_a", "y", "16x32x64"),
        ("01_a", "y", "64_TN"),
        ("01_a", "y", "8x8x64_bf16"),
        ("02_b", "x", "8192"),
    }


def test_counters_at_128_come_from_the_results_where_they_have_some(place, capsys, monkeypatch):
    assert run(place, one("sectors_ld(01_naive/naive) == 40")) == 0
    pages = place / "pages"
    shutil.copytree(place / "results", pages)
    monkeypatch.setattr(claims, "GPUS", {"h200": pages})
    small = {"size": 128, "counters": {"01_naive": {"naive": {SECTORS: 41}}}}
    (pages / "counters_128.json").write_text(json.dumps(small))
    (place / "results/counters_128.json").unlink()
    assert run(place, one("sectors_ld(01_naive/naive) == 41")) == 0


@pytest.fixture(scope="module")
def all_claims():
    return evaluation.load_claims(ROOT / "docs/claims.yaml")


def test_at_least_two_claims_a_stage_and_150_in_all(all_claims):
    assert len(all_claims) >= 150
    for stage in manifest.measured_at_squares():
        assert sum(stage in evaluation.stages_of(claim) for claim in all_claims) >= 2, stage


def test_a_claim_names_each_variant_that_was_measured(all_claims):
    named = {name for claim in all_claims for _, name, _ in evaluation.calls(claim)}
    exist = {
        f"{stage}/{variant}"
        for stage in manifest.load()
        for variant in steps.variants_of(stage, ROOT)
    }
    measured = {name for its in claims.adopted().values() for name, _ in its.variants}
    assert named <= exist
    assert exist & measured <= named


def test_every_cited_claim_exists(all_claims):
    known = {claim["id"] for claim in all_claims}
    assert claims.cited(ROOT) <= known


def test_every_claim_is_cited(all_claims):
    cited = claims.cited(ROOT)
    assert [claim["id"] for claim in all_claims if claim["id"] not in cited] == []


def test_unused_claims_are_listed(place, capsys, monkeypatch):
    monkeypatch.setattr(claims, "ROOT", place)
    (place / "docs/concepts").mkdir(parents=True)
    (place / "docs/concepts/page.md").write_text("<!-- claims a b -->\n<!-- end -->\n")
    ids = [one("1 < 2").replace("the-claim", name) for name in "abc"]
    (place / "claims.yaml").write_text("".join(ids))
    assert claims.main(["--claims", str(place / "claims.yaml"), "--unused"]) == 1
    assert capsys.readouterr().out == "c\n== cited by no page: 1\n"


def test_claims_by_stage(place, capsys, manifest_of):
    manifest_of("01_naive", "02_next")
    text = one("1 < time(01_naive/naive) < 3")
    text += one("1 < time(02_next/x) / time(01_naive/naive) < 3").replace("the-", "a-")
    (place / "claims.yaml").write_text(text)
    assert claims.main(["--claims", str(place / "claims.yaml"), "--stages"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[2:] == ["| 01_naive | `the-claim` |", "| 02_next | `a-claim` |"]


def on(gpus):
    return one("time(01_naive/naive) == 2") + f"  on: {gpus}\n  why_not_elsewhere: less memory\n"


@pytest.fixture
def two_gpus(place, monkeypatch):
    """The second is slower."""
    other = place / "other"
    other.mkdir()
    for file in (place / "results").iterdir():
        (other / file.name).write_text(file.read_text().replace('"median": 2.0', '"median": 4.0'))
    monkeypatch.setattr(claims, "GPUS", {"h200": place / "results", "h100": other})
    return place


def run_on_all(place, text):
    (place / "claims.yaml").write_text(text)
    return claims.main(["--claims", str(place / "claims.yaml")])


def test_a_claim_has_to_hold_on_every_gpu(two_gpus, capsys):
    assert run_on_all(two_gpus, one("time(01_naive/naive) == 2")) == 1
    text = capsys.readouterr().out
    assert "h200: holds\n    time(01_naive/naive) = 2\n" in text
    assert "h100: FALSE\n    time(01_naive/naive) = 4\n" in text
    assert "0 of 1 claims hold" in text


def test_unless_it_is_about_others(two_gpus, capsys):
    assert run_on_all(two_gpus, on("[h200]")) == 0
    assert "h100: not claimed: less memory" in capsys.readouterr().out
    assert run_on_all(two_gpus, on("[h100]")) == 1


@pytest.mark.parametrize(
    "more, message",
    [
        ("  on: [h200]\n", "one of on and why_not_elsewhere alone"),
        ("  why_not_elsewhere: so\n", "one of on and why_not_elsewhere alone"),
        ("  on: h200\n  why_not_elsewhere: so\n", "[0].on is no list"),
        ("  on: []\n  why_not_elsewhere: so\n", "[0].on is empty"),
        ("  whim: so\n", "[0] has 'whim', which nothing is called here"),
    ],
)
def test_a_malformed_restriction_is_one_line_and_code_2(place, more, message, capsys):
    assert run(place, one("1 < 2") + more) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_the_claims_have_no_findings(all_claims):
    assert claims_lint.findings(all_claims, claims.adopted()) == []


def lint(place, claim, holds, **more):
    entry = {"id": "x", "claim": claim, "holds": holds, **more}
    measured = evaluation.Measurements(
        place / "results", claims.measured_counters(place / "results")
    )
    return claims_lint.findings([entry], {"h200": measured})


@pytest.mark.parametrize(
    "claim, holds",
    [
        ("It is four times slower.", "4 <= time(01_naive/slow) / time(01_naive/naive) < 5"),
        ("It is 2 to 5 times slower.", "2 < time(01_naive/slow) / time(01_naive/naive) < 5"),
        ("It takes a quarter.", "time(01_naive/naive) / time(01_naive/slow) == 0.25"),
        ("It takes 75% less.", "0.2 < time(01_naive/naive) / time(01_naive/slow) < 0.26"),
        ("At 4096 they execute as many.", "instructions(01_naive/naive) == 700"),
        ("Both are the same.", "sectors_ld(01_naive/naive) == sectors_ld(01_naive/naive, 4096)"),
        ("It is up to 5 points.", "-1 < tflops(01_naive/naive) - tflops(01_naive/slow) < 5"),
    ],
)
def test_claims_without_findings(place, claim, holds):
    assert lint(place, claim, holds) == []


@pytest.mark.parametrize(
    "claim, holds, message",
    [
        ("So.", "1 < 2", "compares constants"),
        ("So.", "time(01_naive/naive) == time(01_naive/naive)", "the same on both sides"),
        (
            "So.",
            "0.9 < time(01_naive/naive) / time(01_naive/naive) < 1.1",
            "the same on both sides of an operator",
        ),
        ("So.", "0 < tflops(01_naive/naive) - tflops(01_naive/naive) < 1", "of an operator"),
        ("So.", "0 <= shared_pipe(01_naive/naive) <= 100", "true whatever was measured"),
        ("So.", "-1 < time(01_naive/naive) + instructions(01_naive/naive)", "true whatever"),
        (
            "So.",
            "0.9 < sectors_per_request_ld(01_naive/naive) * requests_ld(01_naive/naive)"
            " / sectors_ld(01_naive/naive) < 1.1",
            "true whatever was measured",
        ),
        ("So.", "time(01_naive/naive) < 3", "in one direction only"),
        ("So.", "time(01_naive/naive) < time(01_naive/slow)", "in one direction only"),
        ("So.", "0 <= time(01_naive/naive) < 3", "in one direction only"),
        ("So.", "8 <= shared_pipe(01_naive/naive) <= 100", "in one direction only"),
        ("So.", "3 < sectors_per_request_ld(01_naive/naive) <= 32", "in one direction only"),
        ("So.", "0.5 < time(01_naive/naive) < 3", "further than a factor of 2"),
        ("So.", "1.5 < time(01_naive/naive) < 5", "further than a factor of 2"),
        ("So.", "-5 < tflops(01_naive/naive) - tflops(01_naive/slow) < 5", "leaves 10 points"),
        ("So.", "3 > time(01_naive/naive) > 1", "neither low < quantity < high nor"),
        ("So.", "time(01_naive/naive) - 2", "is no comparison"),
        ("It is five times slower.", "3 < time(01_naive/slow) < 9", "says five times"),
        ("It takes a third.", "0.2 < time(01_naive/naive) / time(01_naive/slow) < 0.3", "third"),
        ("It takes 15% more.", "1 < time(01_naive/naive) < 3", "says 15"),
        ("It has no bank conflicts.", "sectors_ld(01_naive/naive) == 40", "cannot see"),
        ("The tensor pipe is full.", "1 < time(01_naive/naive) < 3", "cannot see"),
        ("Less comes from L2.", "sectors_ld(01_naive/naive) == 40", "cannot see"),
        ("Less is faster.", "sectors_ld(01_naive/naive) == 40", "cannot see"),
        ("More warps wait.", "1 < time(01_naive/naive) < 3", "cannot see"),
    ],
)
def test_what_the_linter_finds(place, claim, holds, message):
    found = lint(place, claim, holds)
    assert any(message in line for line in found), found


def test_what_excuses_a_finding(place):
    one_sided = "0 <= time(01_naive/naive) < 3"
    assert lint(place, "So.", one_sided, wide="none would do") == []
    assert lint(place, "With 16 bytes.", "1.5 < time(01_naive/naive) < 3", given=[16]) == []
    constant = lint(place, "So.", "1 < 2", wide="it is true")
    assert constant and "compares constants" in constant[0]


def test_two_claims_may_not_be_one(place):
    entries = [{"id": n, "claim": "So.", "holds": "1 < time(01_naive/naive) < 3"} for n in "ab"]
    found = claims_lint.findings(entries, {})
    assert found == ["b: '1 < time('01_naive/naive') < 3' is claimed by a already"]
