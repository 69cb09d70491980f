"""The stages of several GPUs: their steps, their pages, their tables."""

import json
import subprocess
import sys

import pytest

from ladder import steps
from ladder.project import ROOT

STAGES = json.loads((ROOT / "stages/several_gpus.json").read_text())["stages"]


def text(name):
    return (ROOT / f"kernels/{name}.cuh").read_text()


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage["name"])
def test_a_step_is_within_the_rule_or_says_why(stage):
    name, parent = stage["name"], stage["parent"]
    assert steps.step(name, text(name), parent, text(parent)).within


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage["name"])
def test_every_stage_has_its_main_and_its_page(stage):
    assert stage["page"] == f"docs/{stage['name']}.md"
    for path in (stage["page"], f"stages/{stage['name']}.cu"):
        assert (ROOT / path).exists()


def test_the_tables_are_up_to_date():
    script = ROOT / "bench/multi_gpu/tables.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
