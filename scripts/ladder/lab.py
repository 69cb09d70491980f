"""What a site that is built with --lab has more: kernels that are compiled and run in the page
(lab/README.md). Without it no page has a byte more."""

import os
import re

from mkdocs.structure.files import File

from ladder.project import ROOT

BUILT = ROOT / "build/lab/site"  # what lab/build.py has written is below it, in lab/
# Before this heading stands the part.
BEFORE = {"stage": "prediction-and-measurement", "exercise": "hints"}
# English and Chinese: what is opened, and what stands there where it cannot be loaded.
RUN = (
    "Run it here: change the kernel, and see what each line costs",
    "在这里运行: 修改核函数, 看每一行的代价",
)
SOLVE = ("Solve it here: write, and have it graded", "在这里解答: 编写并评分")
NO_SERVER = (
    "A page from disk cannot compile: write ./scripts/docs.sh serve --lab.",
    "从磁盘打开的页面不能编译: 请用 ./scripts/docs.sh serve --lab。",
)


def is_wanted() -> bool:
    return os.environ.get("LADDER_LAB") == "1"


def known(kind: str) -> set[str]:
    """The names of the stages, or of the exercises, that can be run in the page."""
    return {path.stem for path in (BUILT / "lab" / kind).glob("*.json")} if is_wanted() else set()


def files(config) -> list[File]:
    """What is copied into the site as it is."""
    if not is_wanted():
        return []
    names = [path.relative_to(BUILT).as_posix() for path in BUILT.rglob("*") if path.is_file()]
    return [File(name, str(BUILT), config.site_dir, False) for name in sorted(names)]


def with_part(html: str, source: str, stage: str, lab: str, in_chinese: bool) -> str:
    """A page with the part in which kernels run: that of `stage`, or of an exercise by its path.
    `lab` is the folder of files()."""
    exercise = source.removeprefix("source/exercises/").split("/")[0]
    if stage in known("stages"):
        kind, name, summary = "stage", stage, RUN
    elif source.endswith("/README.md.md") and exercise in known("exercises"):
        kind, name, summary = "exercise", exercise, SOLVE
    else:
        return html
    part = (
        f'<details class="lab" data-{kind}="{name}"><summary>{summary[in_chinese]}</summary>'
        f'<div>{NO_SERVER[in_chinese]}</div></details><script src="{lab}/open.js"></script>\n'
    )
    heading = re.compile(rf'<h2 [^>]*id="{BEFORE[kind]}"')
    return heading.sub(lambda found: part + found[0], html, count=1)
