"""Opens every page of the built site in headless Chromium."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if os.environ.get("CI") != "true":  # where all of it is installed
    pytest.importorskip("playwright", reason="Playwright is not installed")
    pytest.importorskip("material", reason="MkDocs Material is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium", allow_module_level=True)
from playwright import sync_api as playwright  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def test_every_page_renders_with_its_figures_and_no_link_is_broken(site, browser):
    pages = sorted(p for p in site.rglob("*.html") if p.name != "404.html")
    sources = [p for p in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > len(sources) > 20
    page = browser.new_page(viewport={"width": 390, "height": 800})
    problems, anchors, links = [], {}, {}
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    for path in pages:
        page.goto(path.as_uri())
        text = page.inner_text("article")
        if len(text) < 100 or page.title() == "":
            problems.append(f"{path.name}: hardly any text")
        # Images below the fold load when they are scrolled to, unless told to at once.
        broken = page.evaluate(
            """async () => {
              const images = [...document.querySelectorAll("article img")];
              for (const image of images) image.loading = "eager";
              await Promise.allSettled(images.map(image => image.decode()));
              return images.filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src);
            }"""
        )
        problems += [f"{path.name}: no image {source}" for source in broken]
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if wide > 0:
            problems.append(f"{path.name}: {wide} pixels wider than a phone")
        anchors[path] = set(page.eval_on_selector_all("[id]", "all => all.map(e => e.id)"))
        anchors[path] |= set(page.eval_on_selector_all("a[name]", "all => all.map(e => e.name)"))
        links[path] = page.eval_on_selector_all("article a[href]", "all => all.map(a => a.href)")
    for path, targets in links.items():
        for target in targets:
            if not target.startswith("file://"):
                continue
            file, _, anchor = target.removeprefix("file://").partition("#")
            if Path(file) not in anchors and not Path(file).exists():
                problems.append(f"{path.name}: no {file}")
            elif anchor and anchor not in anchors.get(Path(file), set()):
                problems.append(f"{path.name}: no #{anchor} in {Path(file).name}")
    assert problems == []


def test_figures_and_pages_are_there(site):
    text = (site / "03_transposed_b.html").read_text()
    assert len(re.findall(r"<img [^>]*access_03", text)) == 3
    assert "source/kernels/03_transposed_b.cuh.html#__codelineno-0-" in text
