import subprocess

import pytest

from ladder import unconcerned
from ladder.project import ROOT, BadInput

EDITS = {path.stem for path in (ROOT / "tests/planted_edits").glob("*.yaml")}


def run(*changed):
    """The planted edits, and the exercises, that are concerned, and whether the sanitizers are."""
    names = unconcerned.unconcerned(set(changed))
    edits = EDITS - {name.removeprefix("planted_edits_") for name in names}
    exercises = {path.parent.name for path in (ROOT / "exercises").glob("*/exercise.yaml")}
    exercises -= {name.removeprefix("exercises_").removesuffix("_rest") for name in names}
    return edits, exercises, "sanitizers" not in names


def test_a_kernel_concerns_the_stages_that_include_it():
    edits, exercises, sanitizers = run("kernels/13_fit_the_waves.cuh")
    assert {"13_fit_the_waves", "13b_ping_pong", "18_layouts"} <= edits
    assert not {"05_cp_async", "14_few_rows"} & edits and exercises == set() and sanitizers


def test_a_kernel_concerns_the_tests_of_the_stages_that_include_it():
    names = unconcerned.unconcerned({"kernels/13_fit_the_waves.cuh"})
    for test in ("{}_cpu_traced", "H200/Counters.EqualThoseOfNcu/{}"):
        stages = {"13_fit_the_waves": False, "18_layouts": False, "05_cp_async": True}
        assert {name: test.format(name) in names for name in stages} == stages
    for file, test in (
        ("tests/stage_test.cpp", "_cpu_traced"),
        ("tests/counters_test.cpp", "EqualThoseOfNcu"),
        ("docs/results/h200/counters.jsonl", "EqualThoseOfNcu"),
    ):
        assert not any(test in name for name in unconcerned.unconcerned({file}))


def test_the_first_edit_of_each_cause_may_be_any_stages():
    for file, left_out in (("docs/01_naive.md", True), ("kernels/13b_ping_pong.cuh", False)):
        assert ("planted_edits" in unconcerned.unconcerned({file})) == left_out


def test_edits_and_mistakes_concern_their_own_stage_and_exercise():
    assert run("tests/planted_edits/08_tma.yaml") == ({"08_tma"}, set(), False)
    assert run("exercises/06_missing_barrier/wrong.yaml")[1:] == ({"06_missing_barrier"}, False)


@pytest.mark.parametrize("name", ["README.md", "docs/01_naive.md", "kernels/library/gemm.cpp"])
def test_what_no_such_program_includes_concerns_none(name):
    edits, exercises, _ = run(name)
    assert edits == exercises == set()


@pytest.mark.parametrize(
    "name",
    ["kernels/launch.cuh", "cpu_device/memory.cpp", "bench/harness/run.cpp", "CMakeLists.txt"],
)
def test_what_makes_or_runs_programs_concerns_all(name):
    edits, exercises, sanitizers = run(name, "README.md")
    assert edits == EDITS and len(exercises) > 60 and sanitizers


def test_every_name_is_a_tests(monkeypatch, capsys):
    done = subprocess.CompletedProcess([], 0, stdout="README.md\n", stderr="")
    monkeypatch.setattr(unconcerned.subprocess, "run", lambda *_, **__: done)
    assert unconcerned.main(["HEAD~1"]) == 0
    names = set(capsys.readouterr().out.strip().split("|"))
    assert {"sanitizers$", "planted_edits_08_tma$", "planted_edits$"} <= names
    assert {f"exercises_06_missing_barrier{of}$" for of in ("", "_rest")} <= names
    assert {"08_tma_cpu_traced$", "H200/Counters.EqualThoseOfNcu/08_tma$"} <= names


def test_a_commit_that_is_not_there_is_named():
    with pytest.raises(BadInput, match="no_such_commit: "):
        unconcerned.main(["no_such_commit"])


@pytest.mark.parametrize(
    "name, left_out",
    [
        ("scripts/ladder/figures/svg.py", {"scripts_that_compile"}),
        ("scripts/ladder/exercises/judging.py", {"scripts_in_browser"}),
        ("docs/assets/stepper.js", {"scripts_that_compile", "fuzz_readers"}),
        ("kernels/01_naive.cuh", {"scripts_in_browser", "fuzz_readers"}),
        ("kernels/library/gemm.cpp", set(unconcerned.OF_SCRIPTS)),
        ("python/bench.py", set(unconcerned.OF_SCRIPTS)),
        ("pyproject.toml", set()),
    ],
)
def test_scripts_concern_the_tests_that_import_them(name, left_out):
    assert set(unconcerned.unconcerned({name})) & set(unconcerned.OF_SCRIPTS) == left_out
