import json

import pytest

from ladder import adopt
from ladder.project import GPUS, ROOT
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
OF_OTHER_PROGRAMS = {
    "library_fp16.json": LIBRARY,
    "jit_call_4096_cold.json": JIT_CALL,
    "power.json": POWER,
    "timelines.json": TIMELINES,
    "around_gemm.json": AROUND,
    "exercises.json": EXERCISES,
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
    return sorted(path.name for path in results(measured).iterdir())


def provenance(measured):
    return json.loads((results(measured) / "provenance.json").read_text())


def test_what_the_library_and_the_jit_took_is_taken_over_and_no_stage(measured):
    for name in ("library_fp16.json", "jit_call_4096_cold.json"):
        write(measured / name, OF_OTHER_PROGRAMS[name])
    assert run(measured) == 0
    assert {"library_fp16.json", "jit_call_4096_cold.json"} < set(names(measured))
    assert "library_fp16.json" in provenance(measured)[0]["files"]
    assert [report["stage"] for report in load(results(measured))] == ["01_naive"]


def test_reports_and_counters_are_taken_over_with_where_they_come_from(measured):
    assert run(measured) == 0
    assert names(measured) == ["01_naive_4096.json", "counters.json", "provenance.json"]
    (entry,) = provenance(measured)
    assert entry["files"] == names(measured)[:2]
    assert entry["commit"] == "abc" and entry["gpu"] == "Some GPU"


def test_a_file_belongs_to_the_newest_measurement_and_others_stay(measured):
    write(measured / "02_smem_tiled_4096.json", report("02_smem_tiled"))
    assert run(measured) == 0
    (measured / "02_smem_tiled_4096.json").unlink()
    assert run(measured, "--commit", "def") == 0
    old, new = provenance(measured)
    assert (old["commit"], old["files"]) == ("abc", ["02_smem_tiled_4096.json"])
    assert (new["commit"], new["files"]) == ("def", ["01_naive_4096.json", "counters.json"])


def test_counters_that_were_not_counted_again_stay(measured):
    assert run(measured) == 0
    of_one = {"01_naive": {"slow": {"x": 1}}, "02_smem_tiled": {"own": {}}}
    write(measured / "counters.json", {"device": "Some GPU", "counters": of_one})
    assert run(measured) == 0
    path = results(measured) / "counters.json"
    kept = {"01_naive": {"own": {}, "slow": {"x": 1}}, "02_smem_tiled": {"own": {}}}
    assert json.loads(path.read_text())["counters"] == kept
    assert run(measured, "--replace") == 0
    assert json.loads(path.read_text())["counters"] == of_one


def test_counters_of_another_size_are_refused_and_nothing_changed(measured, capsys):
    write(measured / "counters_512.json", {"device": "Some GPU", "size": 512, "counters": {}})
    assert run(measured) == 0
    write(measured / "counters_512.json", {"device": "Some GPU", "size": 5, "counters": {}})
    write(measured / "01_naive_8192.json", report(size=8192))
    assert run(measured) == 2
    assert "another size or other counters" in capsys.readouterr().err
    assert "01_naive_8192.json" not in names(measured)


def test_counters_at_128_go_to_the_tests_that_compare_them(measured):
    write(measured / "counters_128.json", {"device": "Some GPU", "counters": {}})
    assert run(measured) == 0
    path = measured.parent / "tests/data/ncu_h100.json"
    assert path.read_text() == (measured / "counters_128.json").read_text()
    assert "counters_128.json" not in names(measured)
    assert "tests/data/ncu_h100.json" in provenance(measured)[0]["files"]
    assert run(measured, "--commit", "def") == 0  # once more: the file has one measurement
    (entry,) = provenance(measured)
    assert entry["files"].count("tests/data/ncu_h100.json") == 1


def test_experiments_are_taken_over_with_the_reports(measured):
    write(measured / "power.json", POWER)
    write(measured / "timelines.json", TIMELINES)
    assert run(measured) == 0
    assert {"power.json", "timelines.json"} <= {*names(measured)}
    assert {"power.json", "timelines.json"} <= {*provenance(measured)[0]["files"]}


def test_what_is_of_no_stage_or_variant_any_more_is_removed_and_said(measured, capsys):
    there = results(measured)
    write(there / "05_old_4096.json", report("05_old"))
    write(there / "01_naive_8192.json", report(variant="renamed", size=8192))
    write(there / "02_smem_tiled_8192.json", report("02_smem_tiled", size=8192))
    files = ["05_old_4096.json", "01_naive_8192.json", "02_smem_tiled_8192.json"]
    write(there / "provenance.json", [{"commit": "old", "files": files}])
    (measured / "counters.json").unlink()
    of_stages = {"05_old": {"own": {}}, "01_naive": {"own": {}, "renamed": {}}}
    write(there / "counters.json", {"device": "Some GPU", "counters": of_stages})
    assert run(measured) == 0
    text = capsys.readouterr().out
    assert "removed 05_old_4096.json: there is no stage 05_old\n" in text
    assert "removed 01_naive_8192.json: 01_naive has no variant renamed\n" in text
    assert "removed counters of 05_old/own" in text
    assert "removed counters of 01_naive/renamed" in text
    left = json.loads((there / "counters.json").read_text())["counters"]
    assert left == {"01_naive": {"own": {}}}
    assert "02_smem_tiled_8192.json" in names(measured)
    old, _ = provenance(measured)
    assert old["files"] == ["02_smem_tiled_8192.json"]


def test_nothing_of_an_earlier_measurement_stays_when_it_is_replaced(measured, capsys):
    write(results(measured) / "02_smem_tiled_8192.json", report("02_smem_tiled", size=8192))
    assert run(measured, "--replace") == 0
    assert names(measured) == ["01_naive_4096.json", "counters.json", "provenance.json"]
    assert "removed 02_smem_tiled_8192.json: not measured again\n" in capsys.readouterr().out


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
    folder = measured if where == "measured" else results(measured)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-9] if DAMAGED[damage] is None else DAMAGED[damage])
    if where == "there":
        (measured / name).unlink()
    before = everything(measured.parent)
    capsys.readouterr()
    assert run(measured, "--commit", "def") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"adopt_results.py: {folder / name}") and error.count("\n") == 1
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
    there = {path for path in folder.rglob("*") if path.is_file()}
    named = [adopt.in_root(name, folder, ROOT) for entry in entries for name in entry["files"]]
    in_folder = [name for name in named if (ROOT / name).is_relative_to(folder)]
    wanted = there - {folder / "provenance.json"}
    assert sorted(in_folder) == sorted(path.relative_to(ROOT).as_posix() for path in wanted)
    assert all(entry[fact] for entry in entries for fact in adopt.FACTS)
