"""Makes the tables of constants with which 15_chosen_by_cost chooses, kernels/tuned/NAME.h.

tune.py --adopt h200 [FILE]         from what build/tune --json wrote, build/tune.json by default
tune.py --headers                   the headers again, from the kernels/tuned/NAME.json there are

Keeps the measurement beside the table, as kernels/tuned/NAME.json, and lists all tables in
kernels/tuned/gpus.h. NAME is a part of the GPU's name. Exit code: 0 all right, 2 bad input; then
nothing was changed.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from ladder.project import GPU_NAMES, ROOT, BadInput, read_json

MEASURED = ROOT / "build/tune.json"
FACTS = {
    "gpu": str,
    "date": str,
    "driver": str,
    "toolkit": str,
    "multiprocessors": int,
    "count": int,
    "candidates": list,
}
# enum class Kernel of kernels/tuned/model.h, by its STAGES.
KERNELS = {
    "11c": "CHOSEN_BY_SHAPE",
    "13": "FIT_THE_WAVES",
    "13b": "PING_PONG",
    "14": "FEW_ROWS",
}
SHAPE = ("BM", "BN", "down", "across", "split", "resident")
CONSTANTS = (
    "start_ns",
    "start_alone_ns",
    "step_ns",
    "step_in_row_ns",
    "step_off_lines_ns",
    "step_alone_ns",
    "later",
    "tile_ns",
    "bytes_per_ns",
)


def named(candidate: dict) -> str:
    return " ".join(str(candidate.get(key)) for key in ("stage", *SHAPE))


def check_candidate(path: Path, candidate: object) -> None:
    if not isinstance(candidate, dict) or candidate.get("stage") not in KERNELS:
        raise BadInput(f"{path}: no candidate: {json.dumps(candidate)[:60]}")
    for key in SHAPE:
        value = candidate.get(key)
        if type(value) is not int or value < 1:
            raise BadInput(f"{path}: {named(candidate)}: {key} is {value}")
    for key in CONSTANTS:
        value = candidate.get(key)
        if type(value) not in (int, float) or not math.isfinite(value):
            raise BadInput(f"{path}: {named(candidate)}: {key} is {value}")
        if value < 0 or (value == 0 and key != "tile_ns"):
            raise BadInput(f"{path}: {named(candidate)}: {key} is {value}: measure again")


def checked(path: Path) -> dict:
    """What build/tune wrote. Raises BadInput unless all of it is there and can be right."""
    table = read_json(path)
    if not isinstance(table, dict):
        raise BadInput(f"{path} is no table of constants")
    for fact, kind in FACTS.items():
        value = table.get(fact)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise BadInput(f"{path}: {fact} is missing" if value is None else f"{path}: bad {fact}")
    if table["multiprocessors"] < 1 or not re.fullmatch(r"[\w .()/+-]+", table["gpu"]):
        raise BadInput(f"{path}: no GPU: {table['gpu']}, {table['multiprocessors']} of it")
    candidates = table["candidates"]
    if len(candidates) != table["count"] or not candidates:
        raise BadInput(f"{path} has {len(candidates)} of {table['count']} candidates")
    for candidate in candidates:
        check_candidate(path, candidate)
    if len({named(candidate) for candidate in candidates}) != len(candidates):
        raise BadInput(f"{path} has a candidate twice")
    return table


def number(value: float) -> str:
    """As C++ and clang-format write it: four digits are more than a measurement has."""
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def row(candidate: dict) -> str:
    shape = [candidate[key] for key in SHAPE]
    while shape[-1] == 0:  # they are 0 anyway
        shape.pop()
    sizes = ", ".join(str(value) for value in shape)
    constants = ", ".join(number(candidate[key]) for key in CONSTANTS)
    return f"    {{{{Kernel::{KERNELS[candidate['stage']]}, {sizes}}}, {{{constants}}}}},"


def header(name: str, table: dict) -> str:
    upper = name.upper()
    return "\n".join(
        [
            "#pragma once",
            "// clang-format off",
            f"// Made by scripts/tune.sh from {name}.json: {table['gpu']},",
            f"// driver {table['driver']}, {table['date']}.",
            '#include "model.h"',
            "",
            "namespace ladder::tuned {",
            "",
            f"inline constexpr Row {upper}_ROWS[] = {{",
            "    // BM, BN, down, across, split, resident;",
            "    // start, alone; step, in a row, off lines, alone; later, times; tile; bytes/ns",
            *map(row, table["candidates"]),
            "};",
            f"inline constexpr Gpu {upper} = {{",
            f'    "{table["gpu"]}", /*multiprocessors*/ {table["multiprocessors"]},',
            f"    {upper}_ROWS, sizeof {upper}_ROWS / sizeof *{upper}_ROWS}};",
            "",
            "}  // namespace ladder::tuned",
            "",
        ]
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Names of tables, that of the pages first."""
    known = [name for name in GPU_NAMES if name in names]
    return [*known, *sorted({*names} - {*known})]


def gpus_header(names: list[str]) -> str:
    addresses = ", ".join(f"&{name.upper()}" for name in names)
    return "\n".join(
        [
            "#pragma once",
            "// Made by scripts/tune.sh: the tables there are.",
            *(f'#include "{name}.h"' for name in sorted(names)),
            "",
            "namespace ladder::tuned {",
            "",
            "// A GPU that is none of them gets the first.",
            f"inline constexpr const Gpu* GPUS[] = {{{addresses}}};",
            "",
            "}  // namespace ladder::tuned",
            "",
        ]
    )


def stems(folder: Path) -> list[str]:
    return [path.stem for path in folder.glob("*.json")]


def write_headers(folder: Path, tables: dict[str, dict]) -> None:
    texts = {f"{name}.h": header(name, table) for name, table in tables.items()}
    texts["gpus.h"] = gpus_header(in_order(tables))
    for name, text in texts.items():
        (folder / name).write_text(text)


def adopt(table: dict, name: str, folder: Path) -> str:
    """Writes table and headers; what there is to say of it."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise BadInput(f"'{name}' is no name of a table; write h200")
    if name.replace("_", " ") not in table["gpu"].lower():
        raise BadInput(f"the table is of {table['gpu']}, which has no '{name}' in its name")
    path = folder / f"{name}.json"
    before = read_json(path)["candidates"] if path.exists() else []
    others = {stem: checked(folder / f"{stem}.json") for stem in stems(folder) if stem != name}
    for other, of_other in others.items():
        if of_other["gpu"] == table["gpu"]:
            raise BadInput(f"{table['gpu']} has its table already: {other}.json")
    path.write_text(json.dumps(table, indent=1) + "\n")
    write_headers(folder, {name: table, **others})
    there = {named(candidate) for candidate in table["candidates"]}
    lost = [named(candidate) for candidate in before if named(candidate) not in there]
    said = f"{path}: {table['gpu']}, {table['count']} candidates"
    return said + (f", without {len(lost)} that were there: {lost[0]}, ..." if lost else "")


def main(arguments: list[str], folder: Path = ROOT / "kernels/tuned") -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--adopt", metavar="NAME")
    what.add_argument("--headers", action="store_true")
    parser.add_argument("file", type=Path, nargs="?", default=MEASURED)
    options = parser.parse_args(arguments)
    try:
        if options.headers:
            write_headers(
                folder, {stem: checked(folder / f"{stem}.json") for stem in stems(folder)}
            )
        else:
            print(adopt(checked(options.file), options.adopt, folder))
    except BadInput as error:
        print(f"tune.py: {error}", file=sys.stderr)
        return 2
    return 0
