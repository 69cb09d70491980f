"""Draws docs/assets/card.png, which sites that link to a page of this one show beside the link: the
drawing of the first page. .venv has Playwright where the group `browser` of pyproject.toml is
installed.

.venv/bin/python ladder card

Exit code: 0 all right, 2 Chromium or Playwright is missing.
"""

import argparse
import shutil

from ladder import landing
from ladder.files import read_text
from ladder.project import ROOT, BadInput

CARD = ROOT / "docs/assets/card.png"
SIZE = {"width": 1200, "height": 630}  # as Open Graph has it
STYLE = """
:root { --md-default-fg-color: #24292f; --md-default-fg-color--light: #57606a; }
body { margin: 0; padding: 40px 60px; font-family: sans-serif; color: #24292f; }
h1 { margin: 0; font-size: 64px; } p { margin: 8px 0 20px; font-size: 28px; color: #57606a; }
.landing { max-width: none; } .landing svg { height: 400px; width: auto; }
"""


def page() -> str:
    site = read_text(ROOT / "mkdocs.yml")
    name, words = (
        site.partition(f"site_{key}: ")[2].split("\n")[0] for key in ("name", "description")
    )
    return (
        f"<style>{read_text(ROOT / 'docs/assets/site.css')}{STYLE}</style>"
        f'<h1>{name}</h1><p>{words}</p><div class="landing">{landing.drawing()}</div>'
    )


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(prog="ladder card", description=__doc__).parse_args(arguments)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise BadInput("Playwright is missing") from None
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise BadInput("Chromium is missing")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        card = browser.new_page(viewport=SIZE)
        card.set_content(page())
        card.screenshot(path=CARD)
        browser.close()
    return 0
