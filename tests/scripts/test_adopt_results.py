import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import adopt_results  # noqa: E402


def report(gpu="Some GPU"):
    problem = {"m": 1, "n": 1, "k": 1}
    return {"stage": "01_naive", "device": {"name": gpu}, "problem": problem, "variants": []}


@pytest.fixture
def measured(tmp_path):
    folder = tmp_path / "measured"
    folder.mkdir()
    (folder / "01_naive_4096.json").write_text(json.dumps(report()))
    (folder / "counters.json").write_text(json.dumps({"device": "Some GPU"}))
    (folder / "tests.txt").write_text("passed")
    facts = {"gpu": "Some GPU", "driver": "1", "toolkit": "2", "date": "2020-01-02"}
    (folder / "environment.json").write_text(json.dumps({**facts, "commit": "abc"}))
    return folder


def adopt(measured, *more):
    return adopt_results.main([str(measured), "some", *more], measured.parent / "results")


def provenance(measured):
    return json.loads((measured.parent / "results/some/provenance.json").read_text())


def test_reports_and_counters_are_taken_over_with_where_they_come_from(measured):
    assert adopt(measured) == 0
    names = sorted(path.name for path in (measured.parent / "results/some").iterdir())
    assert names == ["01_naive_4096.json", "counters.json", "provenance.json"]
    (entry,) = provenance(measured)
    assert entry["files"] == names[:2] and entry["commit"] == "abc" and entry["gpu"] == "Some GPU"


def test_a_file_belongs_to_the_newest_measurement_and_others_stay(measured):
    (measured / "02_smem_tiled_4096.json").write_text(json.dumps(report()))
    assert adopt(measured) == 0
    (measured / "02_smem_tiled_4096.json").unlink()
    assert adopt(measured, "--commit", "def") == 0
    old, new = provenance(measured)
    assert (old["commit"], old["files"]) == ("abc", ["02_smem_tiled_4096.json"])
    assert (new["commit"], new["files"]) == ("def", ["01_naive_4096.json", "counters.json"])


@pytest.mark.parametrize(
    "file, content, message",
    [
        ("environment.json", "{", "environment.json"),
        ("environment.json", '{"gpu": "Some GPU"}', "has to name gpu, driver"),
        ("02_smem_tiled_4096.json", json.dumps(report("Other")), "but has results of Other"),
        ("counters.json", '{"device": "Other"}', "its counters are of another GPU"),
        ("02_smem_tiled_4096.json", "{}", "is not a stage's report"),
        ("tests.txt.failed", "", "tests failed"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changed(measured, file, content, message, capsys):
    (measured / file).write_text(content)
    assert adopt(measured) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (measured.parent / "results").exists()


def test_a_copy_without_history_needs_a_commit(measured, capsys):
    path = measured / "environment.json"
    path.write_text(path.read_text().replace("abc", "unknown: not a git checkout"))
    assert adopt(measured) == 2
    assert "say --commit HASH" in capsys.readouterr().err
    assert adopt(measured, "--commit", "abc") == 0


def test_the_committed_results_all_have_a_provenance():
    folder = ROOT / "docs/results/h200"
    entries = json.loads((folder / "provenance.json").read_text())
    named = [name for entry in entries for name in entry["files"]]
    there = [path.name for path in folder.iterdir() if path.name != "provenance.json"]
    assert sorted(named) == sorted(there)
    assert all(entry[fact] for entry in entries for fact in adopt_results.FACTS)
