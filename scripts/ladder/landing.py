"""What the site's first page begins with: a block's tile as it grows from 01 to 09, where to go,
and four facts. docs/assets/landing.js moves the drawing; without it, and for readers who want no
motion, it shows 09.
"""

import json
from html import escape

from ladder import manifest
from ladder.exercises.catalogue import all_exercises
from ladder.figures import sweep, tiles
from ladder.files import read_text
from ladder.project import RESULTS, ROOT
from ladder.results import own, read_report
from ladder.sweep_records import SWEEP, merge, read_lines, rows_of

SIZE, DEPTH = 512, 256  # of the part of C, and of K, that is drawn
UNIT = 132 / SIZE  # of an element of a matrix
ZOOM = 0.5  # of an element of the tile by itself
LEFT, TOP = 92, 98  # of C
RIGHT, WIDTH = 262, 210  # where the tile by itself begins; of the widest bar
LEGEND = (
    "Orange is the tile of C that a block computes, light blue what it reads of A and B for it, "
    "dark blue the part of these that it has at one time. The bar is the speed at 4096."
)
BUTTONS = (
    ("Start at 01", f"{next(iter(manifest.load()))}.html"),
    ("I have no GPU", "cpu_device.html"),
    ("Use the library", "library.html"),
)


def shown() -> list[str]:
    """Up to the first stage with wgmma, those that are faster than all before them."""
    found: list[str] = []
    for name, stage in manifest.load().items():
        if not found or speed_of(name) > speed_of(found[-1]):
            found.append(name)
        if "wgmma" in stage.features:
            break
    return found


def speed_of(stage: str) -> float:
    return own(read_report(RESULTS, stage, 4096))["tflops"]


def frame(stage: str) -> dict:
    """What differs from stage to stage: rectangles as x, y, width and height, lines, and words."""
    t, report = tiles.of_stage(stage), read_report(RESULTS, stage, 4096)
    middle, speed = SIZE / 2 * UNIT, speed_of(stage)
    width, height, deep = t.bn * UNIT, t.bm * UNIT, max((t.bk or 1) * UNIT, 1.5)
    tall = [y * t.wm * ZOOM for y in range(1, t.bm // t.wm)] if t.group else []
    wide = [x * t.wn * ZOOM for x in range(1, t.bn // t.wn)] if t.group else []
    lines = [f"M{RIGHT} {40 + y:g}h{t.bn * ZOOM:g}" for y in tall if t.wm * ZOOM >= 3]
    lines += [f"M{RIGHT + x:g} 40v{t.bm * ZOOM:g}" for x in wide]
    depth = f"steps of {t.bk} along K" if t.bk else "no shared memory"
    return {
        "strip-a": (16, TOP + middle, DEPTH * UNIT, height),
        "strip-b": (LEFT + middle, 22, width, DEPTH * UNIT),
        "part-a": (16, TOP + middle, deep, height),
        "part-b": (LEFT + middle, 22, width, deep),
        "tile": (LEFT + middle, TOP + middle, width, height),
        "zoom": (RIGHT, 40, t.bn * ZOOM, t.bm * ZOOM),
        "bar": (RIGHT, 220, WIDTH * speed / fastest(), 10),
        "lines": "".join(lines),
        "name": manifest.stage(stage).label,
        "parts": f"tile and {t.group}s" if t.group else "tile",
        "what": f"{t.bm} x {t.bn}, {depth}",
        "speed": f"{speed:.1f} TFLOP/s in {report['problem']['input']}",
    }


def fastest() -> float:
    return speed_of(shown()[-1])


def rect(name: str, place: tuple) -> str:
    x, y, width, height = (f"{round(number, 2):g}" for number in place)
    return f'<rect data-part="{name}" x="{x}" y="{y}" width="{width}" height="{height}"/>'


def text(x: float, y: float, content: str, name: str = "") -> str:
    part = f' data-part="{name}"' if name else ""
    return f'<text x="{x:g}" y="{y:g}"{part}>{escape(content)}</text>'


def drawing() -> str:
    frames = [frame(stage) for stage in shown()]
    last, c = frames[-1], SIZE * UNIT
    parts = [
        text(16, 92, "A"),
        text(LEFT, 18, "B"),
        text(LEFT + c - 10, TOP + c + 16, "C"),
        rect("matrix", (16, TOP, DEPTH * UNIT, c)),
        rect("matrix", (LEFT, 22, c, DEPTH * UNIT)),
        rect("matrix", (LEFT, TOP, c, c)),
        *(rect(name, last[name]) for name in last if isinstance(last[name], tuple)),
        f'<path data-part="lines" d="{last["lines"]}"/>',
        text(RIGHT, 28, last["parts"], "parts"),
        text(RIGHT, 186, last["what"], "what"),
        text(RIGHT, 212, last["speed"], "speed"),
        text(RIGHT + WIDTH, 28, last["name"], "name"),
    ]
    words = (
        "A block's tile of C, the strips of A and B that it reads, and its warps, from stage 01 to "
        "09: the tile grows, and so does the speed."
    )
    return (
        f'<svg viewBox="0 0 480 250" role="img" aria-label="{words}" '
        f"data-frames='{escape(json.dumps(frames), quote=True)}'>{''.join(parts)}</svg>"
    )


def facts() -> list[tuple[str, str]]:
    stages = [*manifest.load(), *manifest.with_own_harness()]
    rows = rows_of(merge(read_lines(RESULTS / SWEEP), "fp16").values())
    last = sweep.stages_of(rows)[-1]
    there = [row for row in rows if last in row.stages]
    faster = sum(row.percent_of_cublas(row.stages[last]) > 100 for row in there)
    label = manifest.stage(last).label
    claims = read_text(ROOT / "docs/claims.yaml").count("\n- id: ")
    return [
        (f"{len(stages)}", "stages, each one idea and one page"),
        (f"{faster} of {len(there)}", f"shapes at which {label} is faster than cuBLAS"),
        (f"{len(all_exercises())}", "exercises that a machine grades, without a GPU"),
        (f"{claims}", "claims that a script checks against measurements"),
    ]


def block() -> str:
    buttons = [
        f'<a class="md-button{" md-button--primary" * (place == 0)}" href="{page}">{words}</a>'
        for place, (words, page) in enumerate(BUTTONS)
    ]
    listed = [f"<div><dt>{number}</dt><dd>{words}</dd></div>" for number, words in facts()]
    return (
        f'<div class="landing">{drawing()}<button type="button" hidden>Pause</button>'
        f"<small>{LEGEND}</small>"
        f'<p class="landing-buttons">{" ".join(buttons)}</p><dl>{"".join(listed)}</dl></div>'
        '<script src="assets/landing.js"></script>'
    )
