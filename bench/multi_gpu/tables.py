#!/usr/bin/env python3
"""Writes the tables of several GPUs into the pages of stages 12 to 12d, from what multi_gpu has
measured and adopt.py has taken into docs/results/multi_gpu: times_all-gather and
times_reduce-scatter, each of one run, timelines, async_tp, beside, of what stands beside that, and
four, of four GPUs.

tables.py [--check]     --check: writes nothing, exit code 1 where a page is not up to date

Exit code: 0 all right, 1 see --check, 2 bad input.

A table stands between <!--gpus KIND ARGUMENTS--> and <!--/gpus-->.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from ladder.command import run
from ladder.files import at_least_1, one_line, positive, read_lines, read_text
from ladder.project import ROOT, BadInput

RESULTS = ROOT / "docs/results/multi_gpu"
OPERATIONS = ("all-gather", "reduce-scatter")
PRODUCT = {"operation": OPERATIONS, "m": at_least_1, "n": at_least_1, "k": at_least_1}
VARIANT = {"name": one_line, "ms": positive, "percent_of_ideal?": positive}
TIMING = PRODUCT | {
    **{f"{name}_ms": positive for name in ("multiplication", "communication", "ideal")},
    "bytes_per_rank": positive,
    "variants": [VARIANT, ...],
}
# What multi_gpu --json writes; the same of four GPUs, and of cuBLASMp.
TIMINGS = {"ranks?": int, "gpus?": int, "timings": [TIMING, ...]}
TIMELINE = PRODUCT | {"variant": one_line, "times": [{"what": one_line, "us": float}]}
TIMELINES = {"timelines": [TIMELINE]}
WAYS = ("multiplication", "NCCL alone", "NCCL, then cuBLAS", "AsyncTP")
ASYNC_TP = {
    "timings": [
        PRODUCT | {"largest_difference": float, "ms": {name: positive for name in WAYS}},
        ...,
    ]
}
BLOCK = re.compile(
    r"<!--gpus (?P<kind>[a-z]+) ?(?P<arguments>[^\n]*?)-->\n.*?<!--/gpus-->", re.DOTALL
)


def table(header, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)


def timings(results, operation):
    return [t for t in results["timings"] if t["operation"] == operation]


def shape(timing):
    sizes = [timing[key] for key in "mnk"]
    return f"{sizes[0]}^3" if len(set(sizes)) == 1 else "x".join(map(str, sizes))


def at(by_shape, timing):
    """What there is of the same shape."""
    if shape(timing) not in by_shape:
        raise BadInput(f"{RESULTS}: nothing of {shape(timing)}")
    return by_shape[shape(timing)]


def times(results, operation, *variants):
    """Milliseconds of the best parts alone, then those of each variant and its percent of ideal."""
    of = timings(results, operation)
    rows = [["multiplication alone", *(f"{t['multiplication_ms']:.3f}" for t in of)]]
    cells = []
    for t in of:
        ms = t["communication_ms"]
        cells.append(f"{ms:.3f} ({t['bytes_per_rank'] / ms / 1e6:.0f} GB/s)")
    rows.append(["communication alone", *cells])
    for name in variants:
        cells = []
        for t in of:
            found = [v for v in t["variants"] if v["name"] == name]
            if not found:
                raise BadInput(f"{RESULTS}: no '{name}' of {shape(t)}")
            percent = found[0].get("percent_of_ideal")  # a part alone has none
            cells.append(f"{found[0]['ms']:.3f}" + (f" ({percent:.1f}%)" if percent else ""))
        rows.append([name, *cells])
    return table([f"{operation}, ms (of ideal)", *map(shape, of)], rows)


def timeline(results, operation, variant, size):
    for entry in results["timelines"]:
        if [entry["operation"], entry["variant"], shape(entry)] == [operation, variant, size]:
            return table(["us", ""], [[f"{t['us']:.0f}", t["what"]] for t in entry["times"]])
    raise BadInput(f"{RESULTS}: no times of {variant} of {size}")


def others(results, operation, *ours):
    """Milliseconds of other libraries' ways and of our variants, each with its percent of the
    ideal: the longer of the multiplication in the same process and our communication."""
    of = timings(results["beside"], operation)
    torch = {shape(t): t for t in timings(results["async_tp"], operation)}

    def row(name, times):
        cells = [
            f"{ms:.3f} ({100 * ideal / ms:.1f}%)" if ms else "not measured" for ms, ideal in times
        ]
        return [name, *cells]

    def fastest(name):
        """Of the variants with such a name: cuBLASMp may refuse one and take another."""
        for t in of:
            found = [v["ms"] for v in t["variants"] if re.match(name, v["name"])]
            yield min(found, default=None), t["ideal_ms"]

    def of_torch(name):
        for t in of:
            ms = at(torch, t)["ms"]
            yield ms[name], max(ms["multiplication"], t["communication_ms"])

    rows = [
        row("NCCL, cuBLAS", fastest("NCCL, cuBLAS$")),
        row("NCCL, cuBLAS through PyTorch", of_torch("NCCL, then cuBLAS")),
        row("AsyncTP", of_torch("AsyncTP")),
        row("cuBLASMp", fastest("cuBLASMp")),
        *(row(name, fastest(f"{re.escape(name)}$")) for name in ours),
    ]
    return table([f"{operation}, ms (of ideal)", *map(shape, of)], rows)


def law(results):
    """By the law alone, for more GPUs than were there."""
    network = 45.0
    m, n, k = 16384, 8192, 8192
    two = at({shape(t): t for t in timings(results, "all-gather")}, {"m": m, "n": n, "k": k})
    rate = 2.0 * m * n * k / 2 / two["multiplication_ms"]
    link = two["bytes_per_rank"] / two["communication_ms"] / 1e6
    rows = []
    for ranks in (2, 4, 8, 16, 32, 64):
        multiplication = 2.0 * m * n * k / ranks / rate
        bytes_ = 2.0 * m * k * (ranks - 1) / ranks
        cells = [str(ranks), f"{multiplication:.3f}"]
        for speed in (link, network):
            communication = bytes_ / speed / 1e6
            time = max(multiplication, communication)
            one = 2.0 * m * n * k / rate
            cells += [f"{communication:.3f}", f"{time:.3f}", f"{one / time:.1f}"]
        rows.append(cells)
    header = [
        "GPUs",
        "multiplication, ms",
        f"communication at {link:.0f} GB/s",
        "at least",
        "times one GPU",
        f"communication at {network:.0f} GB/s",
        "at least",
        "times one GPU",
    ]
    return table(header, rows)


def four(results, operation, *variants):
    """As times(), of four GPUs."""
    return times(results["four"], operation, *variants)


def computed(results, operation, variant):
    """What was measured on four GPUs beside what law() computes from two."""
    of = timings(results["four"], operation)
    by_shape = {shape(t): t for t in timings(results, operation)}

    def milliseconds(values):
        return [f"{ms:.3f}" for ms in values]

    two = [at(by_shape, t) for t in of]
    multiplication = [t["multiplication_ms"] / 2 for t in two]
    # The same rate for three quarters of what all ranks have, where two GPUs have a half of it.
    communication = [t["communication_ms"] * 3 / 2 for t in two]
    ran = [at({shape(t): v["ms"] for v in t["variants"] if v["name"] == variant}, t) for t in of]
    rows = [
        ["multiplication, computed", *milliseconds(multiplication)],
        ["multiplication alone", *milliseconds(t["multiplication_ms"] for t in of)],
        ["communication, computed", *milliseconds(communication)],
        ["communication alone", *milliseconds(t["communication_ms"] for t in of)],
        ["at least, computed", *milliseconds(map(max, multiplication, communication))],
        ["at least, as measured", *milliseconds(t["ideal_ms"] for t in of)],
        [variant, *milliseconds(ran)],
    ]
    return table([f"{operation} on four GPUs, ms", *map(shape, of)], rows)


KINDS = {
    "times": times,
    "timeline": timeline,
    "others": others,
    "law": law,
    "four": four,
    "computed": computed,
}


def pages():
    return sorted((ROOT / "docs").glob("12*.md"))


def load(name, kind):
    return read_lines(RESULTS / f"{name}.jsonl", kind)


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    results = {
        "timings": [
            timing
            for operation in OPERATIONS
            for timing in load(f"times_{operation}", TIMINGS)["timings"]
        ],
        "timelines": load("timelines", TIMELINES)["timelines"],
        "beside": load("beside", TIMINGS),
        "async_tp": load("async_tp", ASYNC_TP),
        "four": load("four", TIMINGS),
    }

    def block(match):
        arguments = [a.strip() for a in match["arguments"].split("|")] if match["arguments"] else []
        try:
            body = KINDS[match["kind"]](results, *arguments)
        except (KeyError, TypeError) as error:  # no such kind, or another number of arguments
            raise BadInput(f"gpus {match['kind']} {match['arguments']}: {error}") from error
        space = " " if match["arguments"] else ""
        return f"<!--gpus {match['kind']}{space}{match['arguments']}-->\n{body}\n<!--/gpus-->"

    stale = []
    for page in pages():
        text = read_text(page)
        written = BLOCK.sub(block, text)
        if written != text:
            stale.append(page)
            if not options.check:
                page.write_text(written)
    for page in stale:
        print(f"{page.relative_to(ROOT)}: {'not up to date' if options.check else 'written'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(run("tables"))
