"""The 64 bits of a wgmma descriptor."""

import re
from collections.abc import Callable

from ladder.figures import sources
from ladder.figures.svg import Canvas, Figure
from ladder.files import read_text

STAGE = sources.stage_of("wgmma")
WORD, CELL = 32, 14  # bits a row, units a bit
FIELDS = {  # as wgmma_descriptor's expression names what it shifts
    "address": ("a", "address / 16"),
    "leading_bytes": ("b", "leading distance / 16"),
    "stride_bytes": ("c", "stride / 16"),
    "SWIZZLE_128B": ("d", "swizzle"),
}
BITS = {"address": 14, "leading_bytes": 14, "stride_bytes": 14, "SWIZZLE_128B": 2}  # PTX ISA


def expression() -> str:
    text = read_text(sources.KERNELS / "ptx/wgmma.cuh")
    body = text[text.index("wgmma_descriptor") :]
    return re.sub(r"\s+", " ", re.search(r"return ([^;]+);", body)[1])


def shifts() -> dict[str, int]:
    """The lowest bit of each field."""
    found = {}
    for part in expression().split(" | "):
        name = re.search(r"[A-Za-z]\w+", part)[0]
        place = re.search(r"<< (\d+)$", part)
        found[name] = int(place[1]) if place else 0
    return found


def descriptor(address: int, leading_bytes: int, stride_bytes: int) -> int:
    known = {"address": address, "leading_bytes": leading_bytes, "stride_bytes": stride_bytes}
    return sources.value(expression(), known | {"SWIZZLE_128B": 1})


def field_at(bit: int) -> str | None:
    return next((f for f, low in shifts().items() if low <= bit < low + BITS[f]), None)


def draw_bits(canvas: Canvas, y: float, value: int) -> None:
    """Two rows of 32, the highest bit first."""
    for bit in range(64):
        row, column = (63 - bit) // WORD, (63 - bit) % WORD
        x, top = 16 + column * CELL, y + row * 26
        field = field_at(bit)
        kind = FIELDS[field][0] if field else "gray faint"
        canvas.box(x, top, CELL, 20, str(value >> bit & 1), f"{kind} thin")


def draw() -> Figure:
    c = sources.constants(STAGE)
    half = 2
    tile_a = c["BM"] * c["BK"] * half
    operands = [
        ("A's tile, rows along k", 0, 0, 8 * c["BK"] * half),
        ("B's tile, rows along n", tile_a, c["BK"] * c["BOX"] * half, 8 * c["BOX"] * half),
    ]
    canvas = Canvas("A wgmma descriptor: 64 bits")
    canvas.title()
    y = 36
    for name, low in sorted(shifts().items(), key=lambda item: item[1]):
        kind, words = FIELDS[name]
        canvas.rect(16, y, 20, 16, kind)
        canvas.text(44, y + 13, f"bits {low} to {low + BITS[name] - 1}: {words}")
        y += 22
    canvas.text(
        16, y + 12, "gray: 0. Distances and address in 16 bytes; bit 63 first", "small soft"
    )
    y += 40
    for name, address, leading, stride in operands:
        canvas.text(16, y, f"{name}, at byte {address}", "label bold")
        words = f"leading {leading} / 16 = {leading // 16}, stride {stride} / 16 = {stride // 16}"
        canvas.text(16, y + 19, words if leading else f"stride {stride} / 16 = {stride // 16}")
        draw_bits(canvas, y + 28, descriptor(address, leading, stride))
        y += 112
    return canvas.figure(
        y - 22,
        "A descriptor says where in shared memory an operand begins, how far apart its units of "
        "eight rows of 128 bytes lie in both directions, and how it is swizzled.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"descriptor": draw}
