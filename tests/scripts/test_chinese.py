"""The site in Chinese: its anchors and links, and what scripts write into it."""

import re
from html import unescape
from types import SimpleNamespace

import pytest
from conftest import need
from test_figures import faults, texts

need("material", "MkDocs Material")
from ladder import chinese, reading  # noqa: E402
from ladder.exercises.catalogue import all_exercises  # noqa: E402
from ladder.figures import FIGURES  # noqa: E402
from ladder.files import read_text  # noqa: E402
from ladder.project import ROOT  # noqa: E402

ENGLISH = "# A\n\n## The `way` it is\n\n```\n## no heading\n```\n\n## The way it is\n"
CHINESE = "# 甲\n\n## 路\n\n```\n## no heading\n```\n\n## 路\n"


def test_headings_have_the_anchors_that_they_have_in_english():
    text = chinese.with_anchors_of(ENGLISH, CHINESE)
    assert re.findall(r"^# .*|^## .*", text, re.M) == [
        "# 甲 {: #a }",
        "## 路 {: #the-way-it-is }",
        "## no heading",
        "## 路 {: #the-way-it-is_1 }",
    ]


@pytest.fixture
def two_pages(monkeypatch):
    there = {"index.md": ROOT / "x.zh-CN.md", "concepts/warps.md": ROOT / "y.zh-CN.md"}
    monkeypatch.setattr(chinese, "translated", lambda: there)


@pytest.mark.parametrize(
    ("folder", "link", "leads"),
    [
        ("", "concepts/warps.html#a", "concepts/warps.html#a"),
        ("", "01_naive.html", "../01_naive.html"),
        ("concepts", "warps.html", "warps.html"),
        ("concepts", "../index.html", "../index.html"),
        ("concepts", "../01_naive.html#a", "../../01_naive.html#a"),
        ("concepts", "english:source/a.html#b", "../../source/a.html#b"),
        ("", "https://a.b/c.html", "https://a.b/c.html"),
        ("", "assets/a.js", "assets/a.js"),
    ],
)
def test_what_is_not_translated_is_read_in_english(two_pages, folder, link, leads):
    assert chinese.with_links_to_english(f'<a href="{link}">', folder) == f'<a href="{leads}">'


def test_the_link_to_the_other_language_keeps_the_page(two_pages):
    def link(name, in_chinese):
        file = SimpleNamespace(src_uri=name, dest_uri=chinese.address_of(name))
        return chinese.other_language(SimpleNamespace(file=file), in_chinese)

    assert link("concepts/warps.md", False)["link"] == "../zh/concepts/warps.html"
    assert link("concepts/warps.md", True)["link"] == "../../concepts/warps.html"
    assert link("index.md", True) == {"link": "../index.html", "name": "English", "code": "en"}
    assert link("01_naive.md", False) is None


def test_what_scripts_write_is_in_chinese_where_the_whole_text_is_known(monkeypatch):
    known = {"stage": "级", "{} of {} sectors": "{1} 个扇区中的 {0} 个"}
    monkeypatch.setattr(chinese, "phrases", lambda source: known)
    chinese.patterns.cache_clear()
    assert chinese.in_words("<th>stage</th><td>stages</td>") == "<th>级</th><td>stages</td>"
    assert chinese.in_words("<td>4 of 32 sectors</td>") == "<td>32 个扇区中的 4 个</td>"
    chinese.patterns.cache_clear()


def test_lists_of_exercises_have_the_titles_in_chinese():
    link = '<a href="a.html">%s</a>'
    assert chinese.in_words(link % "15 A ring of three buffers") == link % "15 三个缓冲区的环"
    assert len(chinese.titles_of_exercises()) == len(all_exercises())


def test_the_glossary_has_each_term_in_both_languages():
    path = chinese.translated()["glossary.md"]
    english = reading.glossary(read_text(ROOT / "docs/glossary.md"))
    both = reading.glossary(read_text(path))
    assert len(both) == len(english)
    assert [
        e.title for e, term in zip(english, both, strict=True) if e.title not in term.names
    ] == []


# Reasons to wait have the names that ncu has for them.
STALLS = r".* (throttle|stall)|(long|short) scoreboard"
ENGLISH_WORDS = re.compile(r"[a-z]{2,},? [a-z]{2,}")
# What a text in Chinese calls as English does.
KEPT = {"bank", "float", "full", "empty", "group", "lane", "swizzle", "tile", "torch", "wait"}
KEPT |= {"acc", "clk", "fence", "ldmatrix", "mbarrier", "mma", "syncwarp", "wavefront", "wgmma"}
KEPT |= {"async", "proxy", "sync", "chosen", "cost"}  # parts of names


def drawings():
    """By their names: what stands in docs/figures, and what is drawn anew."""
    there = {path.stem: read_text(path) for path in (ROOT / "docs/figures").glob("*.svg")}
    return there | {name: figure().svg for name, figure in FIGURES.items()}


def test_figures_speak_chinese_and_can_be_read_in_it():
    english, misplaced = [], []
    for name, drawing in sorted(drawings().items()):
        drawing = chinese.in_words(drawing)
        for text, _, _ in texts(drawing):
            if re.search("[一-鿿]", text):
                left = set(re.findall("[a-z]{3,}", text)) - KEPT
            else:
                left = ENGLISH_WORDS.search(text) and not re.fullmatch(STALLS, text)
            if left:
                english.append((name, text))
        misplaced += [(name, fault) for fault in faults(drawing)]
    assert english == []
    assert misplaced == []


def test_what_is_said_of_figures_is_in_chinese():
    of_figures = re.compile(r"^!\[([^\]]*)\]\([^)]*\.svg\)(?:\n\n\*([^\n]*)\*$)?", re.M)
    said = {
        unescape(words)
        for path in chinese.translated().values()
        for words in sum(of_figures.findall(read_text(path)), ())
        if words
    }
    assert len(said) > 100
    known = {words: chinese.phrase_in_chinese(words, chinese.OF_FIGURES) for words in said}
    assert [words for words, translation in sorted(known.items()) if words == translation] == []


def test_words_of_images_and_of_drawings_are_replaced(monkeypatch):
    monkeypatch.setattr(
        chinese, "phrases", lambda source: {"a warp's": "线程束的", 'the "full"': "满"}
    )
    chinese.patterns.cache_clear()
    assert chinese.in_words('<img src="a" alt="a warp&#x27;s">') == '<img src="a" alt="线程束的">'
    drawing = '<title>the &quot;full&quot;</title><text x="1">a &lt; b</text>'
    assert chinese.in_words(drawing) == '<title>满</title><text x="1">a &lt; b</text>'
    chinese.patterns.cache_clear()
