import json

import pytest

from ladder import plots


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
        plots.ncu.LIMITS["l2_sectors"]: 10**9,
        plots.ncu.LIMITS["sm_sectors"]: 2 * 10**9,
        plots.ncu.LIMITS["tensor_pipe"]: 75.0,
        plots.ncu.LIMITS["clock"]: 1.6e9,
        **{plots.ncu.STALL.format(r): 1.0 + i for i, r in enumerate(REASONS)},
        **{plots.ncu.STALL.format(f"other_{i}"): 0.1 for i in range(4)},
    }
}


@pytest.fixture(autouse=True)
def stages(manifest_of):
    half = {"types": ["fp16"]}
    tensor_cores = {"needs": {"compute_capability": 80, "features": ["tensor_cores"]}}
    manifest_of(
        "01_naive", "05_cp_async", "05b_split_k", {"name": "06_wmma", **half, **tensor_cores}
    )


@pytest.fixture
def reports():
    return [
        report("01_naive", 4096, 6.0),
        report("01_naive", 8192, 7.0),
        report("06_wmma", 1000, 300.0, "fp16"),
        report("06_wmma", 4096, 400.0, "fp16"),
    ]


@pytest.fixture
def results(reports, tmp_path, monkeypatch):
    """All that the plots need, on disk."""
    reports += [report("05_cp_async", size, size / 100) for size in (1024, 2048, 4096, 8192)]
    split = [report("05b_split_k", size, size / 90) for size in (4096, 8192)]
    for r in split:
        r["variants"][-1]["name"] = "split_k"
    reports += [*split, report("06_wmma", 8192, 410.0, "fp16")]
    folder = tmp_path / "results"
    folder.mkdir()
    for number, r in enumerate(reports):
        (folder / f"{number}.json").write_text(json.dumps(r))
    counters = {name: COUNTERS for name in ("01_naive", "05_cp_async", "06_wmma")}
    counters["05b_split_k"] = {"split_k": COUNTERS["own"]}
    (folder / "counters.json").write_text(json.dumps({"size": 4096, "counters": counters}))
    monkeypatch.setattr(plots, "ROOT", tmp_path)  # whose stages have no mains
    drawn = plots.FIGURES["swizzle_8x8"]  # the others are of the real manifest's stages
    monkeypatch.setattr(plots, "FIGURES", {"swizzle_8x8": drawn})
    return folder


def test_results_of_variants_that_are_no_more_are_refused(results, tmp_path, capsys):
    main = 'run(ladder::STAGE, {{"other", a::b}, {"newer", a::c}}, argc, argv);'
    (tmp_path / "stages/05_cp_async.cu").write_text(main)
    assert plots.main([str(results), str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "plot.py: the results of 05_cp_async at 4096 are of other variants than there are now: "
        "newer, own"
    ]


def test_the_ladder_has_a_bar_for_each_stage_at_4096(reports):
    (axes,) = plots.ladder(reports).axes
    assert [bar.get_width() for bar in axes.patches] == [6.0, 400.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["01_naive", "06_wmma"]
    assert "TFLOP/s" in axes.get_xlabel() and "Some GPU, 4096" in axes.get_title(loc="left")
    assert {t.get_text() for t in axes.texts} == {"6 (50%)", "400 (50%)"}
    cublas = [line.get_xdata()[0] for line in axes.lines]
    assert cublas == [12.0, 800.0]


def test_sizes_has_a_line_for_each_stage_of_many_sizes_and_cublas(reports):
    reports += [report("05_cp_async", size, size / 100) for size in (1024, 2048, 4096, 8192)]
    reports += [report("06_wmma", size, 1.0, "fp16") for size in (1024, 2048)]
    (fp32,) = plots.sizes(reports).axes  # 06 has three: 1000 is no power of two
    stage, cublas = fp32.lines
    assert list(stage.get_xdata()) == [1024, 2048, 4096, 8192]
    assert list(stage.get_ydata()) == [10.24, 20.48, 40.96, 81.92]
    assert stage.get_label() == "05_cp_async" and cublas.get_ydata()[0] == 20.48
    assert fp32.get_xlabel() == "M = N = K" and fp32.get_ylabel() == "TFLOP/s"
    reports.append(report("06_wmma", 8192, 2.0, "fp16"))
    assert [axes.get_title(loc="left") for axes in plots.sizes(reports).axes] == [
        "Some GPU, fp32",
        "Some GPU, fp16",
    ]


def test_files_for_both_themes_and_the_same_from_the_same_numbers(results, tmp_path):
    for out in ("a", "b"):
        assert plots.main([str(results), str(tmp_path / out)]) == 0
    drawn = ["ladder", "percent", "roofline", "sizes", "split_k", "stalls", "tensor", "traffic"]
    names = [f"{name}_{theme}.svg" for name in drawn for theme in ("dark", "light")]
    names.append("swizzle_8x8.svg")
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == sorted(names)
    for name in names[:-1]:
        text = (tmp_path / "a" / name).read_text()
        assert text == (tmp_path / "b" / name).read_text()
        assert any(unit in text for unit in ("TFLOP/s", "% of", "warps waiting", "GB")), name
        assert plots.THEMES["dark" if "dark" in name else "light"] in text


def test_each_thing_that_is_missing_is_a_line_and_nothing_is_written(
    results, manifest_of, tmp_path, capsys
):
    manifest_of("01_naive", "05_cp_async", "05c_new", "06_wmma")
    assert plots.main([str(results), str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "plot.py: no results of 05c_new at 4096",
        "plot.py: no results of 05c_new at 8192",
        "plot.py: no counters of 05c_new",
        "plot.py: results of 05b_split_k, which is no stage",
    ]
    assert not (tmp_path / "out").exists()


def test_results_of_two_devices_are_refused(results, tmp_path, capsys):
    other = report("05_cp_async", 4096, 9.0, name="Another GPU")
    (results / "other.json").write_text(json.dumps(other))
    assert plots.main([str(results), str(tmp_path / "out")]) == 2
    assert "results of several devices: Another GPU, Some GPU" in capsys.readouterr().err


def test_percent_has_two_bars_a_stage(reports):
    (axes,) = plots.percent(reports).axes
    assert [bar.get_width() for bar in axes.patches] == [50.0, 50.0, 50.0]  # 06 not at 8192
    assert "% of cuBLAS" in axes.get_xlabel()


def test_roofline_has_a_point_a_stage_below_its_roof(reports):
    at = {"01_naive": COUNTERS, "06_wmma": COUNTERS}
    (axes,) = plots.roofline(reports, at).axes
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert [p.get_ydata()[0] for p in points] == [6.0, 400.0]
    assert points[0].get_xdata()[0] == pytest.approx(2 * 4096**3 / 1.1e9)
    assert "byte of device memory" in axes.get_xlabel() and axes.get_ylabel() == "TFLOP/s"
    assert {t.get_text() for t in axes.texts} == {"01", "06"}


def test_stalls_add_up_without_the_instruction_that_was_issued(reports):
    (axes,) = plots.stalls(reports, {"01_naive": COUNTERS, "06_wmma": COUNTERS}).axes
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(2 * (36 + 0.4))
    assert "warps waiting" in axes.get_xlabel()


def test_a_stage_without_counters_is_an_error(reports):
    with pytest.raises(plots.BadInput, match="no counters of 06_wmma"):
        plots.roofline(reports, {"01_naive": COUNTERS})


def test_tensor_and_traffic_are_of_the_fp16_stages(reports):
    at = {"01_naive": COUNTERS, "06_wmma": {**COUNTERS, "slow": COUNTERS["own"]}}
    (axes,) = plots.tensor(reports, at).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["06 own", "06 slow"]
    assert [bar.get_width() for bar in axes.patches] == [75.0, 75.0]
    assert [text.get_text() for text in axes.texts] == ["1.60 GHz"] * 2
    (axes,) = plots.traffic(reports, at).axes
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([64.0, 32.0, 1.0])
    assert axes.get_xlabel() == "GB"


def test_split_k_compares_that_stage_and_its_parent(manifest_of):
    manifest_of("01_naive", "05_cp_async", {"name": "07_split_k", "parent": "01_naive"})
    reports = [report(name, 4096, 5.0) for name in ("01_naive", "05_cp_async", "07_split_k")]
    with pytest.raises(plots.BadInput, match="no results of a stage whose own variant is split_k"):
        plots.split_k(reports)
    reports[-1]["variants"][-1]["name"] = "split_k"
    (axes,) = plots.split_k(reports).axes
    labels = [line.get_label() for line in axes.lines[:-1]]
    assert labels == ["01_naive", "07_split_k"] and axes.get_ylabel() == "% of cuBLAS"
