"""Makes the tables of constants with which 15_chosen_by_cost chooses, kernels/tuned/NAME.h.

ladder adopt-tuning --adopt h200 [FILE]         of build/tune --json, by default build/tune.json
ladder adopt-tuning --headers                   the headers again, from the measurements there are

Keeps the measurement among the results, as docs/results/NAME/tune.jsonl, and lists all tables in
kernels/tuned/gpus.h. NAME is a part of the GPU's name. Exit code: 0 all right, 2 bad input; then
nothing was changed.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from ladder.files import (
    as_lines,
    at_least_1,
    is_a,
    one_line,
    parts,
    positive,
    read_json,
    read_lines,
)
from ladder.project import GPU_NAMES, ROOT, BadInput

MEASURED = ROOT / "build/tune.json"
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
    "times",
)
# Powers. Tables that were measured earlier do not have them.
POWERS = ("by_busy", "by_steps", "by_rows")


def named(candidate: dict) -> str:
    return " ".join(str(candidate.get(key)) for key in ("stage", *SHAPE, "layout"))


def gpu(value: object) -> bool:
    """a name of a GPU"""
    return is_a(value, str) and re.fullmatch(r"[\w .()/+-]+", value) is not None


def not_negative(value: object) -> bool:
    """a number from 0 on; measure again"""
    return is_a(value, float) and value >= 0


def measured(value: object) -> bool:
    """a number above 0; measure again"""
    return positive(value)


# Layouts with a matrix by columns, and what an array of theirs is called.
BY_COLUMNS = {"NT": "B_BY_COLUMNS", "TN": "A_BY_COLUMNS"}
CANDIDATE = (
    {"stage": tuple(KERNELS), "layout": ("NN", *BY_COLUMNS)}
    | dict.fromkeys(SHAPE, at_least_1)
    | dict.fromkeys(CONSTANTS, measured)
    | {"tile_ns": not_negative}
    | dict.fromkeys([f"{power}?" for power in POWERS], float)
)
# What build/tune writes. Its lines stand in a comment of a header.
TABLE = {
    "gpu": gpu,
    "date": one_line,
    "driver": one_line,
    "toolkit": one_line,
    "multiprocessors": at_least_1,
    "count": at_least_1,
    "candidates": [CANDIDATE, ...],
}


def checked(path: Path) -> dict:
    """What build/tune wrote. Raises BadInput unless all of it is there and can be right."""
    table = (read_lines if path.suffix == ".jsonl" else read_json)(path, TABLE)
    candidates = table["candidates"]
    if len(candidates) != table["count"]:
        raise BadInput(f"{path} has {len(candidates)} of {table['count']} candidates")
    if len({named(candidate) for candidate in candidates}) != len(candidates):
        raise BadInput(f"{path} has a candidate twice")
    return table


def number(value: float) -> str:
    """As C++ and clang-format write it: four digits are more than a measurement has."""
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def rounded(table: dict) -> dict:
    """What is kept of a measurement: four digits, as in the headers, which are the same of it."""
    return json.loads(json.dumps(table), parse_float=lambda text: float(f"{float(text):.4g}"))


def row(candidate: dict) -> str:
    shape = [candidate[key] for key in SHAPE]
    while shape[-1] == 0:  # they are 0 anyway
        shape.pop()
    sizes = ", ".join(str(value) for value in shape)
    powers = [power for power in POWERS if power in candidate]
    constants = ", ".join(number(candidate[key]) for key in (*CONSTANTS, *powers))
    return f"    {{{{Kernel::{KERNELS[candidate['stage']]}, {sizes}}}, {{{constants}}}}},"


COLUMNS = (
    "    // BM, BN, down, across, split, resident;",
    "    // start, alone; step, in a row, off lines, alone; later; tile; bytes/ns; times, powers",
)


def header(name: str, table: dict) -> str:
    upper = name.upper()
    by_layout = {
        layout: [c for c in table["candidates"] if c["layout"] == layout]
        for layout in ("NN", *BY_COLUMNS)
    }

    def rows(array: str, candidates: list[dict]) -> list[str]:
        return [f"inline constexpr Row {array}[] = {{", *COLUMNS, *map(row, candidates), "};"]

    def counted(array: str) -> str:
        return f"{array}, sizeof {array} / sizeof *{array}"

    arrays = {layout: f"{upper}_{what}" for layout, what in BY_COLUMNS.items() if by_layout[layout]}
    counts = [
        counted(arrays[layout]) if layout in arrays else "nullptr, 0" for layout in BY_COLUMNS
    ]
    return "\n".join(
        [
            "#pragma once",
            "// clang-format off",
            f"// Made by ./ladder tune from docs/results/{name}/tune.jsonl: {table['gpu']},",
            f"// driver {table['driver']}, {table['date']}.",
            '#include "model.h"',
            "",
            "namespace ladder::tuned {",
            "",
            *rows(f"{upper}_ROWS", by_layout["NN"]),
            *(line for layout, name in arrays.items() for line in rows(name, by_layout[layout])),
            f"inline constexpr Gpu {upper} = {{",
            f'    "{table["gpu"]}", /*multiprocessors*/ {table["multiprocessors"]},',
            f"    {counted(f'{upper}_ROWS')},",
            *(f"    {count}," for count in counts[:-1]),
            f"    {counts[-1]}}};",
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
            "// Made by ./ladder tune: the tables there are.",
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


def tables(root: Path) -> dict[str, dict]:
    """Those there are, by name. Raises BadInput."""
    return {path.parent.name: checked(path) for path in root.glob("docs/results/*/tune.jsonl")}


def write_headers(root: Path, tables: dict[str, dict]) -> None:
    texts = {f"{name}.h": header(name, table) for name, table in tables.items()}
    texts["gpus.h"] = gpus_header(in_order(tables))
    for name, text in texts.items():
        (root / "kernels/tuned" / name).write_text(text)


def adopt(table: dict, name: str, root: Path) -> str:
    """Writes table and headers; what there is to say of it."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise BadInput(f"'{name}' is no name of a table; write h200")
    if name.replace("_", " ") not in table["gpu"].lower():
        raise BadInput(f"the table is of {table['gpu']}, which has no '{name}' in its name")
    path = root / "docs/results" / name / "tune.jsonl"
    others = tables(root)
    before = others.pop(name, {"candidates": []})["candidates"]
    for other, of_other in others.items():
        if of_other["gpu"] == table["gpu"]:
            raise BadInput(f"{table['gpu']} has its table already: {other}")
    table = rounded(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_lines(parts(table, "candidates")))
    write_headers(root, {name: table, **others})
    there = {named(candidate) for candidate in table["candidates"]}
    lost = [named(candidate) for candidate in before if named(candidate) not in there]
    said = f"{path}: {table['gpu']}, {table['count']} candidates"
    return said + (f", without {len(lost)} that were there: {lost[0]}, ..." if lost else "")


def main(arguments: list[str], root: Path = ROOT) -> int:
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
            write_headers(root, tables(root))
        else:
            print(adopt(checked(options.file), options.adopt, root))
    except BadInput as error:
        print(f"ladder adopt-tuning: {error}", file=sys.stderr)
        return 2
    return 0
