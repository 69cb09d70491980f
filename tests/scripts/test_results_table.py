import json

import pytest

from ladder import counters, reports, results
from ladder.project import BadInput


def report(stage="02_smem_tiled", size=4096, tflops=8.83, k=None):
    return {
        "stage": stage,
        "problem": {"m": size, "n": size, "k": k or size},
        "variants": [
            {"name": "slow", "tflops": 1.0},
            {
                "name": stage[3:],
                "check": {"ok": True},
                "time_ms": {"median": 15.5},
                "tflops": tflops,
                "percent_of_cublas": 17.25,
                "percent_of_peak": None,
            },
        ],
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(report()))
    (tmp_path / "b.json").write_text(json.dumps(report(size=8192, tflops=9.0)))
    return tmp_path


@pytest.mark.parametrize("committed", [True, False])
def test_counters_are_those_at_all_shapes_with_what_was_counted_later(tmp_path, committed):
    content = {
        name: {"size": name, "counters": {"01_naive": {"own": {name: 1}}}}
        for name in ("counters", "counters_512", "counters_16x32x64", "counters_later")
    }
    texts = reports.texts(tmp_path, content)
    if not committed:
        texts = {tmp_path / f"{name}.json": json.dumps(its) for name, its in content.items()}
    for path, text in texts.items():
        path.write_text(text)
    found = counters.load_counters(tmp_path)
    assert sorted(found) == ["counters", "counters_16x32x64", "counters_512"]
    assert found["counters"]["counters"]["01_naive"]["own"] == {"counters": 1, "counters_later": 1}
    with pytest.raises(BadInput, match="no reports in"):
        results.load(tmp_path)


def test_what_lies_beside_the_reports_is_none(folder):
    for name in (*reports.NO_REPORTS, "power", "library_fp16"):
        (folder / f"{name}.json").write_text("[]")
    assert len(results.load(folder)) == 2


def test_committed_reports_are_read_as_those_of_a_measurement(folder):
    before = results.load(folder)
    loose = {path.stem: path for path in folder.glob("*.json")}
    content = {name: json.loads(path.read_text()) for name, path in loose.items()}
    for path in loose.values():
        path.unlink()
    for path, text in reports.texts(folder, content).items():
        path.write_text(text)
    assert [path.name for path in folder.iterdir()] == ["stages.jsonl"]
    assert len((folder / "stages.jsonl").read_text().splitlines()) == 2
    assert results.load(folder) == before
    assert reports.read(folder, "a", {}) == content["a"]
    assert reports.exists(folder, "a") and not reports.exists(folder, "c")


def test_a_committed_file_is_parsed_once_and_what_is_read_may_be_changed(folder, monkeypatch):
    texts, path = [], folder / "stages.jsonl"
    parse = reports.parse_lines
    monkeypatch.setattr(reports, "parse_lines", lambda *of: texts.append(of[0]) or parse(*of))
    path.write_text('{"x": {"n": [1]}}')
    for change in (reports.read(folder, "x", {}), reports.committed(folder, "stages")["x"]):
        change["n"] += [2]
    assert reports.read(folder, "x", {}) == {"n": [1]} and len(texts) == 1
    path.write_text('{"x": {"n": [3]}}')  # as large, and perhaps in the same instant
    assert reports.read(folder, "x", {}) == {"n": [3]} and len(texts) == 2


def test_terminal_table_shows_every_variant(folder, capsys):
    assert results.main([str(folder)]) == 0
    text = capsys.readouterr().out
    assert "8.83" in text and "9.00" in text and "unknown" in text
    assert text.count("slow") == 2 and "not timed" in text and "off" in text


def test_the_best_of_cublaslt_has_a_column_where_it_was_measured(folder, capsys):
    results.main([str(folder)])
    assert "best" not in capsys.readouterr().out
    compared = report()
    compared["variants"][-1] |= {"percent_of_best": 91.26, "percent_of_cublas": 95.0}
    (folder / "a.json").write_text(json.dumps(compared))
    results.main([str(folder)])
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.endswith("% of best") and [row.split()[-1] for row in rows] == [
        "-",
        "91.3",
        "-",
        "-",
    ]


def test_cublas_own_choice_is_among_the_best():
    assert results.percent_of_best({"percent_of_best": 91.0, "percent_of_cublas": 95.0}) == 91
    assert results.percent_of_best({"percent_of_best": 97.0, "percent_of_cublas": 95.0}) == 95


def test_shape_of_a_rectangle_is_spelled_out():
    assert results.shape(report(k=77)) == "4096x4096x77"
    assert results.shape(report()) == "4096"


def test_shape_has_the_layout_and_the_type_that_are_not_the_usual_ones(manifest_of):
    manifest_of(
        {"name": "01_naive", "types": ["fp16", "bf16"], "any_layout": True},
        "02_other",
        {"name": "03_along_k", "types": ["tf32"], "any_layout": True},
        {"name": "04_integers", "types": ["int8", "int32"]},
    )

    def shape(stage, **problem):
        of = report()
        return results.shape(of | {"stage": stage, "problem": of["problem"] | problem})

    assert shape("01_naive", input="fp16") == "4096"
    assert shape("01_naive", input="fp16", layout="TN") == "4096_TN"
    assert shape("01_naive", input="bf16", layout="TT", k=77) == "4096x4096x77_TT_bf16"
    # A stage that takes one of each alone.
    assert shape("02_other", input="e4m3", layout="NT") == "4096"
    # The usual layout may be another.
    assert shape("03_along_k", input="tf32", layout="NT") == "4096"
    assert shape("03_along_k", input="tf32") == "4096_NN"
    # What differs may be C.
    assert shape("04_integers", input="int8", layout="NT", output="int8") == "4096"
    assert shape("04_integers", input="int8", layout="NT", output="int32") == "4096_int32"


@pytest.mark.parametrize("content", ["", "[]", "{}", "not json"])
def test_a_file_that_is_no_report_is_named(tmp_path, capsys, content):
    (tmp_path / "x.json").write_text(content)
    assert results.main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "x.json" in error and error.count("\n") == 1


def test_an_empty_folder_is_an_error(tmp_path, capsys):
    assert results.main([str(tmp_path)]) == 2
    assert "no reports" in capsys.readouterr().err


def test_rows_come_in_the_order_of_the_manifest_and_unknown_stages_last(
    manifest_of, tmp_path, capsys
):
    manifest_of("10_b", "02_a")
    for name in ("01_old", "02_a", "10_b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(report(name)))
    assert results.main([str(tmp_path)]) == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == ["10_b", "10_b", "02_a", "02_a", "01_old", "01_old"]
