import json
from itertools import pairwise

import pytest
from test_figures import faults

from ladder import manifest, measuring, power, power_results
from ladder.figures import power as figure
from ladder.project import BadInput

# Reports as watts the number of its runs, and writes down what it was asked for.
STAGE = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
if "--list" in sys.argv:
    print("slow\\nown")
    sys.exit()
log = Path(__file__).with_suffix(".log")
with log.open("a") as f:
    f.write(" ".join(sys.argv[1:-1]) + "\\n")
if (Path(__file__).parent / "broken").exists():
    print("some: it broke", file=sys.stderr)
    sys.exit(1)
runs = len(log.read_text().splitlines())
run = {"tflops": 500 + runs, "samples": 9, "watts": runs, "sm_mhz": 1400, "power_cap": 1,
       "hardware_slowdown": 0, "thermal": 0}
both = {"bursts": run | {"watts": 10 * runs}, "sustained": run}
power = {"sensor": "instant", "limit_watts": 700, "stage": both,
         "cublas": {"bursts": run, "sustained": run | {"watts": 3}}}
if (Path(__file__).parent / "no_nvml").exists():
    power = {"unavailable": "no library"}
device = {"name": "Some GPU", "driver": "1", "toolkit": "2"}
report = {"stage": Path(__file__).name, "device": device, "cublas": {"tflops": 700},
          "variants": [{"name": "own", "tflops": 710, "power": power}]}
Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(report))
"""


def profiled(command):
    """What ncu prints of a kernel at 1.5 GHz."""
    options = dict(pairwise(command))
    assert options["--m"] == options["--n"] == options["--k"] == "4096"
    assert options["--clock-control"] == "none"
    names = options["--metrics"].split(",")
    values = {name: "1,500,000,000" if "per_second" in name else "91.5" for name in names}
    rows = [names, ["" for _ in names], [values[name] for name in names]]
    return "==PROF== noise\n" + "\n".join(",".join(f'"{v}"' for v in row) for row in rows)


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "commit", lambda: "abc")
    monkeypatch.setattr(power.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(power.ncu, "run", profiled)
    folder = tmp_path / "stages"
    folder.mkdir()
    for name in power.chosen():
        (folder / name).write_text(STAGE)
        (folder / name).chmod(0o755)
    return folder


def measured(build, out):
    assert power.main([str(out)], build) == 0
    return power_results.load(out)


@pytest.mark.slow
def test_every_stage_with_every_kind_of_data(build, tmp_path):
    found = measured(build, tmp_path / "out")
    assert {key: found[key] for key in ("device", "size", "sensor", "limit_watts")} == {
        "device": "Some GPU",
        "size": 8192,
        "sensor": "instant",
        "limit_watts": 700,
    }
    for name, kinds in power.chosen().items():
        assert tuple(found["runs"][f"{name}/own"]) == kinds
        asked = (build / f"{name}.log").read_text().splitlines()
        assert [line.split("--data ")[1].split()[0] for line in asked] == list(kinds)
        for line in asked:
            assert line.startswith("--size 8192 --variant own ") and "--sustained" in line
    environment = json.loads((tmp_path / "out/environment.json").read_text())
    assert environment["gpu"] == "Some GPU" and environment["commit"] == "abc"


@pytest.mark.slow
def test_numbers_for_claims(build, tmp_path):
    found = measured(build, tmp_path / "out")
    variant = "09_wgmma/own"  # zeros, constant, exact, random
    expected = {
        "data_tflops": 710,
        "cublas_data_tflops": 700,
        "launch_clock": 1.5e9,
        "launch_tensor_pipe": 91.5,
        "power_watts": 4,
        "burst_watts": 40,
        "cublas_power_watts": 3,
        "cublas_burst_watts": 4,
        "power_tflops": 504,
        "power_clock": 1.4e9,
        "power_cap": 1,
        "cublas_power_thermal": 0,
    }
    for name, value in expected.items():
        assert power_results.number(found, name, variant, "random") == value
    assert len(power_results.FUNCTIONS) == 4 + 4 * 5
    with pytest.raises(BadInput, match="no power_watts of 09_wgmma/own with noise: 'noise'"):
        power_results.number(found, "power_watts", variant, "noise")


@pytest.mark.slow
def test_what_there_is_no_sample_of_is_missing(build, tmp_path):
    found = measured(build, tmp_path / "out")
    del found["runs"]["09_wgmma/own"]["zeros"]["stage"]["sustained"]["watts"]
    with pytest.raises(BadInput, match="no power_watts of 09_wgmma/own with zeros: 'watts'"):
        power_results.number(found, "power_watts", "09_wgmma/own", "zeros")


@pytest.mark.parametrize(
    "flag, message",
    [
        ("broken", "ladder power: some: it broke"),
        ("no_nvml", "no power of 05b_split_barrier: no lib"),
    ],
)
def test_a_failure_is_said_and_leaves_nothing(build, tmp_path, capsys, flag, message):
    (build / flag).touch()
    assert power.main([str(tmp_path / "out")], build) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list((tmp_path / "out").iterdir())


def test_bad_input_is_one_line_and_code_2(build, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert power.main([str(tmp_path / "file")], build) == 2
    (build / "09_wgmma").unlink()
    assert power.main([str(tmp_path / "out")], build) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 2 and "no 09_wgmma in" in error[1] and "run_all.sh" in error[1]


def test_without_ncu_nothing_is_begun(build, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(power.shutil, "which", lambda name: None)
    assert power.main([str(tmp_path / "out")], build) == 2
    assert capsys.readouterr().err.startswith("ladder power: ncu is not on the PATH")
    assert not (tmp_path / "out").exists()


def test_what_was_not_measured_is_said(tmp_path):
    with pytest.raises(BadInput, match=r"./ladder power measures it"):
        power_results.load(tmp_path)


@pytest.mark.slow
def test_the_figure_shows_every_kernel_and_can_be_read(build, tmp_path):
    drawn = figure.drawn(measured(build, tmp_path / "out"))
    assert faults(drawn.svg) == []
    labels = [manifest.stage(name).label for name in power.chosen()]
    for text in [*labels, "cuBLAS", *power_results.DATA.values(), "limit 700"]:
        assert text in drawn.svg
    bars = {kind: drawn.svg.count(f'"{kind} strong bare"') for kind in figure.COLORS}
    # Three panels, and one in the legend.
    assert bars == {"gray": 3 * 2 + 1, "a": 13, "b": 13, "c": 13, "d": 13}
    assert drawn.caption.startswith("Some GPU, 8192³") and drawn.caption.endswith(".")


@pytest.mark.slow
def test_a_bar_is_as_high_as_its_number(build, tmp_path):
    found = measured(build, tmp_path / "out")
    run = found["runs"]["09_wgmma/own"]["random"]["stage"]["sustained"]
    run["watts"] = found["limit_watts"]
    height = figure.HEIGHT / 1.1
    assert f'height="{height:.5g}"' in figure.drawn(found).svg
