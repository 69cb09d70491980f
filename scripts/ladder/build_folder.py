"""What a build folder says of how its programs are made."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from ladder.files import COMMANDS, read_json
from ladder.project import BadInput


def commands(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """The files that are compiled, and the words of each command. Raises BadInput."""
    for entry in read_json(folder / "compile_commands.json", COMMANDS):
        # CMake writes the `$` of a path as it tells it to Ninja.
        yield Path(entry["file"]), shlex.split(entry["command"].replace("\\$$", "$"))


def compiler(command: list[str]) -> str:
    """Of a command that may begin with a launcher: who links, too."""
    return command[1] if Path(command[0]).name == "ccache" else command[0]


def libraries(path: Path) -> list[str]:
    """What programs are linked with: the lines of a file. Raises BadInput."""
    if not path.is_file():
        raise BadInput(f"{path} is not there; configure a build with CMake")
    return [line for line in path.read_text().splitlines() if line]
