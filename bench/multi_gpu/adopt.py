#!/usr/bin/env python3
"""Takes what was measured on several GPUs into docs/results/multi_gpu and writes the pages' tables.
Refuses results of which one was wrong.

adopt.py [--times FILE [--operation all-gather]]    of multi_gpu --check --rounds 60 --json FILE
         [--timelines FILE]                         of multi_gpu --timeline 30 --json FILE
         [--async-tp FILE]                          of async_tp.py --rounds 40 --json FILE
         [--beside FILE]                     of multi_gpu_cublasmp --rest 3 --rounds 40 --json FILE
         [--four FILE]                of multi_gpu --ranks 4 --check --rounds 20 --json FILE
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import tables

OPERATIONS = ["all-gather", "reduce-scatter"]


def write(name, results):
    tables.RESULTS.mkdir(parents=True, exist_ok=True)
    (tables.RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")


def checked(results):
    checks = results.get("checks", [])
    wrong = [check["what"] for check in checks if check["wrong"]]
    if wrong or not checks:
        sys.exit(f"adopt.py: {', '.join(wrong) or 'nothing was checked'}")
    return results | {"checks": {"checked": len(checks), "wrong": 0}}


def take_times(times, operations):
    times = checked(times)
    for operation in operations:
        write(f"times_{operation}", times | {"timings": tables.timings(times, operation)})


def take_timelines(results):
    """Those that a page shows."""
    text = "".join(page.read_text() for page in tables.pages())
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
    write("timelines", {"timelines": kept})


def take_async_tp(results):
    for result in results["timings"]:
        # Of sums in fp16, which are added in another order.
        if not result["largest_difference"] <= 2**-7 * result["k"] ** 0.5:
            sys.exit(f"adopt.py: AsyncTP's {tables.shape(result)} is wrong")
    write("async_tp", results)


def take_four(results):
    if (results["ranks"], results["gpus"]) != (4, 4):
        sys.exit(f"adopt.py: {results['ranks']} ranks on {results['gpus']} GPUs are not four")
    write("four", checked(results))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("times", "timelines", "async-tp", "beside", "four"):
        parser.add_argument(f"--{name}", type=lambda path: json.loads(Path(path).read_text()))
    parser.add_argument("--operation", choices=OPERATIONS)
    options = parser.parse_args()
    if options.times:
        take_times(options.times, [options.operation] if options.operation else OPERATIONS)
    if options.timelines:
        take_timelines(options.timelines)
    if options.async_tp:
        take_async_tp(options.async_tp)
    if options.beside:
        write("beside", checked(options.beside))
    if options.four:
        take_four(options.four)
    return subprocess.run([sys.executable, tables.__file__], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
