"""Opens every page of the built site in headless Chromium, and reads its links from the files."""

import http.server
import itertools
import os
import re
import shutil
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import need

ROOT = Path(__file__).resolve().parents[2]
if os.environ.get("CI") != "true":  # where all of it is installed
    pytest.importorskip("material", reason="MkDocs Material is not installed")
from ladder import landing, reading  # noqa: E402
from ladder import site as hooks  # noqa: E402
from ladder.figures.svg import SIZES, WIDTH  # noqa: E402
from ladder.links import broken_links  # noqa: E402
from ladder.project import RESULTS  # noqa: E402
from ladder.results import own, read_report  # noqa: E402
from ladder.side_by_side import AROUND, side_by_side  # noqa: E402
from ladder.translated import in_english  # noqa: E402

PHONE, DESKTOP = 390, 1280
COLUMNS = 101  # of code that is never cut: a kernel's 100, and the + of a difference

# What is wrong with a page, in words; images below the fold are loaded first.
FAULTS = """async ([wide, columns]) => {
  const faults = [], article = document.querySelector("article");
  const images = [...article.querySelectorAll("img")];
  for (const image of images) image.loading = "eager";
  await Promise.allSettled(images.map(image => image.decode()));
  for (const image of images)
    if (!image.complete || image.naturalWidth === 0) faults.push(`no image ${image.src}`);
  const beyond = document.documentElement.scrollWidth - window.innerWidth;
  if (beyond > 0) faults.push(`${beyond} pixels wider than the window`);
  for (const paragraph of article.querySelectorAll("p"))
    if (/^\\s*\\|.*\\|\\s*$/m.test(paragraph.innerText))
      faults.push(`a broken table: ${paragraph.innerText.slice(0, 60)}`);
  if (!wide)
    for (const cell of article.querySelectorAll("td.predict"))
      if (cell.getBoundingClientRect().right > window.innerWidth)
        faults.push("what is predicted is cut off");
  if (wide) {
    for (const table of article.querySelectorAll(".md-typeset__scrollwrap"))
      if (table.scrollWidth > table.clientWidth)
        faults.push(`a table is cut: ${table.innerText.slice(0, 60)}`);
    for (const code of article.querySelectorAll("pre > code")) {
      const longest = Math.max(...code.textContent.split("\\n").map(line => line.length));
      const folded = code.closest("details:not([open])") !== null;
      if (!folded && longest <= columns && code.scrollWidth > code.clientWidth)
        faults.push(`code of ${longest} columns is cut: ${code.textContent.slice(0, 60)}`);
    }
  }
  return faults;
}"""


def longest_line(path):
    return max(map(len, re.sub("<[^>]*>", "", path.read_text()).splitlines()))


def pages_of(site):
    return sorted(p for p in site.rglob("*.html") if p.name != "404.html")


def looked_at(site):
    """All pages but most of those that are nothing but code in a template: of the sources, of what
    differs between stages, and of the exercises in each language the ten with the longest lines."""
    pages, alike = [], {"kernels": [], "diff": [], "exercises": [], "zh": []}
    for path in pages_of(site):
        top, *rest = path.relative_to(site).parts
        text = path.read_text()
        if {"kernels", "stages", "tests", "python"} & set(rest):
            alike["kernels"].append(path)
        elif path.name.startswith("diff_"):
            alike["diff"].append(path)
        elif "exercises" in rest[:-1] and "<table" not in text and "<img" not in text:
            alike["zh" if top == "zh" else "exercises"].append(path)
        else:
            pages.append(path)
    assert all(len(kind) > 10 for kind in alike.values())
    longest = [sorted(kind, key=longest_line)[-10:] for kind in alike.values()]
    return [*pages, *itertools.chain(*longest)]


@pytest.mark.slow
def test_no_page_has_a_fault(site, browser):
    pages = looked_at(site)
    assert len(pages) > 2 * len(in_english(ROOT / "docs")) > 40
    page = browser.new_page(reduced_motion="reduce")  # as wide as it will be, at once
    problems = []
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    page.on(
        "console",
        lambda said: problems.append(f"{page.url}: {said.text}") if said.type == "error" else None,
    )
    page.on(
        "requestfailed",  # which those are, too, that the next page interrupts
        lambda request: (
            problems.append(f"{page.url}: no {request.url}")
            if request.failure != "net::ERR_ABORTED"
            else None
        ),
    )
    for path in pages:
        page.goto(path.as_uri())
        if len(page.inner_text("article")) < 100 or page.title() == "":
            problems.append(f"{path.name}: hardly any text")
        for width in (DESKTOP, PHONE):
            page.set_viewport_size({"width": width, "height": 800})
            faults = page.evaluate(FAULTS, [width == DESKTOP, COLUMNS])
            problems += [f"{path.name}, {width} pixels: {fault}" for fault in faults]
    page.close()
    assert problems == []


@pytest.mark.slow
def test_the_faults_are_seen(site, browser, tmp_path):
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    path = copy / "01_naive.html"
    code = "x" * 90
    predicted = "<table><td class='predict'><div style='width: 600px'>3</div></table>"
    wide = "<td>" + "</td><td>".join(["a_cell_that_does_not_break"] * 12) + "</td>"
    path.write_text(
        path.read_text().replace(
            "</article>",
            f"<img src='none.svg'><p>| a | b |</p><table><tr>{wide}</tr></table>"
            f"<div style='width: 20rem'><pre><code>{code}</code></pre></div>"
            f"<div style='width: 1400px'>wide</div>{predicted}</article>",
        )
    )
    page = browser.new_page(viewport={"width": DESKTOP, "height": 800})
    page.goto(path.as_uri())
    faults = page.evaluate(FAULTS, [True, COLUMNS])
    page.set_viewport_size({"width": PHONE, "height": 800})
    faults = "\n".join(faults + page.evaluate(FAULTS, [False, COLUMNS]))
    page.close()
    for fault in (
        "no image",
        "wider than the window",
        "a broken table",
        "a table is cut: a_cell",
        "code of 90 columns",
        "what is predicted is cut off",
    ):
        assert fault in faults


def test_broken_links_are_seen(tmp_path):
    page, other = tmp_path / "page.html", tmp_path / "other.html"
    other.write_text("<h1 id='here'>a</h1><a name='there'></a>")
    page.write_text(
        "<a href='ignored.html'></a><article><a href='other.html#here'></a>"
        "<a href='other.html#there'></a><a href='https://a.b/c#d'></a><a href='#none'></a>"
        "<a href='other.html#nowhere'></a><a href='missing.html'></a></article>"
    )
    assert [*broken_links(tmp_path)] == [
        "page.html: no #none in page.html",
        "page.html: no #nowhere in other.html",
        f"page.html: no {tmp_path / 'missing.html'}",
    ]


@pytest.mark.slow
def test_figures_and_pages_are_there(site):
    text = (site / "03_transposed_b.html").read_text()
    assert len(re.findall(r"<img [^>]*access_03", text)) == 3
    assert "source/kernels/03_transposed_b.cuh.html#__codelineno-0-" in text
    assert text.count('href="source/diff_03.html"') == 2  # below the heading, and at the command
    assert 'href="stepper.html?stage=03_transposed_b"' in text
    assert "stepper.html?stage" not in (site / "12_tensor_parallel.html").read_text()


CARDS = """() => ({
  beyond: document.documentElement.scrollWidth - innerWidth,
  rows: new Set([...document.querySelectorAll("[data-cards] tbody tr:first-child td")].map(
    cell => cell.getBoundingClientRect().top)).size,
  names: [...document.querySelectorAll("[data-cards] tbody tr:first-child td")].map(
    cell => getComputedStyle(cell, "::before").content),
})"""


@pytest.mark.slow
def test_the_stages_are_cards_on_a_phone_and_a_table_elsewhere(site, browser):
    page = browser.new_page(viewport={"width": PHONE, "height": 844})
    page.goto((site / "stages.html").as_uri())
    cards = page.evaluate(CARDS)
    assert cards["beyond"] <= 0 and cards["rows"] > 4
    assert page.locator("table").count() > page.locator("[data-cards]").count() == 1
    assert {'"% of cuBLAS"', '"% on H100, 8192"'} <= set(cards["names"])
    page.set_viewport_size({"width": DESKTOP, "height": 800})
    table = page.evaluate(CARDS)
    assert set(table["names"]) == {"none"} and table["rows"] < cards["rows"]
    page.close()


@pytest.mark.slow
def test_the_differences_are_pages(site):
    text = (site / "source/diff_03.html").read_text()
    assert "<pre>kernels/02_smem_tiled.cuh</pre><pre>kernels/03_transposed_b.cuh</pre>" in text
    assert 'href="kernels/02_smem_tiled.cuh.html#__codelineno-0-15"' in text
    assert not (site / "source/diff_01.html").exists()
    assert list(site.rglob("*zh-CN.yaml")) == []  # the scripts' own


def sides(html, kind):
    """Of the rows of a kind, the numbers and the words of the lines on both sides."""
    rows = re.findall(rf'<div class="row {kind}"><pre>(.*?)</pre><pre>(.*?)</pre>', html, re.DOTALL)
    number, words = re.compile(r'data-line="(\d+)"'), re.compile("<[^>]+>")
    return [
        [[*map(int, number.findall(side)), *words.sub("", side).split("\n")[:-1]] for side in row]
        for row in rows
    ]


def test_differences_stand_side_by_side_and_equal_lines_are_folded():
    same = [f"int x{i};" for i in range(20)]
    codes = ["\n".join([*same, old, "/* a", "b */", *more]) for old, *more in (("a",), ("b", "c"))]
    said = {range(19, 22): "of the first change", range(0, 10): "of no change"}
    html = side_by_side(["<old>", "new"], codes, ["old.html", "new.html"], said)
    assert sides(html, "replace") == [[[21, "a"], [21, "b"]]]
    assert sides(html, "insert") == [[[], [24, "c"]]]
    opened = [18, 19, 20, *same[-AROUND:]]
    assert sides(html, "equal")[1:] == [[opened] * 2, [[22, 23, "/* a", "b */"]] * 2]
    assert "<details><summary>17 lines are the same</summary>" in html
    assert "&lt;old&gt;" in html and '<span class="kt">int</span>' in html
    assert html.count('<span class="cm">b */</span>') == 2  # a comment of several lines
    assert '<div class="said">of the first change</div><div class="row replace">' in html
    assert html.count('class="said"') == 1


def test_changes_have_the_sentences_of_the_page():
    page = reading.read_text(ROOT / "docs/05b_split_barrier.md")
    said = hooks.said_of_lines("05b_split_barrier")
    kernel = reading.read_text(ROOT / "kernels/05b_split_barrier.cuh").splitlines()
    [lines] = [
        lines for lines, words in said.items() if "whether the phase of this parity" in words
    ]
    assert "next_buffer = [&]" in kernel[lines.start] and kernel[lines.stop - 1] == "  };"
    assert f'linenums="{lines.start + 1}"' in page
    assert said[lines] in hooks.difference("05b_split_barrier", "05_cp_async")


def test_links_to_a_page_are_shown_with_its_title_and_the_card(site):
    page = (site / "01_naive.html").read_text()
    assert '<meta property="og:title" content="01 Naive">' in page
    assert "og:image" not in page  # whose address has to be whole: of a published site alone
    card = (site / "assets/card.png").read_bytes()
    assert [int.from_bytes(card[at : at + 4], "big") for at in (16, 20)] == [1200, 630]


def pages_in(nav):
    """Of a part of the navigation its pages, in their order."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in pages_in(part)]


def test_the_pages_of_each_tab_come_in_the_order_of_the_file():
    ordered = [page for part in reading.order() for page in part.pages]
    tabs = hooks.navigation(ROOT / "docs", reading.order())
    assert [*itertools.chain(*tabs)] == ["Learn", "Practise", "Use", "Reference"]
    for tab in tabs:
        places = [ordered.index(page) for page in pages_in(tab) if page in ordered]
        assert places == sorted(places)
    there = [page for page in ordered if (ROOT / "docs" / page).exists()]
    assert sorted(page for page in pages_in(tabs) if page in ordered) == sorted(there)


@pytest.mark.slow
def test_next_leads_through_all_pages_and_the_exercises(site):
    page, visited = site / "index.html", []
    while page:
        visited.append(page.relative_to(site).as_posix())
        text = page.read_text()
        after = re.search(r'<a href="([^"]+)" class="md-footer__link md-footer__link--next"', text)
        page = (page.parent / after[1]).resolve() if after else None
    pages = pages_in(hooks.navigation(ROOT / "docs", reading.order()))
    assert visited == [page.removesuffix(".md") + ".html" for page in pages]
    assert "source/exercises/72_end_of_a_group/README.md.html" in visited


def test_a_page_to_come_is_left_out_and_said(tmp_path, capsys):
    (tmp_path / "there.md").touch()
    parts = [reading.Part("Start", "开始", ("there.md", "to_come.md"))]
    assert hooks.navigation(tmp_path, parts) == [{"Learn": [{"Start": ["there.md"]}]}]
    assert capsys.readouterr().err == "site: docs/order.json has pages to come: to_come.md\n"


def test_stages_have_titles_in_words():
    titles = [hooks.title_of(page) for page in hooks.parents()]
    assert {"01 Naive", "02 Shared-memory tiles", "05c Split-K", "08 TMA"} <= set(titles)
    assert hooks.title_of("concepts/waves.md") == ""
    assert not [title for title in titles if "_" in title]


def test_an_exercise_shows_its_starter_and_folds_its_hints():
    pages = hooks.generated_pages()
    text = pages["source/exercises/15_cp_async_ring/README.md.md"]
    starter = (ROOT / "exercises/15_cp_async_ring/exercise.cuh").read_text()
    assert f'```cuda linenums="1"\n{starter}```' in text
    assert text.count("<details><summary>Hint") == 3
    assert "cp_async_wait_group&lt;N&gt;?</p>" in text
    answer = pages["source/exercises/02_predict_sectors/README.md.md"]
    assert answer.index("## exercise.cuh") < answer.index("## answer.yaml")


@pytest.mark.slow
def test_a_page_that_is_not_there_leads_to_some_that_are(site):
    text = (site / "404.html").read_text()
    article = text[text.index("<article") : text.index("</article>")]
    links = re.findall(r'href="/([^"]+)"', article)
    assert len(links) == 5 and [link for link in links if not (site / link).exists()] == []


@pytest.mark.parametrize(("repository", "edited"), [("", None), ("https://a.b/c", "main")])
def test_pages_can_be_edited_where_the_repository_is_known(repository, edited):
    config = SimpleNamespace(
        docs_dir=ROOT / "docs", repo_url=repository, edit_uri=None, theme={"language": "en"}
    )
    hooks.on_config(config)
    assert config.edit_uri == (edited and f"edit/{edited}/docs/")


LOOKED_AT = (
    *(
        "index",
        "stages",
        "01_naive",
        "05c_split_k",
        "concepts/bank_conflicts",
        "stepper",
        "library",
    ),
    *(
        "exercises",
        "source/exercises/15_cp_async_ring/README.md",
        "source/diff_03",
        "peers",
        "glossary",
    ),
)
MOST_MOVED = 0.05  # of the window, by the distance: Cumulative Layout Shift
MOVED = """() => new Promise(resolve => {
  let moved = 0;
  const add = list => list.getEntries().forEach(entry => moved += entry.value);
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(moved), 400);
})"""


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", DESKTOP), ("dark", PHONE)])
def test_axe_finds_nothing_and_nothing_moves_while_a_page_loads(site, browser, scheme, width):
    need("axe_playwright_python", "axe")
    from axe_playwright_python.sync_playwright import Axe

    window = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    problems = []
    for name in LOOKED_AT:
        page = window.new_page()
        page.goto((site / f"{name}.html").as_uri())
        moved = page.evaluate(MOVED)
        if moved > MOST_MOVED:
            problems.append(f"{name}: {moved:.3f} of the window moves")
        for found in Axe().run(page).response["violations"]:
            problems += [f"{name}: {found['id']}: {node['html']}" for node in found["nodes"]]
        page.close()
    window.close()
    assert problems == []


def test_the_first_page_shows_the_tiles_and_speeds_of_the_ladder():
    first, *_, last = [landing.frame(stage) for stage in landing.shown()]
    assert (first["what"], last["what"]) == (
        "32 x 32, no shared memory",
        "128 x 256, steps of 64 along K",
    )
    assert last["parts"] == "tile and warpgroups" and last["lines"].count("M") == 1
    speed = own(read_report(RESULTS, "09_wgmma", 4096))["tflops"]
    assert last["speed"] == f"{speed:.1f} TFLOP/s in fp16"
    assert last["bar"][2] == landing.WIDTH > 100 * first["bar"][2]
    assert landing.facts()[0][0] == str(len(hooks.parents()))
    assert (ROOT / "docs/assets/landing.js").stat().st_size < 15_000


@pytest.mark.slow
@pytest.mark.parametrize(("motion", "begins"), [("reduce", "09"), ("no-preference", "01")])
def test_the_first_page_moves_but_not_for_readers_who_want_no_motion(site, browser, motion, begins):
    window = browser.new_context(reduced_motion=motion)
    page = window.new_page()
    page.clock.install()
    page.goto((site / "index.html").as_uri())
    assert page.text_content("[data-part=name]") == begins
    assert page.locator("svg.moves").count() == (begins == "01")
    page.clock.run_for(60_000)
    assert page.text_content("[data-part=name]") == "09"
    assert page.locator("svg.moves").count() == 0
    window.close()


def measured_cells(page):
    return page.locator("#prediction-and-measurement ~ * td:nth-child(3)").all_inner_texts()[:3]


@pytest.mark.slow
def test_what_was_measured_is_hidden_until_a_number_is_written(site, browser):
    address = (site / "07b_swizzle.html").as_uri()
    text = re.sub("<!--.*?-->", "", (site / "07b_swizzle.html").read_text())
    table = text[text.index('id="prediction-and-measurement"') :]
    percents = re.findall(r"<td[^>]*>([\d.]+)</td>\s*<td[^>]*>[\d.]+</td>\s*</tr>", table)[:3]
    window = browser.new_context()
    page = window.new_page()
    page.goto(address)
    asked = page.locator("td.predict input")
    assert asked.count() == 3 and measured_cells(page) == [""] * 3
    asked.first.fill("much")
    asked.first.press("Enter")
    assert asked.count() == 3
    asked.first.fill("17,5")
    asked.first.press("Enter")
    page.reload()  # the browser remembers
    assert measured_cells(page) == [f"{percents[0]} you: 17.5", "", ""]
    page.click("p.predict button")
    assert [text.split()[0] for text in measured_cells(page)] == percents
    assert page.locator(".predict input, p.predict").count() == 0
    window.close()
    counts = {"04b_vectorized": 2, "zh/04b_vectorized": 2, "17b_promoted": 4, "02_smem_tiled": 0}
    for name, count in counts.items():  # a row, a column, nothing of the kind
        page = browser.new_page()
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator("td.predict input").count() == count
        page.close()
    window = browser.new_context(java_script_enabled=False)
    page = window.new_page()
    page.goto(address)
    assert measured_cells(page) == percents
    window.close()


@pytest.mark.slow
def test_the_sweep_says_what_a_dot_is_and_hides_kinds_of_shapes(site, browser):
    page = browser.new_page(viewport={"width": PHONE, "height": 844})
    page.goto((site / "peers.html").as_uri())
    drawing = page.locator(".drawing:has([data-kind])")
    dots = drawing.locator("[data-kind] circle")
    assert dots.count() > 300
    dot = drawing.locator("[data-kind='up to 128 rows'] circle").nth(5)
    words = dot.locator("title").text_content()
    assert re.fullmatch(r"\d+(x\d+x\d+)?: [\d.]+%", words)
    dot.hover(force=True)
    assert drawing.locator("output").inner_text() == words
    boxes = drawing.locator("label")
    assert re.fullmatch(r"up to 128 rows \(\d+\)", boxes.nth(0).inner_text().strip())
    boxes.nth(0).click()
    assert not dot.is_visible()
    dot_place = drawing.locator("svg").bounding_box()
    page.mouse.move(dot_place["x"] + 2, dot_place["y"] + 2)  # far from all of them
    assert "Point at a dot" in drawing.locator("output").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.close()


SCRIPTS = ("landing.js", "points.js", "predict.js", "search_from_disk.js", "site.js")


def test_scripts_of_pages_are_small():
    sizes = {name: (ROOT / "docs/assets" / name).stat().st_size for name in SCRIPTS}
    assert sum(sizes.values()) < 15_000, sizes
    loaded_when_opened = {"stepper.js"}
    assert {p.name for p in (ROOT / "docs/assets").glob("*.js")} == {*SCRIPTS, *loaded_when_opened}


LABEL = SIZES["label"] / WIDTH  # of a figure's width
FIGURES = """label => [...document.querySelectorAll("img[src*='figures/'], article div > svg")]
  .filter(figure => figure.closest("details") === null).map(figure => {
    const text = [...document.querySelectorAll("article > p")].find(p => p.innerText.length > 100);
    const place = figure.getBoundingClientRect(), around = text.getBoundingClientRect();
    return [place.left - around.left, place.right - around.right,
            place.width * label - parseFloat(getComputedStyle(text).fontSize)];
  })"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", ["index", "03_transposed_b", "stages", "peers"])
def test_figures_are_flush_with_the_text_and_no_larger(site, browser, name, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((site / f"{name}.html").as_uri())
    figures = page.evaluate(FIGURES, LABEL)
    page.close()
    assert figures
    for left, right, label in figures:
        assert abs(left) < 1 and right < 1 and label < 0.1


LARGEST_INDEX = 400_000  # bytes
FIRST_FOUND = """page => {
  const first = document.querySelector(".md-search-result__item a");
  return first !== null && new URL(first.href).pathname.endsWith("/" + page);
}"""


@pytest.mark.slow
def test_the_search_index_is_small_and_without_sources(site):
    index = site / "search/search_index.json"
    assert 100_000 < index.stat().st_size < LARGEST_INDEX
    assert "source/kernels" not in index.read_text() and "source/diff" not in index.read_text()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def address(site, request):
    """Of the site: from disk, or from a server."""
    if request.param == "disk":
        yield site.as_uri()
        return
    handler = partial(QuietHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("address", ["disk", "server"], indirect=True)
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("split-k", "05c_split_k.html"),
        ("swizzle", "concepts/swizzle.html"),
        ("合并访存", "zh/concepts/coalescing.html"),  # two words
    ],
)
def test_search_finds_the_page_that_explains(address, browser, words, page):
    tab = browser.new_page()
    folder = "zh/" if page.startswith("zh/") else ""
    tab.goto(f"{address}/{folder}index.html")
    tab.click(".md-search__input")
    tab.wait_for_timeout(300)  # the worker is started then
    tab.keyboard.type(words)
    tab.keyboard.press("End")  # Chinese is typed without a key
    try:  # what has been typed so far finds other pages
        tab.wait_for_function(FIRST_FOUND, arg=page, timeout=10_000)
    finally:
        tab.close()


TERMS = tuple(
    reading.glossary("## warp\nAlso: warps of a block.\n\n32.\n\n## shared memory\n\n## TMA\n")
)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("<p>A warp, a warp.</p>", "<p>A {warp}warp</a>, a warp.</p>"),
        ("<p>Warps run.</p>", "<p>{warp}Warps</a> run.</p>"),
        ("<p>Warps of a block</p>", "<p>{warp}Warps of a block</a></p>"),
        ("<h2>warp</h2><p>warp</p>", "<h2>warp</h2><p>{warp}warp</a></p>"),
        ("<summary>warp</summary> warp", "<summary>warp</summary> {warp}warp</a>"),
        ("<code>warp</code> warp", "<code>warp</code> {warp}warp</a>"),
        ("<pre><code>warp <b>x</b></code></pre>", "<pre><code>warp <b>x</b></code></pre>"),
        ('<a href="x">the <em>warp</em></a>', '<a href="x">the <em>warp</em></a>'),
        ('<img alt="warp"><!-- warp -->', '<img alt="warp"><!-- warp -->'),
        ("<p>wgmma-warp warpgroup</p>", "<p>wgmma-warp warpgroup</p>"),
        ("<p>tma, TMA</p>", "<p>tma, {tma}TMA</a></p>"),
        ("<p>shared memory</p>", "<p>{shared-memory}shared memory</a></p>"),
    ],
)
def test_the_first_use_of_a_term_leads_to_the_glossary(text, linked):
    wanted = re.sub(r"{([\w-]+)}", r'<a class="term" href="glossary.html#\1">', linked)
    assert hooks.with_terms(text, "glossary.html", TERMS) == wanted


@pytest.mark.parametrize("between", ["</p>\n<p>", "\n", "<br>\n"])
def test_italics_below_a_figure_are_its_caption(between):
    html = f'<p><img alt="a" src="a.svg">{between}<em>What it shows.</em></p>'
    assert hooks.with_captions(html) == (
        '<figure><img alt="a" src="a.svg"><figcaption>What it shows.</figcaption></figure>'
    )


def test_other_italics_are_no_caption():
    html = '<p><img src="a.svg"></p>\n<p><em>Warps</em> run.</p>'
    assert hooks.with_captions(html) == html


def test_a_drawing_with_links_stands_in_the_page_and_keeps_its_rules_for_itself():
    html = '<p><img alt="a" src="../figures/ladder_linear.svg"></p>'
    drawn = hooks.with_drawings(html, "notes")
    assert "<img" not in drawn and '<a href="../01_naive.html">' in drawn
    assert "<style>.drawing {" in drawn and "[data-md-color-scheme=slate] & {" in drawn
    assert drawn.count("<style>") == 1 and "prefers-color-scheme" not in drawn
    other = '<img alt="a" src="figures/traffic.svg">'
    assert hooks.with_drawings(other, "") == other.replace("<img", '<img width="720" height="2019"')
