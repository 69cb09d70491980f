"""How every script begins and ends, around the main() of its module."""

import os
import sys
from importlib import import_module
from pathlib import Path

from ladder.project import BadInput

SIGPIPE, SIGINT = 128 + 13, 128 + 2  # as a shell says how a program ended


def run(module: str) -> int:
    """Exit code: 2, too, where a file that the module reads when it is loaded is bad, or what is
    written cannot be."""
    script = Path(sys.argv[0]).name
    try:
        if sys.stdout is None:
            raise BadInput("standard output is closed")
        for stream in (sys.stdout, sys.stderr):
            if stream:
                stream.reconfigure(errors="backslashreplace")  # whatever the terminal can show
        try:
            return import_module(module).main(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read it has seen enough
        code = SIGPIPE
    except (BadInput, OSError) as error:
        for line in str(error).splitlines():
            print(f"{script}: {line}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = SIGINT
    if sys.stdout:  # what could not be written is not tried again at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
