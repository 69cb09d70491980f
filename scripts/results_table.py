#!/usr/bin/env python3
"""Tables from the stages' JSON reports.

results_table.py DIR                     all variants in DIR/*.json, for a terminal
results_table.py DIR --readme README.md  writes the numbers of DIR into the README's table of stages
results_table.py DIR --check README.md   fails when those numbers differ from DIR's
"""

import argparse
import json
import re
import sys
from pathlib import Path


class BadInput(Exception):
    """Something the user can put right; the message is one line."""


# What scripts/measure.sh and adopt_results.py write beside the reports.
NO_REPORTS = {"counters.json", "environment.json", "provenance.json"}


def load(folder: Path) -> list[dict]:
    """The reports in a folder, by stage and size."""
    reports = []
    for path in sorted(folder.glob("*.json")):
        if path.name in NO_REPORTS:
            continue
        try:
            report = json.loads(path.read_text())
            _ = report["stage"], shape(report), report["variants"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise BadInput(f"{path} is not a stage's report: {error!r}") from error
        reports.append(report)
    if not reports:
        raise BadInput(f"no reports in {folder}")
    return sorted(reports, key=lambda r: (r["stage"], *(r["problem"][d] for d in "mnk")))


def shape(report: dict) -> str:
    m, n, k = (report["problem"][d] for d in "mnk")
    return str(m) if m == n == k else f"{m}x{n}x{k}"


def own(report: dict) -> dict:
    """The variant that is the stage's own, the last."""
    return report["variants"][-1]


NOT_TIMED = ("not timed",) * 4


def terminal_table(reports: list[dict]) -> str:
    rows = [("stage", "variant", "M=N=K", "check", "ms", "TFLOP/s", "% of cuBLAS", "% of peak")]
    for report in reports:
        for v in report["variants"]:
            check = {True: "ok", False: "WRONG", None: "off"}[v.get("check", {}).get("ok")]
            numbers = ("-",) * 4 if report.get("device", {}).get("kind") == "cpu" else NOT_TIMED
            if "time_ms" in v:
                peak = v["percent_of_peak"]
                numbers = (
                    f"{v['time_ms']['median']:.4f}",
                    f"{v['tflops']:.2f}",
                    f"{v['percent_of_cublas']:.1f}",
                    "unknown" if peak is None else f"{peak:.1f}",
                )
            if v.get("findings"):
                check = "FOUND"
            rows.append((report["stage"], v["name"], shape(report), check, *numbers))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = zip(row, widths, strict=True)
        cells = [c.ljust(w) if i < 4 else c.rjust(w) for i, (c, w) in enumerate(padded)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


ROW = re.compile(r"^\| \[(?P<stage>\d\d\w+)\](?P<link>\([^)]*\)) \| (?P<idea>[^|]*) \|.*$")


README_SIZES = ("4096", "8192")


def update_readme(text: str, reports: list[dict]) -> str:
    """The README with the numbers of each stage's own (its last) variant in the stage's row.

    A row is `| [NN_name](link) | idea | ... |`; the cells after the idea are, for each size in
    README_SIZES, TFLOP/s and % of cuBLAS.
    """
    by_key = {(r["stage"], shape(r)): r for r in reports}
    lines = []
    for line in text.splitlines():
        row = ROW.match(line)
        if row:
            cells = []
            for size in README_SIZES:
                report = by_key.get((row["stage"], size))
                if report is None:
                    raise BadInput(f"no report of {row['stage']} at {size}")
                variant = own(report)
                cells += [f"{variant['tflops']:.1f}", f"{variant['percent_of_cublas']:.1f}"]
            line = f"| [{row['stage']}]{row['link']} | {row['idea']} | {' | '.join(cells)} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--readme", type=Path, metavar="FILE")
    action.add_argument("--check", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        reports = load(options.folder)
        readme = options.readme or options.check
        if readme is None:
            print(terminal_table(reports))
            return 0
        old = readme.read_text()
        new = update_readme(old, reports)
        if options.readme:
            readme.write_text(new)
        elif new != old:
            raise BadInput(
                f"{readme} does not show the numbers of {options.folder}; "
                f"run {sys.argv[0]} {options.folder} --readme {readme}"
            )
    except (BadInput, OSError) as error:
        print(f"results_table.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
