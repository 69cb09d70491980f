import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import plot  # noqa: E402


def report(stage, size, tflops, kind="fp32", name="Some GPU"):
    variant = {"name": "own", "tflops": tflops, "percent_of_cublas": 50.0}
    return {
        "stage": stage,
        "device": {"name": name, "peak_tflops": 60.0, "memory_gb_s": 4000.0},
        "problem": {"m": size, "n": size, "k": size, "input": kind},
        "variants": [{"name": "other", "tflops": 1.0}, variant],
        "cublas": {"tflops": 2 * tflops},
    }


REASONS = (
    "barrier",
    "wait",
    "gmma",
    "drain",
    "lg_throttle",
    "membar",
    "misc",
    "sleeping",
    "selected",
)
COUNTERS = {
    "own": {
        "dram__bytes_read.sum": 10**9,
        "dram__bytes_write.sum": 10**8,
        plot.ncu.LIMITS["l2_sectors"]: 10**9,
        plot.ncu.LIMITS["sm_sectors"]: 2 * 10**9,
        plot.ncu.LIMITS["tensor_pipe"]: 75.0,
        plot.ncu.LIMITS["clock"]: 1.6e9,
        **{plot.ncu.STALL.format(r): 1.0 + i for i, r in enumerate(REASONS)},
        **{plot.ncu.STALL.format(f"other_{i}"): 0.1 for i in range(4)},
    }
}


@pytest.fixture
def reports():
    return [
        report("01_naive", 4096, 6.0),
        report("01_naive", 8192, 7.0),
        report("06_wmma", 1000, 300.0, "fp16"),
        report("06_wmma", 4096, 400.0, "fp16"),
    ]


def test_the_ladder_has_a_bar_for_each_stage_at_4096(reports):
    (axes,) = plot.ladder(reports).axes
    assert [bar.get_width() for bar in axes.patches] == [6.0, 400.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["01_naive", "06_wmma"]
    assert "TFLOP/s" in axes.get_xlabel() and "Some GPU, 4096" in axes.get_title(loc="left")
    assert {t.get_text() for t in axes.texts} == {"6 (50%)", "400 (50%)"}
    cublas = [line.get_xdata()[0] for line in axes.lines]
    assert cublas == [12.0, 800.0]


def test_sizes_has_a_line_for_each_stage_and_cublas(reports):
    fp32, fp16 = plot.sizes(reports).axes
    stage, cublas = fp32.lines
    assert list(stage.get_xdata()) == [4096, 8192] and list(stage.get_ydata()) == [6.0, 7.0]
    assert stage.get_label() == "01_naive" and list(cublas.get_ydata()) == [12.0, 14.0]
    assert fp32.get_xlabel() == "M = N = K" and fp32.get_ylabel() == "TFLOP/s"
    assert list(fp16.lines[0].get_xdata()) == [4096]  # 1000 is no power of two


def test_files_for_both_themes_and_the_same_from_the_same_numbers(reports, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    reports.append(report("05_cp_async", 4096, 50.0))
    for number, r in enumerate(reports):
        (results / f"{number}.json").write_text(json.dumps(r))
    counted = {
        "size": 4096,
        "counters": dict.fromkeys(["01_naive", "05_cp_async", "06_wmma"], COUNTERS),
    }
    (results / "counters.json").write_text(json.dumps(counted))
    for out in ("a", "b"):
        assert plot.main([str(results), str(tmp_path / out)]) == 0
    plots = ["ladder", "percent", "roofline", "sizes", "split_k", "stalls", "tensor", "traffic"]
    names = [f"{name}_{theme}.svg" for name in plots for theme in ("dark", "light")]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == names
    for name in names:
        text = (tmp_path / "a" / name).read_text()
        assert text == (tmp_path / "b" / name).read_text()
        assert any(unit in text for unit in ("TFLOP/s", "% of", "warps waiting", "GB")), name
        assert plot.THEMES["dark" if "dark" in name else "light"] in text


def test_results_of_two_devices_are_refused(reports, tmp_path, capsys):
    reports.append(report("02_smem_tiled", 4096, 9.0, name="Another GPU"))
    for number, r in enumerate(reports):
        (tmp_path / f"{number}.json").write_text(json.dumps(r))
    assert plot.main([str(tmp_path), str(tmp_path / "out")]) == 2
    assert "results of several devices: Another GPU, Some GPU" in capsys.readouterr().err


def test_the_committed_plots_are_those_of_the_committed_results(tmp_path):
    assert plot.main([str(ROOT / "docs/results/h200"), str(tmp_path)]) == 0
    for path in tmp_path.iterdir():
        assert path.read_text() == (ROOT / "docs/figures" / path.name).read_text(), path.name


def test_percent_has_two_bars_a_stage(reports):
    (axes,) = plot.percent(reports).axes
    assert [bar.get_width() for bar in axes.patches] == [50.0, 50.0, 50.0]  # 06 not at 8192
    assert "% of cuBLAS" in axes.get_xlabel()


def test_roofline_has_a_point_a_stage_below_its_roof(reports):
    at = {"01_naive": COUNTERS, "06_wmma": COUNTERS}
    (axes,) = plot.roofline(reports, at).axes
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert [p.get_ydata()[0] for p in points] == [6.0, 400.0]
    assert points[0].get_xdata()[0] == pytest.approx(2 * 4096**3 / 1.1e9)
    assert "byte of device memory" in axes.get_xlabel() and axes.get_ylabel() == "TFLOP/s"
    assert {t.get_text() for t in axes.texts} == {"01", "06"}


def test_stalls_add_up_without_the_instruction_that_was_issued(reports):
    (axes,) = plot.stalls(reports, {"01_naive": COUNTERS, "06_wmma": COUNTERS}).axes
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(2 * (36 + 0.4))
    assert "warps waiting" in axes.get_xlabel()


def test_a_stage_without_counters_is_an_error(reports):
    with pytest.raises(plot.BadInput, match="no counters of 06_wmma"):
        plot.roofline(reports, {"01_naive": COUNTERS})


def test_tensor_and_traffic_are_of_the_fp16_stages(reports):
    at = {"01_naive": COUNTERS, "06_wmma": {**COUNTERS, "slow": COUNTERS["own"]}}
    (axes,) = plot.tensor(reports, at).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["06 own", "06 slow"]
    assert [bar.get_width() for bar in axes.patches] == [75.0, 75.0]
    assert [text.get_text() for text in axes.texts] == ["1.60 GHz"] * 2
    (axes,) = plot.traffic(reports, at).axes
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([64.0, 32.0, 1.0])
    assert axes.get_xlabel() == "GB"


def test_split_k_compares_two_stages():
    both = [report("05_cp_async", 4096, 50.0), report("05b_split_k", 4096, 51.0)]
    (axes,) = plot.split_k(both).axes
    labels = [line.get_label() for line in axes.lines[:2]]
    assert labels == ["05_cp_async", "05b_split_k"] and axes.get_ylabel() == "% of cuBLAS"
