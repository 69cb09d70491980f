"""The difference of two CUDA sources as HTML: old beside new, highlighted; what is the same in both
is folded, up to a few lines around each change."""

import difflib
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

AROUND = 3  # equal lines that stay open, on each side of a change


def lines_of(code: str) -> list[str]:
    """Highlighted. A token ends with its line, so that each line is HTML by itself."""
    lexer = get_lexer_by_name("cuda", stripnl=False)
    return highlight(code, lexer, HtmlFormatter(nowrap=True)).splitlines()


def numbered(lines: list[str], first: int, page: str) -> str:
    """A side of a row; `page` shows the whole source."""
    return "".join(
        f'<a data-line="{number}" aria-hidden="true" tabindex="-1"'
        f' href="{page}#__codelineno-0-{number}"></a><span>{line}\n</span>'
        for number, line in enumerate(lines, first + 1)
    )


def row(kind: str, sides: list[str]) -> str:
    old, new = (f"<pre>{side}</pre>" for side in sides)
    return f'<div class="row {kind}">{old}{new}</div>'


def side_by_side(
    names: list[str], codes: list[str], pages: list[str], said: dict[range, str]
) -> str:
    """Of a source and of what it has become, the names, the texts and the pages that show them.
    `said`: what stands above the first change in some lines of what it has become, as HTML."""
    matcher = difflib.SequenceMatcher(None, *(code.splitlines() for code in codes), autojunk=False)
    shown = [lines_of(code) for code in codes]

    def between(kind: str, *ends: int) -> str:
        spans = (ends[:2], ends[2:])
        return row(kind, [numbered(shown[i][a:b], a, pages[i]) for i, (a, b) in enumerate(spans)])

    def words_above(b0: int, b1: int) -> str:
        lines = next((lines for lines in said if lines.start < b1 and b0 < lines.stop), None)
        return "" if lines is None else f'<div class="said">{said.pop(lines)}</div>'

    said = dict(said)
    changes = matcher.get_opcodes()
    rows = [row("names", [escape(name) for name in names])]
    for place, (kind, a0, a1, b0, b1) in enumerate(changes):
        before = AROUND if place > 0 else 0
        after = AROUND if place < len(changes) - 1 else 0
        folded = a1 - a0 - before - after
        if kind != "equal" or folded <= 1:
            rows.append(words_above(b0, b1) if kind != "equal" else "")
            rows.append(between(kind, a0, a1, b0, b1))
            continue
        if before:
            rows.append(between(kind, a0, a0 + before, b0, b0 + before))
        inside = between(kind, a0 + before, a1 - after, b0 + before, b1 - after)
        rows.append(f"<details><summary>{folded} lines are the same</summary>{inside}</details>")
        if after:
            rows.append(between(kind, a1 - after, a1, b1 - after, b1))
    return f'<div class="highlight side-by-side">{"".join(rows)}</div>'
