"""What MkDocs does beside its own: pages come in the order of the ladder; the kernels become pages,
with numbered lines, and links to them (which on disk and in a repository go to the file itself) go
there; formulas become MathML, which needs no script.
"""

import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

from ladder import manifest
from ladder.project import ROOT

# A link out of docs/, with lines or without: ](../kernels/01_naive.cuh#L24-L35)
LINK = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>[\w./]+?)(?:#L(?P<line>\d+)(?:-L\d+)?)?\)")
FORMULA = re.compile(r"^\$\$(.+?)\$\$$", re.DOTALL | re.MULTILINE)
METHOD = ["gpu_model", "reading_ncu", "roofline", "techniques", "folklore", "correctness"]
SHOWN = ("kernels/*.cuh", "kernels/*.h", "kernels/parts/*.cuh", "kernels/ptx/*.cuh", "stages/*.cu")


def on_config(config):
    docs = Path(config.docs_dir)
    stages = [(ROOT / s.page).relative_to(docs).as_posix() for s in manifest.load().values()]
    method = [f"{name}.md" for name in [*METHOD, "cpu_device"]]
    notes = sorted(f"notes/{path.name}" for path in docs.glob("notes/*.md"))
    config.nav = ["index.md", {"Stages": stages}, {"Method": method}, {"Tuning notes": notes}]
    return config


def on_files(files, config):
    for pattern in SHOWN:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            text = f'# {name}\n\n```cuda linenums="1"\n{path.read_text()}```\n'
            page = File.generated(config, f"source/{name}.md", content=text)
            page.inclusion = page.inclusion.NOT_IN_NAV
            files.append(page)
    return files


def on_page_markdown(markdown, page, config, files):
    up = "../" * page.file.src_uri.count("/")

    def to_page(match: re.Match) -> str:
        name = f"source/{match['path']}.md"
        if not files.get_file_from_path(name):
            return match[0]  # MkDocs warns of it
        line = f"#__codelineno-0-{match['line']}" if match["line"] else ""
        return f"]({up}{name}{line})"

    markdown = FORMULA.sub(lambda match: convert(match[1].strip(), display="block"), markdown)
    return LINK.sub(to_page, markdown)
