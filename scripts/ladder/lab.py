"""What a site that is built with --lab has more: kernels that are compiled and run in the page
(lab/README.md). Without it no page has a byte more."""

import os

from mkdocs.structure.files import File

from ladder.project import ROOT

BUILT = ROOT / "build/lab/site"  # what lab/build.py has written is below it, in lab/
BEFORE = '<h2 id="prediction-and-measurement"'
# English and Chinese: what is opened, and what stands there where it cannot be loaded.
WORDS = (
    (
        "Run it here: change the kernel, and see what each line costs",
        "A page from disk cannot compile: write ./scripts/docs.sh serve --lab.",
    ),
    (
        "在这里运行: 修改核函数, 看每一行的代价",
        "从磁盘打开的页面不能编译: 请用 ./scripts/docs.sh serve --lab。",
    ),
)


def is_wanted() -> bool:
    return os.environ.get("LADDER_LAB") == "1"


def stages() -> set[str]:
    return {path.stem for path in (BUILT / "lab/stages").glob("*.json")} if is_wanted() else set()


def files(config) -> list[File]:
    """What is copied into the site as it is."""
    if not is_wanted():
        return []
    names = [path.relative_to(BUILT).as_posix() for path in BUILT.rglob("*") if path.is_file()]
    return [File(name, str(BUILT), config.site_dir, False) for name in sorted(names)]


def with_part(html: str, stage: str, lab: str, in_chinese: bool) -> str:
    """A stage's page with the part in which its kernel runs. `lab` is the folder of files()."""
    if stage not in stages():
        return html
    summary, no_server = WORDS[in_chinese]
    part = (
        f'<details class="lab" data-stage="{stage}"><summary>{summary}</summary>'
        f'<div>{no_server}</div></details><script src="{lab}/open.js"></script>\n'
    )
    before, found, rest = html.partition(BEFORE)
    return f"{before}{part}{found}{rest}"
