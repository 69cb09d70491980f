"""Writes the skeleton of a stage: a header, a main, a page, and an entry in the manifest.

ladder add-stage NUMBER NAME --parent STAGE      for example 05f my_idea --parent 05b

The header and the main are the parent's under another name, so that everything is right before the
idea is in it. The entry says `"measured": false`: until results of the stage are in docs/results,
tables say that there are none. Exit code: 0 all right, 2 bad input; then nothing is written.
"""

import argparse
import json
import re
from pathlib import Path

from ladder import manifest
from ladder.files import read_text
from ladder.project import ROOT, BadInput

PAGE = """# {label} {name}

One sentence that says the idea.

## The question

What is left of {parent_link}'s time, and which counter says so?

## The picture

## The idea

## The code

The [header](../kernels/{stage}.cuh) is {parent}'s as yet.

## Prediction and measurement

## What surprised

## Exercises

## Next
"""


def find(name: str) -> manifest.Stage:
    """A stage by its name, or by what stands before it. Raises BadInput."""
    labels = {stage.label: stage.name for stage in manifest.load().values()}
    return manifest.stage(labels.get(name, name))


def namespace(header: str) -> str:
    return re.search(r"^namespace (ladder::\w+) \{", header, re.MULTILINE)[1]


def header_of(text: str, parent: manifest.Stage, label: str, name: str) -> str:
    """The parent's header in a namespace of its own, beneath a first comment to be written."""
    comment = re.match(r"#pragma once\n((?://.*\n)+)", text)[1]
    about = (
        f"// {label} {name}: {comment.split(': ', 1)[1].splitlines()[0]}\n"
        "// Idea    to be written.\n"
        f"// vs {parent.label:<5}nothing yet.\n"
        "// Limit   to be measured.\n"
    )
    return re.sub(rf"\b{namespace(text)}\b", f"ladder::{name}", text.replace(comment, about, 1))


def main_of(text: str, header: str, parent: manifest.Stage, stage: str, name: str) -> str:
    own = parent.name.partition("_")[2]
    text = text.replace(f'"{parent.name}.cuh"', f'"{stage}.cuh"').replace(f'"{own}"', f'"{name}"')
    return re.sub(rf"\b{namespace(header)}\b", f"ladder::{name}", text)


def entry_of(text: str, parent: manifest.Stage, stage: str) -> dict:
    """The parent's needs, and nothing that follows from a measurement."""
    entries = json.loads(text)["stages"]
    entry = next(entry for entry in entries if entry["name"] == parent.name)
    for key in ("also_at", "power_with", "timeline", "races_in", "milestone"):
        entry.pop(key, None)
    own = {"name": stage, "parent": parent.name, "measured": False, "page": f"docs/{stage}.md"}
    return entry | own


def with_entry(text: str, entry: dict, before: str | None) -> str:
    """The manifest's text with an entry more, before that of another stage, or at its end."""
    lines = [f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items()]
    added = "    {\n" + ",\n".join(lines) + "\n    }"
    if before is None:
        end = text.rindex("\n  ]")
        return f"{text[:end]},\n{added}{text[end:]}"
    place = text.rindex("    {\n", 0, text.index(f'"name": "{before}"'))
    return f"{text[:place]}{added},\n{text[place:]}"


def with_page(text: str, page: str, before: str) -> str:
    """docs/order.json with a page behind another one. Raises BadInput."""
    line = re.search(rf'^( *)"{re.escape(before)}"(,?)\n', text, re.MULTILINE)
    if not line:
        raise BadInput(f"docs/order.json has no {before}")
    return text.replace(line[0], f'{line[1]}"{before}",\n{line[1]}"{page}"{line[2]}\n')


def add(label: str, name: str, parent: manifest.Stage) -> dict[Path, str]:
    """The new text of each file. Raises BadInput."""
    stage = f"{label}_{name}"
    names = list(manifest.read(manifest.MANIFEST))
    if not re.fullmatch(r"[0-9]{2}[a-z]?", label) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise BadInput(f"'{stage}' is no name: two digits, perhaps a letter, _ and an idea")
    if any(label == other.split("_")[0] for other in names):
        raise BadInput(f"there is a stage {label} already")
    if list((ROOT / "kernels").glob(f"*_{name}.cuh")):
        raise BadInput(f"there is a stage called {name} already")
    after = [other for other in names if other.split("_")[0] > label]
    before = names[-len(after) - 1]
    if parent.name in after:
        raise BadInput(f"{label} stands before its parent {parent.name}")
    text = read_text(manifest.MANIFEST)
    header = read_text(ROOT / f"kernels/{parent.name}.cuh")
    order = ROOT / "docs/order.json"
    link = f"[{parent.label}]({parent.name}.md)"
    texts = {
        ROOT / f"kernels/{stage}.cuh": header_of(header, parent, label, name),
        ROOT / f"stages/{stage}.cu": main_of(
            read_text(ROOT / f"stages/{parent.name}.cu"), header, parent, stage, name
        ),
        ROOT / f"docs/{stage}.md": PAGE.format(
            label=label, name=name, stage=stage, parent=parent.label, parent_link=link
        ),
        manifest.MANIFEST: with_entry(
            text, entry_of(text, parent, stage), after[0] if after else None
        ),
        order: with_page(read_text(order), f"{stage}.md", f"{before}.md"),
    }
    for path in texts:
        if path.exists() and path not in (manifest.MANIFEST, order):
            raise BadInput(f"there is a {path.relative_to(ROOT)} already")
    return texts


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("number")
    parser.add_argument("name")
    parser.add_argument("--parent", required=True, metavar="STAGE")
    options = parser.parse_args(arguments)
    for path, text in add(options.number, options.name, find(options.parent)).items():
        path.write_text(text)
        print(path.relative_to(ROOT))
    stage = f"{options.number}_{options.name}"
    print(f"next: ./scripts/test.sh -R {stage}; then ./ladder docs, which puts it into the tables")
    return 0
