"""The version stands in several files, and the README is short."""

import re
from pathlib import Path

from ladder import manifest

ROOT = Path(__file__).resolve().parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text()


def test_the_version_is_the_same_everywhere():
    version = re.search(r"^  VERSION (\S+)$", text("CMakeLists.txt"), re.M)[1]
    assert f'\nversion = "{version}"\n' in text("python/pyproject.toml")
    assert f"\nversion: {version}\n" in text("CITATION.cff")
    released = re.search(r"^## (\d\S+) \((\S+)\)$", text("CHANGELOG.md"), re.M)
    assert released[1] == version
    assert f"\ndate-released: {released[2]}\n" in text("CITATION.cff")
    users = [*ROOT.glob("examples/*/CMakeLists.txt"), ROOT / "tests/outside_project/CMakeLists.txt"]
    users += [ROOT / "README.md", ROOT / "docs/library.md"]
    wanted = [
        v for path in users for v in re.findall(r"gemm_ladder (\d\S*?)[ )]", path.read_text())
    ]
    assert len(wanted) >= len(users) and {*wanted} == {version.rpartition(".")[0]}


def test_the_readme_is_short_and_begins_with_what_to_run():
    readme = text("README.md")
    assert len(readme.split()) <= 950
    assert len(readme.partition("./scripts/")[0].split()) < 150


def test_eight_stages_are_milestones_in_a_few_words():
    words = [s.milestone for s in manifest.load().values() if s.milestone]
    assert len(words) == 8 and max(len(w.split()) for w in words) <= 8
