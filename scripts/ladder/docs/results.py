"""Tables of what the harness measured: stages, variants, shapes, the machine."""

import re

from ladder import manifest, proved, steps, written
from ladder.docs import sources
from ladder.docs.text import number, table
from ladder.files import read_text
from ladder.measuring import ALL_VARIANTS_AT, DOCUMENTED, order
from ladder.project import BadInput
from ladder.results import AROUND, own, percent_of_best, terminal_table

# Shorter launches are not at the power limit: the host that enqueues them sets the pace.
HOST_PACED_MS = 0.02
BEST = "% of best"
NOT_COMPARED = "not compared"


def best_cell(variant: dict) -> str:
    return f"{percent_of_best(variant):.1f}" if "percent_of_best" in variant else NOT_COMPARED


def with_best(head: list[str], rows: list[list[str]], variants: list[dict]) -> None:
    """A column more, where the fastest of cublasLt's algorithms was measured."""
    if any("percent_of_best" in variant for variant in variants):
        head.append(BEST)
        for row, variant in zip(rows, variants, strict=True):
            row.append(best_cell(variant))


def elsewhere(stage: str, size: str, gpu: str) -> dict[str, str]:
    """Percent of cuBLAS by variant on a GPU beside the reference; under "" one answer for all."""
    if (stage, size) not in sources.reports(gpu):
        return {"": sources.lacks(gpu, stage) or "not measured"}
    found = sources.report(stage, size, gpu)
    return {v["name"]: f"{v['percent_of_cublas']:.1f}" for v in found["variants"]}


def own_elsewhere(stage: str, size: str, gpu: str) -> str:
    """The stage's own variant is the last."""
    return [*elsewhere(stage, size, gpu).values()][-1]


def page_of(stage: manifest.Stage) -> str:
    return f"[{stage.name}](/{stage.page})"


def idea(stage: manifest.Stage) -> str:
    """The first sentence of its page."""
    page = sources.ROOT / stage.page
    found = re.search(r"^# .*\n+(.*(?:\n.+)*)", read_text(page)) if page.exists() else None
    if not found:
        raise BadInput(f"{stage.page} does not begin with a heading and a sentence")
    return " ".join(found[1].split()).split(". ")[0].rstrip(".")


# Whose own speed does not show what they are for.
FIRST_STEPS = {"05": "05b", "06": "06c"}


def step_from(label: str) -> str:
    """What a first step leads to; "" for another stage."""
    for then in manifest.load().values():
        if then.label == FIRST_STEPS.get(label):
            percent = own(sources.report(then.name, DOCUMENTED[0]))["percent_of_cublas"]
            return f". It is the first step to {then.label}, {percent:.0f}% of cuBLAS"
    return ""


def stages() -> str:
    rows, missing, best = [], [], []
    for stage in map(manifest.stage, manifest.at_squares()):
        try:
            row = [page_of(stage), idea(stage) + step_from(stage.label)]
        except BadInput as error:
            missing += error.args
            continue
        shares = []
        if not stage.measured:
            row += ["not measured"] * (2 + len(sources.others())) * len(DOCUMENTED)
            rows.append([*row, proved.in_short(stage.name)])
            continue
        for size in DOCUMENTED:
            try:
                v = own(sources.report(stage.name, size))
            except BadInput as error:
                missing += error.args
                continue
            row += [f"{v['tflops']:.1f}", f"{v['percent_of_cublas']:.1f}"]
            shares.append(best_cell(v) if "percent_of_best" in v else "-")
        for gpu in sources.others():
            for size in DOCUMENTED:
                row.append(own_elsewhere(stage.name, size, gpu))
        rows.append([*row, proved.in_short(stage.name)])
        if {*shares} - {"-"}:
            best.append(f"{stage.name} {' and '.join(shares)}")
    if missing:
        raise BadInput(*missing)
    head = ["stage", "idea", "4096", "% of cuBLAS", "8192", "% of cuBLAS"]
    head += [f"{on(gpu)}, {size}" for gpu in sources.others() for size in DOCUMENTED]
    text = table([*head, "proved"], rows)
    if best:
        text += (
            "\n\ncuBLAS's own choice is not always the fastest of cublasLt's algorithms. Of the "
            f"fastest, with its own choice among them, percent at {' and '.join(DOCUMENTED)}: "
            f"{'; '.join(best)}."
        )
    return text


def milestones() -> str:
    """The stages of which the manifest says so, with what is new in a few words."""
    rows, missing = [], []
    for stage in (stage for stage in manifest.load().values() if stage.milestone):
        try:
            v = own(sources.report(stage.name, ALL_VARIANTS_AT))
        except BadInput as error:
            missing += error.args
            continue
        numbers = [f"{v['tflops']:.1f}", f"{v['percent_of_cublas']:.1f}"]
        rows.append([page_of(stage), stage.milestone, stage.types[0], *numbers])
    if missing:
        raise BadInput(*missing)
    return table(["stage", "what is new", "inputs", "TFLOP/s", "% of cuBLAS"], rows)


def summary(*names: str) -> str:
    """What scripts/run_all.sh prints of these stages in its last table."""
    reports = [sources.report(name, ALL_VARIANTS_AT) for name in names]
    return f"```\n{terminal_table(reports)}\n```"


def step_table() -> str:
    rows = []
    for step in steps.steps(manifest.MANIFEST):
        stage, parent = manifest.stage(step.stage), manifest.stage(step.parent)
        why = step.reason or ""
        counts = [*step.counts[1:], step.kept_words]
        rows.append([page_of(stage), page_of(parent), *counts, why])
    head = ["stage", "parent", "statements added", "removed", "kept of its kernel"]
    if any(row[-1] for row in rows):
        return table([*head, f"why more than {steps.LIMIT}"], rows)
    return table(head, [row[:-1] for row in rows])


def results(stage: str) -> str:
    variants = sources.report(stage, "4096")["variants"]
    there = {gpu: elsewhere(stage, "4096", gpu) for gpu in sources.others()}
    rows = []
    for v in variants:
        rows.append(
            [
                f"`{v['name']}`",
                number(v["time_ms"]["median"]),
                f"{v['tflops']:.1f}",
                f"{v['percent_of_cublas']:.1f}",
                *(percents.get("") or percents[v["name"]] for percents in there.values()),
                str(v["registers"]),
                f"{v['shared_bytes'] / 1024:.1f}",
                f"{100 * v['occupancy']:g}",
            ]
        )
    head = ["4096^3", "ms", "TFLOP/s", "% of cuBLAS", *(on(gpu) for gpu in there)]
    head += ["registers", "shared KB", "occupancy %"]
    with_best(head, rows, variants)
    return table(head, rows)


def on(gpu: str) -> str:
    return f"% on {sources.label(gpu)}"


def steady_state(variant: dict) -> str:
    if "sustained" not in variant:
        return "not measured"
    ms = variant["time_ms"]["median"]
    if min(ms, ms * variant["percent_of_cublas"] / 100) < HOST_PACED_MS:
        return "too short"
    return f"{variant['sustained']['percent_of_cublas']:.1f}"


def shapes(stage: str) -> str:
    of_stage = [size for name, size in sources.reports(sources.reference()) if name == stage]
    if not of_stage:
        raise BadInput(f"no results of {stage}")
    variants = {size: own(sources.report(stage, size)) for size in sorted(of_stage, key=order)}
    head = ["M x N x K", "TFLOP/s", "% of cuBLAS"]
    rows = [[s, f"{v['tflops']:.1f}", f"{v['percent_of_cublas']:.1f}"] for s, v in variants.items()]
    for gpu in sources.others():
        head.append(on(gpu))
        for row in rows:
            row.append(own_elsewhere(stage, row[0], gpu))
    with_best(head, rows, [*variants.values()])
    after = ""
    if any("sustained" in v for v in variants.values()):
        head.append("sustained")
        for row, variant in zip(rows, variants.values(), strict=True):
            row.append(steady_state(variant))
        after = "\n\nSustained: percent of cuBLAS without rests, at the power limit."
    text = table(head, rows) + after
    files = {f"{stage}_{size}" for size in variants}
    runs = sum(bool(files & {*run["files"]}) for run in sources.provenance())
    if runs > 1:
        text += (
            f"\n\nThese rows are from {runs} runs (`docs/results/h200/provenance.json`). H200s "
            "differ by about a point: two stages compare no closer than that."
        )
    return text


def facts(gpu: str) -> dict[str, str]:
    """Of a GPU, as the reports of the last stages of each type that it runs have them."""
    kinds = {"FP32": "fp32", "FP16": "fp16"}
    last = {words: last_report(gpu, kind) for words, kind in kinds.items()}
    device, half = (report["device"] for report in last.values())
    return {
        "": device["name"],
        "multiprocessors": str(device["multiprocessors"]),
        "highest clock": f"{device['clock_mhz']} MHz",
        "FP32 peak, FFMA": f"{device['peak_tflops']:.1f} TFLOP/s",
        "FP16 tensor peak": f"{half['peak_tflops']:.1f} TFLOP/s",
        "device memory, by its clock and width": f"{device['memory_gb_s']:.0f} GB/s",
        "cuBLAS FP32 / FP16 at 4096^3": " / ".join(
            f"{report['cublas']['tflops']:.1f}" for report in last.values()
        )
        + " TFLOP/s",
        "driver, toolkit": f"{device['driver']}, {device['toolkit']}",
    }


def last_report(gpu: str, kind: str) -> dict:
    of_kind = [s.name for s in manifest.load().values() if kind in s.types]
    found = [name for name in of_kind if (name, "4096") in sources.reports(gpu)]
    if not found:
        raise BadInput(f"no results of a stage in {kind} at 4096 on {sources.label(gpu)}")
    return sources.report(found[-1], "4096", gpu)


def around() -> str:
    """Each solution with its slow variants."""
    rows = []
    for kernel in written.read(sources.GPUS[sources.reference()], AROUND)["kernels"]:
        shares = (kernel["of_copy"], kernel.get("of_read"))
        rows.append(
            [
                f"`{kernel['exercise']}`",
                f"`{kernel['variant']}`",
                number(kernel["ms"]),
                f"{kernel['gb_per_s']:,.0f}",
                *("" if share is None else f"{100 * share:.0f}%" for share in shares),
            ]
        )
    return table(["exercise", "variant", "ms", "GB/s", "of copy", "of best read"], rows)


OF_SOME_PAIRS = {
    "registers": "registers",
    "spilled_bytes": "bytes spilled",
    "warps": "warps that fit",
    "error": "error",
}


def pairs() -> str:
    """Each variant of a pair with its time, as a part of the first one's. What is known only of
    some has a column if there are such."""
    rows, first = [], {}
    measured = written.read(sources.GPUS[sources.reference()], "programs/pairs")["pairs"]
    more = [key for key in OF_SOME_PAIRS if any(one.get(key) for one in measured)]
    for one in measured:
        slow = first.setdefault(one["pair"], one["ms"])
        rate = f"{one['gb_per_s']:,.0f}" if "gb_per_s" in one else ""
        known = [one.get(key, 0) for key in more]
        known = [(f"{x:.1e}" if isinstance(x, float) else f"{x}") if x else "" for x in known]
        name, variant = f"`{one['pair']}`", f"`{one['variant']}`"
        rows.append([name, variant, number(one["ms"]), f"{slow / one['ms']:.2f}", rate, *known])
    head = ["pair", "variant", "ms", "times as fast as the first", "GB/s"]
    return table([*head, *(OF_SOME_PAIRS[key] for key in more)], rows)


def attention(stage: str, *shapes: str) -> str:
    """What a stage of attention did at the shapes, by the names of their reports, or at all."""
    gpu, found = first_with(stage)
    if lacks := [shape for shape in shapes if shape not in found]:
        raise BadInput(f"docs/results has no {stage} at {', '.join(lacks)}")
    reports = [found[shape] for shape in shapes or found]
    reports.sort(key=lambda its: (its["width"], its["keys"], its["causal"]))
    first = reports[0]
    others = {name for name in names(first) if name.startswith("cuDNN")} or {"copy"}
    own_names = [f"`{name}`" for name in names(first) if name not in others]
    by = "GB/s" if "copy" in first else "TFLOP/s"
    head = [
        f"{by} on {sources.label(gpu)}",
        *own_names,
        *others,
        f"{own_names[-1]}, % of it",
    ]
    return table(head, [attention_row(its, others) for its in reports])


def rows(stage: str) -> str:
    """What a stage of operations on rows did, each variant in percent of a copy."""
    gpu, found = first_with(stage)
    reports = sorted(found.values(), key=lambda its: (its["operation"], its["width"], its["rows"]))
    names = [f"`{variant['name']}`" for variant in reports[0]["variants"]]
    head = [f"% of a copy on {sources.label(gpu)}", *names, "copy, GB/s"]
    return table(
        head,
        [
            [
                f"`{its['operation']}`, {its['rows']:,} x {its['width']:,} {its['type']}",
                *(f"{variant['percent_of_copy']:.1f}" for variant in its["variants"]),
                f"{its['copy']['gbytes_per_s']:,.0f}",
            ]
            for its in reports
        ],
    )


def packed(stage: str) -> str:
    """What a stage of products by numbers of four bits did: each variant's time, and its own one's
    as a part of a copy's rate and of cuBLAS's."""
    gpu, found = first_with(stage)
    reports = sorted(found.values(), key=lambda its: (its["type"], its["m"], its["n"] * its["k"]))
    names = [f"`{variant['name']}`" for variant in reports[0]["variants"]]
    head = [
        f"us on {sources.label(gpu)}",
        *names,
        "cuBLAS, 16 bits",
        f"{names[-1]}, % of cuBLAS",
        f"{names[-1]}, bytes per second, % of a copy's",
    ]
    return table(
        head,
        [
            [
                f"{its['m']:,} x {its['n']:,} x {its['k']:,}, {its['type']}",
                *(f"{1000 * variant['ms']:.1f}" for variant in its["variants"]),
                f"{1000 * its['cublas']['ms']:.1f}",
                f"{its['variants'][-1]['percent_of_cublas']:.0f}",
                f"{its['variants'][-1]['percent_of_copy']:.1f}",
            ]
            for its in reports
        ],
    )


def first_with(stage: str) -> tuple[str, dict[str, dict]]:
    """The first GPU that has reports of a stage with its own harness, and these by their shapes.
    Raises BadInput."""
    for gpu in sources.GPUS:
        if found := reports_of(gpu, f"programs/{stage}_"):
            return gpu, found
    raise BadInput(f"docs/results has nothing of {stage}")


def reports_of(gpu: str, begin: str) -> dict[str, dict]:
    """By what follows `begin` in their names."""
    committed = written.committed(sources.GPUS[gpu], begin)
    return {name.removeprefix(begin): its for name, its in committed.items()}


def names(attention: dict) -> list[str]:
    return [variant["name"] for variant in attention["variants"]]


def attention_row(its: dict, others: set[str]) -> list[str]:
    heads = f"{its['heads']}"
    if its["kv_heads"] != its["heads"]:
        heads += f" over {its['kv_heads']}"
    shape = f"D = {its['width']}, {its['batch']} x {heads} heads, {its['keys']:,} keys"
    shape += ", causal" if its["causal"] else ""
    rate = "gbytes_per_s" if "copy" in its else "tflops"
    rates = {variant["name"]: variant[rate] for variant in its["variants"]}
    other = its["copy"][rate] if "copy" in its else next(rates[name] for name in others)
    own_rates = [value for name, value in rates.items() if name not in others]
    return [
        shape,
        *(f"{value:,.0f}" for value in (*own_rates, other)),
        f"{100 * own_rates[-1] / other:.1f}",
    ]


def workload(of: dict) -> str:
    if "tokens" in of:
        return f"{of['tokens']}, {of['width']} -> {of['hidden']}"
    rows = of["groups"]
    return ", ".join(map(str, rows)) if len({*rows}) > 1 else f"{len(rows)} x {rows[0]}"


def contenders(*files: str) -> str:
    """Medians of what a program timed in turns, in us; a row for each workload of the files."""
    folder = sources.GPUS[sources.reference()]
    reports = [written.read(folder, f"programs/{name}") for name in files]
    of_all = [of for report in reports for of in report.get("workloads", [report])]
    if not of_all:
        raise BadInput("contenders wants a file")
    head = [one["name"] for one in of_all[0]["contenders"]]
    if any([one["name"] for one in of["contenders"]] != head for of in of_all):
        raise BadInput(f"{' '.join(files)} have different contenders")
    rows = [[workload(of), *(number(1000 * c["ms"]) for c in of["contenders"])] for of in of_all]
    short = [re.sub(r"^(\d+[a-z]?)_\S+ ", r"\1 ", name) for name in head]  # a stage by its number
    return table(["us", *short], rows)


def machine() -> str:
    columns = [facts(gpu) for gpu in [sources.reference(), *sources.others()]]
    (_, *names), *rows = ([words, *(c[words] for c in columns)] for words in columns[0])
    return table(["", *names], rows)
