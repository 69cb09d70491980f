import json

import pytest

from ladder import adopt, reports, written
from ladder.project import GPUS
from ladder.results import load

MAIN = 'run<float, float>(ladder::STAGE, {{"slow", x::slow}, {"own", x::gemm}}, argc, argv);'


def report(stage="01_naive", gpu="Some GPU", variant="own", size=4096):
    problem = {"m": size, "n": size, "k": size}
    variants = [{"name": variant}]
    return {"stage": stage, "device": {"name": gpu}, "problem": problem, "variants": variants}


LIBRARY = {
    **{"gpu": "Some GPU", "driver": "1", "host_us": 1, "workspace_bytes_host_us": 1},
    "cublas_host_us": 1,
    "shapes": [
        {"shape": "8x8x8", "us": 1, "cublas_us": 1, "percent": 100, "stage": "14 8x64"},
    ],
}
JIT_CALL = {
    **{"gpu": "Some GPU", "driver": "1"},
    "call": {"shape": "8x8x8", "first_ms": 1, "next_ms": 1, "host_us": 1},
}
POWER = {"device": "Some GPU", "runs": {}}
TIMELINES = {"device": "Some GPU", "size": 4096, "stages": []}
AROUND = {
    "device": "Some GPU",
    "kernels": [{"exercise": "copy", "variant": "x", "ms": 1, "gb_per_s": 1, "of_copy": 1}],
}
EXERCISES = {"device": "Some GPU", "exercises": {}}
BLOCK = {
    **{"gpu": "Some GPU", "tokens": 1, "width": 2, "hidden": 3},
    "contenders": [{"name": "ours", "ms": 1}],
}
OF_OTHER_PROGRAMS = {
    "library_fp16.json": LIBRARY,
    "jit_call_4096_cold.json": JIT_CALL,
    "power.json": POWER,
    "timelines.json": TIMELINES,
    "around_gemm.json": AROUND,
    "exercises.json": EXERCISES,
    "programs/feed_forward_4096.json": BLOCK,
}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture
def measured(tmp_path, manifest_of):
    """What a measurement of a project of two stages left."""
    manifest_of("01_naive", "02_smem_tiled")
    for name in ("01_naive", "02_smem_tiled"):
        (tmp_path / f"stages/{name}.cu").write_text(MAIN)
    folder = tmp_path / "measured"
    write(folder / "01_naive_4096.json", report())
    write(folder / "counters.json", {"device": "Some GPU", "counters": {"01_naive": {"own": {}}}})
    (folder / "tests.txt").write_text("passed")
    facts = {"gpu": "Some GPU", "driver": "1", "toolkit": "2", "date": "2020-01-02"}
    write(folder / "environment.json", {**facts, "commit": "abc"})
    return folder


def run(measured, *more):
    return adopt.main([str(measured), "h100", *more], measured.parent)


def results(measured):
    return measured.parent / "docs/results/h100"


def names(measured):
    """Of the reports there are."""
    return sorted(written.committed(results(measured)))


def read(measured, name):
    return reports.read(results(measured), name, {})


def write_committed(measured, content):
    results(measured).mkdir(parents=True, exist_ok=True)
    for path, text in reports.texts(results(measured), content).items():
        path.write_text(text)


def provenance(measured):
    return json.loads((results(measured) / "provenance.json").read_text())


def test_what_the_library_and_the_jit_took_is_taken_over_and_no_stage(measured):
    for name in ("library_fp16.json", "jit_call_4096_cold.json"):
        write(measured / name, OF_OTHER_PROGRAMS[name])
    assert run(measured) == 0
    assert {"library_fp16", "jit_call_4096_cold"} < set(names(measured))
    assert "library_fp16" in provenance(measured)[0]["files"]
    assert [report["stage"] for report in load(results(measured))] == ["01_naive"]


def test_reports_and_counters_are_taken_over_with_where_they_come_from(measured):
    assert run(measured) == 0
    assert names(measured) == ["01_naive_4096", "counters"]
    files = sorted(path.name for path in results(measured).iterdir())
    assert files == ["counters.jsonl", "provenance.json", "stages.jsonl"]
    (entry,) = provenance(measured)
    assert entry["files"] == names(measured)
    assert entry["commit"] == "abc" and entry["gpu"] == "Some GPU"


def test_a_file_belongs_to_the_newest_measurement_and_others_stay(measured):
    write(measured / "02_smem_tiled_4096.json", report("02_smem_tiled"))
    assert run(measured) == 0
    (measured / "02_smem_tiled_4096.json").unlink()
    assert run(measured, "--commit", "def") == 0
    old, new = provenance(measured)
    assert (old["commit"], old["files"]) == ("abc", ["02_smem_tiled_4096"])
    assert (new["commit"], new["files"]) == ("def", ["01_naive_4096", "counters"])


def test_counters_that_were_not_counted_again_stay(measured):
    assert run(measured) == 0
    of_one = {"01_naive": {"slow": {"x": 1}}, "02_smem_tiled": {"own": {}}}
    write(measured / "counters.json", {"device": "Some GPU", "counters": of_one})
    assert run(measured) == 0
    kept = {"01_naive": {"own": {}, "slow": {"x": 1}}, "02_smem_tiled": {"own": {}}}
    assert read(measured, "counters")["counters"] == kept
    assert run(measured, "--replace") == 0
    assert read(measured, "counters")["counters"] == of_one


def test_counters_of_another_size_are_refused_and_nothing_changed(measured, capsys):
    write(measured / "counters_512.json", {"device": "Some GPU", "size": 512, "counters": {}})
    assert run(measured) == 0
    write(measured / "counters_512.json", {"device": "Some GPU", "size": 5, "counters": {}})
    write(measured / "01_naive_8192.json", report(size=8192))
    assert run(measured) == 2
    assert "another size or other counters" in capsys.readouterr().err
    assert "01_naive_8192" not in names(measured)


def test_a_report_that_is_measured_again_has_one_measurement(measured):
    assert run(measured) == 0
    assert run(measured, "--commit", "def") == 0
    (entry,) = provenance(measured)
    assert (entry["commit"], entry["files"]) == ("def", ["01_naive_4096", "counters"])


def test_what_other_programs_wrote_is_taken_over_with_the_reports(measured):
    for name, content in OF_OTHER_PROGRAMS.items():
        write(measured / name, content)
    assert run(measured) == 0
    taken = {name.removesuffix(".json"): name for name in OF_OTHER_PROGRAMS}
    assert {*taken} <= {*names(measured)}
    assert {*taken} <= {*provenance(measured)[0]["files"]}
    for report, name in taken.items():
        assert read(measured, report) == OF_OTHER_PROGRAMS[name]


def test_what_is_of_no_stage_or_variant_any_more_is_removed_and_said(measured, capsys):
    of_stages = {"05_old": {"own": {}}, "01_naive": {"own": {}, "renamed": {}}}
    there = {
        "05_old_4096": report("05_old"),
        "01_naive_8192": report(variant="renamed", size=8192),
        "02_smem_tiled_8192": report("02_smem_tiled", size=8192),
    }
    counters = {"device": "Some GPU", "counters": of_stages}
    write_committed(measured, there | {"counters": counters})
    entry = {"commit": "old", "files": [*there, "tensor_rate.txt", "gone.txt"]}
    write(results(measured) / "provenance.json", [entry])
    (results(measured) / "tensor_rate.txt").touch()
    (measured / "counters.json").unlink()
    assert run(measured) == 0
    text = capsys.readouterr().out
    assert "removed 05_old_4096: there is no stage 05_old\n" in text
    assert "removed 01_naive_8192: 01_naive has no variant renamed\n" in text
    assert "removed counters of 05_old/own" in text
    assert "removed counters of 01_naive/renamed" in text
    assert read(measured, "counters")["counters"] == {"01_naive": {"own": {}}}
    assert names(measured) == ["01_naive_4096", "02_smem_tiled_8192", "counters"]
    old, _ = provenance(measured)
    assert old["files"] == ["02_smem_tiled_8192", "tensor_rate.txt"]


def test_nothing_of_an_earlier_measurement_stays_when_it_is_replaced(measured, capsys):
    write_committed(measured, {"02_smem_tiled_8192": report("02_smem_tiled", size=8192)})
    assert run(measured, "--replace") == 0
    assert names(measured) == ["01_naive_4096", "counters"]
    assert "removed 02_smem_tiled_8192: not measured again\n" in capsys.readouterr().out


def test_what_the_documentation_will_miss_is_said(measured, capsys):
    assert run(measured) == 0
    missing = [line for line in capsys.readouterr().out.splitlines() if "missing" in line]
    assert missing == [
        "missing: 01_naive at 8192",
        "missing: 02_smem_tiled at 4096",
        "missing: 02_smem_tiled at 8192",
        "missing: counters of 02_smem_tiled",
        "missing: counters at 128",
    ]


@pytest.mark.parametrize(
    "file, content, message",
    [
        ("environment.json", "{", "environment.json"),
        ("environment.json", '{"gpu": "Some GPU"}', "has to name gpu, driver"),
        (
            "02_smem_tiled_4096.json",
            json.dumps(report(gpu="Other")),
            "_4096.json is of Other",
        ),
        ("02_smem_tiled_4096.json", json.dumps(report("05_old")), "there is no stage 05_old"),
        ("02_smem_tiled_4096.json", json.dumps(report(variant="x")), "01_naive has no variant x"),
        ("counters.json", '{"device": "Other", "counters": {}}', "its counters.json is of Other"),
        ("02_smem_tiled_4096.json", "{}", "has no 'stage'"),
        ("tests.txt.failed", "", "tests failed"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changed(measured, file, content, message, capsys):
    (measured / file).write_text(content)
    assert run(measured) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not results(measured).exists()


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
DAMAGED = {"empty": b"", "binary": b"\x7fELF\xff\x00\xfe", "cut off": None, "pointer": POINTER}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("name", [*OF_OTHER_PROGRAMS, "01_naive_8192.json", "counters.json"])
@pytest.mark.parametrize("where", ["measured", "there"])
def test_a_damaged_file_is_refused_before_anything_is_changed(
    measured, name, where, damage, capsys
):
    for other, content in OF_OTHER_PROGRAMS.items():
        write(measured / other, content)
    write(measured / "01_naive_8192.json", report(size=8192))
    assert run(measured) == 0
    path = measured / name
    if where == "there":
        path.unlink()
        path = reports.file(results(measured), reports.kind(name.removesuffix(".json")))
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] if DAMAGED[damage] is None else DAMAGED[damage])
    before = everything(measured.parent)
    capsys.readouterr()
    assert run(measured, "--commit", "def") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"ladder adopt: {path}") and error.count("\n") == 1
    assert everything(measured.parent) == before


def test_claims_that_do_not_hold_are_said_but_the_numbers_are_what_they_are(measured, capsys):
    (measured / "claims.txt.failed").write_text("")
    assert run(measured) == 0
    assert "not all claims hold" in capsys.readouterr().out


def test_a_copy_without_history_needs_a_commit(measured, capsys):
    path = measured / "environment.json"
    path.write_text(path.read_text().replace("abc", "unknown: not a git checkout"))
    assert run(measured) == 2
    assert "say --commit HASH" in capsys.readouterr().err
    assert run(measured, "--commit", "abc") == 0


def test_a_name_that_the_tables_do_not_know_is_refused(measured, capsys):
    assert adopt.main([str(measured), "h300"], measured.parent) == 2
    assert "no GPU 'h300' in ladder.project.GPU_NAMES: h200, h100" in capsys.readouterr().err
    assert not (measured.parent / "docs/results").exists()


@pytest.mark.parametrize("folder", GPUS.values(), ids=GPUS)
def test_the_committed_results_all_have_a_provenance(folder):
    entries = json.loads((folder / "provenance.json").read_text())
    kept = {reports.file(folder, kind) for kind in reports.FILES}
    said_by_itself = {folder / name for name in ("provenance.json", "tune.jsonl", "rows.jsonl")}
    files = {path.name for path in {*folder.iterdir()} - kept - said_by_itself}
    named = [name for entry in entries for name in entry["files"]]
    # One report was committed by itself, before anybody wrote down where it came from.
    wanted = {*written.committed(folder), *files} - ({"counters_shapes"} - {*named})
    assert sorted(named) == sorted(wanted)
    assert all(entry[fact] for entry in entries for fact in adopt.FACTS)
