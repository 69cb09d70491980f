"""Which basic blocks of its kernels a stage's runs on the CPU device came to, and which not."""

import re
import subprocess
from functools import cache
from pathlib import Path

from ladder.project import ROOT, BadInput

FUNCTION = re.compile(r"([0-9a-f]+) <(.*)>:$")
INSTRUCTION = re.compile(r" *([0-9a-f]+):\t(.*)$")
CALL = "<__sanitizer_cov_trace_pc>"  # one in each block

# A block: its function, and how far behind the function's beginning its call returns to. So it is
# the same in two programs that were linked from the same object.
Block = tuple[str, int]


def output(*command: object) -> list[str]:
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInput(f"{words[0]} {words[-1]}: {error}") from None
    return done.stdout.splitlines()


@cache
def blocks_of(program: Path) -> dict[int, Block]:
    """By the address that the call returns to. Raises BadInput."""
    blocks, function, begin, called = {}, "", 0, False
    for line in output("objdump", "-d", "--no-show-raw-insn", program):
        if found := FUNCTION.match(line):
            begin, function = int(found[1], 16), found[2]
        elif found := INSTRUCTION.match(line):
            if called:
                address = int(found[1], 16)
                blocks[address] = (function, address - begin)
            called = CALL in found[2]
    return blocks


def lines_of(program: Path, addresses: list[int]) -> list[str]:
    """Of a kernel, 'file:line' where a block begins: of what is inlined the innermost that is no
    instruction's. "" for what is not in kernels/."""
    lines: list[str] = []
    found = ""
    kernels = re.compile(re.escape(f"{ROOT}/kernels/") + r"(?!ptx/)([\w/.]+:\d+)")
    for text in output(
        "addr2line", "-a", "-i", "-e", program, *(f"{address - 1:#x}" for address in addresses)
    ):
        if text.startswith("0x"):
            lines.append("")
        elif not lines[-1] and (found := kernels.match(text)):
            lines[-1] = found[1]
    return lines


class Coverage:
    """Of the kernels that ran, in programs that were linked from the same object."""

    def __init__(self) -> None:
        self.entered: set[Block] = set()
        self.program: Path | None = None

    def add(self, program: Path, addresses: list[int]) -> None:
        """What a run reported. Raises BadInput."""
        self.program = self.program or program
        blocks = blocks_of(program)
        self.entered |= {blocks[address] for address in addresses if address in blocks}

    def counts(self) -> tuple[int, int]:
        """Blocks that were entered, and all of the functions that they are in."""
        if self.program is None:  # every shape was refused
            return 0, 0
        functions = {function for function, _ in self.entered}
        return len(self.entered), sum(f in functions for f, _ in blocks_of(self.program).values())

    def missed(self) -> list[str]:
        """Lines that begin a block, of which no copy was entered."""
        if self.program is None:
            return []
        functions = {function for function, _ in self.entered}
        of = {a: block for a, block in blocks_of(self.program).items() if block[0] in functions}
        lines = dict(zip(of, lines_of(self.program, list(of)), strict=True))
        come_to = {lines[address] for address, block in of.items() if block in self.entered}
        missed = {lines[address] for address in of} - come_to - {""}
        return sorted(missed, key=lambda at: (at.partition(":")[0], int(at.partition(":")[2])))
