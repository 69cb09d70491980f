"""Pieces of the code."""

import difflib

from ladder import manifest
from ladder.docs import sources
from ladder.project import BadInput


def code(file: str, first: str, last: str) -> str:
    path = sources.ROOT / file
    if not path.exists():
        raise BadInput(f"there is no {file}")
    lines = path.read_text().splitlines()
    begin = next((i for i, line in enumerate(lines) if first in line), None)
    if begin is None:
        raise BadInput(f"no line of {file} has '{first}'")
    end = next((i for i in range(begin, len(lines)) if last in lines[i]), None)
    if end is None:
        raise BadInput(f"no line of {file} after '{first}' has '{last}'")
    where = f"[{file}](../{file}#L{begin + 1}-L{end + 1}), line {begin + 1}"
    return (
        f'{where}:\n\n```cuda linenums="{begin + 1}"\n'
        + "\n".join(lines[begin : end + 1])
        + "\n```"
    )


def diff(*pair: str) -> str:
    """The older one first, or a stage alone."""
    if len(pair) == 1:
        parent = manifest.stage(pair[0]).parent
        if parent is None:
            raise BadInput(f"{pair[0]} has no parent")
        pair = (parent, *pair)
    old, new = (manifest.stage(name).name for name in pair)
    names = [f"kernels/{stage}.cuh" for stage in (old, new)]
    texts = [(sources.ROOT / name).read_text().splitlines() for name in names]
    lines = list(difflib.unified_diff(*texts, *names, lineterm="", n=2))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    body = "\n".join(lines)
    return (
        f"<details markdown>\n<summary>{added} lines added, {removed} removed</summary>\n\n"
        f"```diff\n{body}\n```\n\n</details>"
    )
