"""The reference of the public headers: what Doxygen reads there (Doxyfile), as Markdown."""

import re
import subprocess
import tempfile
import textwrap
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ladder.files import read_text
from ladder.project import ROOT, BadInput

WIDTH = 100


def read(root: Path) -> list[Element]:
    """Files, namespaces and classes, as Doxygen has them from the Doxyfile in `root`. Raises
    BadInput with its messages: of what is public and has no comment, for one."""
    with tempfile.TemporaryDirectory() as output:
        settings = f"{read_text(root / 'Doxyfile')}OUTPUT_DIRECTORY = {output}\n"
        try:
            done = subprocess.run(
                ["doxygen", "-"], input=settings, cwd=root, capture_output=True, text=True
            )
        except FileNotFoundError as error:
            raise BadInput("Doxygen is not installed: the reference is left out") from error
        if done.returncode != 0:
            raise BadInput(*dict.fromkeys(done.stderr.splitlines()))
        files = sorted(Path(output).glob("xml/*.xml"))
        return [found for f in files for found in ElementTree.parse(f).iter("compounddef")]


def text(element: Element | None) -> str:
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def description(element: Element) -> str:
    parts = (element.find("briefdescription"), element.find("detaileddescription"))
    return " ".join(map(text, parts)).strip().replace("<", "&lt;")


def code(element: Element, *parts: str) -> str:
    """On one line, spaced as in this project: `const Gemm<In, Out>& p = {}`."""
    line = " ".join(filter(None, (text(element.find(part)) for part in parts)))
    line = re.sub(r"< (.*?) >", r"<\1>", line)
    line = re.sub(r" ([&*]+) ?(?=\w)", r"\1 ", line).replace(" &", "&").replace(" (", "(")
    return re.sub(r" ?=(?=[\w{])| (?={})", " = ", line)


def name_of(thing: Element) -> str:
    """In C nothing is qualified; classes have a name of another kind."""
    return next(
        filter(None, (code(thing, f"{kind}name") for kind in ("qualified", "", "compound")))
    )


def declaration(member: Element) -> str:
    if member.get("kind") == "enum":
        values = ", ".join(text(value.find("name")) for value in member.iter("enumvalue"))
        enum = "enum class" if member.get("strong") == "yes" else "enum"
        line = f"{enum} {name_of(member)} {{ {values} }};"
    else:
        line = code(member, "definition", "argsstring", "initializer") + ";"
    # A line is broken between parameters alone.
    line = line.replace(" ", "\0").replace(",\0", ", ")
    lines = textwrap.wrap(line, WIDTH, subsequent_indent="    ")
    types = ", ".join(code(p, "type") for p in member.iterfind("templateparamlist/param"))
    template = [f"template <{types}>"] if types else []
    return "\n".join(["```cpp", *template, *lines, "```"]).replace("\0", " ")


def of_member(member: Element) -> str:
    return f"{declaration(member)}\n\n{description(member)}"


def of_class(found: Element) -> str:
    members = [m for m in found.iter("memberdef") if m.get("prot") == "public"]
    fields = [m for m in members if m.get("kind") == "variable"]
    table = [f"| `{code(m, 'type', 'name', 'initializer')}` | {description(m)} |" for m in fields]
    table = ["\n".join(["| field | |", "| --- | --- |", *table])] if fields else []
    return "\n\n".join(
        [description(found), *table, *(of_member(m) for m in members if m not in fields)]
    )


def reference(root: Path = ROOT) -> str:
    """A part for each header, as the Doxyfile has them; in it everything in the header's order.
    Raises BadInput."""
    found = read(root)
    settings = read_text(root / "Doxyfile")
    things = [(f, of_class) for f in found if f.get("kind") in ("class", "struct")]
    members = {  # of a namespace, and in C of a file, which may have the namespace's again
        member.get("id"): member
        for f in sorted(found, key=lambda f: f.get("kind") != "file")
        if f.get("kind") in ("namespace", "file")
        for member in f.iter("memberdef")
        if member.get("kind") != "define"
    }
    things += [(member, of_member) for member in members.values()]
    things.sort(key=lambda thing: int(thing[0].find("location").get("line")))
    files = {f.find("location").get("file"): f for f in found if f.get("kind") == "file"}
    result = ""
    for path, f in sorted(files.items(), key=lambda file: settings.index(file[0])):
        result += f"\n## {path.split('/')[-1]}\n\n{description(f)} [Its text](../{path}).\n"
        last = ""
        for thing, written in things:
            if thing.find("location").get("file") == path:
                name = name_of(thing)
                heading = f"### {name.removeprefix('ladder::')}\n\n" if name != last else ""
                result += f"\n{heading}{written(thing)}\n"
                last = name
    return result
