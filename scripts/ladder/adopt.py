"""Takes what scripts/measure.sh or scripts/sweep.py wrote over into the committed results.

adopt_results.py DIR NAME [--commit HASH]         for example: adopt_results.py /tmp/measured h100
adopt_results.py DIR NAME --replace               nothing of an earlier measurement stays

Copies DIR's stage reports, its counters at 4096 and at other shapes, power.json, timelines.json,
around_gemm.json, exercises.json, library_*.json and jit_*.json to docs/results/NAME, its counters
at 128 to tests/data/ncu_NAME.json, and writes into docs/results/NAME/provenance.json which files
come from which measurement: GPU, driver, toolkit, date, commit. NAME is one of
ladder.project.GPU_NAMES. Files of NAME that DIR does not have stay, with the measurement they came
from, and so do, in files of counters, variants that DIR's have not, unless they are of a stage or a
variant that there is no more: what is removed is said, and so is what the documentation will miss.
A measurement of which a part failed is refused; that claims do not hold is no such part. --commit:
where the measured copy was no git checkout. Exit code: 0 all right, 2 bad input; then nothing was
changed.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from ladder import manifest, steps
from ladder.ncu import with_short_lists
from ladder.project import GPU_NAMES, ROOT, BadInput, read_json
from ladder.results import (
    COUNTERS,
    EXPERIMENTS,
    PRODUCTS,
    counters_at_shapes,
    load,
    report_files,
    shape,
)
from ladder.sweep import DOCUMENTED

FACTS = ("gpu", "driver", "toolkit", "date", "commit")


def gone(stage: str, variants: list[str], root: Path) -> str | None:
    """Why results of these variants are of no use any more."""
    if stage not in manifest.load():
        return f"there is no stage {stage}"
    known = steps.variants_of(stage, root)
    lost = [name for name in variants if known is not None and name not in known]
    return f"{stage} has no variant {', '.join(lost)}" if lost else None


def measured(folder: Path, root: Path) -> list[Path]:
    """What there is to take over. Raises BadInput when a part of the measurement failed or when it
    is of another GPU than it says, or of other stages than there are."""
    failed = [path.name.split(".")[0] for path in sorted(folder.glob("*.failed"))]
    if failed and failed != ["claims"]:
        raise BadInput(f"{folder}: {', '.join(failed)} failed")
    gpu = read_json(folder / "environment.json").get("gpu")
    for report in load(folder):
        if report["device"]["name"] != gpu:
            raise BadInput(f"{folder} says {gpu}, but has results of {report['device']['name']}")
        why = gone(report["stage"], [v["name"] for v in report["variants"]], root)
        if why:
            raise BadInput(f"{folder} has results at {shape(report)} of what is not there: {why}")
    counters = sorted(folder.glob("counters*.json"))
    for path in counters:
        if read_json(path)["device"] != gpu:
            raise BadInput(f"{folder} says {gpu}, but its {path.name} is of another GPU")
    experiments = [folder / name for name in EXPERIMENTS if (folder / name).exists()]
    products = [path for begin in PRODUCTS for path in folder.glob(f"{begin}*.json")]
    return sorted([*report_files(folder), *counters, *experiments, *products])


def prune(target: Path, root: Path) -> list[str]:
    """Removes what is left of stages and variants that there are no more. What it says of it."""
    said = []
    for path in report_files(target):
        report = read_json(path)
        why = gone(report["stage"], [v["name"] for v in report["variants"]], root)
        if why:
            path.unlink()
            said.append(f"removed {path.name}: {why}")
    for path in [target / "counters.json", *counters_at_shapes(target)]:
        if path.exists():
            said += prune_counters(path, root)
    return said


def prune_counters(path: Path, root: Path) -> list[str]:
    said, counters = [], read_json(path)
    for stage, variants in list(counters.get("counters", {}).items()):
        for variant in list(variants):
            why = gone(stage, [variant], root)
            if why:
                del variants[variant]
                said.append(f"removed counters of {stage}/{variant}: {why}")
        if not variants:
            del counters["counters"][stage]
    path.write_text(json.dumps(counters, indent=2) + "\n")
    return said


def missing(target: Path, root: Path) -> list[str]:
    """What the tables, plots and claims need and do not find."""
    there = {(report["stage"], shape(report)) for report in load(target)}
    wanted = [(name, size) for name in manifest.at_squares() for size in DOCUMENTED]
    said = [f"missing: {name} at {size}" for name, size in wanted if (name, size) not in there]
    path = target / "counters.json"
    counted = read_json(path).get("counters", {}) if path.exists() else {}
    said += [
        f"missing: counters of {name}" for name in manifest.at_squares() if name not in counted
    ]
    if not (root / f"tests/data/ncu_{target.name}.json").exists():
        said.append("missing: counters at 128")
    return said


def merged_counters(source: Path, place: Path) -> str:
    """A file of counters with those of `source` in the place of what it has of the same variants,
    or new."""
    new, there = read_json(source), read_json(place)
    if any(new.get(key) != there.get(key) for key in ("size", "names")):
        raise BadInput(f"{source} and {place} are of different sizes or counters")
    counters = there["counters"]
    for stage, variants in new["counters"].items():
        counters[stage] = counters.get(stage, {}) | variants
    in_order = sorted(counters.items(), key=lambda stage: manifest.place(stage[0]))
    return with_short_lists(there | {"counters": dict(in_order)})


def adopt(folder: Path, root: Path, name: str, commit: str | None, replace: bool) -> list[str]:
    """What there is to say of it."""
    environment = read_json(folder / "environment.json")
    if commit:
        environment["commit"] = commit
    if any(not environment.get(fact) for fact in FACTS):
        raise BadInput(f"{folder}/environment.json has to name {', '.join(FACTS)}")
    if environment["commit"].startswith("unknown"):
        raise BadInput("what was measured was no git checkout; say --commit HASH")
    sources = measured(folder, root)
    target = root / "docs/results" / name
    places = {path: target / path.name for path in sources}
    if folder / "counters_128.json" in places:
        places[folder / "counters_128.json"] = root / f"tests/data/ncu_{name}.json"
    if folder / "counters_shapes.json" in places:
        places[folder / "counters_shapes.json"] = root / f"tests/data/ncu_{name}_shapes.json"
    provenance = target / "provenance.json"
    before = read_json(provenance) if provenance.exists() else []

    texts = {
        place: merged_counters(source, place)
        for source, place in places.items()
        if source.name.startswith(COUNTERS) and place.exists() and not replace
    }
    said = [f"{len(places)} files are taken over into {target}"]
    target.mkdir(parents=True, exist_ok=True)
    for source, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if place in texts:
            place.write_text(texts[place])
        else:
            shutil.copyfile(source, place)
    if replace:
        for path in sorted({*report_files(target)} - {*places.values()}):
            path.unlink()
            said.append(f"removed {path.name}: not measured again")
    said += prune(target, root)

    new = {place.relative_to(root).as_posix() for place in places.values()}
    entries = [*before, {fact: environment[fact] for fact in FACTS} | {"files": []}]
    for entry in entries:
        entry["files"] = [file for file in entry["files"] if in_root(file, target, root) not in new]
    entries[-1]["files"] = sorted(shown(file, target, root) for file in new)
    for entry in entries:
        entry["files"] = [f for f in entry["files"] if (root / in_root(f, target, root)).exists()]
    text = json.dumps([entry for entry in entries if entry["files"]], indent=2)
    provenance.write_text(text + "\n")
    if (folder / "claims.txt.failed").exists():
        said.append("not all claims hold with these results; see scripts/claims.py")
    return said + missing(target, root)


def in_root(file: str, target: Path, root: Path) -> str:
    """A file of provenance.json, which names those beside it without their folder."""
    return file if "/" in file else (target / file).relative_to(root).as_posix()


def shown(file: str, target: Path, root: Path) -> str:
    path = root / file
    return path.name if path.parent == target else file


def main(arguments: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--commit")
    parser.add_argument("--replace", action="store_true")
    options = parser.parse_args(arguments)
    try:
        if options.name not in GPU_NAMES:
            known = ", ".join(GPU_NAMES)
            raise BadInput(f"no GPU '{options.name}' in ladder.project.GPU_NAMES: {known}")
        said = adopt(options.folder, root, options.name, options.commit, options.replace)
    except BadInput as error:
        print(f"adopt_results.py: {error}", file=sys.stderr)
        return 2
    print("\n".join(said))
    return 0
