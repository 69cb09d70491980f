"""How large a step each stage is: the statements that its kernel file adds to its parent's.

ladder steps                     every step and every variant, as tables
ladder steps --manifest FILE     of another project: FILE is its stages/manifest.json

The rule: a stage adds at most 60 statements to the kernel file of its parent (stages/manifest.json
names it), or its header says why in a line that begins with "// Step". What counts as a statement:
comments and preprocessor lines are removed (a part that is included does not count), the rest is
cut at each ';', '{' and '}', of which those in strings and the ';' of a for (;;) do not cut, and
spaces are made one. Pieces without a letter, the numbers of a list, are dropped, and so are names
that are taken from another stage ("using stage::name"). The two lists are compared in
order, as diff would (difflib): a statement that is in the child's alone is added, one that is in
the parent's alone removed, so that a changed one counts as both, and so does a moved one. "kept" is
the share of the parent's main kernel (gemm_kernel) that the child still has; "included" where the
child includes the parent's file, and calls what is there.

A second table has what the launchers of neighbouring variants differ in, for the eye: a variant has
to differ by one thing, which no count of words can tell.

Exit code: 0 every step is within the rule or has its line, 1 one is not, 2 bad input.
"""

import argparse
import difflib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ladder import manifest
from ladder.files import read_text
from ladder.project import BadInput

LIMIT = 60
NOT_CODE = re.compile(
    r'(?P<string>R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+')"
    r"|//(?:\\\n|[^\n])*|/\*.*?\*/",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
STEP = re.compile(r"^// Step\b[ :]*(\S.*(?:\n//   +\S.*)*)", re.MULTILINE)
CLOSING = {")": "(", "}": "{", "]": "["}


@dataclass(frozen=True)
class Statement:
    text: str
    start: int  # its place in the file without comments


def code(text: str) -> str:
    """Without comments and preprocessor lines; strings stay."""
    text = NOT_CODE.sub(lambda match: match["string"] or " ", text)
    return DIRECTIVE.sub("", text)


def without_strings(text: str) -> str:
    """Of the same length, with nothing in strings that looks like code."""
    return NOT_CODE.sub(lambda match: "_" * len(match[0]), text)


def statements(text: str) -> list[Statement]:
    """Of what code() returned."""
    found, open_, begin = [], [], 0
    for place, letter in enumerate(f"{without_strings(text)};"):
        if letter in "([":
            open_.append(letter)
        elif letter in ")]" and open_ and open_[-1] == CLOSING[letter]:
            open_.pop()
        if letter not in ";{}" or (letter == ";" and open_ and open_[-1] == "("):
            continue
        piece = " ".join(text[begin:place].split())
        if re.search(r"[A-Za-z]", piece) and not re.fullmatch(r"using [\w:]+", piece):
            found.append(Statement(piece, place))
        begin = place + 1
        if letter == "{":
            open_.append(letter)
        elif letter == "}" and "{" in open_:
            while open_.pop() != "{":
                pass
    return found


def closing(text: str, place: int) -> int:
    """Where the bracket at `place` is closed."""
    opening, depth = text[place], 0
    for at in range(place, len(text)):
        if text[at] == opening:
            depth += 1
        elif CLOSING.get(text[at]) == opening:
            depth -= 1
            if depth == 0:
                return at
    return len(text)


def bodies(text: str, name: str) -> list[tuple[int, int]]:
    """Where the definitions of a function of that name begin and end, of what code() returned."""
    text = without_strings(text)
    found = []
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        after = closing(text, match.end() - 1) + 1
        if text[after:].lstrip().startswith("{"):
            found.append((match.start(), closing(text, text.index("{", after))))
    return found


def main_kernel(text: str) -> tuple[int, int]:
    """Where gemm_kernel begins and ends. Where there are several, the last: the stage's own follows
    its variants'. Where there is none, the longest kernel."""
    text, found = without_strings(text), {}
    for match in re.finditer(r"__global__([^;{]*)\{", text):
        found[match.start(), closing(text, match.end() - 1)] = match[1]
    named = [place for place in found if re.search(r"\bgemm_kernel\b", found[place])]
    return max(named) if named else max([*found, (0, 0)], key=lambda place: place[1] - place[0])


def header(text: str) -> str:
    """The comment that a file begins with."""
    lines = []
    for line in text.splitlines():
        if line.startswith("//"):
            lines.append(line)
        elif lines and not line.startswith("#pragma once"):
            break
    return "\n".join(lines)


@dataclass(frozen=True)
class Step:
    stage: str
    parent: str
    statements: int
    added: int
    removed: int
    kept: float | None  # of the parent's main kernel; None where there is none to compare
    included: bool  # the parent's file
    reason: str | None  # what the header's line says

    @property
    def counts(self) -> tuple[str, str, str]:
        removed = "-" if self.included else str(self.removed)
        return str(self.statements), str(self.added), removed

    @property
    def kept_words(self) -> str:
        if self.included:
            return "included"
        return "-" if self.kept is None else f"{100 * self.kept:.0f}%"

    @property
    def within(self) -> bool:
        return self.added <= LIMIT or self.reason is not None


def kernel_file(root: Path, stage: str) -> str:
    return read_text(root / f"kernels/{stage}.cuh")


def step(stage: str, text: str, parent: str, parents_text: str) -> Step:
    before, after = code(parents_text), code(text)
    old, new = statements(before), statements(after)
    matcher = difflib.SequenceMatcher(None, [s.text for s in old], [s.text for s in new], False)
    same = {block.a + i for block in matcher.get_matching_blocks() for i in range(block.size)}
    first, last = main_kernel(before)
    kernel = [i for i, statement in enumerate(old) if first <= statement.start <= last]
    reason = STEP.search(header(text))
    return Step(
        stage=stage,
        parent=parent,
        statements=len(new),
        added=len(new) - len(same),
        removed=len(old) - len(same),
        kept=sum(i in same for i in kernel) / len(kernel) if kernel else None,
        included=f'#include "{parent}.cuh"' in text,
        reason=re.sub(r"\n// +", " ", reason[1]) if reason else None,
    )


def steps(path: Path) -> list[Step]:
    root = path.resolve().parents[1]
    return [
        step(s.name, kernel_file(root, s.name), s.parent, kernel_file(root, s.parent))
        for s in manifest.load(path).values()
        if s.parent is not None
    ]


def columns(rows: list[tuple[str, ...]], to_the_right: range) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in to_the_right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def table(found: list[Step]) -> str:
    rows = [("stage", "parent", "statements", "added", "removed", "kept", "")]
    for s in found:
        said = f"Step: {s.reason}" if s.reason else ""
        verdict = said if s.within else f"OVER {LIMIT}, and no // Step line"
        rows.append((s.stage, s.parent, *s.counts, s.kept_words, verdict))
    return columns(rows, range(2, 6))


# An entry of the list of variants in a stage's main: its name, its launcher.
VARIANT = re.compile(r'\{\s*"(\w+)"\s*,\s*([^{}]*?)\s*[,}]')


def listed_variants(main_file: str) -> list[tuple[str, str]]:
    """The first list of braces after the stage is that of the variants; where there are several
    types, the first of the function that makes the contents."""
    text = code(main_file)
    found = re.search(r"\b(?:STAGE\s*,\s*|Contents<[^<>]*>\s*\w+)\{", text)
    if not found:
        return []
    first = found.end() - 1
    return VARIANT.findall(text, first + 1, closing(without_strings(text), first))


def variants_of(stage: str, root: Path) -> set[str] | None:
    """Those that the stage's main lists; None where that cannot be told."""
    main_file = root / f"stages/{stage}.cu"
    listed = listed_variants(read_text(main_file)) if main_file.exists() else []
    return {name for name, _ in listed} or None


def other_variants(stage: str, there: Iterable[str], root: Path) -> str | None:
    """What is wrong with numbers of all variants of a stage that were measured some time ago."""
    known = variants_of(stage, root)
    if known is None or known == set(there):
        return None
    return f"of other variants than there are now: {', '.join(sorted(known ^ set(there)))}"


def words(text: str, launcher: str) -> list[str]:
    """Of the definition of a launcher, after its name; what it is given, where it has none here."""
    name, given = re.match(r"([\w:]*)(.*)", launcher, re.DOTALL).groups()
    name = name.split("::")[-1]
    begin, end = (bodies(text, name) or [(0, 0)])[-1]
    return re.findall(r"[\w.:]+|[^\w\s]", f"{given} {text[begin:end].removeprefix(name)}")


def difference(before: list[str], after: list[str]) -> str:
    parts = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if kind != "equal":
            old, new = " ".join(before[a:b]), " ".join(after[c:d])
            parts.append(f"{old or 'nothing'} -> {new or 'nothing'}")
    return "; ".join(parts)


def variants(path: Path) -> str:
    """What the launchers of neighbouring variants differ in."""
    root = path.resolve().parents[1]
    rows = [("stage", "variant", "vs", "what its launcher has instead")]
    for stage in manifest.load(path):
        main_file = root / f"stages/{stage}.cu"
        if not main_file.exists():
            raise BadInput(f"there is no {main_file}")
        text = code(kernel_file(root, stage))
        listed = listed_variants(read_text(main_file))
        launchers = [(name, words(text, launcher)) for name, launcher in listed]
        if not listed:
            rows.append((stage, "-", "-", f"no list of variants found in {main_file.name}"))
        for (old, before), (new, after) in pairwise(launchers):
            what = difference(before, after)
            rows.append((stage, new, old, what if len(what) <= 100 else f"{what[:97]}..."))
    return columns(rows, range(0)) if len(rows) > 1 else "no stage has two variants"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--manifest", type=Path, default=manifest.MANIFEST)
    options = parser.parse_args(arguments)
    try:
        found = steps(options.manifest)
        print(f"{table(found)}\n\n{variants(options.manifest)}\n")
    except BadInput as error:
        print(f"ladder steps: {error}", file=sys.stderr)
        return 2
    too_large = [s.stage for s in found if not s.within]
    print(f"== {len(found) - len(too_large)} of {len(found)} steps are within the rule")
    for stage in too_large:
        print(f"ladder steps: {stage} adds more than {LIMIT} statements", file=sys.stderr)
    return 1 if too_large else 0
