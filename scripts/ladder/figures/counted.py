"""What ncu counted at one size, for every stage: operations for each byte, why warps wait, how busy
the tensor pipe is, bytes by where they come from."""

import math
from collections.abc import Callable
from pathlib import Path

from ladder import counters as ncu
from ladder import manifest
from ladder.figures.measured import KINDS, SIZE, at_size, gpu
from ladder.figures.svg import Canvas, Figure
from ladder.project import BadInput
from ladder.results import own

SECTOR = 32  # bytes
NEAR = 13  # units between points that share a label
LEFT, RIGHT, ROW = 168, 472, 21  # where bars begin, where numbers end, the height of a row


def of_own(results: Path) -> list[tuple[dict, dict]]:
    """Every stage's report, and what was counted of its own variant."""
    counted = ncu.at_4096(results)
    pairs = []
    for report in at_size(results):
        found = counted.get(report["stage"], {}).get(own(report)["name"])
        if found is None:
            raise BadInput(f"no counters of {report['stage']}")
        pairs.append((report, found))
    return pairs


def on_tensor_cores(pairs: list[tuple[dict, dict]]) -> list[tuple[dict, dict]]:
    return [p for p in pairs if "tensor_cores" in manifest.stage(p[0]["stage"]).features]


def decades(least: float, most: float) -> list[float]:
    return [10.0**n for n in range(math.ceil(math.log10(least)), math.floor(math.log10(most)) + 1)]


def roofline(results: Path) -> Figure:
    pairs = of_own(results)
    points = []
    for report, counted in pairs:
        moved = counted[ncu.LIMITS["dram_bytes"]] + counted[ncu.DRAM_WRITTEN]
        kind = report["problem"]["input"]
        label = manifest.stage(report["stage"]).label
        points.append((2.0 * SIZE**3 / moved, own(report)["tflops"], kind, label))
    peaks = {r["problem"]["input"]: r["device"]["peak_tflops"] for r, _ in pairs}
    bandwidth = pairs[0][0]["device"]["memory_gb_s"] / 1000
    x_range = 0.6, 20 * max(p[0] for p in points)  # with room for labels at both ends
    y_range = min(bandwidth * x_range[0], min(p[1] for p in points)) / 1.5, 2 * max(peaks.values())
    left, top, width, height = 44, 62, 420, 360

    def at(x: float, y: float) -> tuple[float, float]:
        def part(value: float, ends: tuple[float, float]) -> float:
            return math.log(value / ends[0]) / math.log(ends[1] / ends[0])

        return left + width * part(x, x_range), top + height * (1 - part(y, y_range))

    canvas = Canvas(f"Roofline of device memory, {gpu(results)}, {SIZE}^3")
    canvas.title()
    canvas.text(8, 48, "TFLOP/s", "small soft")
    canvas.rect(left, top, width, height)
    for x in decades(*x_range):
        canvas.text(at(x, 1)[0], top + height + 17, f"{x:.0f}", "small soft", "middle")
    for y in decades(*y_range):
        canvas.text(left - 6, at(1, y)[1] + 4, f"{y:.0f}", "small soft", "end")
    for peak in sorted(set(peaks.values())):
        kinds = [kind for kind in peaks if peaks[kind] == peak]
        corner = peak / bandwidth
        roof = [(x_range[0], bandwidth * x_range[0]), (corner, peak), (x_range[1], peak)]
        canvas.path([at(*p) for p in roof], f"{KINDS[kinds[0]]} wide")
        x, y = at(corner, peak)
        canvas.text(x - 8, y + 4, f"{', '.join(kinds)}: {peak:.0f} TFLOP/s", "small", "end")
    canvas.text(*at(1, bandwidth * 0.75), f"{bandwidth:.1f} TB/s", "small")
    for kind in peaks:
        with canvas.kind(kind):
            for x, y, of, label in points:
                if of == kind:
                    words = f"{label}: {y:.0f} TFLOP/s, {x:.0f} operations for each byte"
                    canvas.circle(*at(x, y), 4, KINDS[kind], words)
    groups = clusters(points, at)
    for group in groups:
        first, last = min(p[0][0] for p in group), max(p[0][0] for p in group)
        y = sum(p[0][1] for p in group) / len(group)
        others = [place for g in groups if g is not group for place, _, _ in g]
        in_the_way = any(0 < x - last < 40 and abs(o - y) < 14 for x, o in others)
        side = (first - 8, y + 4) if in_the_way else (last + 8, y + 4)
        words = named([label for _, _, label in group])
        canvas.text(*side, words, "small", "end" if in_the_way else "start")
    canvas.text(left, top + height + 36, "operations for each byte of device memory, as counted")
    return canvas.figure(
        top + height + 48,
        "No stage touches the slope, which is the bandwidth: what separates them from their flat "
        "roof, the peak of their type, is inside the multiprocessor.",
    )


def clusters(points, at) -> list[list[tuple]]:
    """Points of a color of which each is near the one before have one label."""
    groups: list[list[tuple]] = []
    for x, y, kind, label in sorted(points, key=lambda p: (KINDS[p[2]], p[1])):
        point = (at(x, y), KINDS[kind], label)
        near = [g for g in groups if g[-1][1] == point[1] and math.dist(g[-1][0], point[0]) < NEAR]
        if near:
            near[-1].append(point)
        else:
            groups.append([point])
    return groups


def named(labels: list[str]) -> str:
    """The stages of a label, those that follow each other in the ladder as "09 to 13b"."""
    ladder = [stage.label for stage in manifest.load().values()]
    runs: list[list[str]] = []
    for label in sorted(labels, key=ladder.index):
        if runs and ladder.index(label) == ladder.index(runs[-1][-1]) + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(f"{r[0]} to {r[-1]}" if len(r) > 2 else ", ".join(r) for r in runs)


REASON_KINDS = [
    *("a strong", "b strong", "c strong", "d strong", "hot strong", "gray strong"),
    *("a", "b", "c"),
    "gray faint",
]


def stalls(results: Path) -> Figure:
    pairs = of_own(results)
    waits = [ncu.stalls(counted) for _, counted in pairs]
    reasons = sorted(waits[0], key=lambda reason: -sum(w.get(reason, 0) for w in waits))
    shown = reasons[: len(REASON_KINDS) - 1]
    canvas = Canvas(f"Why warps wait, {gpu(results)}, {SIZE}^3")
    canvas.title()
    for place, (reason, kind) in enumerate(zip([*shown, "other"], REASON_KINDS, strict=True)):
        x, y = 8 + place % 3 * 156, 36 + place // 3 * 20
        canvas.rect(x, y, 14, 14, kind)
        canvas.text(x + 20, y + 12, reason, "small")
    y = 36 + -(-len(REASON_KINDS) // 3) * 20 + 10
    totals = [sum(w.values()) for w in waits]
    unit = (RIGHT - 44 - LEFT) / max(totals)
    for (report, _), wait, total in zip(pairs, waits, totals, strict=True):
        canvas.text(LEFT - 6, y + 15, report["stage"], "small", "end")
        parts = [wait[reason] for reason in shown]
        x = float(LEFT)
        for value, kind in zip([*parts, total - sum(parts)], REASON_KINDS, strict=True):
            if value * unit > 0.05:
                canvas.rect(x, y + 2, value * unit, ROW - 5, f"{kind} bare")
            x += value * unit
        canvas.text(RIGHT, y + 15, f"{total:.1f}", "small", "end")
        y += ROW
    return canvas.figure(
        y + 8,
        "Warps that wait, for each instruction issued, by reason; the number is their sum. What a "
        "step removes is seen in its colour.",
    )


def tensor(results: Path) -> Figure:
    canvas = Canvas(f"Tensor pipe and clock, {gpu(results)}, {SIZE}^3")
    canvas.title()
    every = ncu.at_4096(results)
    left, y, unit = 176, 34, 180 / 100
    canvas.text(left, y + 10, "busy, % of the time", "small soft")
    canvas.text(RIGHT, y + 10, "GHz", "small soft", "end")
    y += 16
    for report, _ in on_tensor_cores(of_own(results)):
        for name, counted in every[report["stage"]].items():
            mine = name == own(report)["name"]
            label = f"{manifest.stage(report['stage']).label} {name}"
            busy = counted[ncu.LIMITS["tensor_pipe"]]
            canvas.text(left - 6, y + 15, label, "small bold" if mine else "small", "end")
            kind = "b strong bare" if mine else "b bare"
            canvas.rect(left, y + 2, busy * unit, ROW - 5, kind)
            canvas.text(left + busy * unit + 6, y + 15, f"{busy:.0f}", "small")
            clock = counted[ncu.LIMITS["clock"]] / 1e9
            canvas.text(RIGHT, y + 15, f"{clock:.2f}", "small", "end")
            y += ROW
    return canvas.figure(
        y + 8,
        "How much of the time the tensor pipe is busy, and at which clock: stages' own variants "
        "solid, others pale. A busy cycle of mma.sync (06 to 08) does less than one of wgmma.",
    )


def traffic(results: Path) -> Figure:
    canvas = Canvas(f"Bytes that are moved, {gpu(results)}, {SIZE}^3")
    canvas.title()
    sources = {
        "received by the multiprocessors": ("sm_sectors", SECTOR, "d strong"),
        "read from L2": ("l2_sectors", SECTOR, "b strong"),
        "read from device memory": ("dram_bytes", 1, "a strong"),
    }
    y = 36
    for words, (_, _, kind) in sources.items():
        canvas.rect(8, y, 14, 14, kind)
        canvas.text(28, y + 12, words)
        y += 20
    canvas.text(RIGHT, y - 8, "GB", "small soft", "end")
    pairs = on_tensor_cores(of_own(results))
    most = max(counted[ncu.LIMITS["sm_sectors"]] * SECTOR for _, counted in pairs)
    unit, y = (RIGHT - 44 - LEFT) / most, y + 6
    for report, counted in pairs:
        canvas.text(LEFT - 6, y + 29, report["stage"], "small", "end")
        for place, (counter, scale, kind) in enumerate(sources.values()):
            value, top = counted[ncu.LIMITS[counter]] * scale, y + place * 15
            canvas.rect(LEFT, top, value * unit, 12, f"{kind} bare")
            canvas.text(RIGHT, top + 11, f"{value / 1e9:.2f}", "small", "end")
        y += 54
    return canvas.figure(
        y + 2,
        "What the multiprocessors receive falls where tiles are larger (06b) and where rows need "
        "no padding (07b); L2 gives less than they receive where requests are merged on the way.",
    )


OF_RESULTS: dict[str, Callable[[Path], Figure]] = {
    "roofline": roofline,
    "stalls": stalls,
    "tensor": tensor,
    "traffic": traffic,
}
