import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from ladder import counters as ncu
from ladder import figures, plots
from ladder.figures import counted, measured, swizzle
from ladder.project import BadInput


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
        ncu.LIMITS["l2_sectors"]: 10**9,
        ncu.LIMITS["sm_sectors"]: 2 * 10**9,
        ncu.LIMITS["tensor_pipe"]: 75.0,
        ncu.LIMITS["clock"]: 1.6e9,
        **{ncu.STALL.format(r): 1.0 + i for i, r in enumerate(REASONS)},
        **{ncu.STALL.format(f"other_{i}"): 0.1 for i in range(4)},
    }
}


@pytest.fixture(autouse=True)
def stages(manifest_of, monkeypatch):
    half = {"types": ["fp16"]}
    tensor_cores = {"needs": {"compute_capability": 80, "features": ["tensor_cores"]}}
    manifest_of("01_naive", "05_cp_async", {"name": "06_wmma", **half, **tensor_cores})
    monkeypatch.setattr(figures, "TOPICS", ())  # those are of the real stages


@pytest.fixture
def results(tmp_path, monkeypatch):
    """All that the figures need, on disk."""
    reports = [report("05_cp_async", size, size / 100) for size in (1024, 2048, 4096, 8192)]
    reports += [report("06_wmma", size, 400.0, "fp16") for size in (1024, 2048, 4096, 8192)]
    reports += [report("01_naive", size, 6.0) for size in (4096, 8192)]
    folder = tmp_path / "results"
    folder.mkdir()
    for number, r in enumerate(reports):
        (folder / f"{number}.json").write_text(json.dumps(r))
    counters = {name: COUNTERS for name in ("01_naive", "05_cp_async")}
    counters["06_wmma"] = {**COUNTERS, "slow": COUNTERS["own"]}
    (folder / "counters.json").write_text(json.dumps({"size": 4096, "counters": counters}))
    monkeypatch.setattr(plots, "ROOT", tmp_path)  # whose stages have no mains
    return folder


def texts(figure):
    return re.findall(r"<text [^>]*>([^<]*)</text>", figure.svg)


def shapes(figure, name, kind):
    nodes = ElementTree.fromstring(figure.svg).iter(f"{{http://www.w3.org/2000/svg}}{name}")
    return [node for node in nodes if kind in node.get("class").split()]


def widths(figure, kind):
    """Of the bars; the legend's are as high as wide."""
    bars = shapes(figure, "rect", kind)
    return [float(b.get("width")) for b in bars if b.get("width") != b.get("height")]


def test_results_of_variants_that_are_no_more_are_refused(results, tmp_path, capsys):
    main = 'run(ladder::STAGE, {{"other", a::b}, {"newer", a::c}}, argc, argv);'
    (tmp_path / "stages/05_cp_async.cu").write_text(main)
    assert plots.main([str(results), str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "ladder figures: the results of 05_cp_async at 4096 are of other variants than there are "
        "now: newer, own"
    ]


def test_a_file_for_both_themes_and_the_same_from_the_same_numbers(results, tmp_path):
    for out in ("a", "b"):
        assert plots.main([str(results), str(tmp_path / out)]) == 0
    written = sorted((tmp_path / "a").iterdir())
    names = ["ladder_linear", "percent_sizes", "roofline", "stalls", "tensor", "traffic"]
    assert [p.stem for p in written] == names
    for path in written:
        assert path.read_text() == (tmp_path / "b" / path.name).read_text()
        assert "Some GPU" in path.read_text()


def test_each_thing_that_is_missing_is_a_line_and_only_schematic_figures_are_written(
    results, manifest_of, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(figures, "TOPICS", (swizzle,))
    manifest_of("01_naive", "05c_new", "06_wmma")
    assert plots.main([str(results), str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "ladder figures: no results of 05c_new at 4096",
        "ladder figures: no results of 05c_new at 8192",
        "ladder figures: no counters of 05c_new",
        "ladder figures: results of 05_cp_async, which is no stage",
    ]
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["swizzle_8x8.svg"]


def test_results_of_two_devices_are_refused(results, tmp_path, capsys):
    other = report("05_cp_async", 4096, 9.0, name="Another GPU")
    (results / "other.json").write_text(json.dumps(other))
    assert plots.main([str(results), str(tmp_path / "out")]) == 2
    assert "results of several devices: Another GPU, Some GPU" in capsys.readouterr().err


def test_the_ladder_has_a_linear_bar_for_each_stage(results):
    figure = measured.ladder_linear(results)
    assert widths(figure, "a") == pytest.approx([96, 96]) and widths(figure, "b") == [96]
    assert {"6.0", "41.0", "400", "50.0"} <= set(texts(figure))


def test_sizes_have_a_line_for_each_stage_of_many_sizes(results):
    figure = measured.percent_sizes(results)
    assert len(shapes(figure, "path", "wide")) == 2  # 01 has two sizes
    assert {"05 50", "06 50", "1024", "8192"} <= set(texts(figure))


def test_roofline_has_a_point_a_stage_below_its_roof(results):
    figure = counted.roofline(results)
    points = shapes(figure, "circle", "a") + shapes(figure, "circle", "b")
    assert len(points) == 3 and {"01", "05", "06", "4.0 TB/s"} <= set(texts(figure))


def test_stages_that_follow_each_other_are_named_by_the_first_and_the_last(manifest_of):
    manifest_of("01_a", "02_b", "02b_c", "03_d", "04_e")
    assert counted.named(["04", "02b", "01", "02"]) == "01 to 02b, 04"
    assert counted.named(["02", "01"]) == "01, 02"


def test_stalls_add_up_without_the_instruction_that_was_issued(results):
    assert texts(counted.stalls(results)).count("36.4") == 3


def test_a_stage_without_counters_is_an_error(results):
    path = results / "counters.json"
    counters = json.loads(path.read_text())
    del counters["counters"]["06_wmma"]
    path.write_text(json.dumps(counters))
    with pytest.raises(BadInput, match="no counters of 06_wmma"):
        counted.roofline(results)


def test_tensor_and_traffic_are_of_the_fp16_stages(results):
    figure = counted.tensor(results)
    assert widths(figure, "b") == [135.0, 135.0]
    assert {"06 own", "06 slow", "75", "1.60"} <= set(texts(figure))
    assert texts(counted.traffic(results))[-3:] == ["64.00", "32.00", "1.00"]
