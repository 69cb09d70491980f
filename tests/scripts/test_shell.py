"""The shell scripts as a user meets them, as far as that needs no build."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


DOCS = "docs.sh: write ./scripts/docs.sh serve, build or update; serve and build take --lab\n"
MEASURE = (
    "ladder measure: write ./ladder measure --out DIR [--thin] [--only PART,PART]; "
    "the parts: tests sanitizers ncu sweep claims\n"
)
LINT = "ladder lint: no check 'tea'; there are: clang-format shellcheck ruff steps\n"
STAGES = [
    stage["name"]
    for stage in json.loads((ROOT / "stages/manifest.json").read_text())["stages"]
    if stage.get("harness") != "multi_gpu"
]
NO_STAGE = "{}: no stage 'nope'; there are: " + " ".join(STAGES) + "\n"
# With a harness of their own these are not for ncu and the sanitizers' commands.
NO_PRODUCT = NO_STAGE.partition(" 22_unfused")[0] + "\n"
SCRIPTS = [["scripts/run_all.sh"], ["scripts/try.sh"], ["scripts/test.sh"], ["scripts/docs.sh"]]
LADDER = ("profile", "sanitize", "measure", "peers", "tune", "lock", "lint")
SCRIPTS += [["ladder", name] for name in LADDER]


ONE_FILE = "run_all.sh: every stage would write the same file; run one of them with {}\n"


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_from_any_directory(script, tmp_path):
    command = [ROOT / script[0], *script[1:], "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert f"./{' '.join(script)}" in done.stdout
    assert "source" not in done.stdout


@pytest.mark.parametrize(
    "command, message",
    [
        (["ladder", "lint", "ruff", "tea"], LINT),
        (["ladder", "measure"], MEASURE),
        (["ladder", "measure", "--out"], MEASURE),
        (["ladder", "measure", "--thin"], MEASURE),
        (["ladder", "measure", "--only", "ncu"], MEASURE),
        (
            ["ladder", "measure", "--out", "x", "--only", "ncu,tea"],
            "ladder measure: no part 'tea'; there are: tests sanitizers ncu sweep claims\n",
        ),
        (
            ["test.sh", "-R", "naive", "--no-such-option"],
            "test.sh: ctest has no option '--no-such-option'; ctest --help lists them\n",
        ),
        (
            ["test.sh", "-["],
            "test.sh: ctest has no option '-['; ctest --help lists them\n",
        ),
        (
            ["test.sh", "-V", "-L", "host", "03_naive"],
            "test.sh: '03_naive' belongs to no option; -R '03_naive' runs the tests of this name\n",
        ),
        (["test.sh", "-V", "-R"], "test.sh: ctest's option -R needs a value\n"),
        (["ladder", "measure", "--out", "x", "--only", ","], MEASURE),
        (["run_all.sh", "--size", "64", "--json", "x"], ONE_FILE.format("--json")),
        (["run_all.sh", "--trace=x"], ONE_FILE.format("--trace")),
        (["run_all.sh", "--bogus"], "run_all.sh: a stage has no option '--bogus'\n"),
        (["run_all.sh", "05", "--siez=64"], "run_all.sh: a stage has no option '--siez'\n"),
        (["run_all.sh", "05", "nope", "--size", "64"], NO_STAGE.format("run_all.sh")),
        (["run_all.sh", "--core", "nope"], NO_STAGE.format("run_all.sh")),
        (["ladder", "stages", "nope"], NO_STAGE.format("ladder stages")),
        (["ladder", "measure", "--out", "--thin"], MEASURE),
        (["docs.sh", "build", "now"], DOCS),
        (["ladder", "profile", "01_naive", "nope"], NO_PRODUCT.format("ladder profile")),
        (["ladder", "sanitize", ""], NO_PRODUCT.format("ladder sanitize").replace("nope", "")),
        (["try.sh"], "try.sh: write ./scripts/try.sh my_kernel.cuh [OPTION OF A STAGE ...]\n"),
        (["try.sh", "no/such.cuh"], "try.sh: there is no file no/such.cuh\n"),
        (["docs.sh"], DOCS),
        (["docs.sh", "publish"], DOCS),
    ],
)
def test_bad_input_is_one_line_and_code_2(command, message, tmp_path):
    script = ROOT / ("ladder" if command[0] == "ladder" else f"scripts/{command[0]}")
    done = subprocess.run([script, *command[1:]], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (2, message, "")


@pytest.mark.parametrize(
    "command",
    [["profile"], ["sanitize"], ["measure", "--out", "build"], ["peers"], ["tune"]],
)
def test_without_a_gpu_is_one_line_and_code_77(command, tmp_path):
    for tool, code in {"nvidia-smi": 1, "ncu": 0, "compute-sanitizer": 0}.items():
        (tmp_path / tool).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / tool).chmod(0o755)
    done = subprocess.run(
        [ROOT / "ladder", *command],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    message = f"ladder {command[0]}: there is no NVIDIA GPU here (nvidia-smi finds none)\n"
    assert (done.returncode, done.stderr, done.stdout) == (77, message, "")


def test_the_core_are_the_six_levels():
    command = [ROOT / "ladder", "stages", "--core"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [name.split("_")[0] for name in done.stdout.split()] == [f"0{i}" for i in range(1, 7)]


# What run_all.sh takes from lib.sh, for stages that take --size alone.
LIB = """
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { :; }
help() { :; }
set_up() { :; }
writable() { :; }
build() { echo "$@" >>built; }
have_gpu() { false; }
bad_input() { exit 2; }
all_stages() { ls "$1"; }
"""
STAGE = """#!/bin/sh
case $* in *szie*) exit 2 ;; *--list | *--version*) exit 0 ;; esac
echo new > "$2"
"""


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def run_all_in(folder, names):
    """run_all.sh in a folder with these stages, compiled for the CPU, and earlier results."""
    for name in ("scripts", "build/results", "build/stages/cpu", "bench/harness"):
        (folder / name).mkdir(parents=True)
    for name in ("scripts/run_all.sh", "bench/harness/options.cpp"):
        (folder / name).write_text((ROOT / name).read_text())
    (folder / "scripts/lib.sh").write_text(LIB)
    write_program(folder / "ladder", f"#!/bin/sh\nprintf '%s\\n' {' '.join(names)}\n")
    for name in names:
        write_program(folder / "build/stages/cpu" / name, STAGE)
    (folder / "build/results/09_wgmma.json").write_text("old")
    (folder / "built").touch()
    return folder / "scripts/run_all.sh"


@pytest.mark.parametrize(
    "options, code, left, built",
    [
        ([], 0, "01_naive.json", ["ladder_01_naive_cpu"]),
        (["--size"], 0, "01_naive.json", ["ladder_first_cpu_stage", "ladder_01_naive_cpu"]),
        (["--list"], 0, "09_wgmma.json", ["ladder_first_cpu_stage", "ladder_01_naive_cpu"]),
        (["--version"], 0, "09_wgmma.json", ["ladder_first_cpu_stage", "ladder_01_naive_cpu"]),
        (["--data", "szie"], 2, "09_wgmma.json", ["ladder_first_cpu_stage"]),
        (["--core"], 0, "01_naive.json", ["ladder_first_cpu_stage", "ladder_01_naive_cpu"]),
        (["--no-such-option"], 2, "09_wgmma.json", []),
    ],
)
def test_run_all_keeps_earlier_results_until_there_are_others(options, code, left, built, tmp_path):
    script = run_all_in(tmp_path, ["01_naive"])
    write_program(tmp_path / "build/stages/cpu/07_not_asked_for", STAGE)
    assert subprocess.run(["bash", script, *options]).returncode == code
    assert [file.name for file in (tmp_path / "build/results").glob("*.json")] == [left]
    assert (tmp_path / "built").read_text().split() == built


def test_run_all_runs_the_first_stages_before_it_compiles_the_others(tmp_path):
    names = [f"{number:02}_stage" for number in range(1, 21)]
    script = run_all_in(tmp_path, names)
    for name in names:
        write_program(tmp_path / f"build/stages/cpu/{name}", STAGE + 'echo "${0##*/}" >>built\n')
    assert subprocess.run(["bash", script]).returncode == 0
    lines = (tmp_path / "built").read_text().splitlines()
    targets = [f"ladder_{name}_cpu" for name in names]
    assert lines[0].split() == targets[:18]
    assert sorted(lines[1:19]) == names[:18]
    assert lines[19].split() == targets[18:]
    assert sorted(lines[20:]) == names[18:]
    assert sorted(file.stem for file in (tmp_path / "build/results").glob("*.json")) == names


LOCKED = re.compile(r"([\w-]+)==([\w.]+)(?: ; .*)?((?: --hash=sha256:[0-9a-f]{64})+)")


def test_every_group_of_pyproject_is_locked_with_hashes():
    tomllib = pytest.importorskip("tomllib", reason="it comes with Python 3.11")
    requirements = pytest.importorskip("packaging.requirements")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert {"claims", "test", "lint", "site", "browser", "cmake", "cutlass"} == set(groups)
    assert {f"{group}.txt" for group in groups} == {
        file.name for file in (ROOT / "requirements").iterdir()
    }
    for group, wanted in groups.items():
        text = (ROOT / f"requirements/{group}.txt").read_text()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        locked = [LOCKED.fullmatch(line) for line in lines]
        assert all(locked), [line for line, its in zip(lines, locked, strict=True) if not its]
        for requirement in map(requirements.Requirement, wanted):
            versions = [its[2] for its in locked if its[1] == requirement.name]
            # Otherwise, ./ladder lock.
            assert versions and all(map(requirement.specifier.contains, versions)), requirement


UV = """#!/bin/sh
for file; do true; done  # the last word
printf '# by %s %s\\nthing==1.0 \\\\\\n    --hash=a \\\\\\n    --hash=b\\n' "${10}" "${11}" >"$file"
"""


def test_lock_writes_a_package_a_line(clone):
    (clone / "requirements").unlink()
    (clone / "requirements").mkdir()
    (clone / "uv").write_text(UV)
    (clone / "uv").chmod(0o755)
    path = f"{clone}:{os.environ['PATH']}"
    subprocess.run([clone / "ladder", "lock"], env={**os.environ, "PATH": path}, check=True)
    texts = {file.name: file.read_text() for file in (clone / "requirements").iterdir()}
    assert len(texts) == 7
    expected = "# by --custom-compile-command ./ladder lock\nthing==1.0 --hash=a --hash=b\n"
    assert set(texts.values()) == {expected}


@pytest.mark.slow
@pytest.mark.parametrize(
    "hashed, message",
    [("", "Hashes are required"), (f" --hash=sha256:{'0' * 64}", "DO NOT MATCH THE HASHES")],
)
def test_what_has_not_the_hash_is_not_installed(hashed, message, clone):
    if not (ROOT / ".venv").exists():
        pytest.skip("there is no .venv")
    (clone / "requirements").unlink()
    (clone / "requirements").mkdir()
    (clone / "requirements/claims.txt").write_text(f"thing==1.0{hashed}\n")
    (clone / "thing-1.0.tar.gz").write_bytes(b"not what was locked")
    done = subprocess.run(
        ["bash", "-c", "source scripts/lib.sh; venv_install claims"],
        cwd=clone,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(clone)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert message in done.stderr


def test_ci_and_the_container_take_nothing_by_a_name_that_may_move():
    workflows = [file.read_text() for file in (ROOT / ".github/workflows").glob("*.yml")]
    actions = re.findall(r"uses: (\S+)", "".join(workflows))
    assert actions and all(re.search(r"@[0-9a-f]{40}$", action) for action in actions), actions
    dockerfile = (ROOT / ".devcontainer/Dockerfile").read_text()
    images = re.findall(r"(?:container:|^FROM) (\S+)", "\n".join([*workflows, dockerfile]), re.M)
    assert len(images) == 4
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in images), images


def test_a_group_that_is_not_there_ends_a_script():
    command = "source scripts/lib.sh; venv_install nothing"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "pyproject.toml has no group nothing" in done.stderr


# In the place of everything that .ci/run calls.
CI_STUBS = """install_packages() { :; }
venv_install() { :; }
say() { echo "== $*"; }
alone() { :; }
find_cmake() { CMAKE=true && mkdir -p build; }
run_tests() { echo "ctest $*"; }
"""
ALL = ["test.sh --all -E ^scripts_of_the_lab$"]
QUICK = ["test.sh -E ^(ladder unconcerned HEAD~1)"]
WITHOUT_PROOFS = ["test.sh --all -E ^(proof_|scripts_of_the_lab$|ladder unconcerned HEAD~1)"]
SLOW_SCRIPTS = [
    "test.sh -E ^(scripts$|ladder unconcerned HEAD~1)",
    "ctest build -R ^(scripts|fuzz_readers|clone_anywhere|traces)"
    " -E ^(scripts_of_the_lab$|ladder unconcerned HEAD~1)",
]


@pytest.fixture
def ci(tmp_path):
    """Runs CI and returns which tests it asks for: ci(LADDER_BASE, OPTION..., changed=[FILE...]).
    What has changed is a second commit."""
    for name in (".ci/run", "scripts/lib.sh", "scripts/docs.sh", "scripts/test.sh", "ladder"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text('#!/bin/sh\necho "$(basename "$0") $*"\n')
        path.chmod(0o755)
    (tmp_path / ".ci/run").write_text((ROOT / ".ci/run").read_text())
    (tmp_path / "scripts/lib.sh").write_text(CI_STUBS)
    (tmp_path / ".ci/passed").write_text("no_such_commit\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]

    def commit():
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a"]):
            subprocess.run([*git, *command], cwd=tmp_path, check=True)

    commit()

    def run(base, *options, changed=()):
        for name in changed:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            with (tmp_path / name).open("a") as file:
                file.write("# changed\n")
        if changed:
            commit()
        env = {**os.environ, "LADDER_BASE": base, "TMPDIR": str(tmp_path)}
        env.pop("LADDER_CI_CLONE", None)
        command = [".ci/run", *options]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said = re.sub(r"\b[0-9a-f]{40}\b", "HEAD~1", done.stdout).splitlines()
        return [line for line in said if line.startswith(("test.sh", "ctest"))]

    return run


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        (["kernels/24_four_bits.cuh"], WITHOUT_PROOFS),
        (["docs/a.md", "tests/schedule_test.cpp"], WITHOUT_PROOFS),
        (["tests/planted_edits/08_tma.yaml"], WITHOUT_PROOFS),
        (["scripts/ladder/planted.py"], WITHOUT_PROOFS),
        (["scripts/ladder/wgmma_registers.py"], WITHOUT_PROOFS),
        (["scripts/ladder/exercises/compiling.py"], WITHOUT_PROOFS),
        (["a_folder_that_nobody_thought_of/a"], WITHOUT_PROOFS),
        (["scripts/ladder/claims.py"], SLOW_SCRIPTS),
        (["docs/a.md", "tests/scripts/test_site.py"], SLOW_SCRIPTS),
        (["docs/assets/stepper.js"], SLOW_SCRIPTS),
        (["ladder", "python/gemm_ladder/torch.py"], SLOW_SCRIPTS),
        (["docs/a.md", "docs/results/h200/claims.json", "exercises/01_a/README.md"], QUICK),
    ],
)
def test_ci_runs_what_can_find_a_mistake_in_what_has_changed(changed, tests, ci):
    assert ci("HEAD~1", changed=changed) == tests


def test_ci_looks_at_what_has_changed_since_it_passed(ci, tmp_path):
    assert ci("no_such_commit", changed=["kernels/24_four_bits.cuh"]) == ci("") == ALL
    passed = tmp_path / ".ci/passed"
    passed.write_text("HEAD~1\n")
    assert ci("no_such_commit") == WITHOUT_PROOFS and passed.read_text() == "HEAD~1\n"
    assert ci("") == WITHOUT_PROOFS
    assert ci("") == QUICK  # since nothing has changed since the one that it has written down
    passed.write_text("HEAD~1\n")
    assert ci("HEAD~1", "--all") == ALL
    assert ci("") == QUICK
