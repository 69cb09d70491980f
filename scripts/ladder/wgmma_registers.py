"""Checks in PTX that no instruction touches a register of a wgmma that may still be running.

    ./ladder wgmma-registers FILE...      of PTX, as nvcc -ptx makes it, or an object file with PTX,
                                          as nvcc -no-compress makes it

A wgmma.mma_async runs on while its warps execute what follows. Its accumulators, and the registers
that it reads A from, are its own until a wgmma.wait_group has waited for its group; and what was
done to them before, a wgmma.fence has to come after. No compiler knows this of an asm statement.
All ways through a kernel are followed, also those that it never takes.

Exit code: 0 nothing is found, 1 something is, 2 a file cannot be read, or no wgmma is in it.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ladder.project import BadInput

REGISTER = re.compile(r"%[a-z]+\d+\b")


class Instruction(NamedTuple):
    text: str
    line: int  # of the PTX
    source: tuple[str, str]  # the number of a file and a line of it; empty where it is not known
    registers: frozenset[str]  # of a wgmma, those that are its own while it runs

    @property
    def predicate(self) -> str:
        return self.text.split()[0] if self.text[0] == "@" else ""

    @property
    def body(self) -> str:
        return self.text.removeprefix(self.predicate).strip()

    @property
    def is_wgmma(self) -> bool:
        return self.body.startswith("wgmma.mma_async")

    @property
    def accumulators(self) -> frozenset[str]:
        return frozenset(REGISTER.findall(self.body.split("}")[0]))

    def may_touch(self, running: "Instruction") -> frozenset[str]:
        """The registers of a wgmma that may be running: sums go on with one of the same shape."""
        if self.is_wgmma and self.body.split(".")[4] == running.body.split(".")[4]:
            a, sums = self.registers - self.accumulators, self.accumulators
            return (sums & running.accumulators) | (a - running.accumulators)
        return frozenset()


@dataclass
class Kernel:
    name: str
    files: dict[str, str]  # by number
    instructions: list[Instruction] = field(default_factory=list)  # that matter
    labels: dict[str, int] = field(default_factory=dict)  # the first instruction behind each
    targets: dict[str, list[str]] = field(default_factory=dict)  # of a brx.idx, by its table

    def next(self, i: int) -> list[int]:
        """What may be executed after the instruction."""
        instruction = self.instructions[i]
        operation, *operands = re.findall(r"[\w$%.]+", instruction.body)
        goes_on = [i + 1] if i + 1 < len(self.instructions) else []
        if operation.startswith("bra"):
            follow = [self.labels[operands[0]]]
        elif operation.startswith("brx"):
            follow = [self.labels[label] for label in self.targets[operands[1]]]
        elif operation in ("ret", "exit", "trap"):
            follow = []
        else:
            return goes_on
        if instruction.predicate:
            follow += goes_on
        return [j for j in follow if j < len(self.instructions)]


# --- Reading ----------------------------------------------------------------------------------

FUNCTION = re.compile(r"\.(?:entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$]+)[^;{]*\{")
TOKEN = re.compile(r"\s*(?:([{}])|\.loc([^\n]*)|([\w$]+)\s*:(?!:)|([^;]*);)")
MATTERS = re.compile(r"(?:@\S+\s+)?(?:wgmma|bra|brx|ret|exit|trap|call)\b")


def own_registers(text: str) -> frozenset[str]:
    """Of a wgmma, in braces: the accumulators, and A's where they are not in shared memory."""
    if "wgmma.mma_async" not in text:
        return frozenset()
    return frozenset(REGISTER.findall(" ".join(re.findall(r"\{[^}]*\}", text))))


def ptx_of(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(b"\x7fELF"):
        data = b"\n".join(re.findall(rb"\n\.version [^\0]*", data))
    return data.decode()


def kernels(ptx: str) -> Iterator[Kernel]:
    """All functions of one or several modules, one behind the other."""
    ptx = re.sub(r"//[^\n]*", "", ptx)
    modules = [match.start() for match in re.finditer(r"^\s*\.version ", ptx, re.M)]
    for start, end in zip(modules, [*modules[1:], len(ptx)], strict=True):
        module = ptx[start:end]
        files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', module, re.M))
        for function in FUNCTION.finditer(module):
            line = ptx.count("\n", 0, start + function.end()) + 1
            yield kernel_of(Kernel(function[1], files), module, function.end(), line)


def outermost(place: tuple[str, ...], inlined: dict[tuple[str, ...], tuple[str, ...]]):
    """Where what was inlined stands in the kernel itself."""
    seen = set()
    while inlined.get(place) and place not in seen:
        seen.add(place)
        place = inlined[place]
    return place[:2]


def kernel_of(kernel: Kernel, module: str, at: int, line: int) -> Kernel:
    statements, source, depth, label = [], ("", ""), 1, ""
    inlined: dict[tuple[str, ...], tuple[str, ...]] = {}
    labels: dict[str, int] = {}
    while depth:
        token = TOKEN.match(module, at)
        if not token:
            raise BadInput(f"the text ends within {kernel.name}")
        first_line = line + module.count("\n", at, token.start(token.lastindex))
        line += module.count("\n", at, token.end())
        at = token.end()
        if token[1]:
            depth += 1 if token[1] == "{" else -1
        elif token[2]:
            place, *caller = (tuple(part.split()[:3]) for part in token[2].split("inlined_at"))
            inlined[place] = caller[0] if caller else ()
            source = outermost(place, inlined)
        elif token[3]:
            label = token[3]
            if label in labels:
                raise BadInput(f"{kernel.name} has two labels {label}")
            labels[label] = len(statements)
        elif token[4].startswith(".branchtargets"):
            kernel.targets[label] = re.findall(r"\$\w+", token[4])
        elif token[4] and not token[4].startswith("."):
            statements.append((token[4], first_line, source))

    owned = [own_registers(text) for text, _, _ in statements]
    tracked = frozenset().union(*owned)
    position = []
    for (text, first_line, source), registers in zip(statements, owned, strict=True):
        position.append(len(kernel.instructions))
        registers = registers or tracked.intersection(REGISTER.findall(text))
        if registers or MATTERS.match(text):
            kernel.instructions.append(Instruction(text, first_line, source, registers))
    position.append(len(kernel.instructions))
    kernel.labels = {name: position[i] for name, i in labels.items()}
    return kernel


# --- Following --------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """What may be before an instruction."""

    running: dict[int, int]  # wgmmas, with how many groups were closed since
    unordered: frozenset[str]  # registers that were touched since the last fence

    def joined(self, other: "State") -> "State":
        running = dict(other.running)
        for wgmma, closed in self.running.items():
            running[wgmma] = min(closed, running.get(wgmma, closed))
        return State(running, self.unordered | other.unordered)

    def after(self, i: int, instruction: Instruction) -> "State":
        running, unordered = self.running, self.unordered
        operation = instruction.body.split(".")
        if operation[:2] == ["wgmma", "fence"]:
            unordered = frozenset()
        elif instruction.is_wgmma:
            running = {**running, i: 0}
        elif operation[:2] == ["wgmma", "commit_group"]:
            running = {wgmma: closed + 1 for wgmma, closed in running.items()}
        elif operation[:2] == ["wgmma", "wait_group"]:
            left = int(instruction.body.split()[-1])
            running = {wgmma: closed for wgmma, closed in running.items() if closed <= left}
        else:
            unordered = unordered | instruction.registers
        state = State(running, unordered)
        return self.joined(state) if instruction.predicate else state


def states_of(kernel: Kernel) -> dict[int, State]:
    """Before each instruction that can be reached, along all ways at once."""
    every = frozenset().union(*(i.registers for i in kernel.instructions))
    states = {0: State({}, every)} if kernel.instructions else {}
    waiting = list(states)
    while waiting:
        i = waiting.pop()
        after = states[i].after(i, kernel.instructions[i])
        for j in kernel.next(i):
            joined = after.joined(states[j]) if j in states else after
            if states.get(j) != joined:
                states[j] = joined
                waiting.append(j)
    return states


def findings(kernel: Kernel) -> Iterator[tuple[Instruction, str]]:
    for i, state in sorted(states_of(kernel).items()):
        instruction = kernel.instructions[i]
        if instruction.is_wgmma and (unordered := instruction.registers & state.unordered):
            yield instruction, f"there may be no wgmma.fence behind what touched {min(unordered)}"
        if state.running and instruction.body.startswith("call"):
            yield instruction, "a wgmma may be running during this call"
        for wgmma in (kernel.instructions[j] for j in state.running):
            shared = instruction.registers & wgmma.registers - instruction.may_touch(wgmma)
            if shared:
                what = f"touches {min(shared)}, a register of the wgmma in line {wgmma.line}"
                yield instruction, f"{what}, which may be running"


# --- The command ------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    found = count = 0
    try:
        for path in options.files:
            wgmmas = 0
            for kernel in kernels(ptx_of(path)):
                wgmmas += sum(i.is_wgmma for i in kernel.instructions)
                for instruction, what in findings(kernel):
                    found += 1
                    number, line = instruction.source
                    file = kernel.files.get(number, path)
                    text = re.sub(r"\s+", " ", instruction.text)
                    print(f"{file}:{line or instruction.line}: {kernel.name}:", file=sys.stderr)
                    print(f"  line {instruction.line}: {text:.60}: {what}", file=sys.stderr)
            if not wgmmas:
                raise BadInput(f"{path}: there is no wgmma in its PTX")
            count += wgmmas
    except (BadInput, OSError, UnicodeDecodeError) as error:
        print(f"ladder wgmma-registers: {error}", file=sys.stderr)
        return 2
    print(f"== {count} wgmmas: {found or 'no'} findings")
    return 1 if found else 0
