#!/usr/bin/env python3
"""Takes what scripts/measure.sh wrote over into the committed results.

adopt_results.py DIR NAME [--commit HASH]         for example: adopt_results.py /tmp/measured h200

Copies DIR's stage reports and counters.json to docs/results/NAME, and writes there into
provenance.json which files come from which measurement: GPU, driver, toolkit, date, commit. Files
of NAME that DIR does not have stay, with the measurement they came from. --commit: where the
measured copy was no git checkout. Exit code: 0 all right, 2 bad input; then nothing was changed.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from results_table import BadInput, load

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
FACTS = ("gpu", "driver", "toolkit", "date", "commit")


def read(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from error


def measured(folder: Path) -> list[Path]:
    """What there is to take over. Raises BadInput when a step of the measurement failed or when it
    is of another GPU than it says."""
    failed = [path.name.split(".")[0] for path in sorted(folder.glob("*.failed"))]
    if failed:
        raise BadInput(f"{folder}: {', '.join(failed)} failed")
    gpu = read(folder / "environment.json").get("gpu")
    for report in load(folder):
        if report["device"]["name"] != gpu:
            raise BadInput(f"{folder} says {gpu}, but has results of {report['device']['name']}")
    if (folder / "counters.json").exists() and read(folder / "counters.json")["device"] != gpu:
        raise BadInput(f"{folder} says {gpu}, but its counters are of another GPU")
    return sorted([*folder.glob("[0-9]*.json"), *folder.glob("counters.json")])


def adopt(folder: Path, target: Path, commit: str | None) -> int:
    environment = read(folder / "environment.json")
    if commit:
        environment["commit"] = commit
    if any(not environment.get(fact) for fact in FACTS):
        raise BadInput(f"{folder}/environment.json has to name {', '.join(FACTS)}")
    if environment["commit"].startswith("unknown"):
        raise BadInput("what was measured was no git checkout; say --commit HASH")
    files = measured(folder)
    names = [path.name for path in files]
    provenance = target / "provenance.json"
    before = read(provenance) if provenance.exists() else []
    kept = [
        {**entry, "files": [name for name in entry["files"] if name not in names]}
        for entry in before
    ]
    entry = {fact: environment[fact] for fact in FACTS} | {"files": names}
    target.mkdir(parents=True, exist_ok=True)
    for path in files:
        shutil.copyfile(path, target / path.name)
    entries = [*(e for e in kept if e["files"]), entry]
    provenance.write_text(json.dumps(entries, indent=2) + "\n")
    return len(files)


def main(arguments: list[str], results: Path = RESULTS) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--commit")
    options = parser.parse_args(arguments)
    try:
        if not options.name.isidentifier():
            raise BadInput(f"'{options.name}' is no name for a folder; write for example h200")
        count = adopt(options.folder, results / options.name, options.commit)
    except BadInput as error:
        print(f"adopt_results.py: {error}", file=sys.stderr)
        return 2
    print(f"{count} files are now in {results / options.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
