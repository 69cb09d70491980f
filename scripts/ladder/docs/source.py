"""Pieces of the code."""

from ladder.docs import sources
from ladder.files import read_text
from ladder.project import BadInput


def code(file: str, first: str, last: str) -> str:
    path = sources.ROOT / file
    if not path.exists():
        raise BadInput(f"there is no {file}")
    lines = read_text(path).splitlines()
    begin = next((i for i, line in enumerate(lines) if first in line), None)
    if begin is None:
        raise BadInput(f"no line of {file} has '{first}'")
    end = next((i for i in range(begin, len(lines)) if last in lines[i]), None)
    if end is None:
        raise BadInput(f"no line of {file} after '{first}' has '{last}'")
    where = f"[{file}](/{file}#L{begin + 1}-L{end + 1}), line {begin + 1}"
    language = "python" if path.suffix == ".py" else "cuda"
    return (
        f'{where}:\n\n```{language} linenums="{begin + 1}"\n'
        + "\n".join(lines[begin : end + 1])
        + "\n```"
    )
