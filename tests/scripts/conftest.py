import contextlib
import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ladder import manifest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def manifest_of(tmp_path, monkeypatch):
    """Writes a manifest of a test's own, which the scripts then read. A stage needs no more than a
    name; its parent is the one before."""

    def write(*stages):
        entries = []
        for stage in stages:
            given = stage if isinstance(stage, dict) else {"name": stage}
            entry = {
                "parent": entries[-1]["name"] if entries else None,
                "types": ["fp32"],
                "needs": {"compute_capability": 50, "features": []},
                "aligned_rows": False,
                "page": f"docs/{given['name']}.md",
            }
            entries.append(entry | given)
        folder = tmp_path / "stages"
        folder.mkdir(exist_ok=True)
        path = folder / "manifest.json"
        path.write_text(json.dumps({"stages": entries}))
        manifest.read.cache_clear()
        monkeypatch.setattr(manifest, "MANIFEST", path)
        return path

    return write


@pytest.fixture
def clone(tmp_path):
    """The project with nothing built."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for entry in ROOT.iterdir():
        if entry.is_file():  # ./ladder looks for the project where it lies
            shutil.copy(entry, folder)
        elif not entry.name.startswith(("build", ".git")):
            (folder / entry.name).symlink_to(entry)
    return folder


def need(module, what):
    if os.environ.get("CI") != "true":  # where all of it is installed
        pytest.importorskip(module, reason=f"{what} is not installed")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site: where LADDER_SITE names one, as .ci/run does, that one."""
    if "LADDER_SITE" in os.environ:
        return Path(os.environ["LADDER_SITE"])
    need("material", "MkDocs Material")
    if os.environ.get("CI") != "true" and shutil.which("doxygen") is None:
        pytest.skip("there is no Doxygen")
    folder = tmp_path_factory.mktemp("site")
    for config, to in (("mkdocs.yml", folder), ("mkdocs.zh-CN.yml", folder / "zh")):
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "--site-dir", to],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        )
        assert done.returncode == 0, done.stderr
        assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="session")
def browser():
    need("playwright", "Playwright")
    from playwright import sync_api as playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if os.environ.get("CI") != "true" and chromium is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as p:
        running = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
    }

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(folder):
    """Its address."""
    handler = functools.partial(Files, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    """The folder with what lab/build.py makes."""
    if shutil.which("clang++-19") is None or shutil.which("wasm-ld-19") is None:
        pytest.skip("there is no clang++-19 with wasm-ld-19")
    if not Path("/usr/include/wasm32-wasi/c++/v1").exists():
        pytest.skip("there is no libc++-19-dev-wasm32")
    folder = tmp_path_factory.mktemp("engine") / "lab"
    done = subprocess.run(
        [sys.executable, ROOT / "lab/build.py", folder, ROOT / "build/lab"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def engine_page(browser, engine):
    """A page at the engine's address, from which its worker can be asked."""
    page = browser.new_page()
    page.set_default_timeout(300_000)
    with serving(engine) as address:
        page.goto(f"{address}/lab.css")  # no page is needed
        yield page
    page.close()
