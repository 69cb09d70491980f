"""The configuration as the scripts do it, beside GPUs that this machine need not have."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path):
    """The project with an empty build folder."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for entry in ROOT.iterdir():
        if not entry.name.startswith(("build", ".git")):
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture
def configured(clone, tmp_path):
    """What lib.sh's build prints beside GPUs of these compute capabilities."""
    if not shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin"):
        pytest.skip("there is no CUDA toolkit")

    def run(capabilities, *options):
        smi = tmp_path / "bin/nvidia-smi"
        smi.parent.mkdir()
        smi.write_text(f"#!/bin/sh\nprintf '%s\\n' {capabilities}\n")
        smi.chmod(0o755)
        script = 'source scripts/lib.sh; find_cmake; BUILD_OPTIONS=("$@"); build help'
        return subprocess.run(
            ["bash", "-c", script, "bash", *options],
            cwd=clone,
            env={**os.environ, "PATH": f"{smi.parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )

    return run


LEFT_OUT = "-- This CUDA toolkit does not know sm_50: the GPU targets are left out"


@pytest.mark.parametrize("given", [["5.0"], ["9.0", "-DCMAKE_CUDA_ARCHITECTURES=50"]])
def test_a_gpu_that_the_toolkit_does_not_know_costs_the_gpu_targets_alone(given, configured, clone):
    done = configured(*given)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if line.startswith("-- ")] == [LEFT_OUT]
    assert (clone / "build/exercises/libraries").is_file()
    assert "ladder_01_naive_cpu:" in done.stdout and "ladder_01_naive:" not in done.stdout


def test_it_is_left_out_beside_one_that_the_toolkit_knows(configured):
    done = configured("5.0 9.0")
    assert [line for line in done.stdout.splitlines() if line.startswith("-- ")] == [
        "-- This CUDA toolkit does not know sm_50: left out for it",
        "-- GPU architectures: 90a",
    ]
    assert "ladder_01_naive:" in done.stdout
