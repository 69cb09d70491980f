#!/usr/bin/env python3
"""Takes what multi_gpu has measured into docs/results/multi_gpu and writes the pages' tables:
adopt.py TIMES.json TIMELINES.json (of multi_gpu --check --rounds 60 --json TIMES.json and of
multi_gpu --timeline 30 --json TIMELINES.json). Refuses results of which one was wrong. adopt.py
TIMES.json OPERATION takes the times of that operation alone, all-gather or reduce-scatter."""

import json
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs/results/multi_gpu"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    operations = ["all-gather", "reduce-scatter"]
    alone = sys.argv[2] in operations
    times = json.loads(Path(sys.argv[1]).read_text())
    checks = times.get("checks", [])
    wrong = [check["what"] for check in checks if check["wrong"]]
    if wrong or not checks:
        sys.exit(f"adopt.py: {', '.join(wrong) or 'nothing was checked'}")
    times["checks"] = {"checked": len(checks), "wrong": 0}
    RESULTS.mkdir(parents=True, exist_ok=True)
    for operation in sys.argv[2:] if alone else operations:
        of = times | {"timings": [t for t in times["timings"] if t["operation"] == operation]}
        (RESULTS / f"times_{operation}.json").write_text(json.dumps(of, indent=1) + "\n")
    if not alone:
        timelines = {"timelines": json.loads(Path(sys.argv[2]).read_text())["timelines"]}
        (RESULTS / "timelines.json").write_text(json.dumps(timelines, indent=1) + "\n")
    return subprocess.run(
        [sys.executable, Path(__file__).with_name("tables.py")], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
