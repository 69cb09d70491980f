"""Numbers and tables as the pages have them."""

import os
import re
from pathlib import Path


def number(value: float) -> str:
    """Three digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1g}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Columns that are mostly numbers go to the right."""

    def rule(column: int) -> str:
        numbers = sum(bool(re.match(r"[\d.,]+\b", row[column])) for row in rows)
        return "---:" if column > 0 and numbers > len(rows) / 2 else "---"

    lines = [head, [rule(column) for column in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def from_page(body: str, page: Path) -> str:
    """Blocks lead to files by their places in the project: ](/kernels/gemm.h). To a page, these are
    ways from where it stands."""

    def way(match: re.Match) -> str:
        return "](" + os.path.relpath(match[1], page.parent)

    return re.sub(r"\]\(/(\w[\w./-]*)", way, body)
