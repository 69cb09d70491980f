"""Reads what a person or another program has written. Whatever is wrong with it is one line of
BadInput: the file, the place in it, what is expected there.

What is expected is written as the value looks: {"name": str, "size?": int} is an object with these
keys, of which the second may be missing; there may be others, but not in a Closed one. {str: float}
is an object with keys of its own, [str] a list, [str, ...] one that is not empty, [str, int] a
list of two, (str, None) either of them. A function tells whether a value is right; its docstring
says what is.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from ladder.project import BadInput

LARGEST = 2**63  # of numbers: times, rates and counts, with room for their products
# What CMake writes as compile_commands.json.
COMMANDS = [{"file": str, "command": str}]
WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


class Closed(dict):
    """An object with these keys and no others."""


def positive(value: object) -> bool:
    """a number above 0"""
    return is_a(value, float) and value > 0


def at_least_1(value: object) -> bool:
    """a whole number above 0"""
    return is_a(value, int) and value > 0


def one_line(value: object) -> bool:
    """a text of one line"""
    return is_a(value, str) and value.isprintable()


def a_name(value: object) -> bool:
    """a name of letters, digits and _"""
    return is_a(value, str) and re.fullmatch(r"\w+", value) is not None


def file_name(value: object) -> bool:
    """a name of a file"""
    return is_a(value, str) and re.fullmatch(r"[\w./-]{1,200}", value) is not None


def absent(value: object) -> bool:
    """to be here"""
    return False


def is_a(value: object, kind: type) -> bool:
    if kind is str:  # which can be written
        return isinstance(value, str) and (
            value.isascii() or not re.search("[\ud800-\udfff]", value)
        )
    if kind in (int, float):
        number = isinstance(value, int | kind) and not isinstance(value, bool)
        return number and -LARGEST <= value < LARGEST
    return isinstance(value, kind)


def complaints(value: object, shape: object, where: str) -> Iterator[str]:
    match shape:
        case tuple():
            found = [next(complaints(value, one, where), "") for one in shape]
            if all(found) and all(isinstance(one, str) for one in shape):
                yield f"{where} is none of {', '.join(shape)}"
            elif all(found):
                alike = [isinstance(one, dict) == isinstance(value, dict) for one in shape]
                yield found[alike.index(True) if any(alike) else 0]
        case dict() if not isinstance(value, dict):
            yield f"{where} is no object"
        case dict():
            of_keys = {key.removesuffix("?"): key for key in shape if key is not str}
            for name, key in of_keys.items():
                if name in value:
                    yield from complaints(value[name], shape[key], f"{where}.{name}")
                elif name == key:
                    yield f"{where} has no '{name}'"
            for key in (key for key in value if key not in of_keys):
                if not is_a(key, str) or isinstance(shape, Closed):
                    yield f"{where} has '{key!s:.40}', which nothing is called here"
                elif str in shape:
                    yield from complaints(value[key], shape[str], f"{where}.{key:.80}")
        case list() if not isinstance(value, list):
            yield f"{where} is no list"
        case [_, e] if e is ... and not value:
            yield f"{where} is empty"
        case [first, *rest]:
            kinds = [first] * len(value) if rest in ([], [...]) else shape
            if len(kinds) != len(value):
                yield f"{where} has {len(value)} elements, not {len(kinds)}"
                return
            for number, (one, kind) in enumerate(zip(value, kinds, strict=True)):
                yield from complaints(one, kind, f"{where}[{number}]")
        case None:
            if value is not None:
                yield f"{where} is not null"
        case type():
            if not is_a(value, shape):
                yield f"{where} is not {WORDS[shape]}"
        case str():
            if value != shape:
                yield f"{where} is not '{shape}'"
        case _:
            if not shape(value):
                yield f"{where} is not {shape.__doc__}"


def check(value: object, shape: object, path: Path) -> object:
    """The value, if it is what is expected. Raises BadInput."""
    for wrong in complaints(value, shape, ""):  # the first one
        raise BadInput(f"{path}: {wrong.lstrip()}")
    return value


def read_text(path: Path) -> str:
    """Raises BadInput."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is no text: byte {error.start} is not UTF-8") from error
    except ValueError as error:  # a name that no file can have
        raise BadInput(f"'{path!s}': {error}") from error


class Missing(BadInput, KeyError):
    """What a file may lack, and somebody needs."""


class Object(dict):
    """Of JSON. A key that the shape lets be missing is asked for with `in` or get(), or this is
    what the file lacks."""

    def __init__(self, pairs: list[tuple[str, object]], path: Path):
        super().__init__(once_each(pairs))
        self.path = path

    def __missing__(self, key: str) -> None:
        raise Missing(f"{self.path} lacks '{key}' in {{{', '.join(map(repr, self)):.60}...}}")


def no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def once_each(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"'{twice:.40}' stands twice in one object")
    return found


def parse_json(text: str, path: Path, shape: object) -> object:
    """Raises BadInput."""
    try:
        found = json.loads(
            text, parse_constant=no_constant, object_pairs_hook=lambda pairs: Object(pairs, path)
        )
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is no JSON: {error}") from error
    return check(found, shape, path)


def read_json(path: Path, shape: object) -> object:
    """Raises BadInput."""
    return parse_json(read_text(path), path, shape)


def join(whole: dict, part: dict, where: str) -> None:
    """Adds to the objects and lists of `whole` what `part` has in theirs."""
    for key, value in part.items():
        there = whole.get(key)
        if key not in whole:
            whole[key] = value
        elif isinstance(there, dict) and isinstance(value, dict):
            join(there, value, where)
        elif isinstance(there, list) and isinstance(value, list):
            there += value
        else:
            raise BadInput(f"{where}: '{key:.40}' stands in an earlier line, too")


def read_lines(path: Path, shape: object) -> object:
    """What the lines of a file of JSON Lines, parts of one object, are together. Raises
    BadInput."""
    return parse_lines(read_text(path), path, shape)


def parse_lines(text: str, path: Path, shape: object) -> object:
    """Raises BadInput."""
    whole = Object([], path)
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        try:
            join(whole, parse_json(line, where, {}), where)
        except RecursionError as error:
            raise BadInput(f"{where}: {error}") from error
    if not whole:
        raise BadInput(f"{path} is empty")
    return check(whole, shape, path)


def parts(whole: dict, records: str | None) -> list[dict]:
    """What read_lines() joins: all else, and then each of the `records`, if it has them."""
    if records not in whole:
        return [whole]
    its = whole[records]
    if isinstance(its, dict):
        return [whole | {records: {}}, *({records: {key: its[key]}} for key in its)]
    return [whole | {records: []}, *({records: [one]} for one in its)]


def as_lines(parts: Iterable[dict]) -> str:
    return "".join(json.dumps(part) + "\n" for part in parts)


@cache
def yaml_reader() -> Callable[[str], object]:
    """Raises BadInput."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise BadInput("PyYAML is needed; ./scripts/test.sh installs it into .venv") from error

    # The one in C, where PyYAML has it, takes a tenth of the time.
    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
            once_each([(str(key.value), None) for key, _ in node.value])
            return super().construct_mapping(node, deep)

    # `on` and `no` are words, as in YAML 1.2.
    Loader.yaml_implicit_resolvers = {
        first: [rule for rule in rules if first in "tTfF" or rule[0] != "tag:yaml.org,2002:bool"]
        for first, rules in Loader.yaml_implicit_resolvers.items()
    }
    return lambda text: yaml.load(text, Loader)


def read_yaml(path: Path, shape: object) -> object:
    """Raises BadInput."""
    text, load = read_text(path), yaml_reader()
    try:
        found = load(text)
    except Exception as error:  # what PyYAML's constructors raise is no one family
        raise BadInput(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    return check(found, shape, path)
