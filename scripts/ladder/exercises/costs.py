"""What a program reports of its accesses, as costs that an exercise limits or asks for."""


def lines_with(space: str, *operations: str):
    return lambda line: line["space"] == space and line["operation"] in operations


# By name: which lines of the memory report, and what of them.
COSTS = {
    "sectors": (lines_with("global", "load", "store", "tma load", "tma store"), "cost"),
    "load_sectors": (lines_with("global", "load", "tma load"), "cost"),
    "store_sectors": (lines_with("global", "store", "tma store"), "cost"),
    "requests": (lines_with("global", "load", "store"), "requests"),
    "load_requests": (lines_with("global", "load"), "requests"),
    "store_requests": (lines_with("global", "store"), "requests"),
    "wavefronts": (lines_with("shared", "load", "store"), "cost"),
    "load_wavefronts": (lines_with("shared", "load"), "cost"),
    "store_wavefronts": (lines_with("shared", "store"), "cost"),
    "copy_wavefronts": (lines_with("shared", "copy"), "cost"),
    "operand_wavefronts": (lines_with("shared", "wgmma"), "cost"),
    "shared_requests": (lines_with("shared", "load", "store"), "requests"),
    "copies": (lines_with("shared", "copy"), "requests"),
    "boxes": (lines_with("global", "tma load", "tma store"), "requests"),
    "barriers": None,
    "copies_ahead": None,
    "shared_bytes": None,
}


def cost_lines(case: dict, cost: str) -> list[tuple[int, dict]]:
    """What each line contributes, the most expensive first."""
    name, _, array = cost.partition(" of ")
    if COSTS[name] is None:
        return []
    wanted, unit = COSTS[name]
    lines = [x for x in case["memory"] if wanted(x) and array in ("", x["array"])]
    return sorted(((x[unit], x) for x in lines), key=lambda pair: -pair[0])


def cost_of(case: dict, cost: str) -> int:
    if cost in ("barriers", "copies_ahead"):
        return case[cost]
    if cost == "shared_bytes":
        arrays = {(x["array"], x["array_bytes"]) for x in case["memory"] if x["space"] == "shared"}
        named = sum(size for array, size in arrays if array != "dynamic")
        return case["dynamic_bytes"] + named
    return sum(n for n, _ in cost_lines(case, cost))
