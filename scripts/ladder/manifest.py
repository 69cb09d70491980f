"""stages/manifest.json, the one list of the stages, in the order of the ladder."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ladder.project import ROOT, BadInput, read_json

MANIFEST = ROOT / "stages/manifest.json"


@dataclass(frozen=True)
class Stage:
    """An entry. `also_at`: the shapes, beside those that every stage is measured at, at which
    scripts/measure.sh times this one too; the manifest may leave it out."""

    name: str
    parent: str | None
    types: tuple[str, ...]
    compute_capability: int
    features: frozenset[str]
    aligned_rows: bool
    devices: tuple[str, ...]
    page: str
    also_at: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """A short name where there is no room for the whole one; nothing is read from it."""
        return self.name.split("_")[0]

    @property
    def on_cpu(self) -> bool:
        return "cpu" in self.devices

    @property
    def on_tensor_cores(self) -> bool:
        return "tensor_cores" in self.features


def stage_of(entry: dict) -> Stage:
    return Stage(
        name=entry["name"],
        parent=entry["parent"],
        types=tuple(entry["types"]),
        compute_capability=entry["needs"]["compute_capability"],
        features=frozenset(entry["needs"]["features"]),
        aligned_rows=entry["aligned_rows"],
        devices=tuple(entry["devices"]),
        page=entry["page"],
        also_at=tuple(entry.get("also_at", ())),
    )


@cache
def load(path: Path = MANIFEST) -> dict[str, Stage]:
    """By name, in the order of the ladder. Raises BadInput."""
    text = read_json(path)
    try:
        stages = [stage_of(entry) for entry in text["stages"]]
    except (KeyError, TypeError) as error:
        raise BadInput(f"{path} is no manifest of stages: {error!r}") from error
    by_name: dict[str, Stage] = {}
    for stage in stages:
        if stage.name in by_name:
            raise BadInput(f"{path}: '{stage.name}' stands twice")
        if stage.parent is not None and stage.parent not in by_name:
            raise BadInput(f"{path}: {stage.name} comes before its parent '{stage.parent}'")
        by_name[stage.name] = stage
    if not by_name:
        raise BadInput(f"{path} has no stage")
    return by_name


def stage(name: str) -> Stage:
    if name not in load():
        raise BadInput(f"no stage '{name}'; there are: {' '.join(load())}")
    return load()[name]


def names() -> list[str]:
    return list(load())
