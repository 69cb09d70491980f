"""Read in the order of docs/order.json, no page uses a term of the glossary before the page that
introduces it, unless the first use is a link to the glossary or to a concept page. The first page
says what there will be, and may.
"""

import posixpath
import re

import pytest

from ladder import reading
from ladder.exercises import catalogue
from ladder.project import ROOT

DOCS = ROOT / "docs"
GLOSSARY, CONCEPTS = "glossary.md", "concepts/"

# What is no prose: blocks that scripts write, comments, code, formulas, pictures, headings, tags.
NO_PROSE = re.compile(
    r"<!-- [a-z]+\b[^\n]* -->\n.*?<!-- end -->|<!--.*?-->|^```.*?^```|`[^`]*`|\$\$.*?\$\$"
    r"|!\[[^]]*\]\([^)]*\)|^#.*?$|<[^>]+>",
    re.S | re.M,
)
LINK = re.compile(r"\[([^]]*)\]\(([^)\s]+)\)")
BEGIN, END = "\x02", "\x03"  # around the words of a link that explains them


def prose(page: str, text: str) -> str:
    """Without code, what is generated, and links, but those to the glossary and to concept pages,
    whose words stand between BEGIN and END."""

    def explained(link: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[2].split("#")[0]))
        explains = target == GLOSSARY or target.startswith(CONCEPTS)
        return f"{BEGIN}{link[1]}{END}" if explains else " "

    return LINK.sub(explained, NO_PROSE.sub(" ", text))


def first_uses(text: str, terms: list[reading.Term]) -> dict[str, bool]:
    """Of `prose`: the terms that it uses, and whether the first use is in an explaining link. A
    longer name hides those that are part of it: "data stage" is no "stage"."""
    names = {f"t{i}": term for i, term in enumerate(terms)}
    longest = sorted(names, key=lambda key: -max(len(name) for name in names[key].names))
    pattern = "|".join(f"(?P<{key}>{names[key].pattern})" for key in longest)
    found: dict[str, bool] = {}
    for use in re.finditer(rf"(?<![\w-])(?:{pattern})(?![\w-])", text):
        before = text[: use.start()]
        title = names[use.lastgroup].title
        found.setdefault(title, before.count(BEGIN) > before.count(END))
    return found


def too_early(order: list[str], texts: dict[str, str], glossary: str) -> list[str]:
    """Every use of a term before it is introduced. `order` are pages, `texts` those to look at."""
    terms = {term.title: term for term in reading.glossary(glossary)}
    problems = []
    for page in order[1:]:
        later = order[order.index(page) + 1 :]
        for title, linked in first_uses(
            prose(page, texts.get(page, "")), [*terms.values()]
        ).items():
            if not linked and page != GLOSSARY and terms[title].introduced in later:
                problems.append(f"{page}: '{title}' comes in {terms[title].introduced}; link it")
    return problems


@pytest.fixture
def order():
    return [page for part in reading.order() for page in part.pages]


@pytest.fixture(scope="module")
def glossary():
    return (DOCS / GLOSSARY).read_text()


def test_no_term_is_used_before_it_is_introduced(order, glossary):
    there = [page for page in order if (DOCS / page).exists()]
    texts = {page: (DOCS / page).read_text() for page in there}
    assert too_early(order, texts, glossary) == []


def test_an_exercise_needs_no_term_that_its_page_comes_before(order, glossary):
    """Each as a page of its own behind the one that it belongs to."""
    texts = {}
    for exercise in catalogue.all_exercises():
        own = f"exercises/{exercise.name}"
        order.insert(order.index(exercise.page.removeprefix("docs/")) + 1, own)
        texts[own] = (exercise.folder / "README.md").read_text().replace("../../docs/", "../")
    assert too_early(order, texts, glossary) == []


def test_every_term_has_a_page_that_uses_it(order, glossary):
    for term in reading.glossary(glossary):
        assert term.introduced, f"'{term.title}' does not say where it is introduced"
        assert term.introduced in order, f"'{term.title}': {term.introduced} is not in the order"
        text = (DOCS / term.introduced).read_text()
        used = term.title in first_uses(text, [term])
        assert used, f"{term.introduced} does not use '{term.title}'"


def test_every_concept_page_introduces_a_term(order, glossary):
    pages = {term.introduced for term in reading.glossary(glossary)}
    assert [page for page in order if page.startswith(CONCEPTS) and page not in pages] == []


def test_the_glossary_is_in_order(glossary):
    titles = [term.title.lower() for term in reading.glossary(glossary)]
    assert titles == sorted(set(titles))


EXAMPLE = """# Glossary

## bank
Also: row of banks.

One of 32.

From [banks](concepts/banks.md).

## bank conflict

Two of one.

From [02](02.md).
"""
ORDER = ["index.md", "01.md", "concepts/banks.md", "02.md", "glossary.md"]


@pytest.mark.parametrize(
    "page, text, early",
    [
        ("index.md", "There will be banks.", []),
        ("01.md", "Shared memory has 32 banks.", ["bank"]),
        ("01.md", "A Row of banks.", ["bank"]),
        ("01.md", "A bank conflict is no bank.", ["bank conflict", "bank"]),
        ("01.md", "A bankrupt [bank](concepts/banks.md) is a bank.", []),
        ("01.md", "A [bank](glossary.md#bank).", []),
        ("01.md", "A bank, or [bank](glossary.md#bank).", ["bank"]),
        ("01.md", "See [the bank](02.md).", []),
        ("01.md", "# A bank\n\n`bank`, and\n\n```\nbank\n```\n", []),
        ("01.md", "<!-- claims a -->\nA bank.\n<!-- end -->\n", []),
        ("01.md", "It is <!--= bank(a) | .1f -->3<!--/-->.", []),
        ("concepts/banks.md", "A bank; a [bank conflict](../glossary.md#bank-conflict).", []),
        ("concepts/banks.md", "A bank; a [bank conflict](conflicts.md).", []),
        ("concepts/banks.md", "A bank conflict.", ["bank conflict"]),
        ("02.md", "A bank conflict of banks.", []),
    ],
)
def test_what_is_too_early(page, text, early):
    problems = too_early(ORDER, {page: text}, EXAMPLE)
    assert [problem.split("'")[1] for problem in problems] == early
