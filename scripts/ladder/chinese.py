"""The site in Chinese, below that in English. mkdocs.zh-CN.yml builds it from the pages
NAME.zh-CN.md (ladder.translated). They have the names there that those in English have, so that
ladder.site finds all else by them. What has no Chinese version is read in English.
"""

import posixpath
import re
from functools import cache
from html import escape, unescape
from pathlib import Path

import yaml
from markdown.extensions.toc import slugify, unique
from mkdocs.structure.files import File, Files

from ladder.exercises.catalogue import all_exercises
from ladder.files import read_text
from ladder.project import ROOT
from ladder.translated import pages

ENGLISH = "english:"  # begins an address that counts from the top of the site in English
HEADING = re.compile(r"^(#+ )(.+)$")
# What scripts write into pages, and what figures say, in Chinese.
OF_PAGES, OF_FIGURES = "docs/zh-CN.yaml", "docs/figures.zh-CN.yaml"


def whole_text(tags: str) -> re.Pattern:
    return re.compile(
        rf"(?P<before><(?P<tag>{tags})\b[^>]*>)(?P<words>[^<]+)(?P<after></(?P=tag)>)"
    )


# Where the phrases of a file are looked for.
PLACES = (
    (whole_text("th|td|summary|small|p|dd|dt|button|a|h2"), OF_PAGES),
    (whole_text("text|title|figcaption"), OF_FIGURES),
    (
        re.compile(r'(?P<before>(?<=<img)\b[^>]*? alt="| data-kind=")(?P<words>[^"]+)(?P<after>")'),
        OF_FIGURES,
    ),
)


def is_chinese(config) -> bool:
    return config.theme["language"] == "zh"


def address_of(page: str) -> str:
    return page.removesuffix(".md") + ".html"


@cache
def translated() -> dict[str, Path]:
    """The pages in Chinese, by the names that those in English have on the site."""
    found = {}
    for english, path in pages(ROOT).items():
        name = english.relative_to(ROOT).as_posix()
        if name.startswith("docs/"):
            found[name.removeprefix("docs/")] = path
        elif name.startswith("exercises/"):
            found[f"source/{name}.md"] = path
    return found


def in_chinese(files: Files, config, below: dict[str, str]) -> Files:
    """Of the files of the site in English those that are no pages, the figures with their words in
    Chinese, and the pages in Chinese. `below` is what some pages have below their text."""
    kept = Files([])
    for file in files:
        if file.src_uri.endswith(".svg"):
            kept.append(File.generated(config, file.src_uri, content=in_words(file.content_string)))
        elif not file.is_documentation_page():
            kept.append(file)
    for name, path in translated().items():
        page = File.generated(config, name, content=read_text(path) + below.get(name, ""))
        page.edit_uri = f"../{path.relative_to(ROOT)}"
        kept.append(page)
    return kept


def headings(text: str) -> list[str]:
    """With their #, as they stand in the text; what is in code is none."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for line in text.splitlines() if HEADING.match(line)]


def with_anchors_of(english: str, chinese: str) -> str:
    """The headings have the anchors that they have in English, in which links name them."""
    used: set[str] = set()
    for heading, translation in zip(headings(english), headings(chinese), strict=False):
        words = HEADING.match(heading)[2].replace("`", "")
        anchored = f"{translation} {{: #{unique(slugify(words, '-'), used)} }}"
        chinese = f"\n{chinese}".replace(f"\n{translation}\n", f"\n{anchored}\n", 1)[1:]
    return chinese


def titles_of_exercises() -> dict[str, str]:
    """As links have them, 01 and the title; in Chinese it is the heading of the exercise's page."""
    found = {}
    for exercise in all_exercises():
        page = exercise.folder / "README.zh-CN.md"
        if page.exists() and (heading := re.match(r"# (\d+): (.+)", read_text(page))):
            found[f"{exercise.number} {exercise.title}"] = f"{heading[1]} {heading[2]}"
    return found


@cache
def phrases(source: str) -> dict[str, str]:
    of_exercises = titles_of_exercises() if source == OF_PAGES else {}
    return yaml.safe_load(read_text(ROOT / source)) | of_exercises


@cache
def patterns(source: str) -> list[tuple[re.Pattern, str]]:
    """Of the phrases in which something differs from place to place, written as {}; the first that
    fits is taken."""
    return [
        (re.compile(re.escape(english).replace(r"\{\}", "(.+?)")), chinese)
        for english, chinese in phrases(source).items()
        if "{" in english
    ]


def phrase_in_chinese(text: str, source: str) -> str:
    if text in phrases(source):
        return phrases(source)[text]
    for pattern, chinese in patterns(source):
        if found := pattern.fullmatch(text):
            return chinese.format(*found.groups())
    return text


def in_words(markup: str) -> str:
    """HTML or SVG: what the scripts have written, in Chinese where there are phrases for it."""
    for place, source in PLACES:

        def words(match: re.Match, source=source) -> str:
            text = phrase_in_chinese(unescape(match["words"].strip()), source)
            return f"{match['before']}{escape(text)}{match['after']}"

        markup = place.sub(words, markup)
    return markup


def with_links_to_english(html: str, folder: str) -> str:
    """The page, in `folder` of the site, leads to English where there is nothing in Chinese."""
    there = {address_of(name) for name in translated()}

    def link(match: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        known = match[1].startswith(ENGLISH) or target not in there
        name = match[1].removeprefix(ENGLISH) if match[1].startswith(ENGLISH) else target
        return f'href="{posixpath.relpath("..", folder or ".")}/{name}' if known else match[0]

    return re.sub(r'href="((?:english:)?[\w./-]+\.html)', link, html)


def other_language(page, in_chinese: bool) -> dict[str, str] | None:
    """Where the link to the other language leads, for docs/overrides/main.html. The theme's own
    switch loads a list of pages, which a browser refuses for pages from disk."""
    name = page.file.src_uri
    if name not in translated():
        return None
    there = f"{'..' if in_chinese else 'zh'}/{address_of(name)}"
    link = posixpath.relpath(there, posixpath.dirname(page.file.dest_uri) or ".")
    name, code = ("English", "en") if in_chinese else ("中文", "zh")
    return {"link": link, "name": name, "code": code}
