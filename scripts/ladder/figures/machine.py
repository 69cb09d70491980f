"""The GPU that was measured: its memories and a multiprocessor."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from ladder import counters as ncu
from ladder.figures.svg import Canvas, Figure
from ladder.project import RESULTS, BadInput
from ladder.results import load

# What no result has. Sources: the CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability", 9.0, for what is of a multiprocessor; cudaDevAttrL2CacheSize of the H200 that was
# measured; NVIDIA's data sheet of the H200 for device memory.
REGISTERS_KB, L1_KB, SHARED_KB, L2_MB, DEVICE_GB = 256, 256, 227, 60, 141
SCHEDULERS, FMA_LANES, REGISTER_BANKS = 4, 32, 2  # lanes and banks of each scheduler
SHARED_BYTES = 128  # of 32 banks, a clock
SECTOR = 32


def device() -> dict:
    """Of the results that the docs show."""
    return device_of(RESULTS)


@cache  # figures ask for each of their tiles
def device_of(results: Path) -> dict:
    devices = [r["device"] for r in load(results)]
    if any(d["name"] != devices[0]["name"] for d in devices):
        raise BadInput("results of several devices")
    return devices[0]


def l2_tb_s() -> float:
    """The most that a kernel of the ladder received from L2, on average of its time."""
    kernels = ncu.at_4096(RESULTS).values()
    variants = [variant for kernel in kernels for variant in kernel.values()]
    # bytes in a nanosecond are GB in a second
    rates = [v[ncu.LIMITS["sm_sectors"]] * SECTOR / v[ncu.TIME] for v in variants]
    return max(rates) / 1000


def tb_s(bytes_a_clock: int) -> float:
    """Of all multiprocessors at the highest clock."""
    gpu = device()
    return bytes_a_clock * gpu["multiprocessors"] * gpu["clock_mhz"] * 1e6 / 1e12


def hierarchy() -> Figure:
    gpu = device()
    count = gpu["multiprocessors"]
    operands = SCHEDULERS * FMA_LANES * REGISTER_BANKS * 4
    registers, shared, l2 = tb_s(operands), tb_s(SHARED_BYTES), l2_tb_s()
    memory = gpu["memory_gb_s"] / 1000
    levels = [
        ("registers", "d", f"{REGISTERS_KB} KB a multiprocessor", registers, "by banks and clock"),
        ("shared memory and L1", "c", f"{L1_KB} KB a multiprocessor", shared, "by banks and clock"),
        ("L2", "b", f"{L2_MB} MB, shared by all", l2, "the most that a kernel here got"),
        ("device memory", "a", f"{DEVICE_GB} GB", memory, "by its clock and width"),
    ]
    canvas = Canvas(f"Memories of the {gpu['name'].removeprefix('NVIDIA ')}")
    canvas.title()
    y = 40
    for number, (name, kind, size, rate, why) in enumerate(levels):
        for behind in (8, 4) if number < 2 else ():  # one each multiprocessor
            canvas.rect(8 + behind, y + 8 - behind, 456, 66, f"{kind} faint")
        canvas.rect(8, y + 8, 456, 66, kind)
        canvas.text(18, y + 28, name, "label bold")
        canvas.text(454, y + 28, size, "label", "end")
        canvas.text(18, y + 48, f"{rate:.1f} TB/s, {why}", "label")
        canvas.rect(18, y + 56, 436 * rate / registers, 10, f"{kind} strong")
        if number < 2:
            canvas.text(454, y + 48, f"x {count}", "label", "end")
        if number < 3:
            canvas.arrow(236, y + 96, 236, y + 76)
        y += 96 if number else 98
    return canvas.figure(
        y - 6,
        "The nearer a memory is to the arithmetic, the smaller it is and the more bytes it gives "
        "in a second (the solid bars, to one scale).",
    )


def sm() -> Figure:
    canvas = Canvas("A multiprocessor (SM)")
    canvas.title()
    width = 108
    registers = REGISTERS_KB // SCHEDULERS
    parts = [
        ("scheduler:", "1 instruction", "d"),
        (f"registers {registers} KB", f"in {REGISTER_BANKS} banks", "a"),
        (f"{FMA_LANES} lanes for", "fp32 FMAs", "c"),
        ("tensor core", "for fp16", "b"),
    ]
    for number in range(SCHEDULERS):
        x = 8 + number * (width + 10)
        canvas.rect(x, 40, width, 236, "gray faint")
        canvas.text(x + width / 2, 58, f"warps {number}, {number + 4}, ...", "small", "middle")
        for row, (first, second, kind) in enumerate(parts):
            top = 68 + row * 51
            canvas.rect(x + 4, top, width - 8, 46, kind)
            canvas.text(x + width / 2, top + 19, first, "small", "middle")
            canvas.text(x + width / 2, top + 37, second, "small", "middle")
        canvas.arrow(x + width / 2, 300, x + width / 2, 278)
    canvas.rect(8, 300, 462, 50, "c")
    canvas.text(18, 321, f"shared memory and L1: {L1_KB} KB, {SHARED_BYTES // 4} banks of 4 bytes")
    canvas.text(
        18, 340, f"of it shared: up to {SHARED_KB} KB a block; {SHARED_BYTES} bytes a clock"
    )
    canvas.rect(8, 372, 226, 30, "b")
    canvas.text(18, 392, "TMA: copies whole tiles")
    canvas.arrow(120, 372, 120, 352)
    canvas.arrow(350, 402, 350, 352)
    canvas.text(362, 392, "L2")
    return canvas.figure(
        414,
        "A multiprocessor has four schedulers, each with its own warps, registers, FMA lanes and "
        "tensor core. All four share one shared memory.",
    )


FIGURES: dict[str, Callable[[], Figure]] = {"hierarchy": hierarchy, "sm": sm}
