"""Tables of the library and of kernels made to order: what build/library and build/jit wrote."""

from collections.abc import Callable
from statistics import geometric_mean

from ladder import written
from ladder.docs import sources
from ladder.docs.text import number, table
from ladder.project import BadInput
from ladder.sweep_shapes import sizes

TYPES = ("fp16", "bf16")
SLOW = 95  # percent of cuBLAS
FEW_ROWS = 128
CALLS = ("16x4096x4096", "512x12288x3072", "4096")


def results(name: str) -> dict:
    return written.read(sources.GPUS[sources.reference()], name)


def kind(shape: str) -> str:
    """By what makes shapes hard: rows that cuBLAS, or TMA, would like to be longer; few tiles."""
    m, n, k = sizes(shape)
    if n % 8 or k % 8:
        return "N or K no multiple of 8"
    if n % 64 or k % 64:
        return "of 8, but not of 64"
    if m == n == k:
        return "squares"
    return f"up to {FEW_ROWS} rows" if m <= FEW_ROWS else f"more than {FEW_ROWS} rows"


def by_kind(shapes: list[dict]) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = {}
    for shape in shapes:
        groups.setdefault(kind(shape["shape"]), []).append(shape)
    return groups | {"all": shapes}


def mean_and_least(shapes: list[dict], what: str) -> list[str]:
    percents = [shape[what] for shape in shapes]
    return [f"{geometric_mean(percents):.1f}", f"{min(percents):.1f}"]


def rows(shapes: list[dict]) -> list[list[str]]:
    return [
        [s["shape"], number(s["us"]), number(s["cublas_us"]), f"{s['percent']:.1f}", stage(s)]
        for s in shapes
    ]


def stage(shape: dict) -> str:
    return shape["stage"].rstrip(",")


def library_shapes() -> str:
    """Percent of cuBLAS, by kind."""
    groups = {name: by_kind(results(f"library_{name}")["shapes"]) for name in TYPES}
    body = []
    for of_kind, shapes in groups[TYPES[0]].items():
        row = [of_kind, str(len(shapes))]
        for name in TYPES:
            row += mean_and_least(groups[name][of_kind], "percent")
        body.append(row)
    head = ["", "shapes"]
    for name in TYPES:
        head += [f"{name}: % of cuBLAS, mean", "worst"]
    return table(head, body)


def library_slow() -> str:
    """The shapes at which cuBLAS is faster by more than a little."""
    body = []
    for name in TYPES:
        slow = [s for s in results(f"library_{name}")["shapes"] if s["percent"] < SLOW]
        body += [[row[0], name, *row[1:]] for row in rows(sorted(slow, key=lambda s: s["percent"]))]
    return table(["shape", "type", "us", "cuBLAS, us", "% of cuBLAS", "taken"], body)


def library_contiguous() -> str:
    body = rows(results("library_contiguous")["shapes"])
    return table(["shape", "us", "cuBLAS, us", "% of cuBLAS", "taken"], body)


def library_host() -> str:
    said = []
    for name in TYPES:
        found = results(f"library_{name}")
        of_plan = found.get("plan_host_us")  # which older results have not
        planned = f"{of_plan:.1f} in a plan's `run`, " if of_plan is not None else ""
        said.append(
            f"in {name} {found['host_us']:.1f} us in `gemm`, {planned}"
            f"{found['workspace_bytes_host_us']:.1f} in `workspace_bytes`, "
            f"{found['cublas_host_us']:.1f} in cuBLAS's call"
        )
    return f"Of the host's time a call at 64x64x64 takes, while the GPU works: {'; '.join(said)}."


def library_in_a_row() -> str:
    shapes = results("library_in_a_row")["shapes"]
    times = ("us", "early_us", "cublas_us")
    body = [[s["shape"], *(f"{s[time]:.2f}" for time in times)] for s in shapes]
    return table(["", "us", "starting early, us", "cuBLAS, us"], body)


def jit_calls() -> str:
    body = []
    for shape in CALLS:
        cold, cached = (results(f"jit_call_{shape}_{way}")["call"] for way in ("cold", "cached"))
        times = (cold["first_ms"], cached["first_ms"], cached["host_us"])
        body.append([shape, *map(number, times)])
    first = ["first call, empty folder: ms", "first call of a later process: ms"]
    return table(["", *first, "the host's part of a further call: us"], body)


def jit_shapes() -> str:
    body = []
    for of_kind, shapes in by_kind(results("jit_shapes")["shapes"]).items():
        tuned, model = (mean_and_least(shapes, f"{way}_percent") for way in ("tuned", "model"))
        body.append([of_kind, str(len(shapes)), *tuned, *model])
    head = ["", "shapes", "tuned: % of the fastest, mean", "worst", "the model's choice: mean"]
    return table([*head, "worst"], body)


LIBRARY = {
    "shapes": library_shapes,
    "slow": library_slow,
    "contiguous": library_contiguous,
    "host": library_host,
    "in_a_row": library_in_a_row,
}
JIT = {"calls": jit_calls, "shapes": jit_shapes}


def chosen(kind: str, blocks: dict[str, Callable[[], str]], what: str) -> str:
    if what not in blocks:
        raise BadInput(f"{kind} {what}: there are {', '.join(blocks)}")
    return blocks[what]()


def library(what: str) -> str:
    return chosen("library", LIBRARY, what)


def jit(what: str) -> str:
    return chosen("jit", JIT, what)
