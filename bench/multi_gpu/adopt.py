#!/usr/bin/env python3
"""Takes what was measured on several GPUs into docs/results/multi_gpu and writes the pages' tables.
Refuses results of which one was wrong.

adopt.py [--times FILE [--operation all-gather]]    of multi_gpu --check --rounds 60 --json FILE
         [--timelines FILE]                         of multi_gpu --timeline 30 --json FILE
         [--async-tp FILE]                          of async_tp.py --rounds 40 --json FILE
         [--beside FILE]                     of multi_gpu_cublasmp --rest 3 --rounds 40 --json FILE
         [--four FILE]                of multi_gpu --ranks 4 --check --rounds 20 --json FILE

Exit code: 0 all right, 2 bad input; then nothing was changed.
"""

import argparse
import sys
from pathlib import Path

import tables

from ladder.command import run
from ladder.files import as_lines, one_line, parts, read_json, read_text
from ladder.measuring import keep
from ladder.project import BadInput


def checked(results):
    checks = results.get("checks", [])
    wrong = [check["what"] for check in checks if check["wrong"]]
    if wrong or not checks:
        raise BadInput(", ".join(wrong) or "nothing was checked")
    return results | {"checks": {"checked": len(checks), "wrong": 0}}


def times(results, operations):
    results = checked(results)
    return {
        f"times_{operation}": results | {"timings": tables.timings(results, operation)}
        for operation in operations
    }


def timelines(results):
    """Those that a page shows."""
    text = "".join(read_text(page) for page in tables.pages())
    shown = {
        tuple(argument.strip() for argument in match["arguments"].split("|"))
        for match in tables.BLOCK.finditer(text)
        if match["kind"] == "timeline"
    }
    kept = [
        entry
        for entry in results["timelines"]
        if (entry["operation"], entry["variant"], tables.shape(entry)) in shown
    ]
    return {"timelines": {"timelines": kept}}


def async_tp(results):
    for result in results["timings"]:
        # Of sums in fp16, which are added in another order.
        if not result["largest_difference"] <= 2**-7 * result["k"] ** 0.5:
            raise BadInput(f"AsyncTP's {tables.shape(result)} is wrong")
    return {"async_tp": results}


def four(results):
    if (results["ranks"], results["gpus"]) != (4, 4):
        raise BadInput(f"{results['ranks']} ranks on {results['gpus']} GPUs are not four")
    return {"four": checked(results)}


MEASURED = tables.TIMINGS | {"checks?": [{"what": one_line, "wrong": int}]}


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("times", "timelines", "async-tp", "beside", "four"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--operation", choices=tables.OPERATIONS)
    options = parser.parse_args(arguments)
    taken = {}
    if options.times:
        operations = [options.operation] if options.operation else tables.OPERATIONS
        taken |= times(read_json(options.times, MEASURED), operations)
    if options.timelines:
        taken |= timelines(read_json(options.timelines, tables.TIMELINES))
    if options.async_tp:
        taken |= async_tp(read_json(options.async_tp, tables.ASYNC_TP))
    if options.beside:
        taken["beside"] = checked(read_json(options.beside, MEASURED))
    if options.four:
        taken |= four(read_json(options.four, MEASURED))
    tables.RESULTS.mkdir(parents=True, exist_ok=True)
    for name, results in taken.items():
        records = "timelines" if name == "timelines" else "timings"
        keep(as_lines(parts(results, records)), tables.RESULTS / f"{name}.jsonl")
    return tables.main([])


if __name__ == "__main__":
    sys.exit(run("adopt"))
