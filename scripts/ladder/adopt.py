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
import sys
from pathlib import Path

from ladder import manifest, steps, written
from ladder.files import one_line, read_json, read_text
from ladder.ncu import with_short_lists
from ladder.project import GPU_NAMES, ROOT, BadInput
from ladder.results import COUNTERS, EXPERIMENTS, NO_REPORTS, is_report, shape
from ladder.sweep import DOCUMENTED, keep

FACTS = ("gpu", "driver", "toolkit", "date", "commit")


def gone(stage: str, variants: list[str], root: Path) -> str | None:
    """Why results of these variants are of no use any more."""
    if stage not in manifest.load():
        return f"there is no stage {stage}"
    known = steps.variants_of(stage, root)
    lost = [name for name in variants if known is not None and name not in known]
    return f"{stage} has no variant {', '.join(lost)}" if lost else None


def measured(folder: Path, gpu: str, root: Path) -> dict[Path, dict]:
    """What there is to take over, each file with what it has. Raises BadInput when a part of the
    measurement failed, a file is damaged, or it is of another GPU or of stages that are not
    there."""
    failed = [path.name.split(".")[0] for path in sorted(folder.glob("*.failed"))]
    if failed and failed != ["claims"]:
        raise BadInput(f"{folder}: {', '.join(failed)} failed")
    files = {path: written.read(path) for path in sorted(folder.glob("*.json")) if is_taken(path)}
    if not any(is_report(path) for path in files):
        raise BadInput(f"no reports in {folder}")
    for path, its in files.items():
        device = its.get("device", its.get("gpu"))
        name = device["name"] if isinstance(device, dict) else device
        if name != gpu:
            raise BadInput(f"{folder} says {gpu}, but its {path.name} is of {name}")
        if is_report(path) and (why := gone_of(its, root)):
            raise BadInput(f"{folder} has results at {shape(its)} of what is not there: {why}")
    return files


def is_taken(path: Path) -> bool:
    return path.name not in NO_REPORTS or path.name in EXPERIMENTS


def gone_of(report: dict, root: Path) -> str | None:
    return gone(report["stage"], [v["name"] for v in report["variants"]], root)


def pruned(counters: dict, root: Path) -> tuple[dict, list[str]]:
    """Without what is of stages and variants that there are no more, and what it says of it."""
    said, kept = [], {}
    for stage, variants in counters["counters"].items():
        why = {variant: gone(stage, [variant], root) for variant in variants}
        said += [f"removed counters of {stage}/{v}: {why[v]}" for v in variants if why[v]]
        if left := {v: numbers for v, numbers in variants.items() if not why[v]}:
            kept[stage] = left
    return counters | {"counters": kept}, said


def missing(reports: list[dict], counted: dict, at_128: bool) -> list[str]:
    """What the tables, plots and claims need and do not find."""
    there = {(report["stage"], shape(report)) for report in reports}
    wanted = [(name, size) for name in manifest.at_squares() for size in DOCUMENTED]
    said = [f"missing: {name} at {size}" for name, size in wanted if (name, size) not in there]
    said += [
        f"missing: counters of {name}" for name in manifest.at_squares() if name not in counted
    ]
    return said + ["missing: counters at 128"] * (not at_128)


def merged(new: dict, there: dict, place: Path) -> dict:
    """Counters with the new ones in the place of what there is of the same variants."""
    if any(new.get(key) != there.get(key) for key in ("size", "names")):
        raise BadInput(f"{place} has another size or other counters than are to be taken over")
    counters = dict(there["counters"])
    for stage, variants in new["counters"].items():
        counters[stage] = counters.get(stage, {}) | variants
    in_order = sorted(counters.items(), key=lambda stage: manifest.place(stage[0]))
    return there | {"counters": dict(in_order)}


def adopt(folder: Path, root: Path, name: str, commit: str | None, replace: bool) -> list[str]:
    """What there is to say of it. All is read, and found to be right, before anything is
    written."""
    facts = {f"{fact}?": (one_line, None) for fact in FACTS}
    environment = read_json(folder / "environment.json", facts)
    if commit:
        environment["commit"] = commit
    if any(not environment.get(fact) for fact in FACTS):
        raise BadInput(f"{folder}/environment.json has to name {', '.join(FACTS)}")
    if environment["commit"].startswith("unknown"):
        raise BadInput("what was measured was no git checkout; say --commit HASH")
    sources = measured(folder, environment["gpu"], root)
    target = root / "docs/results" / name
    at_128 = root / f"tests/data/ncu_{name}.json"
    elsewhere = {
        "counters_128.json": at_128,
        "counters_shapes.json": root / f"tests/data/ncu_{name}_shapes.json",
    }
    places = {elsewhere.get(path.name, target / path.name): path for path in sources}
    provenance = target / "provenance.json"
    before = read_json(provenance, written.PROVENANCE) if provenance.exists() else []

    said = [f"{len(places)} files are taken over into {target}"]
    stays = (path for path in target.glob("*.json") if is_taken(path) and path not in places)
    content = {path: written.read(path) for path in stays}
    texts, removed = {}, []
    for place, source in places.items():
        its = sources[source]
        if source.name.startswith(COUNTERS) and place.exists() and not replace:
            its = merged(its, read_json(place, written.expected(source.name)), place)
            texts[place] = with_short_lists(its)
        else:
            texts[place] = read_text(source)
        if place.parent == target:
            content[place] = its
    for place in sorted(content):
        if is_report(place) and replace and place not in places:
            removed.append(place)
            said.append(f"removed {place.name}: not measured again")
        elif is_report(place) and (why := gone_of(content[place], root)):
            removed.append(place)
            said.append(f"removed {place.name}: {why}")
        elif place.name.startswith(COUNTERS):
            content[place], lost = pruned(content[place], root)
            if lost:
                said += lost
                texts[place] = json.dumps(content[place], indent=2) + "\n"
    for place in removed:
        del content[place]

    new = {place.relative_to(root).as_posix() for place in places}
    entries = [*before, {fact: environment[fact] for fact in FACTS} | {"files": []}]
    for entry in entries:
        entry["files"] = [file for file in entry["files"] if in_root(file, target, root) not in new]
    entries[-1]["files"] = sorted(shown(file, target, root) for file in new)
    for entry in entries:
        files = {file: root / in_root(file, target, root) for file in entry["files"]}
        entry["files"] = [
            file
            for file, path in files.items()
            if path not in removed and (path in texts or path.exists())
        ]
    texts[provenance] = json.dumps([e for e in entries if e["files"]], indent=2) + "\n"
    if (folder / "claims.txt.failed").exists():
        said.append("not all claims hold with these results; see scripts/claims.py")
    reports = [its for place, its in content.items() if is_report(place)]
    counted = content.get(target / "counters.json", {"counters": {}})["counters"]
    said += missing(reports, counted, at_128 in texts or at_128.exists())

    for place, text in texts.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        keep(text, place)
    for place in removed:
        place.unlink()
    return said


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
