"""The shell scripts as a user meets them, as far as that needs no build."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


SCRIPTS = ["run_all.sh", "test.sh", "profile.sh", "sanitize.sh", "measure.sh", "docs.sh"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_from_any_directory(script, tmp_path):
    done = subprocess.run(
        [ROOT / "scripts" / script, "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert f"./scripts/{script}" in done.stdout
    assert "source" not in done.stdout


@pytest.mark.parametrize(
    "command, message",
    [
        (["measure.sh"], "measure.sh: write ./scripts/measure.sh --out DIR\n"),
        (["measure.sh", "--out"], "measure.sh: write ./scripts/measure.sh --out DIR\n"),
        (
            ["test.sh", "-R", "naive", "--no-such-option"],
            "test.sh: ctest has no option '--no-such-option'; ctest --help lists them\n",
        ),
        (["docs.sh"], "docs.sh: write ./scripts/docs.sh serve, build or update\n"),
        (["docs.sh", "publish"], "docs.sh: write ./scripts/docs.sh serve, build or update\n"),
    ],
)
def test_bad_input_is_one_line_and_code_2(command, message, tmp_path):
    done = subprocess.run(
        [ROOT / "scripts" / command[0], *command[1:]], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr, done.stdout) == (2, message, "")
