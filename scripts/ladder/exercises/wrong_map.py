"""Which elements of an array are wrong: their pattern in words, and a small map."""

from collections.abc import Iterable
from itertools import pairwise

ROWS, COLUMNS = 8, 32  # of a map, at most
# Of the elements of a pattern, as many have to be wrong: by accident some of them are right.
SHARE = 0.97


def periods(n: int) -> Iterable[int]:
    """With which a pattern of n may repeat, twice or more often."""
    return (period for period in (2, 4, 8, 16, 32, 64) if 2 * period <= n)


def runs(indices: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each row of neighbours."""
    every = sorted(indices)
    begins = [a for b, a in pairwise([-2, *every]) if a != b + 1]
    ends = [a for a, b in pairwise([*every, every[-1] + 2]) if b != a + 1]
    return list(zip(begins, ends, strict=True))


def listed(indices: Iterable[int], what: str) -> str:
    """ "columns 0 and 4 to 7"; "" if they are too scattered."""
    parts = [f"{a} to {b}" if a != b else f"{a}" for a, b in runs(indices)]
    if len(parts) > 4:
        return ""
    several = "s" * (len(parts) > 1 or "to" in parts[0])
    return (
        f"{what}{several} {' and '.join([', '.join(parts[:-1])] * (len(parts) > 1) + parts[-1:])}"
    )


def in_words(indices: set[int], n: int, what: str) -> str:
    """ "columns 8 to 15 of every 16"; "" if there is no simple pattern."""
    if len(indices) == n:
        return f"all {what}s"
    for period in periods(n):
        of_one = {i % period for i in indices}
        if indices == {i for i in range(n) if i % period in of_one}:
            said = listed(of_one, what)
            return f"{said} of every {period}" if said else ""
    said = listed(indices, what)
    begin = min(indices)
    if said and indices == set(range(begin, n)):
        return f"{said}, the last" + f" {n - begin}" * (n - begin > 1)
    return f"{said} of {n}" if said else ""


def tile_of(wrong: set[tuple[int, int]], rows: int, columns: int) -> tuple[int, int]:
    """The smallest tile that the pattern repeats; all of it, where it does not."""
    every = [
        (height, width)
        for height in (*periods(rows), rows)
        for width in (*periods(columns), columns)
    ]
    for height, width in sorted(every, key=lambda tile: tile[0] * tile[1]):
        tile = {(i % height, j % width) for i, j in wrong}
        expected = sum(len(range(i, rows, height)) * len(range(j, columns, width)) for i, j in tile)
        if len(wrong) >= SHARE * expected:
            return height, width
    return rows, columns


def said_of(wrong: set[tuple[int, int]], height: int, width: int) -> str:
    """What the rows and the columns of the wrong elements have in common; "" if it is more than
    that."""
    of_rows, of_columns = {i for i, _ in wrong}, {j for _, j in wrong}
    rows = in_words(of_rows, height, "row")
    columns = in_words(of_columns, width, "element" if height == 1 else "column")
    if len(wrong) < SHARE * len(of_rows) * len(of_columns) or not rows or not columns:
        return ""
    both = f"{columns}, in {rows}" if len(of_rows) == height else f"{rows}, in {columns}"
    said = columns if height == 1 else both
    right = {(i, j) for i in of_rows for j in of_columns} - wrong
    if right and all(i == j for i, j in right):
        said += ", but not on the diagonal: are rows and columns exchanged?"
    elif right:
        said += f", but for {len(right)} that are right, by accident perhaps"
    return said


def map_of(rows: list[str]) -> list[str]:
    """Of rows of . and #, what the elements that are # have in common, then the map. Nothing where
    it is one of them, or all."""
    height, width = len(rows), len(rows[0]) if rows else 0
    wrong = {(i, j) for i, row in enumerate(rows) for j, mark in enumerate(row) if mark == "#"}
    if len(wrong) in (height * width, 1):
        return []
    said = said_of(wrong, height, width)
    lines = drawn(rows)
    tall, wide = tile_of(wrong, height, width)
    if (tall, wide) != (height, width):
        of = f"{wide} elements" if height == 1 else f"{tall} rows and {wide} columns"
        said = said or f"the same in every {of}"
        first = drawn(rows, max(tall, ROWS), max(wide, COLUMNS))
        if "+" in lines[-1] and "+" not in first[-1]:
            lines = first
    return [f"wrong: {said or 'no simple pattern'}", *lines]


def drawn(every: list[str], height: int = 0, width: int = 0) -> list[str]:
    """The first of its rows and columns, or all, with as few signs as a map may have; and what
    these mean."""
    rows = [row[: width or None] for row in every[: height or None]]
    height, width = len(rows), len(rows[0])
    tall = wide = 1
    while height > tall * ROWS:
        tall *= 2
    while width > wide * COLUMNS:
        wide *= 2
    lines = []
    for i in range(0, height, tall):
        signs = ""
        for j in range(0, width, wide):
            marks = "".join(row[j : j + wide] for row in rows[i : i + tall])
            signs += "." if "#" not in marks else "#" if "." not in marks else "+"
        lines.append(f"    {signs}")
    legend = "    . right, # wrong" + ", + some of them wrong" * ("+" in "".join(lines))
    if tall * wide > 1:
        legend += f"; a sign is {tall} x {wide} elements"
    if (height, width) != (len(every), len(every[0])):
        of = f"{height} rows and {width} columns" if height > 1 else f"{width} elements"
        legend += f"; the first {of}"
    return [*lines, legend]
