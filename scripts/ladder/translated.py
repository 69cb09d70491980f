"""Whether each page in Chinese says what the page in English says now, paragraph by paragraph.

ladder translated              what has changed in English since, a line each
ladder translated --accept     after the Chinese has followed: these are the paragraphs it says

The page in Chinese of NAME.md is NAME.zh-CN.md beside it. It has the same paragraphs in the same
order, with the same code and the same links, to the pages in Chinese where there are some: --accept
writes those. Its last line has a short hash of each paragraph of the English page that was
translated. What ./ladder docs generates is written into both.

Exit code: 0 all right, 1 a page in Chinese is behind or has something else, 2 bad input.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from ladder.files import read_text
from ladder.project import ROOT, BadInput

CHINESE = ".zh-CN.md"
PLACES = ("*", "docs/**/*", "exercises/**/*")
LAST_LINE = re.compile(r"\n<!-- translated:((?: [0-9a-f]{8})+) -->\n\Z")
# What --accept takes away, however it was written or damaged.
ANY_LAST_LINES = re.compile(r"(?:\n<!-- translated:[^\n]*-->\s*)+\Z")
# Of these nothing is translated: what is generated, and code.
WHOLE = re.compile(
    r"<!-- [a-z]+\b[^\n]* -->\n.*?<!-- end -->|^```.*?^```", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
VALUE = re.compile(r"<!--=.*?<!--/-->", re.DOTALL)
HEADING = re.compile(r"\A#+(?= )")


def pages(root: Path) -> dict[Path, Path]:
    """Those in Chinese, by those in English."""
    found = [path for place in PLACES for path in sorted(root.glob(place + CHINESE))]
    return {english_of(path): path for path in found}


def in_english(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.md") if not path.name.endswith(CHINESE))


def english_of(chinese: Path) -> Path:
    return chinese.with_name(chinese.name.removesuffix(CHINESE) + ".md")


def paragraphs(text: str) -> list[str]:
    """What blank lines part. Code and what is generated are one each, whatever they contain."""
    whole: list[str] = []

    def kept(match: re.Match) -> str:
        whole.append(match[0])
        return f"\x00{len(whole) - 1}\x00"

    parts = re.split(r"\n\s*\n", WHOLE.sub(kept, text).strip())
    return [re.sub("\x00(\\d+)\x00", lambda m: whole[int(m[1])], part) for part in parts]


def of(paragraph: str) -> str:
    """Its hash. The numbers that ./ladder docs writes into it are no change of it."""
    words = VALUE.sub("", WHOLE.sub("", paragraph)).split()
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:8]


def with_links_to_chinese(text: str, folder: Path) -> str:
    """`folder` is the page's."""

    def link(match: re.Match) -> str:
        page, sharp, place = match[1].partition("#")
        there = page.removesuffix(".md") + CHINESE
        leads = page.endswith(".md") and not page.endswith(CHINESE) and (folder / there).exists()
        return f"]({there}{sharp}{place})" if leads and page != "README.md" else match[0]

    parts, end = [], 0
    for whole in WHOLE.finditer(text):
        parts += [LINK.sub(link, text[end : whole.start()]), whole[0]]
        end = whole.end()
    return "".join([*parts, LINK.sub(link, text[end:])])


KEPT = {"links": LINK, "code": WHOLE, "values": VALUE, "level of heading": HEADING}


def unlike(english: str, chinese: str) -> str:
    """Nothing, or what a paragraph in Chinese has otherwise that is no word."""

    def found(pattern: re.Pattern, text: str) -> list[str]:
        texts = {found.replace(CHINESE, ".md") for found in pattern.findall(text)}
        return sorted(texts - {"README.md"})  # of README.md, the other language

    for what, pattern in KEPT.items():
        if found(pattern, english) != found(pattern, chinese):
            return f"not the same {what} as in English"
    return ""


def behind(name: str, english: str, chinese: str, folder: Path) -> Iterator[str]:
    found = LAST_LINE.search(chinese)
    if not found:
        raise BadInput(f"{name} does not end with <!-- translated: ... -->")
    if chinese != with_links_to_chinese(chinese, folder):
        yield f"{name}: a link leads to English, and there is a page in Chinese; see --accept"
    mine, its, then = paragraphs(english), paragraphs(chinese[: found.start()]), found[1].split()
    for text, translation, before in zip_longest(mine, its, then):
        if text is None or translation is None:
            yield f"{name} has {len(its)} paragraphs, and the page in English {len(mine)}"
            return
        begins = " ".join(text.split())[:60]
        if of(text) != before:
            yield f"{name}: has changed in English since: {begins}"
        elif other := unlike(text, translation):
            yield f"{name}: {other}: {begins}"


def main(arguments: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accept", action="store_true")
    options = parser.parse_args(arguments)
    lines: list[str] = []
    try:
        for english, path in pages(root).items():
            text, chinese = read_text(english), read_text(path)
            if options.accept:
                hashes = " ".join(map(of, paragraphs(text)))
                chinese = with_links_to_chinese(ANY_LAST_LINES.sub("\n", chinese), path.parent)
                chinese = f"{chinese.rstrip()}\n\n<!-- translated: {hashes} -->\n"
                path.write_text(chinese)
            lines += behind(path.relative_to(root).as_posix(), text, chinese, path.parent)
    except BadInput as error:
        print(f"ladder translated: {error}", file=sys.stderr)
        return 2
    for line in lines:
        print(line)
    return int(bool(lines))
