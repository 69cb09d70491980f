"""The stages' names, one a line, in the order of the ladder.

ladder stages                    those of stages/manifest.json that are one product
ladder stages --all              and those that are not, but for the ones that need several GPUs
ladder stages 04d 05_cp_async    these, by number or name
ladder stages --core             the six levels: 01 to 06 without what lies between
ladder stages --built FOLDER     those of which FOLDER has the executable

Exit code: 0 all right, 2 bad input.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ladder.files import a_name, one_line, read_json
from ladder.project import ROOT, BadInput

SEVERAL_GPUS = "multi_gpu"  # a harness
CORE = ("01", "02", "03", "04", "05", "06")
MANIFEST = ROOT / "stages/manifest.json"


@dataclass(frozen=True)
class Stage:
    """An entry. `types`: of A and B, the usual one first; `any_layout`: whether A and B may each be
    stored transposed; `also_at`: the shapes beside 4096 and 8192 at which ./ladder measure times
    the stage, as 8192_TN_bf16 where layout or type is not the usual one; `power_with`: the kinds of
    data with which ./ladder power measures it; `groups`: many products in one launch, which
    build/groups times and nothing wants at 4096 and 8192; `milestone`: what is new, in a few words,
    of the stages that the README shows; `measured`: whether docs/results has to have it;
    `timeline`: whether build/timeline records it. The manifest may leave out the last seven."""

    name: str
    parent: str | None
    types: tuple[str, ...]
    compute_capability: int
    features: frozenset[str]
    aligned_rows: bool
    page: str
    any_layout: bool = False
    also_at: tuple[str, ...] = ()
    power_with: tuple[str, ...] = ()
    groups: bool = False
    milestone: str = ""
    measured: bool = True
    timeline: bool = False

    @property
    def layout(self) -> str:
        """The usual one: tensor cores read some numbers along K alone, B too."""
        return "NT" if self.types[0] in {"e4m3", "tf32", "int8"} else "NN"

    @property
    def label(self) -> str:
        """For where there is no room for the whole name; nothing is read from it."""
        return self.name.split("_")[0]


@dataclass(frozen=True)
class WithOwnHarness:
    """An entry with `harness`: that folder of bench runs it, and knows the rest."""

    name: str
    parent: str
    page: str
    harness: str

    @property
    def label(self) -> str:
        return self.name.split("_")[0]


def stage_of(entry: dict) -> Stage:
    return Stage(
        name=entry["name"],
        parent=entry["parent"],
        types=tuple(entry["types"]),
        compute_capability=entry["needs"]["compute_capability"],
        features=frozenset(entry["needs"]["features"]),
        aligned_rows=entry["aligned_rows"],
        page=entry["page"],
        any_layout=entry.get("any_layout", False),
        also_at=tuple(entry.get("also_at", ())),
        power_with=tuple(entry.get("power_with", ())),
        groups=entry.get("groups", False),
        milestone=entry.get("milestone", ""),
        measured=entry.get("measured", True),
        timeline=entry.get("timeline", False),
    )


ENTRY = {
    "name": a_name,
    "parent": (a_name, None),
    "types": [a_name, ...],
    "needs": {"compute_capability": int, "features": [a_name]},
    "aligned_rows": bool,
    "page": one_line,
    "any_layout?": bool,
    "also_at?": [one_line],
    "power_with?": [a_name],
    "groups?": bool,
    "timeline?": bool,
    "races_in?": [a_name],
    "milestone?": one_line,
    "measured?": bool,
}
OWN_HARNESS = {
    "name": a_name,
    "parent": a_name,
    "page": one_line,
    "harness": a_name,
}


@cache
def read(path: Path) -> dict[str, Stage | WithOwnHarness]:
    by_name: dict[str, Stage | WithOwnHarness] = {}
    for entry in read_json(path, {"stages": [(ENTRY, OWN_HARNESS)]})["stages"]:
        stage = WithOwnHarness(**entry) if "harness" in entry else stage_of(entry)
        if stage.name in by_name:
            raise BadInput(f"{path}: '{stage.name}' stands twice")
        if stage.parent is not None and stage.parent not in by_name:
            raise BadInput(f"{path}: {stage.name} does not come after its parent '{stage.parent}'")
        by_name[stage.name] = stage
    if not by_name:
        raise BadInput(f"{path} has no stage")
    return by_name


def load(path: Path | None = None) -> dict[str, Stage]:
    """Those of one product by name, in the order of the ladder. Raises BadInput."""
    return {name: s for name, s in read(path or MANIFEST).items() if isinstance(s, Stage)}


def with_own_harness() -> list[WithOwnHarness]:
    """Raises BadInput."""
    return [stage for stage in read(MANIFEST).values() if isinstance(stage, WithOwnHarness)]


def at_squares() -> list[str]:
    """The stages that are timed at 4096 and 8192."""
    return [name for name, stage in load().items() if not stage.groups]


def measured_at_squares() -> list[str]:
    """Those of which there have to be results."""
    return [name for name in at_squares() if load()[name].measured]


def stage(name: str) -> Stage:
    if name not in load():
        raise BadInput(f"no stage '{name}'; there are: {' '.join(load())}")
    return load()[name]


def of_one_gpu() -> dict[str, Stage | WithOwnHarness]:
    """Also those with a harness of their own, but for the ones that need several GPUs."""
    return {
        name: s
        for name, s in read(MANIFEST).items()
        if isinstance(s, Stage) or s.harness != SEVERAL_GPUS
    }


def chosen(wanted: list[str]) -> list[str]:
    """Those of one GPU that are called by their labels or their names. Raises BadInput."""
    there = of_one_gpu()
    for name in wanted:
        if not any(name in (s.name, s.label) for s in there.values()):
            raise BadInput(f"no stage '{name}'; there are: {' '.join(there)}")
    return [s.name for s in there.values() if s.name in wanted or s.label in wanted]


def place(name: str) -> int:
    """In the ladder; what is no stage comes last."""
    names = list(load())
    return names.index(name) if name in names else len(names)


def last_of(kind: str) -> Stage | None:
    """The last stage of a type."""
    return next((s for s in reversed(load().values()) if kind in s.types), None)


def built(folder: Path) -> dict[str, Path]:
    """The executables in a folder of a build, in the order of the ladder."""
    there = {name: folder / name for name in load()}
    return {name: p for name, p in there.items() if p.is_file() and os.access(p, os.X_OK)}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--built", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    wanted = options.stages + list(CORE) * options.core
    try:
        if options.built:
            names = built(options.built)
        elif wanted:
            names = chosen(wanted)
        else:
            names = of_one_gpu() if options.all else load()
    except BadInput as error:
        print(f"ladder stages: {error}", file=sys.stderr)
        return 2
    print("\n".join(names))
    return 0
