#!/usr/bin/env python3
"""Takes what multi_gpu has measured into docs/results/multi_gpu and writes the pages' tables:
adopt.py TIMES.json TIMELINES.json (of multi_gpu --check --rounds 60 --json TIMES.json and of
multi_gpu --timeline 30 --json TIMELINES.json). Refuses results of which one was wrong."""

import json
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs/results/multi_gpu"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    times, timelines = (json.loads(Path(path).read_text()) for path in sys.argv[1:])
    checks = times.get("checks", [])
    wrong = [check["what"] for check in checks if check["wrong"]]
    if wrong or not checks:
        sys.exit(f"adopt.py: {', '.join(wrong) or 'nothing was checked'}")
    times["checks"] = {"checked": len(checks), "wrong": 0}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "times.json").write_text(json.dumps(times, indent=1) + "\n")
    (RESULTS / "timelines.json").write_text(
        json.dumps({"timelines": timelines["timelines"]}, indent=1) + "\n"
    )
    return subprocess.run(
        [sys.executable, Path(__file__).with_name("tables.py")], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
