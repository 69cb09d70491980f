import json
import re
from pathlib import Path

import pytest

from ladder import claims, manifest, steps

ROOT = Path(__file__).resolve().parents[2]
LD = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
BARRIER = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def variant(name, ms, **more):
    return {"name": name, "time_ms": {"median": ms}, "tflops": 10 / ms, **more}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Results of one stage at two shapes, and counters of one of its variants."""
    results = tmp_path / "results"
    results.mkdir()
    for m, n, k in ((4096, 4096, 4096), (16, 32, 64)):
        report = {
            "stage": "01_naive",
            "problem": {"m": m, "n": n, "k": k},
            "variants": [variant("slow", 8.0), variant("naive", 2.0, percent_of_peak=None)],
        }
        (results / f"{m}.json").write_text(json.dumps(report))
    counters = {"size": 128, "counters": {"01_naive": {"naive": {LD: 10, SECTORS: 40}}}}
    (tmp_path / "at_128.json").write_text(json.dumps(counters))
    monkeypatch.setattr(claims, "COUNTERS_AT_128", tmp_path / "at_128.json")
    large = {SECTORS: 9000, INSTRUCTIONS: 700, BARRIER: 2.5}
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
        "time(01_naive/slow, 16x32x64) == 8 and not 1 > 2",
        "sectors_per_request_ld(01_naive/naive) == 4",
        "sectors_ld(01_naive/naive, 4096) == 9000 and instructions(01_naive/naive) == 700",
        "stall_barrier(01_naive/naive) == 2.5",
        "1 < tflops(01_naive/slow) + 1 <= 2.25 or 1 > 2",
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
        ("1 > 2 or sectors_ld(01_naive/slow) == 0", "no counters of 01_naive/slow"),
        ("speed(01_naive/naive) > 1", "no function 'speed'; there are: time, tflops"),
        ("time(01_naive/naive) >", "is no expression"),
        ("time(01_naive/naive)", "is a number, not a comparison"),
        ("__import__(01_naive/naive) == 1", "no function '__import__'"),
        ("1 / (sectors_ld(01_naive/naive) - 40) > 1", "division by zero"),
        ("[1] == [1]", "'[1]' is not understood"),
    ],
)
def test_what_cannot_be_told_is_an_error_that_names_the_claim(place, holds, reason, capsys):
    assert run(place, one(holds)) == 1
    text = capsys.readouterr().out
    assert text.startswith("the-claim: ") and "ERROR: " in text and reason in text
    assert "0 of 1 claims hold" in text


def test_one_bad_claim_among_good_ones_fails(place, capsys):
    good = one("1 < 2")
    bad = one("2 < 1").replace("the-claim", "another")
    assert run(place, good + bad) == 1
    assert "1 of 2 claims hold" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, message",
    [
        (one("1 < 2") * 2, "the id 'the-claim' stands twice"),
        ("- id: x\n  claim: y\n", "a claim has an id, a claim and holds"),
        ("- id: x\n  claim: y\n  holds: 7\n", "'x' holds no expression: 7"),
        ("just text", "a claim has an id, a claim and holds"),
        ("- id: [", "claims.yaml"),
    ],
)
def test_a_malformed_file_is_one_line_and_code_2(place, text, message, capsys):
    assert run(place, text) == 2
    error = capsys.readouterr().err
    assert error.startswith("claims.py: ") and message in error and error.count("\n") == 1


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
        return claims.is_predicted({"holds": holds, **more})

    assert predicted("sectors_ld(01_naive/naive) > 1")
    assert not predicted("sectors_ld(01_naive/naive) > 1", not_predicted="merged by ptxas")
    assert not predicted("sectors_ld(01_naive/naive, 4096) > 1")
    assert not predicted("sectors_ld(01_naive/naive) > 1 and instructions(01_naive/naive) > 1")
    assert not predicted("1 < 2")


def test_results_without_counters_are_refused(place, capsys):
    (place / "results/counters.json").unlink()
    assert run(place, one("1 < 2")) == 2
    assert "counters.json holds no counters" in capsys.readouterr().err


def test_what_has_to_be_measured_for_the_claims():
    holds = ["time(01_a/x) > time(01_a/y, 16x32x64) and sectors_ld(01_a/z, 4096) == 0"]
    holds += ["tflops(02_b/x, 8192) / 2 > registers(01_a/x)"]
    wanted = claims.shapes_claimed([{"holds": text} for text in holds])
    assert wanted == {
        ("01_a", "x", "4096"),
        ("01_a", "y", "16x32x64"),
        ("02_b", "x", "8192"),
    }


def test_counters_at_128_come_from_the_results_where_they_have_some(place, capsys):
    small = {"size": 128, "counters": {"01_naive": {"naive": {SECTORS: 41}}}}
    (place / "results/counters_128.json").write_text(json.dumps(small))
    assert run(place, one("sectors_ld(01_naive/naive) == 41")) == 0


def test_at_least_two_claims_a_stage_and_sixty_in_all():
    all_claims = claims.load_claims(ROOT / "docs/claims.yaml")
    assert len(all_claims) >= 60
    for stage in manifest.load():
        assert sum(stage in claims.stages_of(claim) for claim in all_claims) >= 2, stage


def test_claims_are_of_stages_and_variants_that_there_are():
    for claim in claims.load_claims(ROOT / "docs/claims.yaml"):
        for _, name, _ in claims.calls(claim):
            stage, variant = name.split("/")
            known = steps.variants_of(manifest.stage(stage).name, ROOT)
            assert known and variant in known, f"{claim['id']}: {name}"


def test_every_claim_is_cited_and_every_cited_claim_exists():
    known = {claim["id"] for claim in claims.load_claims(ROOT / "docs/claims.yaml")}
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    blocks = re.findall(r"<!-- claims ([^>]*) -->", pages)
    assert {name for block in blocks for name in block.split()} == known
