"""Tables of the kernels in Triton that work on rows, from what ./ladder triton-rows wrote."""

from ladder import manifest
from ladder.docs import sources
from ladder.docs.text import table
from ladder.docs.twins import COMPILED, COPIES, STORES, instructions
from ladder.files import at_least_1, one_line, positive, read_lines
from ladder.project import BadInput
from ladder.row_twins import OPERATIONS

FILE = "docs/results/triton_rows.jsonl"
TIME = {
    "operation": OPERATIONS,
    **dict.fromkeys(("rows", "width", "bytes", "warps"), at_least_1),
    "ms": {
        **dict.fromkeys(("triton", "tuned", "torch", "copy"), positive),
        "ladder?": positive,
    },
}
# What ./ladder triton-rows writes.
FOUND = {
    "gpu": (one_line, None),
    "triton": one_line,
    "torch": one_line,
    "compiled": dict.fromkeys(OPERATIONS, COMPILED | {"lines": at_least_1, "warps": at_least_1}),
    "times": [TIME],
}


def results() -> dict:
    return read_lines(sources.ROOT / FILE, FOUND)


def percent(time: dict, contender: str) -> str:
    """Of the rate of a copy, which reads and writes each number of a matrix once."""
    if contender not in time["ms"]:
        return ""
    copied = 4 * time["rows"] * time["width"]
    share = time["bytes"] / copied * time["ms"]["copy"] / time["ms"][contender]
    return f"{100 * share:.1f}"


def times() -> str:
    found = results()
    if not found["times"]:
        return "Not measured yet."
    on = (found["gpu"] or "").replace("NVIDIA ", "")
    ours = next(stage for stage in manifest.with_own_harness() if stage.harness == "rows")
    link = f"[{ours.label}](/{ours.page})"
    head = [f"% of a copy on {on}", "Triton", "tuned", "its warps", link, "PyTorch", "copy, GB/s"]
    rows = [
        [
            f"`{time['operation']}`, {time['rows']:,} x {time['width']:,}",
            percent(time, "triton"),
            percent(time, "tuned"),
            str(time["warps"]),
            percent(time, "ladder"),
            percent(time, "torch"),
            f"{4e-6 * time['rows'] * time['width'] / time['ms']['copy']:,.0f}",
        ]
        for time in found["times"]
    ]
    return table(head, rows)


def compiled() -> str:
    rows = []
    for name, facts in results()["compiled"].items():
        counts = facts["counts"]
        row = [f"`{name}`", *(str(facts[key]) for key in ("lines", "warps", "registers"))]
        row += [instructions(counts, COPIES), instructions(counts, STORES)]
        rows.append([*row, str(counts.get("ex2.approx", "")), str(counts.get("fma", ""))])
    head = ["", "lines", "warps", "registers", "from global memory", "to global memory"]
    return table([*head, "`ex2.approx`", "`fma`"], rows)


def versions() -> str:
    found = results()
    text = f"Compiled by Triton {found['triton']} for sm_90, for rows of 4,096 numbers."
    if found["gpu"]:
        text += f" Timed on an {found['gpu'].replace('NVIDIA ', '')} with PyTorch {found['torch']}."
    return text


TABLES = {"times": times, "compiled": compiled, "versions": versions}


def block(what: str) -> str:
    if what not in TABLES:
        raise BadInput(f"tritonrows {what}: there are {', '.join(TABLES)}")
    return TABLES[what]()
