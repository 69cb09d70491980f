import json
import re
import subprocess
from pathlib import Path

import pytest

from ladder import manifest
from ladder.project import BadInput
from ladder.translated import in_english

ROOT = Path(__file__).resolve().parents[2]


def test_the_order_is_that_of_the_manifest_not_of_the_names(manifest_of):
    manifest_of("10_b", "05b_a", "2_c")
    assert list(manifest.load()) == ["10_b", "05b_a", "2_c"]
    assert [manifest.place(name) for name in ("05b_a", "10_b", "none")] == [1, 0, 3]
    assert manifest.stage("2_c").parent == "05b_a" and manifest.stage("05b_a").label == "05b"
    with pytest.raises(BadInput, match="no stage '03_x'; there are: 10_b 05b_a 2_c"):
        manifest.stage("03_x")


def test_the_last_stage_of_a_type(manifest_of):
    half = {"types": ["fp16"]}
    manifest_of("01_a", "02_b", {"name": "03_c", **half}, {"name": "04_d", **half})
    assert (manifest.last_of("fp32").name, manifest.last_of("fp16").name) == ("02_b", "04_d")
    assert manifest.last_of("fp8") is None


def test_a_stage_of_groups_is_not_wanted_at_the_squares(manifest_of):
    manifest_of("01_a", {"name": "02_b", "groups": True})
    assert [*manifest.load()] == ["01_a", "02_b"]
    assert manifest.at_squares() == ["01_a"]


@pytest.mark.parametrize(
    "stages, message",
    [
        (["01_a", "01_a"], "'01_a' stands twice"),
        ([{"name": "01_a", "parent": "02_b"}, "02_b"], "01_a does not come after its parent"),
        ([{"name": "01_a", "needs": {}}], "has no 'compute_capability'"),
        ([], "has no stage"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(manifest_of, stages, message):
    manifest_of(*stages)
    with pytest.raises(BadInput, match=message):
        manifest.load()


def test_the_names_are_printed_for_the_shell(manifest_of, tmp_path, capsys):
    manifest_of("02_b", "01_a", "03_c")
    (tmp_path / "03_c").write_text("")
    for name in ("01_a", "02_b", "04_d"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    assert manifest.main([]) == 0
    assert capsys.readouterr().out.split() == ["02_b", "01_a", "03_c"]
    assert manifest.main(["--built", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == ["02_b", "01_a"]
    assert manifest.main(["--built", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out.split() == []


def test_every_stage_of_the_project_has_its_files_and_every_file_is_a_stages():
    stages = manifest.load()
    names = {*stages, *(stage.name for stage in manifest.with_own_harness())}
    for folder, ending in (("kernels", ".cuh"), ("stages", ".cu")):
        there = {p.stem for p in (ROOT / folder).glob(f"[0-9]*{ending}")}
        assert there == names, folder
    assert {p.stem for p in in_english(ROOT / "docs") if p.stem[0].isdigit()} == names
    for stage in stages.values():
        assert stage.page == f"docs/{stage.name}.md"


def test_no_two_stages_share_a_namespace():
    """A program with both would have two definitions of one name, of which it takes either."""
    stages_of: dict[str, list[str]] = {}
    for path in sorted((ROOT / "kernels").glob("[0-9]*.cuh")):
        for name in set(re.findall(r"^namespace (ladder::\w+) \{$", path.read_text(), re.M)):
            stages_of.setdefault(name, []).append(path.stem)
    assert {stem for stems in stages_of.values() for stem in stems} == {
        path.stem for path in (ROOT / "kernels").glob("[0-9]*.cuh")
    }
    assert {name: stems for name, stems in stages_of.items() if len(stems) > 1} == {}


@pytest.mark.slow
def test_the_entry_points_run_from_anywhere(tmp_path):
    listed = subprocess.run([ROOT / "ladder"], cwd=tmp_path, capture_output=True, text=True)
    commands = re.findall(r"^  ([\w-]+)  +\S", listed.stdout, re.MULTILINE)
    assert len(commands) > 20
    for command in commands:
        done = subprocess.run(
            [ROOT / "ladder", command, "--help"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0 and f"ladder {command}" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "name, hint",
    [
        ("scripts/claims.py", "it is ./ladder claims now"),
        ("update_docs.py", "it is ./ladder docs now"),
        ("tea", "./ladder lists them"),
    ],
)
def test_the_name_of_a_former_script_says_what_replaces_it(name, hint):
    done = subprocess.run([ROOT / "ladder", name], capture_output=True, text=True)
    assert done.stderr == f"ladder: there is no command '{name}'; {hint}\n"
    assert done.returncode == 2


def test_no_script_reads_a_stages_name():
    """What a stage is stands in the manifest; a name that stands in a script would be a second
    place. Examples in help texts are none."""
    names = re.compile(r"\b\d\d[a-z]?_[a-z]+")
    for path in [*(ROOT / "scripts").rglob("*.py"), *(ROOT / "scripts").glob("*.sh")]:
        text = re.sub(r'"""[^"]*"""|^\s*#.*$', "", path.read_text(), flags=re.MULTILINE)
        assert names.findall(text) == [], path.name


def test_the_manifest_is_json_with_one_stage_an_entry():
    entries = json.loads(manifest.MANIFEST.read_text())["stages"]
    assert [entry["name"] for entry in entries] == list(manifest.read(manifest.MANIFEST))


def test_the_manifest_is_what_its_schema_says():
    schema = json.loads((ROOT / "stages/manifest.schema.json").read_text())
    is_valid = pytest.importorskip("fastjsonschema").compile(schema)
    content = json.loads(manifest.MANIFEST.read_text())
    is_valid(content)
    content["stages"][3]["aligned_row"] = True
    with pytest.raises(ValueError, match="stages"):
        is_valid(content)
