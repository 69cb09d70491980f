import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import results_table  # noqa: E402


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


README = "text\n| [02_smem_tiled](kernels/02.cuh) | tiles in shared memory | old |\nmore\n"


def test_terminal_table_shows_every_variant(folder, capsys):
    assert results_table.main([str(folder)]) == 0
    text = capsys.readouterr().out
    assert "8.83" in text and "9.00" in text and "unknown" in text
    assert text.count("slow") == 2 and "not timed" in text and "off" in text


def test_shape_of_a_rectangle_is_spelled_out():
    assert results_table.shape(report(k=77)) == "4096x4096x77"
    assert results_table.shape(report()) == "4096"


def test_readme_gets_the_last_variants_numbers_and_nothing_else_changes(folder):
    text = results_table.update_readme(README, results_table.load(folder))
    assert text == (
        "text\n| [02_smem_tiled](kernels/02.cuh) | tiles in shared memory "
        "| 8.8 | 17.2 | 9.0 | 17.2 |\nmore\n"
    )


def test_other_sizes_and_shapes_leave_the_readme_alone(folder):
    text = results_table.update_readme(README, results_table.load(folder))
    (folder / "c.json").write_text(json.dumps(report(size=1024)))
    (folder / "d.json").write_text(json.dumps(report(k=256, tflops=1.0)))
    assert results_table.update_readme(README, results_table.load(folder)) == text


def test_check_notices_a_number_that_is_not_the_measured_one(folder, tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text(README)
    assert results_table.main([str(folder), "--check", str(readme)]) == 2
    assert "does not show the numbers" in capsys.readouterr().err
    assert results_table.main([str(folder), "--readme", str(readme)]) == 0
    assert results_table.main([str(folder), "--check", str(readme)]) == 0
    readme.write_text(readme.read_text().replace("| 8.8 |", "| 8.9 |"))
    assert results_table.main([str(folder), "--check", str(readme)]) == 2


def test_a_stage_without_a_report_is_an_error(folder, tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text(README.replace("02_smem_tiled", "07_other"))
    assert results_table.main([str(folder), "--readme", str(readme)]) == 2
    assert "no report of 07_other" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", "{}", "not json"])
def test_a_file_that_is_no_report_is_named(tmp_path, capsys, content):
    (tmp_path / "x.json").write_text(content)
    assert results_table.main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "x.json" in error and error.count("\n") == 1


def test_an_empty_folder_is_an_error(tmp_path, capsys):
    assert results_table.main([str(tmp_path)]) == 2
    assert "no reports" in capsys.readouterr().err


def test_the_projects_readme_shows_the_committed_numbers():
    folder = ROOT / "docs" / "results" / "h200"
    assert results_table.main([str(folder), "--check", str(ROOT / "README.md")]) == 0
