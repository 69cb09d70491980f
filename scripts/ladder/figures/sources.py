"""What the drawings read from the kernels, so that they show what runs: constants of a stage's
header and the values that its own variant gives to the templates."""

import re
from functools import cache

from ladder import manifest
from ladder.files import read_text
from ladder.project import ROOT, BadInput

KERNELS = ROOT / "kernels"


def stage_of(idea: str, kind: str = "") -> str:
    """The stage that has this name after its number; the one of this type, where two have it."""
    for stage in manifest.load().values():
        if stage.name.partition("_")[2] == idea and (not kind or kind in stage.types):
            return stage.name
    raise BadInput(f"no stage is called {idea}")


def header(stage: str) -> str:
    """Without comments, and without namespaces inside the stage's own, which hold variants."""
    text = read_text(KERNELS / f"{stage}.cuh")
    text = re.sub(r"\nnamespace (\w+) \{\n.*?\n\}  // namespace \1\n", "\n", text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def value(expression: str, known: dict[str, int]) -> int | None:
    """Of an integer expression of constants; None where it has anything else."""
    expression = expression.strip()
    choice = re.fullmatch(r"(.+?)\?(.+?):(.+)", expression, re.DOTALL)
    if choice:
        condition, then, otherwise = (value(part, known) for part in choice.groups())
        return None if condition is None else then if condition else otherwise
    tokens = re.findall(r"[A-Za-z_]\w*|0x[0-9A-F]+|\d+|<<|>>|[-+*/%()&|^]|[<>=!]=?", expression)
    if "".join(tokens) != re.sub(r"\s", "", expression):
        return None
    python = []
    for token in tokens:
        if token in ("true", "false"):
            python.append(token.title())
        elif token[0].isalpha() or token[0] == "_":
            if token not in known:
                return None
            python.append(str(known[token]))
        else:
            python.append("//" if token == "/" else token)
    try:
        return int(eval(" ".join(python), {"__builtins__": {}}))  # digits and operators alone
    except (SyntaxError, ArithmeticError):
        return None


def split(arguments: str) -> list[str]:
    """At the commas that are in no brackets."""
    parts, depth = [""], 0
    for c in arguments:
        depth += (c in "<({") - (c in ">)}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def template_parameters(text: str, function: str) -> list[str]:
    found = re.search(rf"template <([^<>]*)>\n[^;{{]*?\b{function}\(", text)
    return [p.split()[-1] for p in split(found[1])] if found else []


def bound(text: str, call: str, known: dict[str, int]) -> dict[str, int]:
    """The template parameters that `call`, as in `launch_tiles<8, 4>`, gives values, and those of
    kernels that are themselves arguments."""
    name, _, rest = call.partition("<")
    given: dict[str, int] = {}
    if not rest:
        return given
    arguments = split(rest.rsplit(">", 1)[0])
    for parameter, argument in zip(template_parameters(text, name), arguments, strict=False):
        number = value(argument, known)
        if number is not None:
            given[parameter] = number
        else:
            given |= bound(text, argument, known)
    return given


def own_call(text: str) -> str:
    """The first call that `gemm`, the stage's own launcher, makes with template arguments."""
    body = re.search(r"void gemm\(const Gemm<[^>]*>& p\) \{\n(.*?)\n\}", text, re.DOTALL)
    if not body:
        raise BadInput("a stage's header has no function gemm")
    call = re.search(r"(\w+<.*>)\(p\)", body[1])
    return call[1] if call else ""


def assigned(text: str, start: str, known: dict[str, int]) -> dict[str, int]:
    """The constexprs of lines that begin with `start` and have a value."""
    found: dict[str, int] = {}
    for group in re.findall(rf"^{start}constexpr (?:int|unsigned) (\w+ = [^;]*);", text, re.M):
        for assignment in split(group):
            name, _, expression = assignment.partition("=")
            number = value(expression, known | found)
            if number is not None:
                found.setdefault(name.strip(), number)
    return found


@cache
def constants(stage: str) -> dict[str, int]:
    """Every `constexpr int NAME = VALUE` of the stage's header and the template parameters of its
    own variant. What has no value by itself is left out."""
    text = header(stage)
    known: dict[str, int] = {}
    for other in re.findall(r'#include "(\d\w+)\.cuh"', text):
        known |= constants(other)  # the stage's parent, whose constants it uses by name
    known |= assigned(text, "", known)
    known |= bound(text, own_call(text), known)
    return assigned(text, r"\s+(?:static )?", known) | known


def evaluated(text: str, name: str, known: dict[str, int]) -> int:
    """The value of `name = EXPRESSION` in a source, of which `known` gives the variables."""
    for expression in re.findall(rf"\b{name} = ([^,;]+)[,;]", text):
        number = value(expression, known)
        if number is not None:
            return number
    raise BadInput(f"no expression of {name} that is known from {' '.join(known)}")
