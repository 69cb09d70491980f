"""The order of blocks and what they share in L2, and the waves in which they come."""

from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.machine import device
from ladder.figures.svg import Canvas, Figure

ORDER_STAGE, ORDER_SIZE, HALF_BYTES = sources.stage_of("wgmma"), 8192, 2
WAVES_STAGE, WAVES_SIZES = sources.stage_of("split_barrier"), (1024, 3072, 4096)


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


def draw_order(canvas: Canvas, x: float, y: float, w: float, h: float, tiles, grid) -> None:
    """C with the first blocks' tiles, and the strips of A and B that they read beside it."""
    rows, columns = grid
    left, top = x + STRIP + 3, y + STRIP + 3
    cell_w, cell_h = w / columns, h / rows
    canvas.rect(x, top, STRIP, h, "a faint")
    canvas.rect(left, y, w, STRIP, "b faint")
    canvas.rect(left, top, w, h, "c faint")
    for row in sorted({r for r, _ in tiles}):
        canvas.rect(x, top + row * cell_h, STRIP, cell_h, "a strong thin")
    for column in sorted({c for _, c in tiles}):
        canvas.rect(left + column * cell_w, y, cell_w, STRIP, "b strong thin")
    for row, column in tiles:
        canvas.rect(left + column * cell_w, top + row * cell_h, cell_w, cell_h, "c strong thin")


def draw_example(canvas: Canvas, x: float, y: float, group: int) -> tuple[int, int]:
    """A small C whose tiles have their blocks' numbers. How many strips the first ones read."""
    w, h = 192, 126
    rows, columns = EXAMPLE_GRID
    tiles = at_once(EXAMPLE_BLOCKS, rows, columns, group)
    draw_order(canvas, x, y, w, h, tiles, EXAMPLE_GRID)
    for number, (row, column) in enumerate(at_once(rows * columns, rows, columns, group)):
        middle = x + STRIP + 3 + (column + 0.5) * w / columns
        base = y + STRIP + 8 + (row + 0.5) * h / rows
        font = "small on" if number < EXAMPLE_BLOCKS else "small"
        canvas.text(middle, base, str(number), font, "middle")
    return footprint(tiles)


STRIP = 12  # units that a strip of A or B is wide
EXAMPLE_GRID, EXAMPLE_GROUP, EXAMPLE_BLOCKS = (6, 6), 3, 9


def order() -> Figure:
    c, blocks = sources.constants(ORDER_STAGE), device()["multiprocessors"]
    grid = ORDER_SIZE // c["BM"], ORDER_SIZE // c["BN"]
    canvas = Canvas("The order of blocks, and its footprint in L2")
    canvas.title()
    sizes = []
    for x, group, name in ((8, 1, "row by row"), (250, c["GROUP"], "in bands")):
        canvas.text(x, 46, f"{name}; the first {EXAMPLE_BLOCKS} blocks", "label bold")
        strips = draw_example(canvas, x, 56, EXAMPLE_GROUP if group > 1 else 1)
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
    canvas = Canvas(f"Waves: {c['BM']}x{c['BN']} tiles, {places} multiprocessors")
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
