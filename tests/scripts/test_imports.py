"""No modules of scripts/ladder import each other, not even inside functions."""

import ast
from pathlib import Path

from ladder.project import ROOT

SCRIPTS = ROOT / "scripts"


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SCRIPTS).with_suffix("").parts).removesuffix(".__init__")


TEXTS = {name_of(path): path.read_text() for path in SCRIPTS.glob("ladder/**/*.py")}


def imported(text: str) -> set[str]:
    """Of `from a import b` the module a.b, or else a."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(str(module), aliases, 0):
                inside = (f"{module}.{alias.name}" for alias in aliases)
                names |= {name if name in TEXTS else module for name in inside}
            case ast.Import(aliases):
                names |= {alias.name for alias in aliases}
    return names & TEXTS.keys()


def circles(texts: dict[str, str]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module."""
    graph = {name: imported(text) - {name} for name, text in texts.items()}
    reached = {}
    for name in graph:
        found, to_do = set(), [name]
        while to_do:
            new = graph[to_do.pop()] - found
            found |= new
            to_do += new
        reached[name] = found
    return {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    }


def test_no_modules_import_each_other():
    assert circles(TEXTS) == set()


def test_a_circle_is_found_inside_a_function_too():
    late = f"{TEXTS['ladder.evaluation']}\ndef late():\n    from ladder import claims\n"
    found = {frozenset(f"ladder.{name}" for name in ("evaluation", "claims", "claims_lint"))}
    assert circles({**TEXTS, "ladder.evaluation": late}) == found
