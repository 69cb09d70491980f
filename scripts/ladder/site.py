"""What MkDocs does beside its own: pages come in the order of the ladder; the kernels become pages,
with numbered lines, and so does kernels/README.md; links to them (which on disk and in a repository
go to the file itself) go there; formulas become MathML, which needs no script.
"""

import json
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

from ladder import manifest
from ladder.project import ROOT

# A link to another file, with lines or without: ](../kernels/01_naive.cuh#L24-L35)
LINK = re.compile(r"\]\((?P<path>[\w./]+?)(?:#L(?P<line>\d+)(?:-L\d+)?)?\)")
FORMULA = re.compile(r"^\$\$(.+?)\$\$$", re.DOTALL | re.MULTILINE)
METHOD = ["reading_ncu", "roofline", "techniques", "folklore", "correctness"]
SHOWN = ("kernels/*.cuh", "kernels/*.h", "kernels/parts/*.cuh", "kernels/ptx/*.cuh", "stages/*.cu")
LEGEND, LEGEND_PAGE = "kernels/README.md", "kernels.md"


def on_config(config):
    docs = Path(config.docs_dir)
    stages = [(ROOT / s.page).relative_to(docs).as_posix() for s in manifest.load().values()]
    method = [f"{name}.md" for name in [*METHOD, "cpu_device"]]
    notes = sorted(f"notes/{path.name}" for path in docs.glob("notes/*.md"))
    legend = [LEGEND_PAGE] if (ROOT / LEGEND).exists() else []
    several = json.loads((ROOT / "stages/several_gpus.json").read_text())["stages"]
    several = [(ROOT / stage["page"]).relative_to(docs).as_posix() for stage in several]
    nav = [
        "index.md",
        *legend,
        {"Stages": stages},
        {"Several GPUs": several},
        {"Method": method},
        {"Tuning notes": notes},
    ]
    config.nav = nav
    return config


def on_files(files, config):
    for pattern in SHOWN:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            text = f'# {name}\n\n```cuda linenums="1"\n{path.read_text()}```\n'
            page = File.generated(config, f"source/{name}.md", content=text)
            page.inclusion = page.inclusion.NOT_IN_NAV
            files.append(page)
    if (ROOT / LEGEND).exists():
        files.append(File.generated(config, LEGEND_PAGE, content=(ROOT / LEGEND).read_text()))
    return files


def page_of(target: str) -> str:
    """The page of the site that shows a file of the project."""
    pages = {LEGEND: LEGEND_PAGE, "README.md": "index.md"}
    return pages.get(target) or f"source/{target}.md"


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
    up = "../" * source.count("/")
    folder = ROOT / ("kernels" if source == LEGEND_PAGE else f"docs/{source}/..")

    def to_page(match: re.Match) -> str:
        target = (folder / match["path"]).resolve()
        if not target.is_relative_to(ROOT):
            return match[0]
        target = target.relative_to(ROOT).as_posix()
        in_docs = source == LEGEND_PAGE and target.startswith("docs/")
        name = target.removeprefix("docs/") if in_docs else page_of(target)
        if not files.get_file_from_path(name):
            return match[0]  # MkDocs knows it, or warns of it
        line = f"#__codelineno-0-{match['line']}" if match["line"] else ""
        return f"]({up}{name}{line})"

    markdown = FORMULA.sub(lambda match: convert(match[1].strip(), display="block"), markdown)
    return LINK.sub(to_page, markdown)
