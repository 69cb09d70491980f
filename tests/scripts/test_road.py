"""The way through the pages: what a page links at its end, and what the first page has."""

import re

import pytest

from ladder import reading
from ladder.docs import road
from ladder.exercises import catalogue
from ladder.project import ROOT, BadInput

DOCS = ROOT / "docs"
PAGES = [page for part in reading.order() for page in part.pages]


@pytest.mark.parametrize("exercise", catalogue.all_exercises(), ids=lambda e: e.name)
def test_an_exercise_is_linked_by_its_page(exercise):
    assert f"exercises/{exercise.name}/README.md)" in (ROOT / exercise.page).read_text()


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("concepts/")])
def test_a_concept_says_what_is_next(page):
    assert f"<!-- onward {page} -->\n" in (DOCS / page).read_text()


@pytest.mark.parametrize("page", PAGES)
def test_what_is_next_is_that_of_the_page(page):
    assert set(re.findall("<!-- onward (.*) -->", (DOCS / page).read_text())) <= {page}


def test_the_first_page_has_all_parts():
    parts = re.findall('<!-- part "?([^">]*?)"? -->', (DOCS / "index.md").read_text())
    assert parts == [part.title for part in reading.order()]


def test_a_part_has_its_minutes_and_its_pages():
    start = road.part("Start")
    assert re.match(
        r"\d+ minutes: \[Memory hierarchy\]\(/docs/concepts/memory_hierarchy.md\) · ", start
    )
    assert "index.md" not in start


def test_after_a_page_come_its_exercises_and_the_next_page():
    assert road.onward("concepts/coalescing.md") == (
        "**Now do** [01 Which thread takes which element](/exercises/01_thread_mapping/README.md), "
        "[02 Predict the sectors of a kernel](/exercises/02_predict_sectors/README.md): "
        "`./scripts/exercise.sh 01`\n\n**Next:** [01 naive](/docs/01_naive.md)."
    )
    assert "Next" not in road.onward("01_naive.md")


@pytest.mark.parametrize(("of", "name"), [(road.part, "None"), (road.onward, "none.md")])
def test_what_is_not_in_the_order_is_bad_input(of, name):
    with pytest.raises(BadInput, match=name):
        of(name)
