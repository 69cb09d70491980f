"""The way through the pages: the parts of docs/order.json, and what to do after a page."""

import re
from functools import cache

from ladder import reading
from ladder.exercises import catalogue
from ladder.files import read_text
from ladder.project import ROOT, BadInput

all_exercises = cache(catalogue.all_exercises)  # each page asks


def link(page: str) -> str:
    heading = re.match(r"# (.+)", read_text(ROOT / "docs" / page))
    if not heading:
        raise BadInput(f"docs/{page} does not begin with a heading")
    return f"[{heading[1]}](/docs/{page})"


def part(title: str) -> str:
    """Minutes and pages, but for the first page, which is where this stands."""
    pages = next((part.pages for part in reading.order() if part.title == title), None)
    if pages is None:
        raise BadInput(f"docs/order.json has no part '{title}'")
    minutes = reading.rounded(sum(map(reading.minutes_of_page, pages)))
    return f"{minutes} minutes: " + " · ".join(link(page) for page in pages if page != "index.md")


def onward(page: str) -> str:
    """The exercises of a page below docs/ and, of a concept, the page that is read next."""
    pages = [page for part in reading.order() for page in part.pages]
    if page not in pages:
        raise BadInput(f"docs/order.json has no {page}")
    own = [e for e in all_exercises() if e.page == f"docs/{page}"]
    lines = []
    if own:
        links = [f"[{e.number} {e.title}](/exercises/{e.name}/README.md)" for e in own]
        lines.append(f"**Now do** {', '.join(links)}: `./scripts/exercise.sh {own[0].number}`")
    if page.startswith("concepts/"):
        lines.append(f"**Next:** {link(pages[pages.index(page) + 1])}.")
    return "\n\n".join(lines)
