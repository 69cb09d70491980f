"""The shell scripts as a user meets them, as far as that needs no build."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


MEASURE = (
    "measure.sh: write ./scripts/measure.sh --out DIR [--thin] [--only PART,PART]; "
    "the parts: tests sanitizers ncu sweep claims\n"
)
SCRIPTS = ["run_all.sh", "try.sh", "test.sh", "profile.sh", "sanitize.sh", "measure.sh", "docs.sh"]
SCRIPTS += ["peers.sh", "tune.sh"]


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
        (["measure.sh"], MEASURE),
        (["measure.sh", "--out"], MEASURE),
        (["measure.sh", "--thin"], MEASURE),
        (["measure.sh", "--only", "ncu"], MEASURE),
        (
            ["measure.sh", "--out", "x", "--only", "ncu,tea"],
            "measure.sh: no part 'tea'; there are: tests sanitizers ncu sweep claims\n",
        ),
        (
            ["test.sh", "-R", "naive", "--no-such-option"],
            "test.sh: ctest has no option '--no-such-option'; ctest --help lists them\n",
        ),
        (["try.sh"], "try.sh: write ./scripts/try.sh my_kernel.cuh [OPTION OF A STAGE ...]\n"),
        (["try.sh", "no/such.cuh"], "try.sh: there is no file no/such.cuh\n"),
        (["docs.sh"], "docs.sh: write ./scripts/docs.sh serve, build or update\n"),
        (["docs.sh", "publish"], "docs.sh: write ./scripts/docs.sh serve, build or update\n"),
    ],
)
def test_bad_input_is_one_line_and_code_2(command, message, tmp_path):
    done = subprocess.run(
        [ROOT / "scripts" / command[0], *command[1:]], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr, done.stdout) == (2, message, "")


def test_the_shell_reads_every_version_from_pyproject():
    tomllib = pytest.importorskip("tomllib", reason="it comes with Python 3.11")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert {"claims", "test", "lint", "site", "browser", "cmake", "cutlass"} == set(groups)
    for group, requirements in groups.items():
        command = f"source scripts/lib.sh; requirements {group}"
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
        assert done.stdout.splitlines() == requirements, group


def test_a_group_that_is_not_there_ends_a_script():
    command = "source scripts/lib.sh; venv_install nothing"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "pyproject.toml has no group nothing" in done.stderr
