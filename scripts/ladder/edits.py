"""Mistakes as edits of a text that is right: of stages (tests/planted_edits) and of the exercises'
solutions (exercises/*/wrong.yaml)."""

import re

from ladder.project import BadInput

EDIT = {"old": str, "new": str}


def pattern(value: object) -> bool:
    """a regular expression"""
    try:
        return re.compile(value) is not None
    except (TypeError, re.error, RecursionError, OverflowError):
        return False


def replaced(text: str, old: str, new: str, where: str) -> str:
    """The text with `new` instead of `old`. Raises BadInput."""
    times = text.count(old)
    if times != 1:
        raise BadInput(f"{where} has `old` {times} times, not once")
    return text.replace(old, new)
