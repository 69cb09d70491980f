"""Reads the main loops of the stages' kernels from their SASS, for the model (ladder.model).

Needs the toolkit's cuobjdump and nvdisasm, and c++filt; what is read is kept in
docs/results/sass.jsonl, so that nobody else does.
"""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from ladder.project import BadInput

# A loop is told by what it multiplies with.
MULTIPLIES = ("FFMA", "HMMA", "HGMMA")
WIDE = ("LDS", "STS", "LDG", "STG", "LDGSTS")  # counted by width
# Reads of one register bank that may wait: with two, an instruction whose operands come all from
# one bank costs nothing if the next one's come from the other. The depth is an assumption.
BANK_QUEUE = 2

Instruction = tuple[int, str]  # address, text


def opcode(text: str) -> str:
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]


def counted_as(text: str) -> str:
    name, *modifiers = opcode(text).split(".")
    width = next((m for m in modifiers if m in ("64", "128")), None)
    return f"{name}.{width}" if width and name in WIDE else name


def kernels(sass: str) -> dict[str, list[Instruction]]:
    """The instructions of each function in cuobjdump's output, by its C++ name."""
    found: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in sass.splitlines():
        if function := re.search(r"Function : (.+)", line):
            current = found.setdefault(function[1].strip(), [])
        elif instruction := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
            current.append((int(instruction[1], 16), instruction[2]))
    return found


def main_loop(instructions: list[Instruction]) -> list[str]:
    """The loop with the most multiplications; of several, one inside another, the innermost."""
    best: tuple[int, int] = (0, 0)
    loop: list[str] = []
    for end, text in instructions:
        jump = re.search(r"\bBRA\b.*?\b(0x[0-9a-f]+)", text)
        if not jump or int(jump[1], 16) >= end:
            continue
        body = [t for address, t in instructions if int(jump[1], 16) <= address <= end]
        multiplications = sum(opcode(t).split(".")[0] in MULTIPLIES for t in body)
        if multiplications and (multiplications, -len(body)) > best:
            best, loop = (multiplications, -len(body)), body
    return loop


def bank_reads(text: str, cached: list[str | None]) -> tuple[list[int], list[str | None]]:
    """What an FFMA reads from the even and the odd registers, and what its operand slots keep. An
    operand that its slot keeps from the FFMA before (`.reuse`) is not read."""
    reads, kept = [0, 0], [None, None, None]
    for slot, operand in enumerate(text.partition(" ")[2].split(",")[-3:]):
        register = re.match(r"\s*[-|]?R(\d+)(\.reuse)?", operand)
        if not register:
            continue
        if cached[slot] != register[1]:
            reads[int(register[1]) % 2] += 1
        if register[2]:
            kept[slot] = register[1]
    return reads, kept


def dispatch_cycles(loop: list[str]) -> int:
    """Clocks in which a scheduler can dispatch the loop: one instruction a clock, and each of the
    two register banks delivers one operand a clock. Only FFMAs are looked at."""
    clock, waiting = 0, [0, 0]
    cached: list[str | None] = [None, None, None]
    for text in loop:
        reads = [0, 0]
        if opcode(text).startswith("FFMA"):
            reads, cached = bank_reads(text, cached)
        limit = max(BANK_QUEUE, *reads)
        while True:
            clock, waiting = clock + 1, [max(0, w - 1) for w in waiting]
            if max(w + r for w, r in zip(waiting, reads, strict=True)) <= limit:
                break
        waiting = [w + r for w, r in zip(waiting, reads, strict=True)]
    return clock


def loop_of(instructions: list[Instruction]) -> dict:
    loop = main_loop(instructions)
    counts = Counter(counted_as(text) for text in loop)
    return {
        "instructions": len(loop),
        "multiplications": sum(counts[name] for name in MULTIPLIES),
        "dispatch": dispatch_cycles(loop),
        "counts": dict(sorted(counts.items())),
    }


def output_of(*command: str, given: str | None = None) -> str:
    if shutil.which(command[0]) is None:
        raise BadInput(f"no {command[0]}: SASS is read where the CUDA toolkit is")
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"{command[0]} failed: {done.stderr.strip()[:200]}")
    return done.stdout


def read(executable: Path) -> tuple[str, dict[str, dict]]:
    """The architecture an executable was built for, and the main loop of each of its kernels."""
    if not executable.is_file():
        raise BadInput(f"no {executable}: build the stages first")
    sass = output_of("c++filt", given=output_of("cuobjdump", "-sass", str(executable)))
    architecture = re.search(r"arch = (\S+)", sass)
    loops = {name: loop_of(text) for name, text in kernels(sass).items()}
    return architecture[1] if architecture else "unknown", loops
