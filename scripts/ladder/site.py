"""What MkDocs does beside its own. Pages come in the order of docs/order.json, in tabs; one has the
exercises. Stages have titles in words. The kernels become pages, with numbered lines, and so do
kernels/README.md and what each kernel has changed against its parent; links to files of the project
go there. The reference gets what Doxygen reads in the public headers. A stage's page begins with
links to its kernel. The first use of a term on a page leads to the glossary. A figure and the
italics below it become a figure with a caption. On a phone the table of stages is cards. A line
that is a link into the stepper becomes the stepper. On a stage's page what was measured is asked
for first. Formulas become MathML, which needs no script.
Search knows how each section begins, and nothing of sources.
"""

import itertools
import json
import logging
import posixpath
import re
import sys
import textwrap
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import parse_qsl

from latex2mathml.converter import convert
from markdown.extensions.toc import slugify
from mkdocs.structure.files import File

from ladder import api, chinese, lab, landing, manifest, reading
from ladder.exercises import catalogue
from ladder.files import read_json, read_text
from ladder.links import broken_links
from ladder.project import ROOT, BadInput
from ladder.side_by_side import side_by_side
from ladder.translated import CHINESE, in_english
from ladder.twins import twin_of

# A link to another file, with lines or without: ](../kernels/01_naive.cuh#L24-L35)
LINK = re.compile(
    r"\]\((?P<path>[\w./-]+?)(?P<query>\?\S+?)?(?:#L(?P<line>\d+)(?:-L\d+)?|(?P<heading>#[\w-]+))?\)"
)
FORMULA = re.compile(r"^\$\$(.+?)\$\$$", re.DOTALL | re.MULTILINE)
STEPPER = re.compile(
    r"^\[(?P<text>.+)\]\((?P<up>(?:\.\./)*)stepper\.md\?(?P<query>\S+)\)$", re.MULTILINE
)
COMMAND = re.compile(r"`diff kernels/(?P<parent>\w+)\.cuh kernels/(?P<stage>\w+)\.cuh`")
HEADING = re.compile(r"^# .*\n", re.MULTILINE)
BEGINNING = re.compile(r"\A# .*\n\n(?:.+\n)+")
FIGURE = re.compile(
    r"<p>(?P<image><img [^>]*>)(?:</p>\s*<p>|\s*(?:<br ?/?>\s*)?)<em>(?P<caption>.*?)</em></p>",
    re.DOTALL,
)
IMAGE = re.compile(r'<img [^>]*src="[^"]*figures/(?P<name>\w+\.svg)"[^>]*>')
TAG = re.compile(r"<!--.*?-->|<(?P<closes>/?)(?P<name>[a-zA-Z][\w-]*)[^>]*>", re.DOTALL)
NO_TERMS_IN = {"a", "button", "code", "figure", "math", "pre", "script", "select", "style", "svg"}
NO_TERMS_IN |= {"summary", *(f"h{level}" for level in range(1, 7))}
SHOWN = (
    "examples/*/main.c*",
    "kernels/*.cuh",
    "kernels/*.h",
    "kernels/library/jit/*.cuh",
    "kernels/parts/*.cuh",
    "kernels/parts/*.h",
    "kernels/ptx/*.cuh",
    "kernels/tuned/*.h",
    "bench/tune/probes.cpp",
    "stages/*.cu",
    "tests/*.cu",
    "python/examples/*.py",
    "python/gemm_ladder/*.py",
    "python/triton/*.py",
)
HOW_GRADED = "source/exercises/README.md.md"
LEGEND, LEGEND_PAGE = "kernels/README.md", "kernels.md"
GLOSSARY = "glossary.md"
REFERENCE = "reference.md"
EXERCISES = "exercises.md"
STAGES = "stages.md"
FIT_A_PHONE = 4  # columns
SEARCH_DIALOG = 'data-md-component="search" role="dialog"'
SEARCHED = 300  # characters of a section
# By how a page's path begins. What explains an idea comes first; sources are not found at all.
SEARCH_FIRST = {"concepts/": 2, "source/exercises/": 0.3, "source/": 0, "notes/": 0.5}
TABS = {"Use": "Use", "Method": "Reference", "Notes": "Reference"}  # of parts; others are to learn
# Of stages whose names are not words.
TITLES = {
    "smem_tiled": "Shared-memory tiles",
    "transposed_b": "Transposed B",
    "cp_async": "cp.async",
    "split_k": "Split-K",
    "wmma": "WMMA",
    "wmma_pipelined": "WMMA, pipelined",
    "mma_sync": "mma.sync",
    "tma": "TMA",
    "wgmma": "wgmma",
    "fp8": "FP8",
    "tf32": "TF32",
    "int8": "INT8",
}
log = logging.getLogger("mkdocs.hooks.ladder")


def navigation(docs: Path, parts: list[reading.Part]) -> list:
    """Tabs of parts. The legend of the kernels comes before the glossary. A page that has not been
    written yet is left out, and said."""
    tabs: dict[str, list] = {"Learn": [], "Practise": [], "Use": [], "Reference": []}
    missing = [page for part in parts for page in part.pages if not (docs / page).exists()]
    if missing:
        print(f"site: docs/order.json has pages to come: {' '.join(missing)}", file=sys.stderr)
    for part in parts:
        pages = [page for page in part.pages if page not in missing]
        if EXERCISES in pages:
            pages.remove(EXERCISES)
            graded = [
                {f"{e.number} {e.title}": exercise_page(e)} for e in catalogue.all_exercises()
            ]
            tabs["Practise"] = [
                EXERCISES,
                {"How they are graded": HOW_GRADED},
                {"Exercises": graded},
            ]
        if GLOSSARY in pages and (ROOT / LEGEND).exists():
            pages.insert(pages.index(GLOSSARY), LEGEND_PAGE)
        titled = [{title_of(page): page} if title_of(page) else page for page in pages]
        tab = TABS.get(part.title, "Learn")
        tabs[tab] += titled if part.title == tab else [{part.title: titled}]
    return [{tab: sections} for tab, sections in tabs.items() if sections]


def navigation_in_chinese(parts: list[reading.Part]) -> list:
    """Sections of what is translated, the exercises last."""
    there = chinese.translated()
    sections = {part.chinese: [p for p in part.pages if p in there] for part in parts}
    graded = [page for page in map(exercise_page, catalogue.all_exercises()) if page in there]
    listed = [{title: pages} for title, pages in sections.items() if pages]
    return listed + [{"练习题": graded}] * bool(graded)


def on_config(config):
    parts = reading.order()
    config.nav = (
        navigation_in_chinese(parts)
        if chinese.is_chinese(config)
        else navigation(Path(config.docs_dir), parts)
    )
    if config.repo_url:
        config.edit_uri = "edit/main/docs/"
    return config


@cache
def parents() -> dict[str, tuple[str, str | None]]:
    """Of every stage, by its page below docs/: its name and its parent's."""
    stages = [*manifest.load().values(), *manifest.with_own_harness()]
    return {s.page.removeprefix("docs/"): (s.name, s.parent) for s in stages}


def title_of(source: str) -> str:
    """Of a stage's page: "05c Split-K"."""
    if source not in parents():
        return ""
    number, _, words = parents()[source][0].partition("_")
    return f"{number} {TITLES.get(words) or words.replace('_', ' ').capitalize()}"


def exercise_page(exercise: catalogue.Exercise) -> str:
    return f"source/exercises/{exercise.name}/README.md.md"


def diff_page(stage: str) -> str:
    return f"source/diff_{stage.split('_')[0]}.md"


def said_of_lines(stage: str) -> dict[range, str]:
    """The lines of its kernel, from 0, that a stage's page shows, and the paragraph of the page
    about them: that below them, or where none is, that above."""
    quote = rf"<!-- code kernels/{stage}\.cuh .*?linenums=\"(\d+)\"\n(.*?)\n```\n<!-- end -->"
    text = read_text(ROOT / f"docs/{stage}.md")
    found = {}
    for code in re.finditer(quote, text, re.DOTALL):
        around = text[code.end() :].split("\n\n")[1], text[: code.start()].split("\n\n")[-2]
        words = next((p for p in around if re.match(r"(?!`diff )[\w`*]", p) and p[-1] != ":"), None)
        if words:
            words = re.sub(r"<!--.*?-->|\*\*", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words))
            first = int(code[1]) - 1
            found[range(first, first + code[2].count("\n") + 1)] = in_html(words)
    return found


def difference(stage: str, parent: str) -> str:
    names = [f"kernels/{name}.cuh" for name in (parent, stage)]
    texts = [read_text(ROOT / name) for name in names]
    return side_by_side(names, texts, [f"{name}.html" for name in names], said_of_lines(stage))


NOT_FOUND = "{: data-search-exclude }"  # of a heading


def in_html(words: str) -> str:
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(words, quote=False))


def with_starter(exercise: catalogue.Exercise) -> str:
    """Of an exercise's page what is below the statement: the starter, and the hints, folded."""
    text = ""
    for path in sorted({exercise.folder / "exercise.cuh", exercise.edited}, reverse=True):
        language = "cuda" if path.suffix == ".cuh" else "yaml"
        text += (
            f'\n## {path.name} {NOT_FOUND}\n\n```{language} linenums="1"\n{read_text(path)}```\n'
        )
    text += f"\n## Hints {NOT_FOUND}\n\n"
    for number, hint in enumerate(exercise.hints, 1):
        text += f"<details><summary>Hint {number}</summary><p>{in_html(hint)}</p></details>\n"
    return text


def generated_pages() -> dict[str, str]:
    """Their markdown by their path."""
    pages = {}
    for pattern in SHOWN:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            language = "python" if path.suffix == ".py" else "cuda"
            code = f'```{language} linenums="1"\n{read_text(path)}```\n'
            pages[f"source/{name}.md"] = f"# {name}\n\n{code}"
    for path in sorted(ROOT.glob("exercises/**/README.md")):
        pages[f"source/{path.relative_to(ROOT).as_posix()}.md"] = read_text(path)
    for e in catalogue.all_exercises():
        pages[exercise_page(e)] += with_starter(e)
    for stage, parent in parents().values():
        if parent is not None:
            command = f"`diff kernels/{parent}.cuh kernels/{stage}.cuh`"
            pages[diff_page(stage)] = f"# {stage} against {parent}\n\n{command}\n"
    return pages


def on_files(files, config):
    if chinese.is_chinese(config):
        below = {exercise_page(e): with_starter(e) for e in catalogue.all_exercises()}
        return chinese.in_chinese(files, config, below)
    for path, text in generated_pages().items():
        page = File.generated(config, path, content=text)
        if not path.startswith("source/exercises/"):
            page.inclusion = page.inclusion.NOT_IN_NAV
        files.append(page)
    if (ROOT / LEGEND).exists():
        files.append(File.generated(config, LEGEND_PAGE, content=read_text(ROOT / LEGEND)))
    for file in lab.files(config):
        files.append(file)
    return files


@cache
def pages_in_english() -> frozenset[str]:
    docs = ROOT / "docs"
    written = (path.relative_to(docs).as_posix() for path in in_english(docs))
    return frozenset([*written, *generated_pages(), LEGEND_PAGE])


def text_in_english(page: str) -> str:
    path = page.removesuffix(".md") if page.startswith("source/") else page
    return read_text(ROOT / path.removeprefix("source/") if path != page else ROOT / "docs" / page)


def page_of(target: str) -> str:
    """The page of the site that shows a file of the project."""
    pages = {LEGEND: LEGEND_PAGE, "README.md": "index.md"}
    return pages.get(target) or f"source/{target}.md"


def stage_links(source: str) -> str:
    """What stands below the heading of a stage's page."""
    stage, parent = parents()[source]
    links = [f"[`{stage}.cuh`](source/kernels/{stage}.cuh.md)"]
    if parent is not None:
        links.append(f"[what is new against {parent}]({diff_page(stage)})")
    if stage in manifest.load():
        links.append(f"[step through its requests](stepper.md?stage={stage})")
    if twin_of(stage):
        links.append("[its twin in Triton](triton.md)")
    return f"\n{' · '.join(links)}\n{{: .stage-links }}\n"


def with_progress(markdown: str) -> str:
    """The table of exercises with a mark at those that are done in this checkout."""
    path = ROOT / "exercises/progress.json"
    progress = read_json(path, {str: {"done": bool}}) if path.exists() else {}
    for name in (name for name, of in progress.items() if of["done"]):
        markdown = re.sub(rf"^\| (?=\[[^|]*exercises/{name}/)", "| ✓ ", markdown, flags=re.M)
    return markdown


def folder_of(source: str) -> Path:
    """Where the text of a page lies, for the links in it."""
    if source.startswith("source/exercises/"):
        return ROOT / posixpath.dirname(source.removeprefix("source/"))
    return ROOT / ("kernels" if source == LEGEND_PAGE else f"docs/{source}/..")


def stepper_here(link: re.Match) -> str:
    """Folded; site.js loads it when it is opened. One for each page."""
    choice = "".join(f' data-{name}="{escape(value)}"' for name, value in parse_qsl(link["query"]))
    address = f"{link['up']}stepper.html?{escape(link['query'])}"
    return (
        f'<details class="stepper-here"><summary>{in_html(link["text"])}</summary>'
        f'<div id="stepper"{choice}><a href="{address}">The stepper</a></div></details>'
    )


def on_page_markdown(markdown, page, config, files):
    source, in_chinese = page.file.src_uri, chinese.is_chinese(config)
    up = "../" * source.count("/")
    folder = folder_of(source)
    if in_chinese:
        markdown = chinese.with_anchors_of(text_in_english(source), markdown)
    if source.startswith("concepts/"):
        page.meta["icon"] = "material/lightbulb-outline"
    boost = next((b for start, b in SEARCH_FIRST.items() if source.startswith(start)), 1)
    boost = 1.5 if source in parents() else boost
    page.meta["search"] = {"boost": boost, "exclude": boost == 0}
    if source == "index.md":
        markdown = BEGINNING.sub(lambda match: f"{match[0]}\n{landing.block()}\n", markdown)
    if source == EXERCISES:
        markdown = with_progress(markdown)
    if source == REFERENCE:
        try:
            markdown += api.reference()
        except BadInput as error:  # `mkdocs build --strict` fails then
            log.warning("%s", error)

    def to_page(match: re.Match) -> str:
        target = (folder / match["path"]).resolve()
        if not target.is_relative_to(ROOT):
            return match[0]
        target = target.relative_to(ROOT).as_posix()
        in_docs = target.startswith("docs/")
        target = target.replace(CHINESE, ".md")
        name = target.removeprefix("docs/") if in_docs else page_of(target)
        place = f"#__codelineno-0-{match['line']}" if match["line"] else match["heading"] or ""
        place = f"{match['query'] or ''}{place}"
        if files.get_file_from_path(name):
            return f"]({up}{name}{place})"
        if in_chinese and name in pages_in_english():
            return f"]({chinese.ENGLISH}{chinese.address_of(name)}{place})"
        return match[0]  # MkDocs knows it, or warns of it

    markdown = FORMULA.sub(lambda match: convert(match[1].strip(), display="block"), markdown)

    def to_difference(match: re.Match) -> str:
        pair = (match["stage"], match["parent"])
        return f"[{match[0]}]({up}{diff_page(pair[0])})" if pair in parents().values() else match[0]

    def titled(heading: re.Match) -> str:
        title = heading[0] if in_chinese else f"# {title_of(source)}\n"
        return title + stage_links(source)

    markdown = STEPPER.sub(stepper_here, markdown)
    if source in parents():
        markdown = HEADING.sub(titled, markdown, count=1)
    if not source.startswith("source/"):
        markdown = COMMAND.sub(to_difference, markdown)
    markdown = LINK.sub(to_page, markdown)
    return markdown


@cache
def terms(path: Path = ROOT / "docs" / GLOSSARY) -> tuple[reading.Term, ...]:
    return tuple(reading.glossary(read_text(path))) if path.exists() else ()


def terms_in_chinese() -> tuple[reading.Term, ...]:
    """With the titles that they have in English, by which their anchors are named."""
    path = chinese.translated().get(GLOSSARY)
    if path is None:
        return ()
    return tuple(
        replace(term, title=english.title)
        for term, english in zip(terms(path), terms(), strict=True)
    )


def with_terms(html: str, glossary: str, wanted: tuple[reading.Term, ...]) -> str:
    """The page with the first use of each term as a link to `glossary`, an address."""
    if not wanted:
        return html
    left = dict(enumerate(wanted))
    places = {i: f"{glossary}#{slugify(term.title, '-')}" for i, term in left.items()}

    def link(match: re.Match) -> str:
        number = int(match.lastgroup[1:])
        if number not in left:
            return match[0]
        del left[number]
        return f'<a class="term" href="{places[number]}">{match[0]}</a>'

    # The longest name first: "shared memory" is not the term "memory".
    longest = sorted(left, key=lambda i: -max(len(name) for name in left[i].names))
    names = re.compile(
        r"(?<![\w-])(?:"
        + "|".join(f"(?P<t{i}>{left[i].pattern})" for i in longest)
        + r")(?![\w-])",
        re.ASCII,  # beside a term in Chinese are other letters
    )
    result, end, inside = [], 0, []
    for tag in TAG.finditer(html):
        text = html[end : tag.start()]
        result += [text if inside else names.sub(link, text), tag[0]]
        end = tag.end()
        name = (tag["name"] or "").lower()
        if tag["closes"] and inside and inside[-1] == name:
            inside.pop()
        elif not tag["closes"] and name in NO_TERMS_IN:
            inside.append(name)
    rest = html[end:]
    return "".join([*result, rest if inside else names.sub(link, rest)])


def with_captions(html: str) -> str:
    return FIGURE.sub(r"<figure>\g<image><figcaption>\g<caption></figcaption></figure>", html)


def with_drawings(html: str, folder: str) -> str:
    """Drawings that have links, or shapes with words, stand in the page itself: an image's links
    lead nowhere. Their rules hold for them alone, and dark is what the page says. `folder` is the
    page's."""

    def drawing(match: re.Match) -> str:
        svg = read_text(ROOT / "docs/figures" / match["name"])
        if "<a " not in svg and svg.count("<title>") == 1:  # its place is kept before it is loaded
            size = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
            width, height = (round(float(number)) for number in size.groups())
            return f'<img width="{width}" height="{height}"{match[0].removeprefix("<img")}'

        def to_page(link: re.Match) -> str:
            target = posixpath.normpath(f"figures/{link[1]}").replace(".md", ".html")
            return f'<a href="{posixpath.relpath(target, folder or ".")}">'

        svg = re.sub(r'<a href="([^"]*)">', to_page, svg)
        svg = svg.replace("@media (prefers-color-scheme: dark)", "[data-md-color-scheme=slate] &")
        svg = re.sub(r"<style>(.*?)</style>", r"<style>.drawing { \1 }</style>", svg)
        svg = svg.replace('role="img"', 'role="group"', 1).replace("\n", "")
        script = posixpath.relpath("assets/points.js", folder or ".")
        points = f'<script src="{script}"></script>' if "data-kind" in svg else ""
        return f'<div class="drawing">{svg}</div>{points}'

    return IMAGE.sub(drawing, html)


def with_cards(html: str) -> str:
    """The rows of a wide table as cards on a phone: each cell knows the name of its column."""

    def named(table: re.Match) -> str:
        names = re.findall(r"<th[^>]*>(.*?)</th>", table[0])
        if len(names) <= FIT_A_PHONE:
            return table[0]
        columns = itertools.cycle(names)
        cells = re.sub("<td", lambda _: f'<td data-column="{next(columns)}"', table[0])
        return cells.replace("<table", "<table data-cards", 1)

    return re.sub(r"<table>.*?</table>", named, html, flags=re.DOTALL)


def accessible(html: str) -> str:
    """With what the theme and its Markdown leave out: numbers of lines are no links to be read, an
    empty head of a table is a cell, and a long name in one may be broken behind a "_"."""
    html = re.sub(
        r"(<th[^>]*><code>)([^<]*)", lambda head: head[1] + head[2].replace("_", "_<wbr>"), html
    )
    html = html.replace(
        '<a href="#__codelineno', '<a aria-hidden="true" tabindex="-1" href="#__codelineno'
    )
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)


def on_post_page(output, **_):
    return output.replace(SEARCH_DIALOG, f'{SEARCH_DIALOG} aria-label="Search"')


on_post_template = on_post_page


def found_by(html: str) -> str:
    """Of a section what search knows: how its prose begins."""
    prose = " ".join(re.findall(r"<(?:p|li)>.*?</(?:p|li)>", html, re.DOTALL))
    return textwrap.shorten(re.sub("<[^>]+>", "", prose), SEARCHED, placeholder=" ...")


def on_post_build(config):
    """A reader's browser loads the whole index before the first search. `mkdocs build --strict`
    fails where a link of one of both sites leads nowhere."""
    path = Path(config.site_dir) / "search/search_index.json"
    index = json.loads(path.read_text())
    for section in index["docs"]:
        section["text"] = found_by(section["text"])
    text = json.dumps(index, separators=(",", ":"), ensure_ascii=False)
    path.write_text(text)
    path.with_suffix(".js").write_text(f"var __index = {text}")  # for pages opened from disk
    if chinese.is_chinese(config):  # which is built last
        for problem in broken_links(Path(config.site_dir).parent):
            log.warning("%s", problem)


def on_page_content(html, page, config, files):
    folder = posixpath.dirname(page.file.dest_uri)
    html = accessible(with_drawings(with_captions(html), folder))
    source = page.file.src_uri
    if source == STAGES:
        html = with_cards(html)
    if source in parents():
        html += '<script src="assets/predict.js"></script>'
    pair = next((pair for pair in parents().values() if diff_page(pair[0]) == source), None)
    if pair:
        html += difference(*pair)
    in_chinese = chinese.is_chinese(config)
    loaded_from = posixpath.relpath("../lab" if in_chinese else "lab", folder or ".")
    stage, _ = parents().get(source, ("", None))
    html = lab.with_part(html, source, stage, loaded_from, in_chinese)
    html = chinese.in_words(html) if in_chinese else html
    if source != GLOSSARY and not source.startswith("source/"):
        address = posixpath.relpath(chinese.address_of(GLOSSARY), folder or ".")
        html = with_terms(html, address, terms_in_chinese() if in_chinese else terms())
    return chinese.with_links_to_english(html, folder) if in_chinese else html


def on_page_context(context, page, config, nav):
    context["other_language"] = chinese.other_language(page, chinese.is_chinese(config))
    return context
