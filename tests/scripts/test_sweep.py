import json

import pytest

from ladder import evaluation, measuring, sweep

# Reports as percent of cuBLAS the number of times it has been run, times seven, modulo five.
STAGE = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
if "--list" in sys.argv:
    print("slow\\nown")
    sys.exit()
log = Path(__file__).with_suffix(".log")
with log.open("a") as f:
    f.write(" ".join(sys.argv[1:]) + "\\n")
runs = len(log.read_text().splitlines())
if "{name}" == "02_broken":
    print("02_broken: wrong", file=sys.stderr)
    sys.exit(1)
if "{name}" == "03_elsewhere":
    print("03_elsewhere: no usable GPU", file=sys.stderr)
    sys.exit(77)
device = {{"name": "Some GPU", "driver": "1", "toolkit": "2"}}
report = {{"device": device, "variants": [{{"name": "own", "percent_of_cublas": runs * 7 % 5}}]}}
Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(report))
"""


@pytest.fixture
def build(tmp_path, manifest_of, monkeypatch):
    manifest_of("01_right", "02_broken", "03_elsewhere")
    monkeypatch.setattr(measuring, "commit", lambda: "abc")
    folder = tmp_path / "stages"
    for name in ("01_right", "02_broken", "03_elsewhere"):
        (folder / name).write_text(STAGE.format(name=name))
        (folder / name).chmod(0o755)
    return folder


def runs(build, name="01_right"):
    log = build / f"{name}.log"
    return log.read_text().splitlines() if log.exists() else []


def reports(out):
    return sorted(p.name for p in out.glob("[0-9]*"))


def test_cells_are_kept_and_not_measured_again(build, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = [str(out), "01_right", "--shapes", "4096", "16x32x64"]
    assert sweep.main(arguments, build) == 0
    assert reports(out) == ["01_right_16x32x64.json", "01_right_4096.json"]
    (out / "01_right_4096.json").unlink()
    assert sweep.main(arguments, build) == 0
    assert "01_right 16x32x64: kept" in capsys.readouterr().out
    assert len(runs(build)) == 3


def test_all_variants_only_at_the_sizes_of_the_readme(build, tmp_path):
    sweep.main([str(tmp_path / "out"), "01_right", "--shapes", "4096", "16x32x64"], build)
    squares, others = runs(build)
    assert squares.startswith("--m 4096 --n 4096 --k 4096") and "--variant" not in squares
    assert others.startswith("--m 16 --n 32 --k 64") and others.endswith("--variant own")


@pytest.mark.slow
def test_a_shape_may_have_a_layout_and_a_type(build, tmp_path):
    out = tmp_path / "out"
    shapes = ["4096_TN", "64_bf16", "16x32x64_NT_e4m3"]
    assert sweep.main([str(out), "01_right", "--shapes", *shapes], build) == 0
    assert reports(out) == sorted(f"01_right_{shape}.json" for shape in shapes)
    layout, type_, both = (line.partition(" --json")[0] for line in runs(build))
    assert layout == "--m 4096 --n 4096 --k 4096 --layout TN"
    assert type_ == "--m 64 --n 64 --k 64 --type bf16"
    assert both == "--m 16 --n 32 --k 64 --layout NT --type e4m3"
    assert all(line.endswith("--variant own") for line in runs(build))


def test_work_goes_before_type_and_type_before_layout():
    ordered = ["16x16x128", "32_TT", "64", "64_TN", "64_bf16", "64_NT_bf16"]
    assert sorted(reversed(ordered), key=measuring.order) == ordered


@pytest.mark.slow
def test_the_median_of_several_processes_is_kept(build, tmp_path, capsys):
    out = tmp_path / "out"
    assert sweep.main([str(out), "01_right", "--shapes", "64", "--processes", "3"], build) == 0
    assert "1.0 2.0 4.0 % of cuBLAS, " in capsys.readouterr().out
    report = json.loads((out / "01_right_64.json").read_text())
    assert sweep.own_percent(report) == 2


@pytest.mark.slow
def test_a_failing_stage_is_reported_and_the_others_go_on(build, tmp_path, capsys):
    out = tmp_path / "out"
    assert sweep.main([str(out), "02_broken", "01_right", "--shapes", "64"], build) == 1
    text = capsys.readouterr()
    assert "02_broken 64: FAILED" in text.out and "02_broken: wrong" in text.err
    assert reports(out) == ["01_right_64.json"]


def test_a_stage_without_its_gpu_is_skipped(build, tmp_path, capsys):
    assert sweep.main([str(tmp_path / "out"), "03_elsewhere", "--shapes", "64"], build) == 0
    assert "03_elsewhere 64: skipped" in capsys.readouterr().out


def test_an_interrupt_keeps_what_is_there(build, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    measure = sweep.measure

    def interrupted(cell):
        if cell.shape == "64":
            raise KeyboardInterrupt
        return measure(cell)

    monkeypatch.setattr(sweep, "measure", interrupted)
    assert sweep.main([str(out), "01_right", "--shapes", "32", "64"], build) == 130
    assert reports(out) == ["01_right_32.json"]
    assert "goes on from here" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["{out}", "--shapes", "4096x1"], "no shape: '4096x1'"),
        (["{out}", "--shapes", "0"], "no shape: '0'"),
        (["{out}", "--shapes", "64_XX"], "no shape: '64_XX'"),
        (["{out}", "--shapes", "64_bf16_TN"], "no shape: '64_bf16_TN'"),
        (["{out}", "07_none"], "no stage '07_none'; there are: 01_right"),
        (["{out}", "--processes", "0"], "--processes: at least 1"),
        (["{file}"], "is no folder"),
    ],
)
def test_bad_input_is_one_line_and_code_2(build, tmp_path, capsys, arguments, message):
    (tmp_path / "file").write_text("")
    places = {"out": tmp_path / "out", "file": tmp_path / "file"}
    assert sweep.main([a.format(**places) for a in arguments], build) == 2
    error = capsys.readouterr().err
    assert error.startswith("ladder sweep: ") and message in error and error.count("\n") == 1
    assert not runs(build)


def test_without_a_build_it_says_how_to_get_one(tmp_path, capsys):
    assert sweep.main([str(tmp_path / "out")], tmp_path / "none") == 2
    assert "run_all.sh" in capsys.readouterr().err


@pytest.fixture
def claimed(tmp_path, monkeypatch):
    """A claim on the stage's other variant at a shape of its own."""
    pytest.importorskip("yaml")

    path = tmp_path / "claims.yaml"
    path.write_text("- id: x\n  claim: y\n  holds: 'time(01_right/slow, 16x32x64) > 1'\n")
    monkeypatch.setattr(evaluation, "CLAIMS", path)


def test_what_the_documentation_is_made_of(build, tmp_path, manifest_of, claimed):
    manifest_of({"name": "01_right", "also_at": ["64"]}, "02_broken", "03_elsewhere")
    out = tmp_path / "out"
    assert sweep.main([str(out), "01_right", "--documented"], build) == 0
    expected = [f"01_right_{shape}.json" for shape in ("16x32x64", "4096", "64", "8192")]
    assert reports(out) == expected
    variants = {line.split()[1]: line.partition("--variant ")[2] for line in runs(build)}
    assert variants == {"16": "slow own", "64": "own", "4096": "", "8192": "own"}


@pytest.mark.slow
def test_a_second_gpu_needs_what_claims_and_its_tables_name(build, tmp_path, manifest_of, claimed):
    manifest_of({"name": "01_right", "also_at": ["64"]}, "02_broken", "03_elsewhere")
    out = tmp_path / "out"
    assert sweep.main([str(out), "01_right", "--claimed"], build) == 0
    assert reports(out) == [f"01_right_{shape}.json" for shape in ("16x32x64", "4096", "8192")]


@pytest.mark.slow
def test_a_claim_on_a_variant_that_is_not_there_fails(build, tmp_path, claimed, capsys):
    (build / "01_right").write_text(STAGE.format(name="01_right").replace("slow\\n", ""))
    assert sweep.main([str(tmp_path / "out"), "01_right", "--documented"], build) == 1
    text = capsys.readouterr()
    assert "01_right 16x32x64: FAILED" in text.out
    assert "01_right has no variant slow" in text.err


def test_the_environment_is_written_and_a_folder_is_of_one_commit(
    build, tmp_path, capsys, monkeypatch
):
    arguments = [str(tmp_path / "out"), "01_right", "--shapes", "64"]
    assert sweep.main(arguments, build) == 0
    environment = json.loads((tmp_path / "out/environment.json").read_text())
    date = environment.pop("date")
    facts = {"gpu": "Some GPU", "driver": "1", "toolkit": "2", "commit": "abc"}
    assert environment == facts and len(date) == 10
    monkeypatch.setattr(measuring, "commit", lambda: "def")
    assert sweep.main(arguments, build) == 2
    assert "has measurements of another commit" in capsys.readouterr().err


@pytest.mark.slow
def test_stages_come_in_the_order_of_the_manifest(build, tmp_path, manifest_of, capsys):
    manifest_of("03_elsewhere", "01_right", "02_broken")
    sweep.main([str(tmp_path / "out"), "--shapes", "64"], build)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [words[1] for words in lines] == ["03_elsewhere", "01_right", "02_broken"]
