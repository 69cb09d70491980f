"""Copies beside the arithmetic: groups of cp.async, boxes of a tensor map, a cluster's multicast,
and the proxy through which TMA sees shared memory."""

import re
from collections.abc import Callable

from ladder.figures import sources, swizzle
from ladder.figures.svg import Canvas, Figure
from ladder.files import read_text

GROUPS_STAGE = sources.stage_of("cp_async")
CLUSTER_STAGE = sources.stage_of("cluster")
MAP_STAGE = sources.stage_of("tma")
STEPS = 6


def pending() -> int:
    """How many groups the wait of the loop leaves on their way."""
    c = sources.constants(GROUPS_STAGE)
    waits = re.findall(r"cp_async_wait_group<(.*?)>", sources.header(GROUPS_STAGE))
    return sources.value(waits[0], c)


def groups() -> Figure:
    c = sources.constants(GROUPS_STAGE)
    pipe, ahead = c["PIPE"], c["AHEAD"]
    canvas = Canvas(f"Groups of cp.async in a ring of {pipe} buffers")
    canvas.title()
    kinds = [("c strong", "multiplied"), ("b", "on its way"), ("a strong", "copy starts")]
    for place, (kind, words) in enumerate(kinds):
        canvas.rect(10 + place * 150, 38, 16, 16, kind)
        canvas.text(32 + place * 150, 51, words)
    left, width, top = 70, 76, 86
    for buffer in range(pipe):
        canvas.text(
            left + (buffer + 0.5) * width, top - 8, f"buffer {buffer}", "small soft", "middle"
        )
    canvas.text(left + pipe * width + 10, top - 8, "not awaited", "small soft")
    for step in range(STEPS):
        y = top + step * 34
        canvas.text(8, y + 19, f"step {step}", "label bold")
        for tile in range(step, step + ahead + 1):
            kind = "c strong" if tile == step else "a strong" if tile == step + ahead else "b"
            font = "small on bold" if "strong" in kind else "small"
            x = left + tile % pipe * width
            canvas.box(x + 2, y, width - 4, 28, f"tile {tile}", kind, font)
        waiting = ", ".join(str(step + 1 + i) for i in range(pending()))
        canvas.text(left + pipe * width + 10, y + 19, waiting)
    y = top + STEPS * 34 + 16
    rows = [
        f"Each step: wait_group<{pending()}> leaves the last {pending()} groups on their way,",
        "so the oldest has landed. After the barrier nobody reads",
        "the buffer of the step before: the next copy goes there.",
    ]
    canvas.lines(8, y, rows, "label")
    return canvas.figure(
        y + 46,
        f"A tile is one group, and wait_group<{pending()}> waits until all but the last "
        f"{pending()} have landed: the tile that is multiplied now has, and the next ones may "
        "still be on their way.",
    )


def box_of_map() -> tuple[int, str]:
    """Columns of halves in a box, and the swizzle, as ptx/tensor_map.cuh asks for them."""
    text = read_text(sources.KERNELS / "ptx/tensor_map.cuh")
    row_bytes = re.search(r"(\d+) / static_cast<int>\(sizeof\(T\)\)", text)[1]
    return int(row_bytes) // 2, re.search(r"CU_TENSOR_MAP_SWIZZLE_(\w+)", text)[1]


def tensor_map() -> Figure:
    rows, (columns, mode) = sources.constants(MAP_STAGE)["BM"], box_of_map()
    canvas = Canvas("A tensor map, and two of its boxes")
    canvas.title()
    x, y, unit = 8, 62, 0.42
    cols, ld, height = 416, 480, 640
    canvas.text(x, y - 10, "global memory: A", "label bold")
    canvas.rect(x, y, ld * unit, height * unit, "gray faint")
    canvas.rect(x, y, cols * unit, height * unit, "a faint")
    box_w, box_h = columns * unit, rows * unit
    canvas.rect(x + 128 * unit, y + 64 * unit, box_w, box_h, "c strong")
    edge_x, edge_y = x + 384 * unit, y + 448 * unit
    canvas.rect(edge_x, edge_y, box_w, box_h, "hot")
    canvas.rect(edge_x, edge_y, (cols - 384) * unit, (height - 448) * unit, "c strong")
    canvas.text(x, y + height * unit + 40, "sizes: rows, columns", "small")
    canvas.text(x, y + height * unit + 58, "gray: from column N to ld", "small soft")
    cell, left = 26, 258
    canvas.text(left, y - 10, "in shared memory: 8 rows", "label bold")
    for row in range(swizzle.SIDE):
        for chunk in range(swizzle.SIDE):
            place = left + swizzle.place(row, chunk) * cell, y + row * 22
            canvas.box(*place, cell, 22, str(chunk), "c")
    canvas.arrow(x + 128 * unit + box_w + 4, y + 100, left - 6, y + 88, "c")
    notes = [
        f"box: {rows} rows of {columns} halves,",
        f"{columns * 2} bytes a row, swizzle {mode}:",
        "numbers are the row's chunks",
        "of 16 bytes.",
        "",
        "red: outside the matrix;",
        "it lands as zeros, and its",
        "bytes are counted as well.",
    ]
    canvas.lines(left, y + 206, [n for n in notes if n], "label")
    return canvas.figure(
        y + height * unit + 68,
        f"One thread orders a box by its first column and row, and TMA fetches {rows} rows of "
        f"{columns * 2} bytes into shared memory, swizzled. What lies outside the matrix (red) "
        "comes as zeros.",
    )


def cluster() -> Figure:
    c = sources.constants(CLUSTER_STAGE)
    blocks, boxes = c["CLUSTER"], c["BN"] // c["BOX"]
    kb_a, kb_box = c["BM"] * c["BK"] * 2 // 1024, c["BOX"] * c["BK"] * 2 // 1024
    canvas = Canvas(f"A cluster: {blocks} blocks share a tile of B")
    canvas.title()
    width, left, colors = 76, 96, ("b", "d")
    canvas.text(12, 190, "B in L2", "label bold")
    for rank, top in enumerate((38, 242)):  # of blocks: one above B, one below
        canvas.rect(4, top, 472, 88, "empty")
        canvas.text(12, top + 28, f"block {rank}", "label bold")
        at_b, at_a = (top + 48, top + 10) if rank == 0 else (top + 10, top + 48)
        canvas.box(left, at_a, boxes * width, 30, f"its own tile of A, {kb_a} KB", "a")
        for box in range(boxes):
            owner = box * blocks // boxes
            kind, font = f"{colors[owner]}", "small"
            if owner == rank:
                kind, font = f"{kind} strong", "small on bold"
            x = left + box * width
            canvas.box(x, at_b, width, 30, f"B {box}", kind, font)
            end = at_b + 30 if rank == 0 else at_b
            start = 170 if rank == 0 else 200
            canvas.arrow(x + width / 2, start, x + width / 2, end, colors[owner])
    for box in range(boxes):
        kind = colors[box * blocks // boxes]
        canvas.box(left + box * width, 170, width, 30, f"{kb_box} KB", kind)
    half = boxes * kb_box // blocks
    canvas.text(8, 354, f"Solid: the half that a block asks for, {half} KB; it comes to both.")
    text = f"A block asks for {kb_a + half} KB a step instead of {kb_a + boxes * kb_box} KB."
    canvas.text(8, 374, text)
    return canvas.figure(
        386,
        "The blocks' tiles of C lie one below the other, so both need the same tile of B. Each "
        "asks for half of it, and the copy arrives in the shared memory of both.",
    )


CALLS = {  # what a warp of 11b does to send a box to C, in this order
    "bulk_wait_group_read": ("lane 0 waits: TMA has read the box", "d"),
    "stmatrix_x4": ("all lanes write the box", "c"),
    "fence_proxy_async": ("each lane: fence.proxy.async", "hot"),
    "__syncwarp": ("__syncwarp: all lanes have done so", "gray"),
    "tma_store": ("lane 0 orders the store", "d"),
    "bulk_commit_group": ("lane 0 closes the group", "d"),
}


def async_proxy() -> Figure:
    canvas = Canvas("Two ways to shared memory, and the fence")
    canvas.title()
    canvas.text(8, 48, "a warp (generic proxy)", "label bold")
    canvas.text(366, 48, "TMA (async proxy)", "label bold", "middle")
    left, width, row = 8, 268, 44
    tops = {}
    for place, (call, (words, kind)) in enumerate(CALLS.items()):
        y = tops[call] = 60 + place * row
        canvas.box(left, y, width, 30, words, kind, "small")
        if place:
            canvas.arrow(left + 40, y - row + 30, left + 40, y)
    x, y = 330, tops["tma_store"] + 20
    canvas.rect(x, y, 130, 62, "b")
    canvas.text(x + 65, y + 26, "reads the box,", "small", "middle")
    canvas.text(x + 65, y + 44, "writes C", "small", "middle")
    canvas.arrow(left + width, tops["tma_store"] + 26, x, tops["tma_store"] + 26)
    shared = tops["stmatrix_x4"]
    canvas.box(x, shared, 130, 30, "the box, shared", "a", "small")
    canvas.arrow(left + width, shared + 15, x, shared + 15, "c")
    canvas.arrow(x + 65, shared + 32, x + 65, y, "b")
    canvas.text(x + 76, shared + 62, "sees it", "small")
    canvas.text(x + 76, shared + 80, "only after", "small")
    canvas.text(x + 76, shared + 98, "the fence", "small")
    end = tops["bulk_commit_group"] + 30
    return canvas.figure(
        end + 12,
        "Ordinary stores and TMA reach shared memory by different ways, and a barrier alone does "
        "not order the two: each lane that wrote needs the fence (red) before the copy is ordered.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "cp_async_groups": groups,
    "tensor_map": tensor_map,
    "cluster": cluster,
    "async_proxy": async_proxy,
}
