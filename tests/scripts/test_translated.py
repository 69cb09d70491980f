"""README.zh-CN.md says what README.md says, and ./ladder translated sees when it does not."""

import pytest

from ladder import translated
from ladder.project import ROOT

ENGLISH = """# Title

[中文](README.zh-CN.md)

Some words, a [link](docs/a.md), and <!--= x | .0f -->294<!--/--> of something.

```
code

more code
```

<!-- milestones -->
| a | b |
<!-- end -->
"""
CHINESE = """# 标题

[English](README.md)

<!--= x | .0f -->294<!--/--> 个, 一个[链接](docs/a.md)。

```
code

more code
```

<!-- milestones -->
| a | b |
<!-- end -->
"""


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "README.md").write_text(ENGLISH)
    (tmp_path / "README.zh-CN.md").write_text(CHINESE)
    assert translated.main(["--accept"], tmp_path) == 0
    return tmp_path


def change(path, before, after):
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


def test_what_is_in_chinese_says_what_is_in_english():
    assert translated.main([], ROOT) == 0, "let the Chinese follow, and call it with --accept"


def test_a_page_without_changes_is_current(pages, capsys):
    assert translated.main([], pages) == 0
    assert capsys.readouterr().out == ""


def test_numbers_and_blocks_that_are_generated_are_no_change(pages):
    for page in ("README.md", "README.zh-CN.md"):
        change(pages / page, ">294<", ">295<")
        change(pages / page, "| a | b |", "| a | c |")
    assert translated.main([], pages) == 0


@pytest.mark.parametrize(
    ("page", "before", "after", "said"),
    [
        ("README.md", "Some words", "Other words", "has changed in English since: Other words, a"),
        ("README.md", "# Title", "# Title\n\nMore.", "has 5 paragraphs, and the page in English 6"),
        ("README.zh-CN.md", "# 标题\n\n", "", "has 4 paragraphs, and the page in English 5"),
        ("README.zh-CN.md", "# 标题", "## 标题", "not the same level of heading as in English"),
        (
            "README.zh-CN.md",
            "docs/a.md",
            "docs/b.md",
            "not the same links as in English: Some words",
        ),
        ("README.zh-CN.md", "more code", "代码", "not the same code as in English"),
        ("README.zh-CN.md", ">294<", ">295<", "not the same values as in English: Some words"),
    ],
)
def test_what_differs_is_said(pages, capsys, page, before, after, said):
    change(pages / page, before, after)
    assert translated.main([], pages) == 1
    assert said in capsys.readouterr().out


def test_pages_of_all_places_are_looked_at(pages, capsys):
    for place in ("docs", "docs/concepts", "exercises/01_a"):
        folder = pages / place
        folder.mkdir(parents=True)
        (folder / "page.md").write_text("# A\n")
        (folder / "page.zh-CN.md").write_text(f"# A\n\n<!-- translated: {'0' * 8} -->\n")
    assert translated.main([], pages) == 1
    assert sorted(line.split(":")[0] for line in capsys.readouterr().out.splitlines()) == [
        "docs/concepts/page.zh-CN.md",
        "docs/page.zh-CN.md",
        "exercises/01_a/page.zh-CN.md",
    ]


def test_links_lead_to_the_pages_in_chinese(pages, capsys):
    folder = pages / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n")
    (folder / "a.zh-CN.md").write_text("# 甲\n")
    assert translated.main(["--accept"], pages) == 0
    assert "一个[链接](docs/a.zh-CN.md)" in (pages / "README.zh-CN.md").read_text()
    change(pages / "README.zh-CN.md", "a.zh-CN.md", "a.md")
    assert translated.main([], pages) == 1
    assert "a link leads to English, and there is a page in Chinese" in capsys.readouterr().out


def test_a_page_of_nothing_is_bad_input(pages, capsys):
    (pages / "README.md").unlink()
    assert translated.main([], pages) == 2
    assert "README.md" in capsys.readouterr().err


def test_what_is_accepted_is_current_again(pages):
    change(pages / "README.md", "Some words", "Other words")
    assert translated.main(["--accept"], pages) == 0
    assert translated.main([], pages) == 0


@pytest.mark.parametrize(
    "last_line",
    [
        "",
        "\n<!-- translated: -->\n",
        "\n<!-- translated: 0123 -->\n\n",
        "\n<!-- translated: 01234567 -->",
        "\n<!-- translated: -->\n\n<!-- translated: 01234567 -->\n",
    ],
)
def test_a_page_without_hashes_or_with_broken_ones_gets_them(pages, capsys, last_line):
    assert translated.main(["--accept"], pages) == 0
    right = (pages / "README.zh-CN.md").read_text()
    (pages / "README.zh-CN.md").write_text(CHINESE + last_line)
    assert translated.main(["--accept"], pages) == 0
    assert capsys.readouterr().out == ""
    assert (pages / "README.zh-CN.md").read_text() == right


def test_a_page_without_hashes_is_bad_input(pages, capsys):
    (pages / "README.zh-CN.md").write_text(CHINESE)
    assert translated.main([], pages) == 2
    assert capsys.readouterr().err == (
        "ladder translated: README.zh-CN.md does not end with <!-- translated: ... -->\n"
    )
