"""The order of blocks and what they share in L2, and the waves in which they come."""

from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.machine import device
from ladder.figures.svg import Canvas, Figure

ORDER_STAGE, ORDER_SIZE, HALF_BYTES = "09_wgmma", 8192, 2
WAVES_STAGE, WAVES_SIZES = "05b_split_barrier", (1024, 3072, 4096)


def tile_of(number: int, tiles_m: int, tiles_n: int, group: int) -> tuple[int, int]:
    """Row and column, in tiles: tile_of of kernels/parts/block_order.cuh."""
    first_m = number // (group * tiles_n) * group
    height = min(group, tiles_m - first_m)
    rest = number % (group * tiles_n)
    return first_m + rest % height, rest // height


def at_once(blocks: int, tiles_m: int, tiles_n: int, group: int) -> list[tuple[int, int]]:
    return [tile_of(n, tiles_m, tiles_n, group) for n in range(blocks)]


def footprint(tiles: list[tuple[int, int]]) -> tuple[int, int]:
    """How many strips of A and of B they read."""
    return len({row for row, _ in tiles}), len({column for _, column in tiles})


def draw_order(canvas: Canvas, x: float, y: float, w: float, h: float, tiles, grid, numbers=False):
    """C with the first blocks' tiles, and the strips of A and B that they read beside it."""
    rows, columns = grid
    cell_w, cell_h, strip = w / columns, h / rows, 12
    canvas.rect(x, y + strip + 3, strip, h, "a faint")
    canvas.rect(x + strip + 3, y, w, strip, "b faint")
    left, top = x + strip + 3, y + strip + 3
    canvas.rect(left, top, w, h, "c faint")
    for row in {r for r, _ in tiles}:
        canvas.rect(x, top + row * cell_h, strip, cell_h, "a strong thin")
    for column in {c for _, c in tiles}:
        canvas.rect(left + column * cell_w, y, cell_w, strip, "b strong thin")
    for row, column in tiles:
        place = left + column * cell_w, top + row * cell_h
        canvas.rect(*place, cell_w, cell_h, "c strong thin")
    if not numbers:
        return
    group = 1 if len({r for r, _ in tiles}) <= 2 else EXAMPLE_GROUP
    for n in range(rows * columns):
        row, column = tile_of(n, rows, columns, group)
        place = left + (column + 0.5) * cell_w, top + (row + 0.5) * cell_h + 5
        canvas.text(*place, str(n), "small on" if n < len(tiles) else "small", "middle")


EXAMPLE_GRID, EXAMPLE_GROUP, EXAMPLE_BLOCKS = (6, 6), 3, 9


def order() -> Figure:
    c, blocks = sources.constants(ORDER_STAGE), device()["multiprocessors"]
    grid = ORDER_SIZE // c["BM"], ORDER_SIZE // c["BN"]
    canvas = Canvas("The order of blocks, and its footprint in L2")
    canvas.title()
    sizes = []
    for x, group, name in ((8, 1, "row by row"), (250, c["GROUP"], "in bands")):
        canvas.text(x, 46, f"{name}; the first {EXAMPLE_BLOCKS} blocks", "label bold")
        example = at_once(EXAMPLE_BLOCKS, *EXAMPLE_GRID, EXAMPLE_GROUP if group > 1 else 1)
        draw_order(canvas, x, 56, 192, 126, example, EXAMPLE_GRID, numbers=True)
        strips = footprint(example)
        canvas.text(x, 218, f"{strips[0]} strips of A + {strips[1]} of B")
        tiles = at_once(blocks, *grid, group)
        bands = f", bands of {group}" if group > 1 else ""
        canvas.text(x, 256, f"{blocks} blocks{bands}")
        draw_order(canvas, x, 266, 192, 192, tiles, grid)
        a, b = footprint(tiles)
        size = (a * c["BM"] + b * c["BN"]) * ORDER_SIZE * HALF_BYTES / 1e6
        sizes.append(size)
        canvas.text(x, 494, f"{a} strips of A + {b} of B")
        canvas.text(x, 513, f"= {size:.0f} MB", "label bold")
    size = f"{ORDER_SIZE}x{ORDER_SIZE}"
    canvas.text(8, 536, f"below: C of {size}, fp16, in tiles of {c['BM']}x{c['BN']}", "small soft")
    return canvas.figure(
        548,
        f"Blocks that run at the same time (solid green) read strips of A (blue) and of B "
        f"(orange): {sizes[0]:.0f} MB where they are numbered row by row, {sizes[1]:.0f} MB in "
        f"bands that are {c['GROUP']} tiles high.",
    )


def tiles_at(stage: str, size: int) -> int:
    c = sources.constants(stage)
    return -(-size // c["BM"]) * -(-size // c["BN"])


def waves() -> Figure:
    c, places = sources.constants(WAVES_STAGE), device()["multiprocessors"]
    canvas = Canvas(f"Waves: tiles of {c['BM']}x{c['BN']} on {places} multiprocessors")
    canvas.title()
    canvas.text(8, 45, "a bar is a wave; its width, the multiprocessors", "small soft")
    y, unit, shares = 60, 300 / places, {}
    for size in WAVES_SIZES:
        tiles = tiles_at(WAVES_STAGE, size)
        count = -(-tiles // places)
        shares[size] = tiles / (count * places)
        used = f"{shares[size]:.0%} of the places"
        words = f"{size}: {tiles} tiles, {tiles / places:.2f} waves: {used}"
        canvas.text(8, y + 14, words, "label bold")
        y += 24
        for wave in range(count):
            busy = min(places, tiles - wave * places)
            canvas.text(8, y + 14, f"wave {wave + 1}", "small")
            canvas.rect(70, y, places * unit, 18, "gray faint")
            canvas.rect(70, y, busy * unit, 18, "c strong" if busy == places else "b strong")
            canvas.text(380, y + 14, f"{busy} busy", "small")
            y += 22
        y += 14
    return canvas.figure(
        y,
        f"Every wave takes as long as a full one: at {WAVES_SIZES[1]} the last one (orange) leaves "
        f"most multiprocessors idle, and {shares[WAVES_SIZES[1]]:.0%} of the places are used; at "
        f"{WAVES_SIZES[2]} it is nearly full.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"order": order, "waves": waves}
