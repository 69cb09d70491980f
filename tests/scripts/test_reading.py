import re
import warnings

import pytest

from ladder import manifest, reading
from ladder.project import ROOT, BadInput
from ladder.translated import in_english

DOCS = ROOT / "docs"


def test_every_page_stands_in_the_order_once():
    pages = [page for part in reading.order() for page in part.pages]
    assert len(pages) == len(set(pages))
    there = {path.relative_to(DOCS).as_posix() for path in in_english(DOCS)}
    there = {page for page in there if not page.startswith("results/")}
    assert there - set(pages) == set()
    if to_come := sorted(set(pages) - there):
        warnings.warn(f"docs/order.json has pages to come: {' '.join(to_come)}", stacklevel=1)


def test_the_stages_are_read_in_the_order_of_the_ladder():
    pages = [page for part in reading.order() for page in part.pages]
    stages = [stage.page.removeprefix("docs/") for stage in manifest.load().values()]
    assert [page for page in pages if page in stages] == stages


def test_the_way_to_the_first_stage_takes_half_an_hour():
    pages = [page for part in reading.order() for page in part.pages]
    before = pages[: pages.index("01_naive.md")]
    assert sum(map(reading.minutes_of_page, before)) <= 30  # 4,500 words


@pytest.mark.parametrize("text", ["{}", '[{"pages": []}]', "[1]", "no"])
def test_what_is_no_order_is_bad_input(tmp_path, text):
    path = tmp_path / "order.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        reading.order(path)


GLOSSARY = """# Glossary

## warp

32 threads that execute together. From [warps](concepts/warps.md).

## shared memory
Also: SMEM, on-chip memory.

Memory of a block.

## `ldmatrix`

An instruction.
"""


def test_the_glossary_is_read():
    warp, shared, ldmatrix = reading.glossary(GLOSSARY)
    assert (warp.title, warp.names) == ("warp", ("warp",))
    assert (warp.introduced, shared.introduced) == ("concepts/warps.md", "")
    assert shared.names == ("shared memory", "SMEM", "on-chip memory")
    assert ldmatrix.names == ("ldmatrix",)


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("warp", "Warps", True),
        ("warp", "warped", False),
        ("bank conflict", "Bank conflicts", True),
        ("TMA", "TMA", True),
        ("TMA", "tma", False),
        ("L2", "L2", True),
        ("L2", "l2", False),
        ("Box", "box", True),
        ("Box", "boxes", True),
    ],
)
def test_names_of_terms(term, text, found):
    assert bool(re.fullmatch(reading.Term(term, (term,)).pattern, text)) == found


def test_words_are_those_of_prose():
    page = (
        "# One two\n\nthree `four`\n\n```cuda\nno no\n```\n\n<!-- code a -->\n| no | no |\n"
        "<!-- end -->\n<details markdown>\nno\n</details>\nfive\n"
    )
    assert reading.words(page) == 6  # the # as well


@pytest.fixture
def two_stages(tmp_path, monkeypatch, manifest_of):
    manifest_of("01_first", "02_second")
    for folder in ("kernels", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "kernels/01_first.cuh").write_text("// a comment\nint a;\n\nint b;\n")
    (tmp_path / "kernels/02_second.cuh").write_text("int a;\nint c;\n" * 30)
    (tmp_path / "docs/01_first.md").write_text("word " * 700)
    (tmp_path / "docs/02_second.md").write_text("word " * 10)
    monkeypatch.setattr(reading, "ROOT", tmp_path)
    return manifest.load().values()


def test_minutes_follow_the_rule(two_stages):
    first, second = two_stages
    assert reading.new_lines(first) == 2
    assert reading.minutes(first) == 5  # 700 / 150 + 2 / 10 = 4.9
    assert reading.new_lines(second) == 59
    assert reading.minutes(second) == 10  # 10 / 150 + 59 / 10 = 6.0


def test_the_table_of_times(two_stages):
    assert reading.times().splitlines() == [
        "| stage | to read, minutes | to measure |",
        "| --- | ---: | --- |",
        "| [01_first](/docs/01_first.md) | 5 | any GPU |",
        "| [02_second](/docs/02_second.md) | 10 | any GPU |",
    ]


def test_what_a_stage_needs_of_a_gpu(manifest_of):
    def stage(capability, features):
        return {
            "name": f"0{capability}_{len(features)}",
            "needs": {"compute_capability": capability, "features": features},
        }

    manifest_of(
        stage(80, []),
        stage(90, ["tma"]),
        stage(90, ["wgmma", "x"]),
    )
    assert [reading.needed_gpu(s) for s in manifest.load().values()] == [
        "sm_80 or later",
        "sm_90 or later",
        "sm_90a",
    ]
