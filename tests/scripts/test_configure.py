"""The configuration as the scripts do it, on machines that this one need not be."""

import os
import re
import shutil
import subprocess

import pytest

BUILD = 'source scripts/lib.sh; find_cmake; BUILD_OPTIONS=("$@"); build help'


@pytest.fixture
def configured(clone, tmp_path):
    """What lib.sh's build prints beside GPUs of these compute capabilities."""
    if not shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin"):
        pytest.skip("there is no CUDA toolkit")

    def run(capabilities, *options, command=("bash", "-c", BUILD, "bash")):
        smi = tmp_path / "bin/nvidia-smi"
        smi.parent.mkdir()
        smi.write_text(f"#!/bin/sh\nprintf '%s\\n' {capabilities}\n")
        smi.chmod(0o755)
        return subprocess.run(
            [*command, *options],
            cwd=clone,
            env={**os.environ, "PATH": f"{smi.parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )

    return run


LEFT_OUT = "-- This CUDA toolkit does not know sm_50: the GPU targets are left out"


@pytest.mark.slow
@pytest.mark.parametrize("given", [["5.0"], ["9.0", "-DCMAKE_CUDA_ARCHITECTURES=50"]])
def test_a_gpu_that_the_toolkit_does_not_know_costs_the_gpu_targets_alone(given, configured, clone):
    done = configured(*given)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if line.startswith("-- ")] == [LEFT_OUT]
    assert (clone / "build/exercises/libraries").is_file()
    assert "ladder_01_naive_cpu:" in done.stdout and "ladder_01_naive:" not in done.stdout


@pytest.mark.slow
def test_without_the_slow_tests_stages_go_through_the_fewest_shapes(configured, clone):
    assert configured("5.0").returncode == 0
    files = (clone / "build").rglob("CTestTestfile.cmake")
    lines = [line for file in files for line in file.read_text().splitlines()]
    traced = [line for line in lines if re.match(r"set_tests_properties\(.*_cpu_traced", line)]
    assert len(traced) > 40
    assert [line for line in traced if "LADDER_FEWEST_SHAPES=set:1" not in line] == []


@pytest.mark.slow
def test_it_is_left_out_beside_one_that_the_toolkit_knows(configured):
    done = configured("5.0 9.0")
    assert [line for line in done.stdout.splitlines() if line.startswith("-- ")] == [
        "-- This CUDA toolkit does not know sm_50: left out for it",
        "-- GPU architectures: 90a",
    ]
    assert "ladder_01_naive:" in done.stdout


@pytest.mark.slow
def test_a_script_for_the_gpu_says_that_its_targets_are_left_out(configured):
    done = configured("5.0", command=["./ladder", "tune"])
    assert done.returncode == 1
    assert LEFT_OUT in done.stdout
    assert (
        done.stderr.splitlines()[-1] == "ladder tune: the GPU targets are left out, ladder_tune too"
    )


BUILDING = ["run_all.sh", "test.sh", "try.sh kernels/01_naive.cuh", "exercise.sh 01"]
BUILDING += ["ladder peers", "ladder tune", "ladder profile", "ladder sanitize"]


@pytest.mark.parametrize(
    "command, locked, code",
    [(command, "build", 2 if "exercise" in command else 1) for command in BUILDING]
    + [
        ("test.sh", "build/configure.log", 1),
        ("docs.sh build", "build", 1),
        ("docs.sh update", "docs", 1),
        ("ladder measure --out results", "results", 2),
    ],
)
def test_without_the_right_to_write_it_is_one_line(command, locked, code, clone, tmp_path):
    words = command.split()
    name = " ".join(words[:2]) if words[0] == "ladder" else words[0]
    words[0] = "./ladder" if words[0] == "ladder" else f"scripts/{words[0]}"
    for tool in ("nvidia-smi", "ncu", "compute-sanitizer"):
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    (clone / "docs").unlink()
    for folder in ("build", "docs", "results"):
        (clone / folder).mkdir()
    (clone / "build/configure.log").write_text("an earlier run's\n")
    (clone / locked).chmod(0o555)
    # Who is root may write everywhere, unless without this right.
    as_user = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    if as_user and subprocess.run([*as_user, "true"], capture_output=True).returncode != 0:
        pytest.skip("root cannot give up a right here")
    done = subprocess.run(
        [*as_user, *words],
        cwd=clone,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == f"{name}: no right to write to {locked}\n"
    assert done.returncode == code
