"""Where the lanes of a warp are: in C, and at the rows that they bring to ldmatrix."""

import re
from collections.abc import Callable

from ladder import manifest
from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure

LANES = 32
SECTOR = 8  # floats
NAIVE, VECTORS, WARP_TILES, LDMATRIX = (
    sources.stage_of(idea) for idea in ("naive", "vectorized", "warp_tiled", "mma_sync")
)


def elements(kernel: str) -> list[tuple[int, int]]:
    """Row and column of C of each lane of warp 0, in a kernel of 01. Its blocks are 32 wide, so the
    lane is threadIdx.x."""
    text = sources.header(NAIVE)
    text = re.sub(r"(?:block|thread)Idx\.([xy])", r"index_\1", text[text.index(f" {kernel}(") :])
    result = []
    for lane in range(LANES):
        part = text.replace("index_y * B", "0 * B").replace("index_x * B", "0 * B")
        known = sources.constants(NAIVE) | {"index_x": lane, "index_y": 0}
        row, column = (sources.evaluated(part, name, known) for name in ("row", "col"))
        result.append((row, column))
    return result


def touched(places: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The sectors of C, by row and number in it."""
    return {(row, column // SECTOR) for row, column in places}


def naive() -> Figure:
    canvas = Canvas("A warp's elements of C, two mappings")
    canvas.title()
    cell, top, counts = 6.8, 76, []
    for x, kernel, name in (
        (8, "gemm_uncoalesced_kernel", "lanes down a column"),
        (252, "gemm_kernel", "lanes along a row"),
    ):
        places = elements(kernel)
        sectors = touched(places)
        counts.append(len(sectors))
        canvas.text(x, 48, name, "label bold")
        canvas.text(x, 67, f"{len(sectors)} sectors of 32 bytes", "label")
        for row in range(LANES):
            for sector in range(LANES // SECTOR):
                kind = "c" if (row, sector) in sectors else "gray faint"
                where = x + sector * SECTOR * cell, top + row * cell
                canvas.rect(*where, SECTOR * cell, cell, f"{kind} thin")
        for row, column in places:
            canvas.rect(x + column * cell, top + row * cell, cell, cell, "c strong bare")
    y = top + LANES * cell + 20
    canvas.text(8, y, "Each box is a sector of 8 floats; solid: the lanes' elements,")
    canvas.text(8, y + 18, "one of each of the 32 lanes. Rows are rows of C in memory.")
    return canvas.figure(
        y + 30,
        f"A warp stores one element a lane. Down a column they lie in {counts[0]} sectors, of each "
        f"of which an eighth is used; along a row they fill {counts[1]}.",
    )


def grid_of(stage: str) -> list[tuple[int, int]]:
    """Row and column, in quads, of each lane of warp 0."""
    text = sources.header(stage)
    result = []
    for lane in range(LANES):
        if "lane_m" in text:
            known = {"lane": lane}
            m, n = (sources.evaluated(text, name, known) for name in ("lane_m", "lane_n"))
        else:
            known = {"lane": lane, "row0": 0, "col0": 0, "i": 0, "j": 0}
            indices = text.replace("threadIdx.x", "lane")
            known |= {name: sources.evaluated(indices, name, known) for name in ("tx", "ty")}
            m, n = (sources.evaluated(text, name, known) for name in ("row", "col"))
        result.append((m // 4, n // 4))
    return result


def warp_tiled() -> Figure:
    canvas = Canvas("The 32 lanes of a warp on their part of C")
    canvas.title()
    y, sums = 50, []
    for stage in (VECTORS, WARP_TILES):
        places = grid_of(stage)
        rows, columns = (1 + max(place[i] for place in places) for i in (0, 1))
        label, cell = manifest.stage(stage).label, 26
        sums.append(rows + columns)
        words = f"{label}: {rows} quads of A (blue), {columns} of B (orange)"
        canvas.text(8, y, words, "label bold")
        left, top = 44, y + 40
        for column in range(columns):
            canvas.rect(left + column * cell, top - 26, cell, 20, "b")
        for row in range(rows):
            canvas.rect(left - 28, top + row * cell, 22, cell, "a")
        for lane, (row, column) in enumerate(places):
            where = left + column * cell, top + row * cell
            canvas.box(*where, cell, cell, str(lane), "c" if lane % 2 else "c faint")
        y = top + rows * cell + 36
    canvas.text(8, y - 6, "A box is a lane, which multiplies its quad of A by its quad of B.")
    return canvas.figure(
        y + 8,
        f"For the same 32 blocks of 4x4 products a warp reads {sums[0]} different quads where its "
        f"lanes form a strip, and {sums[1]} where they form a compact rectangle; lanes in a row "
        "share A's, lanes in a column share B's.",
    )


def addresses() -> list[tuple[int, int]]:
    """Row and first column of the eight halves that each lane brings to ldmatrix, of A's tile."""
    index = re.search(r"\.A\[warp_m \+ ([^]]+)\]\[([^]]+)\]", sources.header(LDMATRIX))
    return [
        (sources.value(index[1], {"lane": lane}), sources.value(index[2], {"lane": lane}))
        for lane in range(LANES)
    ]


def ldmatrix() -> Figure:
    canvas = Canvas("ldmatrix.x4: each lane brings a row of eight")
    canvas.title()
    left, top, width, height = 60, 56, 200, 19
    kinds = ("a", "a faint", "b", "b faint")
    canvas.text(left, top - 10, "columns 0 to 7", "small soft")
    canvas.text(left + width, top - 10, "columns 8 to 15", "small soft")
    for lane, (row, column) in enumerate(addresses()):
        x, y = left + column // 8 * width, top + row * height
        words = f"address from lane {lane}"
        canvas.box(x, y, width, height, words, f"{kinds[lane // 8]} thin")
    for row in range(16):
        canvas.text(left - 8, top + row * height + 14, str(row), "small soft", "end")
    y = top + 16 * height + 20
    rows = [
        "16 rows and 16 columns of A. A colour is one of four 8x8",
        "matrices; afterwards lane l has two neighbours of row l / 4",
        "of each, as mma.sync wants them.",
    ]
    canvas.lines(8, y, rows)
    return canvas.figure(
        y + 46,
        "Lanes 0 to 7 bring the addresses of one 8x8 matrix, the next eight those of the next one: "
        "so the rows may lie anywhere, as a swizzle puts them.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    f"lanes_{manifest.stage(NAIVE).label}": naive,
    f"lanes_{manifest.stage(WARP_TILES).label}": warp_tiled,
    f"lanes_{manifest.stage(LDMATRIX).label}": ldmatrix,
}
