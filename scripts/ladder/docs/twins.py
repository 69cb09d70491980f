"""Tables of the kernels in Triton, from what ./ladder triton wrote."""

from ladder import manifest
from ladder.docs import sources
from ladder.docs.text import number, table
from ladder.files import a_name, absent, at_least_1, one_line, positive, read_lines
from ladder.project import BadInput
from ladder.results import own
from ladder.twins import ALIGNED, RAGGED, lines_of_stage

FILE = "docs/results/triton.jsonl"
# Columns of instructions, by how their names in the file begin.
COPIES = ("ld.global", "cp.async", "TMA load")
SHARED = ("LDS",)
PRODUCTS = ("fma", "mma.sync", "wgmma")
STORES = ("st.global", "TMA store")


COMPILED = {
    "registers": at_least_1,
    "local_bytes": int,
    "shared_bytes": int,
    "counts": {str: int},
    "shared_loads": {str: int},
}
TIME = {"ms": positive, "tflops": float, "percent_of_cublas": float, "unfused_ms?": positive}
TWIN = {
    "name": a_name,
    "stage": a_name,
    "type": a_name,
    "lines": int,
    "compiled": {ALIGNED: COMPILED, RAGGED: COMPILED},
}
# What ./ladder triton writes.
TWINS = {
    "gpu": (one_line, None),
    "triton": one_line,
    "torch": one_line,
    "twins": [
        (TWIN | {"times?": {str: TIME}, "failed?": absent}, TWIN | {"failed": one_line}),
        ...,
    ],
    "tried?": [{"name": one_line, "compiled": {ALIGNED: COMPILED}}],
    "refused?": [{"stage": a_name, "tile": [int, int, int], "said": one_line}],
}


def results() -> dict:
    return read_lines(sources.ROOT / FILE, TWINS)


def instructions(counts: dict[str, int], families: tuple[str, ...]) -> str:
    """Of {"ld.global 16": 4, ...}: 4 `ld.global` of 16 B."""
    there = []
    for name, count in counts.items():
        word, _, size = name.rpartition(" ")
        if not name.startswith(families):
            continue
        if name.startswith("TMA"):
            there.append(f"{count} {name}s")
        else:
            there.append(f"{count} `{word}` of {size} B" if size.isdigit() else f"{count} `{name}`")
    return ", ".join(there)


def cells(facts: dict, *families: tuple[str, ...]) -> list[str]:
    resources = [str(facts["registers"]), f"{facts['shared_bytes'] / 1024:.1f}"]
    counts = facts["counts"] | facts["shared_loads"]
    return resources + [instructions(counts, family) for family in families]


def name_of(record: dict) -> str:
    if record["stage"] not in manifest.load():
        return f"`{record['name']}`"
    stage = manifest.stage(record["stage"])
    return f"`{record['name']}`, as [{stage.label}](/{stage.page})"


def percent(record: dict, shape: str) -> str:
    """Of cuBLAS; in brackets that of the CUDA stage."""
    if "failed" in record:
        return "failed"
    time = record["times"].get(shape)
    if time is None:
        return "not timed"
    text = f"{time['percent_of_cublas']:.1f}"
    try:
        stage = own(sources.report(record["stage"], shape))
    except BadInput:
        return text
    return f"{text} ({stage['percent_of_cublas']:.1f})"


def tflops(record: dict, shape: str) -> str:
    time = record.get("times", {}).get(shape)
    return f"{time['tflops']:.1f}" if time else ""


def twins() -> str:
    """Lines, and speed where it was measured."""
    records = results()["twins"]
    shapes = list(dict.fromkeys(shape for r in records for shape in r.get("times", {})))
    head = ["kernel", "type", "lines", "in CUDA"]
    for shape in shapes:
        head += [f"{shape}: TFLOP/s", "% of cuBLAS (the stage)"]
    rows = []
    for record in records:
        cuda = lines_of_stage(record["stage"], sources.ROOT)
        row = [name_of(record), record["type"], str(record["lines"]), str(cuda or "")]
        for shape in shapes:
            row += [tflops(record, shape), percent(record, shape)]
        rows.append(row)
    return table(head, rows)


HEAD = ["registers", "shared KB", "from global memory", "from shared memory", "multiplies"]


def compiled() -> str:
    rows = []
    for record in results()["twins"]:
        facts = record["compiled"][ALIGNED]
        rows.append([f"`{record['name']}`", *cells(facts, COPIES, SHARED, PRODUCTS, STORES)])
    return table(["", *HEAD, "to global memory"], rows)


def ragged() -> str:
    """What becomes of it where nothing is divisible by 16."""
    rows = []
    for record in results()["twins"]:
        at = record["compiled"]
        row = cells(at[RAGGED], COPIES, STORES)
        if row != cells(at[ALIGNED], COPIES, STORES):
            row.insert(2, str(at[RAGGED]["local_bytes"]))
            rows.append([f"`{record['name']}`", *row])
    head = [RAGGED, "registers", "shared KB", "spilled bytes", "from global memory"]
    return table([*head, "to global memory"], rows)


def tried() -> str:
    rows = [
        [record["name"], *cells(record["compiled"][ALIGNED], COPIES, SHARED, PRODUCTS)]
        for record in results()["tried"]
    ]
    return table(["", *HEAD], rows)


def refused() -> str:
    """Tiles of stages that Triton does not take."""
    rows = []
    for record in results()["refused"]:
        if not record["said"]:
            raise BadInput(f"{FILE}: Triton takes a tile of {record['tile']}")
        stage = manifest.stage(record["stage"])
        m, n, k = record["tile"]
        label = f"[{stage.label}](/{stage.page})"
        rows.append([label, f"{m}x{n}, {k} deep", f"`{record['said']}`"])
    return table(["stage", "tile", "what Triton says"], rows)


def versions() -> str:
    found = results()
    text = f"Compiled by Triton {found['triton']} for sm_90."
    if found["gpu"]:
        text += f" Timed on an {found['gpu'].replace('NVIDIA ', '')} with PyTorch {found['torch']}."
    for record in found["twins"]:
        if "failed" in record:
            text += f" `{record['name']}` failed: {record['failed']}."
        for shape, time in record.get("times", {}).items():
            if "unfused_ms" in time:
                text += (
                    f" At {shape} `{record['name']}` takes {number(time['ms'])} ms; PyTorch's "
                    f"`addmm` and then `gelu` take {number(time['unfused_ms'])} ms."
                )
    return text


TABLES = {
    "twins": twins,
    "compiled": compiled,
    "ragged": ragged,
    "tried": tried,
    "refused": refused,
    "versions": versions,
}


def block(what: str) -> str:
    if what not in TABLES:
        raise BadInput(f"triton {what}: there are {', '.join(TABLES)}")
    return TABLES[what]()
