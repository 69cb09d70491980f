"""The shell scripts as a user meets them, as far as that needs no build."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("script", ["run_all.sh", "test.sh", "profile.sh", "sanitize.sh"])
def test_help_from_any_directory(script, tmp_path):
    done = subprocess.run(
        [ROOT / "scripts" / script, "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert f"./scripts/{script}" in done.stdout
    assert "source" not in done.stdout
