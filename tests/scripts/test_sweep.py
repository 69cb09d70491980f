import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import sweep  # noqa: E402

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
report = {{"variants": [{{"name": "own", "percent_of_cublas": runs * 7 % 5}}]}}
Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(report))
"""


@pytest.fixture
def build(tmp_path):
    folder = tmp_path / "stages"
    folder.mkdir()
    for name in ("01_right", "02_broken", "03_elsewhere"):
        (folder / name).write_text(STAGE.format(name=name))
        (folder / name).chmod(0o755)
    return folder


def runs(build, name="01_right"):
    log = build / f"{name}.log"
    return log.read_text().splitlines() if log.exists() else []


def test_cells_are_kept_and_not_measured_again(build, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = [str(out), "01_right", "--shapes", "4096", "16x32x64"]
    assert sweep.main(arguments, build) == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "01_right_16x32x64.json",
        "01_right_4096.json",
    ]
    (out / "01_right_4096.json").unlink()
    assert sweep.main(arguments, build) == 0
    assert "01_right 16x32x64: kept" in capsys.readouterr().out
    assert len(runs(build)) == 3


def test_all_variants_only_at_the_sizes_of_the_readme(build, tmp_path):
    sweep.main([str(tmp_path / "out"), "01_right", "--shapes", "4096", "16x32x64"], build)
    squares, others = runs(build)
    assert squares.startswith("--m 4096 --n 4096 --k 4096") and "--variant" not in squares
    assert others.startswith("--m 16 --n 32 --k 64") and others.endswith("--variant own")


def test_the_median_of_several_processes_is_kept(build, tmp_path, capsys):
    out = tmp_path / "out"
    assert sweep.main([str(out), "01_right", "--shapes", "64", "--processes", "3"], build) == 0
    assert "1.0 2.0 4.0 % of cuBLAS" in capsys.readouterr().out
    report = json.loads((out / "01_right_64.json").read_text())
    assert sweep.own_percent(report) == 2


def test_a_failing_stage_is_reported_and_the_others_go_on(build, tmp_path, capsys):
    out = tmp_path / "out"
    assert sweep.main([str(out), "02_broken", "01_right", "--shapes", "64"], build) == 1
    text = capsys.readouterr()
    assert "02_broken 64: FAILED" in text.out and "02_broken: wrong" in text.err
    assert [p.name for p in out.iterdir()] == ["01_right_64.json"]


def test_a_stage_without_its_gpu_is_skipped(build, tmp_path, capsys):
    assert sweep.main([str(tmp_path / "out"), "03_elsewhere", "--shapes", "64"], build) == 0
    assert "03_elsewhere 64: skipped" in capsys.readouterr().out


def test_an_interrupt_keeps_what_is_there(build, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    measure = sweep.measure

    def interrupted(executable, shape):
        if shape == "64":
            raise KeyboardInterrupt
        return measure(executable, shape)

    monkeypatch.setattr(sweep, "measure", interrupted)
    assert sweep.main([str(out), "01_right", "--shapes", "32", "64"], build) == 130
    assert [p.name for p in out.iterdir()] == ["01_right_32.json"]
    assert "goes on from here" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["{out}", "--shapes", "4096x1"], "no shape: '4096x1'"),
        (["{out}", "--shapes", "0"], "no shape: '0'"),
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
    assert error.startswith("sweep.py: ") and message in error and error.count("\n") == 1
    assert not runs(build)


def test_without_a_build_it_says_how_to_get_one(tmp_path, capsys):
    assert sweep.main([str(tmp_path / "out")], tmp_path / "none") == 2
    assert "run_all.sh" in capsys.readouterr().err
