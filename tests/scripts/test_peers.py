import json
import math
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from ladder import peers, sweep_records
from ladder.figures import sweep as sweep_figure
from ladder.project import BadInput
from ladder.sweep_shapes import (
    LARGEST,
    MODELS,
    MOST_PRODUCTS,
    full,
    model_shapes,
    random_shapes,
    sizes,
    sweep_shapes,
)


def competitor(family, ms, own=False, name="x", **more):
    return {"family": family, "name": name, "own": own, "ms": ms, **more}


def record(shape, *competitors, kind="fp16", **more):
    return {"shape": shape, "type": kind, "competitors": list(competitors), **more}


def usual(shape, stage_ms=2.0, **more):
    return record(
        shape,
        competitor("cuBLAS", 1.0, own=True),
        competitor("cublasLt", 0.9),
        competitor("cublasLt", 0.8),
        competitor("CUTLASS", 1.25),
        competitor("13_new", stage_ms, own=True, name="new"),
        competitor("13_new", 0.5, name="small tiles"),
        **more,
    )


# ---- shapes ----


def test_the_sweep_is_of_hundreds_of_shapes_and_always_the_same():
    shapes = sweep_shapes()
    assert len(shapes) >= 300
    assert len(set(shapes)) == len(shapes)
    assert shapes == sweep_shapes()
    assert {*random_shapes(), *model_shapes()} == set(shapes)


def test_random_shapes_are_spread_evenly_over_the_logarithm_and_bounded():
    shapes = [sizes(shape) for shape in random_shapes()]
    for dimension in zip(*shapes, strict=True):
        assert 1 <= min(dimension) <= 4 and 8000 <= max(dimension) <= LARGEST
        middle = sum(d < LARGEST**0.5 for d in dimension) / len(dimension)
        assert 0.4 < middle < 0.65
    assert max(math.prod(s) for s in shapes) <= MOST_PRODUCTS


def test_models_are_those_that_their_authors_publish():
    widths = {m.name: m.projections() for m in MODELS}
    assert len(widths) == 5
    assert widths["Llama 3.1 8B"]["qkv"] == (6144, 4096)
    assert widths["Llama 2 7B"]["down"] == (4096, 11008)
    assert widths["Gemma 2 9B"]["output"] == (3584, 4096)
    assert "Llama 3.1 70B gate" in model_shapes()["8192x28672x8192"]


def test_shapes_are_written_in_two_ways():
    assert full("512") == "512x512x512"
    assert full("16x4096x07") == "16x4096x7"
    for wrong in ("", "0", "1x2", "axbxc", "1x2x3x4", "-1x2x3"):
        with pytest.raises(BadInput, match="no shape"):
            full(wrong)


# ---- records ----


def test_a_line_that_was_cut_off_is_no_record_and_hides_none(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(usual("1x2x3")) + '\n{"shape": "4x5x')
    log = peers.Log(path)
    log.add(usual("7x8x9"))
    assert list(sweep_records.merge(peers.Log(path).lines, "fp16")) == ["1x2x3", "7x8x9"]


def test_the_last_record_of_a_shape_counts_and_types_are_apart():
    lines = [usual("1x2x3"), usual("1x2x3", 3.0), record("1x2x3", kind="fp32")]
    merged = sweep_records.merge(lines, "fp16")
    assert merged["1x2x3"]["competitors"][4]["ms"] == 3.0
    assert sweep_records.merge(lines, "fp32")["1x2x3"]["competitors"] == []


def test_triton_is_merged_by_shape_and_has_percent_of_its_own_cublas():
    triton = {"shape": "1x2x3", "type": "fp16", "triton": {"ms": 4.0, "cublas_ms": 3.0}}
    lost = {"shape": "9x9x9", "type": "fp16", "triton": {"ms": 4.0, "cublas_ms": 3.0}}
    merged = sweep_records.merge([triton, usual("1x2x3"), lost], "fp16")
    assert list(merged) == ["1x2x3"]
    assert sweep_records.row_of(merged["1x2x3"]).triton_percent == 75
    merged["1x2x3"]["triton"] = {"failed": "no configuration is right"}
    assert sweep_records.row_of(merged["1x2x3"]).triton_percent is None


# ---- what it means ----


def test_a_row_has_the_fastest_of_each_family():
    row = sweep_records.row_of(usual("1x2x3"))
    assert row.libraries == {"cuBLAS": 1.0, "cublasLt": 0.8, "CUTLASS": 1.25}
    assert row.stages == {"13_new": 2.0}
    assert (row.best, row.best_name) == (0.5, "13_new: small tiles")
    assert row.percent_of_cublas(row.stages["13_new"]) == 50
    assert row.percent_of_best("13_new") == pytest.approx(40)
    assert sweep_records.row_of(record("1x2x3", failed="why")) is None


def test_geometric_mean():
    assert sweep_records.geometric_mean([50, 200]) == pytest.approx(100)
    with pytest.raises(BadInput):
        sweep_records.geometric_mean([])


def test_the_table_is_in_percent_of_cublas():
    rows = sweep_records.rows_of([usual("512x512x512"), usual("16x32x64", 0.5)])
    lines = peers.table(rows).splitlines()
    assert lines[0].split() == [
        "M",
        "x",
        "N",
        "x",
        "K",
        "cuBLAS",
        "us",
        "cublasLt",
        "CUTLASS",
        "13",
        "all",
        "stages",
    ]
    assert lines[1].split() == ["512", "1000.00", "125.0", "80.0", "50.0", "200.0"]
    assert lines[3].split() == ["geometric", "mean", "125.0", "80.0", "100.0", "200.0"]


def test_without_cutlass_there_is_no_column_of_it():
    rows = sweep_records.rows_of([record("1x2x3", competitor("cuBLAS", 1, own=True))])
    assert peers.table(rows).splitlines()[0].split() == [
        "M",
        "x",
        "N",
        "x",
        "K",
        "cuBLAS",
        "us",
        "all",
        "stages",
    ]


def test_the_report_names_the_worst_and_what_went_wrong():
    records = [usual(f"{m}x8x8", m) for m in range(1, 20)]
    records[0]["left_out"] = [
        {"family": "13_new", "name": "new", "why": "3 elements are wrong"},
        {"family": "cublasLt", "name": "#4", "why": "not supported"},
    ]
    records.append(record("5x5x5", failed="nothing for 60 s"))
    text = peers.report(records)
    worst = text[text.index("The lowest of 13_new") :].splitlines()
    assert worst[1].startswith("  19x8x8: 4.2 of the fastest library, 5.3 of cuBLAS")
    assert sum(line.startswith("  ") for line in worst) == 10
    assert "13_new: new: 3 elements are wrong at 1x8x8" in text
    assert "not supported" not in text
    assert "5: nothing for 60 s" in text
    with pytest.raises(BadInput):
        peers.report([])


def test_the_figure_has_a_dot_for_each_shape():
    rows = sweep_records.rows_of(
        [usual("16x8x8", 1.0), usual("4096x4096x4096", 0.3), usual("9x9x9", 900)]
    )
    drawing = sweep_figure.percent_of_best(rows, "some GPU")
    dots = [n for n in ElementTree.fromstring(drawing.svg).iter() if n.tag.endswith("circle")]
    assert len(dots) == 3 + len(sweep_figure.KINDS)
    assert "3 shapes" in drawing.caption and "at 9" in drawing.caption
    heights = {"".join(dot.itertext()).split(":")[0]: float(dot.get("cy")) for dot in dots}
    assert heights["4096"] < sweep_figure.level(100) < heights["16x8x8"] < heights["9"]


# ---- the program ----

# Does what the shapes say: M = 13 ends it at its second competitor, 14 while it races, 15 is
# silent.
PROGRAM = """#!{python}
import json, os, sys, time
log = open({log!r}, "a")
log.write(" ".join(sys.argv[1:]) + "\\n")
shapes = [a for a in sys.argv if a[0].isdigit() and "x" in a]
left_out = [b for a, b in zip(sys.argv, sys.argv[1:]) if a == "--leave-out"]
def say(**line):
    print(json.dumps(line), flush=True)
say(gpu="Some GPU")
for shape in shapes:
    say(begins=shape)
    say(trying="cuBLAS: own choice")
    say(trying="CUTLASS: bad")
    if shape.startswith("13x") and "CUTLASS: bad" not in left_out:
        sys.exit("peers: illegal address")
    say(trying="a race")
    if shape.startswith("14x"):
        os._exit(9)
    if shape.startswith("15x"):
        time.sleep(60)
    if shape.startswith("16x"):
        say(stopped="the time is over")
        sys.exit()
    competitors = [dict(family=f, name="x", own=True, ms=1.0) for f in ("cuBLAS", "11_stage")]
    say(shape=shape, type="fp16", competitors=competitors, left_out=[])
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.write_text(PROGRAM.format(python=sys.executable, log=str(tmp_path / "calls")))
    path.chmod(0o755)
    return path


def run(program, *arguments):
    return peers.main(["--no-triton", "--program", str(program), *arguments])


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines()


def test_a_run_prints_a_table_and_keeps_records(program, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert run(program, "--out", str(out), "32", "8x8x8") == 0
    assert "11_stage: geometric mean 100.0" in capsys.readouterr().out
    assert run(program, "--out", str(out), "32", "8x8x8", "64") == 0
    assert [call.split()[-2:] for call in calls(tmp_path)][1][-1] == "64x64x64"
    assert "32x32x32" not in calls(tmp_path)[1]


def test_who_ends_the_process_is_left_out_and_the_rest_is_measured(program, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert run(program, "--out", str(out), "8", "13", "14", "32") == 0
    captured = capsys.readouterr()
    assert "lost at 13x13x13, CUTLASS: bad: exit code 1: peers: illegal address" in captured.err
    assert "14: exit code 9" in captured.out
    assert "--leave-out CUTLASS: bad" in calls(tmp_path)[1]
    assert [line["shape"] for line in sweep_records.read_lines(out) if "shape" in line] == [
        "8x8x8",
        "13x13x13",
        "14x14x14",
        "32x32x32",
    ]


def test_who_was_blamed_is_left_out_when_the_run_goes_on(program, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run(program, "--out", str(out), "13") == 0
    assert run(program, "--out", str(out), "13x13x14") == 0
    assert len(calls(tmp_path)) == 3


def test_a_program_that_hangs_is_ended(program, tmp_path):
    log = peers.Log(tmp_path / "out.jsonl")
    run = peers.Run(log, "fp16", [], program=program, silence_s=0.5)
    assert run.all(["15x15x15", "32x32x32"])
    assert sweep_records.merge(log.lines, "fp16")["15x15x15"]["failed"] == "nothing for 0.5 s"


def test_when_the_time_is_over_the_run_is_incomplete(program, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run(program, "--budget", "100", "--out", str(out), "8", "16", "32") == 1
    assert len(sweep_records.merge(sweep_records.read_lines(out), "fp16")) == 1


def test_shapes_come_from_a_file(program, tmp_path, capsys):
    path = tmp_path / "shapes"
    path.write_text("# ours\n8  # and\n16x32x64 9\n")
    assert peers.shapes_from(path) == ["8", "16x32x64", "9"]
    assert run(program, "--list", str(tmp_path / "none")) == 2
    assert "ladder race: " in capsys.readouterr().err


def test_bad_input_is_one_line(program, capsys, tmp_path):
    assert run(program, "8x8") == 2
    assert capsys.readouterr().err == "ladder race: no shape: '8x8'; write 4096 or 16x4096x4096\n"
    assert run(tmp_path / "none", "8") == 2
    assert "./ladder peers builds it" in capsys.readouterr().err
    assert peers.main(["--show", "--out", str(tmp_path / "none.jsonl")]) == 2


def test_no_gpu_has_an_exit_code_of_its_own(tmp_path, capsys):
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\necho 'peers: no usable GPU' >&2\nexit 77\n")
    path.chmod(0o755)
    assert run(path, "8") == 77
    assert capsys.readouterr().err == "ladder race: no usable GPU\n"


def test_a_thin_record_has_what_the_table_needs(tmp_path, capsys):
    out, thin = tmp_path / "out.jsonl", tmp_path / "sweep.jsonl"
    log = peers.Log(out)
    log.add({"gpu": "NVIDIA Some GPU"})
    log.add(usual("1x2x3", slower=[1], left_out=[]))
    assert peers.main(["--show", "--out", str(out), "--thin", str(thin), "1x2x3"]) == 0
    table = capsys.readouterr().out
    assert len(sweep_records.read_lines(thin)[1]["competitors"]) == 5
    assert peers.main(["--show", "--out", str(thin)]) == 0
    assert capsys.readouterr().out == table
    assert "Some GPU" in sweep_figure.of_results(tmp_path).svg


def test_a_figure_is_drawn_of_what_is_there(program, tmp_path):
    out, figure = tmp_path / "out.jsonl", tmp_path / "x.svg"
    assert run(program, "--out", str(out), "32", "8x8x8") == 0
    assert peers.main(["--out", str(out), "--plot", str(figure)]) == 0
    assert "Some GPU" in figure.read_text()
