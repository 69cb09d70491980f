"""What a build folder says of how its programs are made."""

import shlex
from pathlib import Path

from ladder.files import COMMANDS, read_json
from ladder.project import BadInput


def commands(folder: Path) -> dict[Path, str]:
    """Of the files that are compiled. Raises BadInput."""
    found = read_json(folder / "compile_commands.json", COMMANDS)
    return {Path(entry["file"]): entry["command"] for entry in found}


def words(command: str) -> list[str]:
    # CMake writes the `$` of a path as it tells it to Ninja.
    return shlex.split(command.replace("\\$$", "$"))


def compiler(command: list[str]) -> str:
    """Of a command that may begin with a launcher: who links, too."""
    return command[1] if Path(command[0]).name == "ccache" else command[0]


def libraries(path: Path) -> list[str]:
    """What programs are linked with: the lines of a file. Raises BadInput."""
    if not path.is_file():
        raise BadInput(f"{path} is not there; configure a build with CMake")
    return [line for line in path.read_text().splitlines() if line]
