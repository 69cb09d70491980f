"""Writes docs/assets/traces/*.js, which the stepper (docs/stepper.md) reads.

ladder traces            runs every stage of build/stages/cpu at 128^3 with --trace; a file
                     for each, and one with their names
ladder traces --check    fails when one of the files would change

The files are scripts, because a page that was opened from disk may load these and nothing else. The
row pitch of a __shared__ array is that of its declaration, as the program's debug information has
it (readelf); dynamic shared memory has none.

Exit code: 0 all right, 1 a file is not up to date, 2 bad input.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ladder import manifest
from ladder.files import a_name, read_json, read_text
from ladder.project import CPU_STAGES, ROOT, BadInput
from ladder.results import LINE, OF_GLOBAL, OF_SHARED

TRACES = ROOT / "docs/assets/traces"
SIZE = 128
ELEMENT_BYTES = {"fp32": 4, "tf32": 4, "int32": 4, "fp16": 2, "bf16": 2, "e4m3": 1, "int8": 1}
ENTRY = re.compile(r"^ <[0-9a-f]+><(?P<id>[0-9a-f]+)>: .*\((?P<tag>DW_TAG_\w+)\)")
ATTRIBUTE = re.compile(r"^ +<[0-9a-f]+> +DW_AT_(?P<name>\w+) *: (?P<value>.*)")


def entries(dump: str) -> list[tuple[str, str, dict[str, str]]]:
    """The debug information's entries, as readelf prints them: id, tag, attributes."""
    found: list[tuple[str, str, dict[str, str]]] = []
    for line in dump.splitlines():
        if match := ENTRY.match(line):
            found.append((match["id"], match["tag"], {}))
        elif found and (match := ATTRIBUTE.match(line)):
            found[-1][2][match["name"]] = match["value"].strip()
    return found


@dataclass(frozen=True)
class Declaration:
    """Of a __shared__ array of rows; bytes from a row to the next and of an element."""

    name: str
    bytes: int
    line: int
    pitch: int
    element: int


def declarations(dump: str) -> list[Declaration]:
    """The arrays in thread-local storage, which is where the CPU device has __shared__ ones."""
    types: dict[str, tuple[str, dict[str, str]]] = {}
    dimensions: dict[str, list[int]] = {}
    arrays, variables = "", []
    for identity, tag, attributes in entries(dump):
        types[identity] = (tag, attributes)
        if tag == "DW_TAG_array_type":
            arrays = identity
        elif tag == "DW_TAG_subrange_type" and "upper_bound" in attributes:
            dimensions.setdefault(arrays, []).append(int(attributes["upper_bound"], 0) + 1)
        elif tag == "DW_TAG_variable" and "form_tls_address" in attributes.get("location", ""):
            variables.append(attributes)

    def referred(attributes: dict[str, str]) -> str:
        return attributes.get("type", "").strip("<>").removeprefix("0x")

    def size(identity: str) -> int:
        _, attributes = types[identity]
        if "byte_size" in attributes:
            return int(attributes["byte_size"], 0)
        return size(referred(attributes))

    found = []
    for attributes in variables:
        shape = dimensions.get(referred(attributes), [])
        if len(shape) < 2:
            continue
        element = size(referred(types[referred(attributes)][1]))
        name = attributes["name"].rpartition(": ")[2]
        line = int(attributes["decl_line"])
        total = math.prod(shape) * element
        found.append(Declaration(name, total, line, shape[-1] * element, element))
    return found


def declaration_of(line: dict, declared: list[Declaration]) -> Declaration | None:
    """Of the array that a source line accesses. Of several that have its name and size it is the
    last one before the line."""
    same = [d for d in declared if (d.name, d.bytes) == (line["array"], line["array_bytes"])]
    if len({(d.pitch, d.element) for d in same}) > 1:
        before = [d for d in same if d.line < line["line"]]
        return max(before, key=lambda d: d.line, default=None)
    return same[0] if same else None


def runs(offsets: list[int]) -> list[list[int]]:
    """As [offset, step, lanes]: offset, offset + step, offset + 2 * step, ..."""
    result: list[list[int]] = []
    for offset in offsets:
        last = result[-1] if result else None
        if last and last[2] == 1 and (last[0] < 0) == (offset < 0):
            last[1:] = [offset - last[0], 2]
        elif last and last[2] > 1 and offset == last[0] + last[1] * last[2]:
            last[2] += 1
        else:
            result.append([offset, 0, 1])
    return result


def packed(first: list[dict]) -> list[list]:
    """Requests as [offsets, cost]: the first one's offsets as runs, another one's as what it adds
    to those, if that is the same for all lanes, else as runs, too. What a cp.async reads has a
    third entry, where it goes in shared memory, as runs."""
    start = first[0]["offsets"]
    result: list[list] = []
    for request in first:
        pairs = list(zip(start, request["offsets"], strict=True))
        added = {b - a for a, b in pairs if a >= 0}
        same_lanes = all((a < 0) == (b < 0) for a, b in pairs)
        is_shifted = result and same_lanes and len(added) == 1
        what = added.pop() if is_shifted else runs(request["offsets"])
        to = [runs(request["to"])] if "to" in request else []
        result.append([what, request["cost"], *to])
    return result


def line_of(line: dict, element: int, declared: list[Declaration]) -> dict:
    """A source line, as the page wants it; bytes everywhere."""
    unit = "sectors" if line["space"] == "global" else "wavefronts"
    pitch = line["pitch"]
    if declaration := declaration_of(line, declared):
        pitch, element = declaration.pitch, declaration.element
    path = line["file"].rpartition("/kernels/")[2]
    return {
        "path": path,
        "file": Path(path).name,
        **{key: line[key] for key in ("line", "text", "array", "space", "op", "bytes", "requests")},
        "element": element,
        "pitch": pitch,
        "warp": line["warp"],
        "cost": round(line[f"{unit}_per_request"], 4),
        "ideal": round(line[f"ideal_{unit}"], 4),
        "first": packed(line["first"]),
    }


def page_of(trace: dict, declared: list[Declaration]) -> dict:
    def element(array: str) -> int:
        return ELEMENT_BYTES[trace["output" if array == "C" else "input"]]

    return {
        "stage": trace["stage"],
        "variants": [
            {
                "name": variant["name"],
                # TMA's boxes and wgmma's operands are no requests of a warp's lanes.
                "lines": [
                    line_of(line, element(line["array"]), declared)
                    for line in variant["lines"]
                    if line.get("first")
                ],
            }
            for variant in trace["variants"]
        ],
    }


def output_of(*command: str | Path) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise BadInput(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise BadInput(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def debug_information(executable: Path) -> str:
    return output_of("readelf", "--debug-dump=info", executable)


OFFSETS = [int] * 32
TRACED = LINE | {
    "array_bytes": int,
    "pitch": int,
    "warp": int,
    "first?": [{"offsets": OFFSETS, "cost": int, "to?": OFFSETS}],
}
# What bench/harness/json.cpp writes for --trace.
TRACE = {
    "stage": a_name,
    "input": tuple(ELEMENT_BYTES),
    "output": tuple(ELEMENT_BYTES),
    "variants": [{"name": a_name, "lines": [(TRACED | OF_GLOBAL, TRACED | OF_SHARED)]}],
}


def trace(executable: Path) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        output_of(executable, "--size", str(SIZE), "--no-check", "--trace", path)
        return read_json(path, TRACE)


def script(call: str, what: object) -> str:
    return f"{call}({json.dumps(what, separators=(',', ':'))});\n"


def files(folder: Path) -> dict[str, str]:
    """The names and texts of docs/assets/traces."""
    stages = list(manifest.load())
    built = manifest.built(folder)
    missing = [name for name in stages if name not in built]
    if missing:
        raise BadInput(f"not built in {folder}: {' '.join(missing)}")
    texts = {"index.js": script("ladderStages", stages)}
    for name in stages:
        declared = declarations(debug_information(built[name]))
        page = page_of(trace(built[name]), declared)
        if not any(variant["lines"] for variant in page["variants"]):
            raise BadInput(f"{built[name]} shows no accesses; was it built with sanitizers?")
        texts[f"{name}.js"] = script("ladderTrace", page)
    return texts


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    try:
        texts = files(CPU_STAGES)
    except BadInput as error:
        print(f"ladder traces: {error}", file=sys.stderr)
        return 2
    there = {path.name: read_text(path) for path in TRACES.glob("*.js")}
    stale = sorted(name for name in texts | there if texts.get(name) != there.get(name))
    if options.check:
        for name in stale:
            print(f"ladder traces: docs/assets/traces/{name} is not up to date", file=sys.stderr)
        return 1 if stale else 0
    TRACES.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in texts:
            (TRACES / name).write_text(texts[name])
        else:
            (TRACES / name).unlink()
    return 0
