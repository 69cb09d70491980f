"""Takes what ./ladder measure or ./ladder sweep wrote over into the committed results.

ladder adopt DIR NAME [--commit HASH]         for example: ladder adopt /tmp/measured h100
ladder adopt DIR NAME --replace               nothing of an earlier measurement stays

Takes DIR's reports of stages, its counters at all shapes, power.json, timelines.json,
around_gemm.json, exercises.json, library_*.json, jit_*.json and programs/*.json into the files of
JSON Lines of docs/results/NAME, and writes into provenance.json there which reports come from which
measurement: GPU, driver, toolkit, date, commit. NAME is one of ladder.project.GPU_NAMES. Reports of
NAME that DIR does not have stay, with the measurement they came from, and so do, in counters,
variants that DIR's have not, unless they are of a stage or a variant that there is no more: what is
removed is said, and so is what the documentation will miss.
A measurement of which a part failed is refused; that claims do not hold is no such part. --commit:
where the measured copy was no git checkout. Exit code: 0 all right, 2 bad input; then nothing was
changed.
"""

import argparse
import json
import sys
from pathlib import Path

from ladder import manifest, reports, steps, written
from ladder.counters import AT_128, COUNTERS
from ladder.files import one_line, read_json
from ladder.measuring import DOCUMENTED, keep
from ladder.project import GPU_NAMES, ROOT, BadInput
from ladder.reports import is_of_stage
from ladder.results import shape

FACTS = ("gpu", "driver", "toolkit", "date", "commit")


def gone(stage: str, variants: list[str], root: Path) -> str | None:
    """Why results of these variants are of no use any more."""
    if stage not in manifest.load():
        return f"there is no stage {stage}"
    known = steps.variants_of(stage, root)
    lost = [name for name in variants if known is not None and name not in known]
    return f"{stage} has no variant {', '.join(lost)}" if lost else None


def measured(folder: Path, gpu: str, root: Path) -> dict[str, dict]:
    """The reports that there are to take over, by name. Raises BadInput when a part of the
    measurement failed, a file is damaged, or it is of another GPU or of stages that are not
    there."""
    failed = [path.name.split(".")[0] for path in sorted(folder.glob("*.failed"))]
    if failed and failed != ["claims"]:
        raise BadInput(f"{folder}: {', '.join(failed)} failed")
    paths = sorted([*folder.glob("*.json"), *folder.glob("programs/*.json")])
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    found = {name: written.read(folder, name) for name in names if name not in reports.NO_REPORTS}
    if not found:
        raise BadInput(f"no reports in {folder}")
    for name, its in found.items():
        device = its.get("device", its.get("gpu"))
        of = device["name"] if isinstance(device, dict) else device
        if of != gpu:
            raise BadInput(f"{folder} says {gpu}, but its {name}.json is of {of}")
        if is_of_stage(name) and (why := gone_of(its, root)):
            raise BadInput(f"{folder} has results at {shape(its)} of what is not there: {why}")
    return found


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


def missing(of_stages: list[dict], counted: dict, at_128: bool) -> list[str]:
    """What the tables, plots and claims need and do not find."""
    there = {(report["stage"], shape(report)) for report in of_stages}
    wanted = [(name, size) for name in manifest.measured_at_squares() for size in DOCUMENTED]
    said = [f"missing: {name} at {size}" for name, size in wanted if (name, size) not in there]
    said += [
        f"missing: counters of {name}"
        for name in manifest.measured_at_squares()
        if name not in counted
    ]
    return said + ["missing: counters at 128"] * (not at_128)


def merged(new: dict, there: dict, name: str) -> dict:
    """Counters with the new ones in the place of what there is of the same variants."""
    if any(new.get(key) != there.get(key) for key in ("size", "names")):
        raise BadInput(f"{name} has another size or other counters than are to be taken over")
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
    provenance = target / "provenance.json"
    before = read_json(provenance, written.PROVENANCE) if provenance.exists() else []
    content = written.committed(target)

    said = [f"{len(sources)} reports are taken over into {target}"]
    for report, its in sources.items():
        merges = report.startswith(COUNTERS) and report in content and not replace
        content[report] = merged(its, content[report], report) if merges else its
    for report in sorted(content):
        if is_of_stage(report) and replace and report not in sources:
            why = "not measured again"
        else:
            why = gone_of(content[report], root) if is_of_stage(report) else None
        if why:
            del content[report]
            said.append(f"removed {report}: {why}")
        elif report.startswith(COUNTERS):
            content[report], lost = pruned(content[report], root)
            said += lost

    entries = [*before, {fact: environment[fact] for fact in FACTS} | {"files": sorted(sources)}]
    for entry in entries:
        entry["files"] = [
            file
            for file in entry["files"]
            if (entry is entries[-1] or file not in sources)
            and (file in content or (target / file).exists())
        ]
    if (folder / "claims.txt.failed").exists():
        said.append("not all claims hold with these results; see ./ladder claims")
    of_stages = [its for report, its in content.items() if is_of_stage(report)]
    counted = content.get(COUNTERS, {"counters": {}})["counters"]
    said += missing(of_stages, counted, AT_128 in content)

    texts = reports.texts(target, content)
    runs = ",\n".join(json.dumps(entry) for entry in entries if entry["files"])
    texts[provenance] = f"[\n{runs}\n]\n"
    target.mkdir(parents=True, exist_ok=True)
    for place, text in texts.items():
        keep(text, place)
    return said


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
        print(f"ladder adopt: {error}", file=sys.stderr)
        return 2
    print("\n".join(said))
    return 0
