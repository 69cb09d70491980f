"""In which order the pages are read (docs/order.json), how long a stage takes to read, and what the
glossary (docs/glossary.md) defines. The site and the tables read it; nothing here needs MkDocs.
"""

import difflib
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ladder import manifest, steps
from ladder.files import one_line, read_json, read_text
from ladder.project import ROOT

ORDER = ROOT / "docs/order.json"
WORDS_A_MINUTE, LINES_A_MINUTE, ROUNDED_TO = 150, 10, 5
NOT_PROSE = re.compile(r"^```.*?^```|<!--.*?-->|<details.*?</details>|^\|.*?$", re.S | re.M)


@dataclass(frozen=True)
class Part:
    title: str
    chinese: str
    pages: tuple[str, ...]  # below docs/


def order(path: Path = ORDER) -> list[Part]:
    """Raises BadInput."""
    entries = read_json(path, [{"title": one_line, "chinese": one_line, "pages": [one_line]}])
    return [Part(entry["title"], entry["chinese"], tuple(entry["pages"])) for entry in entries]


@dataclass(frozen=True)
class Term:
    """An entry of the glossary: its heading, its names, and the page below docs/ that introduces
    it, "" where it names none."""

    title: str
    names: tuple[str, ...]
    introduced: str = ""

    @property
    def pattern(self) -> str:
        """A regular expression for its names. Capitals as in TMA have to be that; else the case may
        differ. A plural is the term, too."""
        return "|".join(
            re.escape(name) + "(?:e?s)?"
            if re.search(r"(?<!^)[A-Z]|^[A-Z]\d", name)
            else f"(?i:{re.escape(name)}(?:e?s)?)"
            for name in sorted(self.names, key=len, reverse=True)
        )


def glossary(text: str) -> list[Term]:
    """Of docs/glossary.md: `## term`, then, where it has other names, a line `Also: name, name.`,
    and after its meaning `From [page](...)`. In Chinese they are `## 名称 (term)`, `又称: 名称。`
    and `出自 [...](...)`."""
    found = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        title, _, body = section.partition("\n")
        also = re.match(r"\s*(?:Also|又称): (.*?)[.。]?$", body, re.M)
        names = re.split(r" \(|\)", title) + (re.split(", |、", also[1]) if also else [])
        page = re.search(r"(?:From|出自) \[[^]]*\]\(([^)#]+)", body)
        names = tuple(name for name in (name.strip(" `") for name in names) if name)
        found.append(Term(title.strip(), names, page[1] if page else ""))
    return found


def words(page: str) -> int:
    """Of prose: without code, tables and comments."""
    return len(NOT_PROSE.sub("", page).split())


@cache  # pages in two languages ask, and tables
def new_in(before: str, after: str) -> int:
    """Lines of the one text that the other has not."""
    return sum(
        line.startswith("+ ") for line in difflib.ndiff(before.splitlines(), after.splitlines())
    )


def new_lines(stage: manifest.Stage | manifest.WithOwnHarness) -> int:
    """Lines of code of the stage's kernel file that its parent's does not have."""

    def code(name: str) -> str:
        text = steps.code(read_text(ROOT / f"kernels/{name}.cuh"))
        return "\n".join(line.strip() for line in text.splitlines() if line.strip())

    return new_in(code(stage.parent) if stage.parent else "", code(stage.name))


def rounded(minutes: float) -> int:
    """Up, in steps of five."""
    return math.ceil(minutes / ROUNDED_TO) * ROUNDED_TO


def minutes_of_page(page: str) -> float:
    """To read a page below docs/ and, of a stage, what is new in its kernel."""
    stages = [*manifest.load().values(), *manifest.with_own_harness()]
    code = sum(new_lines(stage) for stage in stages if stage.page == f"docs/{page}")
    return words(read_text(ROOT / "docs" / page)) / WORDS_A_MINUTE + code / LINES_A_MINUTE


def minutes(stage: manifest.Stage) -> int:
    return rounded(minutes_of_page(stage.page.removeprefix("docs/")))


def needed_gpu(stage: manifest.Stage) -> str:
    if stage.compute_capability < 80:
        return "any GPU"
    return f"sm_{stage.compute_capability}" + ("a" if "wgmma" in stage.features else " or later")


def times() -> str:
    """A table; its links are places in the project, as those of all blocks (ladder.docs)."""
    lines = ["| stage | to read, minutes | to measure |", "| --- | ---: | --- |"]
    for stage in manifest.load().values():
        link = f"[{stage.name}](/{stage.page})"
        lines.append(f"| {link} | {minutes(stage)} | {needed_gpu(stage)} |")
    return "\n".join(lines)
