"""The pages of a site that was built with --lab, in headless Chromium."""

import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import need, serving

ROOT = Path(__file__).resolve().parents[2]
need("material", "MkDocs Material")
from ladder import lab  # noqa: E402
from ladder import site as hooks  # noqa: E402
from ladder.exercises import catalogue  # noqa: E402
from ladder.exercises.learner import PROGRESS  # noqa: E402
from ladder.exercises.mistakes import mistakes_of  # noqa: E402
from ladder.files import read_json  # noqa: E402

PHONE, DESKTOP = 390, 1280
COMPILER = "Compiler.wasm"
STAGE = '<p>a</p><h2 id="prediction-and-measurement">b</h2>'
EXERCISE = '<p>a</p><h2 data-search-exclude id="hints">b</h2>'
OF_EXERCISE = "source/exercises/01_thread_mapping/README.md.md"
LATER = ("15_cp_async_ring", "38_tma_ring")
# What is looked at: the stage of each page, if it is a stage's.
PAGES = {
    "03_transposed_b.md": "03_transposed_b",
    OF_EXERCISE: "",
    **{
        f"source/exercises/{name}/README.md.md": ""
        for name in ("02_predict_sectors", "06_missing_barrier", *LATER)
    },
}


@pytest.fixture
def built(tmp_path, monkeypatch):
    """As if it was built with the lab, for a stage and an exercise."""
    monkeypatch.setenv("LADDER_LAB", "1")
    monkeypatch.setattr(lab, "BUILT", tmp_path)
    for name in ("stages/01_naive.json", "exercises/01_thread_mapping.json"):
        path = tmp_path / "lab" / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")


def test_a_site_without_the_lab_has_nothing_of_it(built, monkeypatch):
    monkeypatch.delenv("LADDER_LAB")
    assert lab.with_part(STAGE, "01_naive.md", "01_naive", "lab", False) == STAGE
    assert lab.files(SimpleNamespace(site_dir="site")) == []


@pytest.mark.parametrize(("theme", "up"), [("en", ""), ("zh", "../")])
@pytest.mark.parametrize(
    ("source", "html", "opened", "folder"),
    [
        ("01_naive.md", STAGE, 'data-stage="01_naive"', ""),
        (OF_EXERCISE, EXERCISE, 'data-exercise="01_thread_mapping"', "../../../"),
    ],
)
def test_a_page_has_its_part(built, theme, up, source, html, opened, folder):
    config = SimpleNamespace(theme={"language": theme}, site_dir="site", repo_url="")
    file = SimpleNamespace(src_uri=source, dest_uri=source.replace(".md", ".html"))
    page = hooks.on_page_content(html, SimpleNamespace(file=file, meta={}), config, None)
    part = page[page.index("<details") : page.index("<h2")]
    assert opened in part
    assert f'src="{folder}{up}lab/open.js"' in part
    assert len(lab.files(config)) == 2
    assert lab.with_part(html, "02_smem_tiled.md", "02_smem_tiled", "lab", False) == html


@pytest.fixture(scope="module")
def lab_site(site, request, tmp_path_factory):
    """The address of the site with the lab. Where it was built without, what --lab adds to it is
    added here."""
    if (site / "lab").is_dir():
        with serving(site) as address:
            yield address
        return
    engine = request.getfixturevalue("engine")
    folder = tmp_path_factory.mktemp("lab_site") / "site"
    shutil.copytree(site, folder)
    shutil.copytree(engine, folder / "lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LADDER_LAB", "1")
        patch.setattr(lab, "BUILT", engine.parent)
        for language in ("", "zh/"):
            for source, name in PAGES.items():
                page = folder / language / re.sub("md$", "html", source)
                up = "../" * (language + source).count("/")
                html = lab.with_part(page.read_text(), source, name, f"{up}lab", language != "")
                page.write_text(html)
    with serving(folder) as address:
        yield address


class Part:
    """The part of a stage's page that compiles."""

    def __init__(self, page, address, stage):
        self.page, self.asked = page, []
        page.on("requestfinished", lambda request: self.asked.append(request.url))
        page.goto(f"{address}/{stage}.html")
        self.kernel = (ROOT / f"kernels/{stage}.cuh").read_text()

    def open(self):
        self.page.locator("details.lab summary").focus()
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("details.lab .cm-line")

    def wait(self):
        self.page.wait_for_selector("details.lab progress", state="visible")
        self.page.wait_for_selector("details.lab progress", state="hidden", timeout=300_000)
        return self.page.inner_text(".lab-verdict")

    def write(self, kernel):
        self.page.click(".cm-content")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(kernel)

    def run(self):
        self.page.get_by_role("button", name="Run", exact=True).click()
        return self.wait()

    def below(self, code):
        """What stands below the line with this code, which is in sight."""
        line = self.page.locator(".cm-line", has_text=code).first
        return line.evaluate("""line => {
          const said = [];
          const next = () => line = line.nextElementSibling;
          while (next()?.matches(".lab-note, .lab-message")) said.push(line.textContent);
          return said;
        }""")


@pytest.fixture(scope="module")
def part(browser, lab_site):
    page = browser.new_page(viewport={"width": DESKTOP, "height": 900})
    yield Part(page, lab_site, "03_transposed_b")
    page.close()


@pytest.mark.slow
def test_the_keyboard_alone_runs_what_the_terminal_counts(part, lab_site):
    """The first: it loads the compiler."""
    part.open()
    page = part.page
    for value in ("64", "64", "64"):
        page.keyboard.press("Tab")
        page.keyboard.press("Control+A")
        page.keyboard.type(value)
    page.keyboard.press("Tab")
    page.keyboard.type("conflicted")
    assert not [url for url in part.asked if COMPILER in url]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert part.wait() == "conflicted: result ok"
    assert [url for url in part.asked if COMPILER in url]
    assert [url for url in part.asked if not url.startswith(lab_site)] == []

    said = part.below("sB[tx][ty] = ")
    assert "store sB: 32 wavefronts per request, ideal 1" in said
    program = ROOT / "build/stages/cpu/03_transposed_b"
    if program.is_file():
        printed = subprocess.run(
            [program, "--size", "64", "--variant", "conflicted"], capture_output=True, text=True
        ).stdout
        [row] = re.findall(r"store +shared sB .*", printed)
        assert "sB[tx][ty] = " in row and " 32.00 " in row


@pytest.mark.slow
def test_the_stepper_steps_the_readers_kernel(part):
    page = part.page
    page.select_option("select[name=variant]", "conflicted")
    part.write(part.kernel.replace("sB[BN][BK + PAD]", "sB[BN][BK + PAD + 1]", 1))
    part.run()
    page.get_by_role("button", name="Step through it").click()
    page.wait_for_selector("#stepper-cost")
    assert page.input_value("#stepper-stage") == "your kernel"
    lines = page.locator("#stepper-line option").all_inner_texts()
    assert [each for each in lines if "store sB" in each and each.endswith(": 1 wavefronts")]


@pytest.mark.slow
def test_an_endless_loop_is_ended_and_the_page_stays_free(part):
    part.write(part.kernel.replace("__syncthreads();", "for (;;) {}", 1))
    page = part.page
    page.get_by_role("button", name="Run", exact=True).click()
    page.evaluate("""() => {
      window.longest = 0;
      let before = performance.now();
      const look = now => {
        window.longest = Math.max(window.longest, now - before);
        before = now;
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }""")
    assert part.wait().endswith("1 finding")
    assert page.evaluate("window.longest") < 1500  # milliseconds; others have the processor, too
    assert part.below("for (;;) {}")[0].startswith("still running after 2 s of one block")


@pytest.mark.slow
def test_what_does_not_compile_is_marked_at_its_line(part):
    part.write(part.kernel.replace("float acc = 0.0f", "flat acc = 0.0f", 1))
    assert part.run() == "does not compile"
    assert part.below("flat acc")[0].startswith("error: use of undeclared identifier 'flat'")


@pytest.mark.slow
def test_what_runs_can_be_stopped_and_the_kernel_comes_back(part):
    part.page.get_by_role("button", name="The kernel as it was").click()
    part.page.get_by_role("button", name="Run", exact=True).click()
    part.page.get_by_role("button", name="Stop").click()
    part.page.wait_for_selector("details.lab progress", state="hidden")
    assert part.page.inner_text(".lab-verdict") == "stopped"
    part.page.fill("input[name=M]", "0")
    part.page.get_by_role("button", name="Run", exact=True).click()
    said = part.page.eval_on_selector("details.lab output", "output => output.value")
    assert said == "M is a whole number from 1 to 256."
    part.page.fill("input[name=M]", "33")
    assert part.run() == "conflicted: result ok"


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_part_is_no_wider_than_the_window(part, width):
    part.page.set_viewport_size({"width": width, "height": 844})
    beyond = "document.documentElement.scrollWidth - innerWidth"
    assert part.page.evaluate(beyond) <= 0
    need("axe_playwright_python", "axe")
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(part.page, "details.lab").response["violations"]
    assert [each["id"] for each in found] == []


def test_every_word_of_the_page_has_its_chinese():
    scripts = {path.name: path.read_text() for path in (ROOT / "lab").glob("*.*js")}
    known = re.findall(r'^  "([^"]+)": ".+",$', scripts.pop("words.mjs"), re.M)
    used = re.findall(r'\bwords\("([^"]+)"', "".join(scripts.values()))
    assert set(used) == set(known)


@pytest.mark.slow
@pytest.mark.parametrize("source", [OF_EXERCISE, "03_transposed_b.md"])
def test_buttons_of_a_chinese_page_are_chinese(browser, lab_site, source):
    page = browser.new_page()
    page.goto(f"{lab_site}/zh/{re.sub('md$', 'html', source)}")
    page.click("details.lab > summary")
    page.wait_for_selector("details.lab .cm-line")
    said = [each for each in page.locator("details.lab .lab-bar button").all_inner_texts() if each]
    assert len(said) >= 2
    assert [each for each in said if not re.search("[\u4e00-\u9fff]", each)] == []
    page.close()


class Exercise:
    """The part of an exercise's page that grades."""

    def __init__(self, page, address, name):
        self.page = page
        self.folder = ROOT / "exercises" / name
        page.goto(f"{address}/source/exercises/{name}/README.md.html")
        page.click("details.lab > summary")
        page.get_by_role("button", name="Grade").wait_for()

    def write(self, text):
        self.page.click(".cm-content")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def grade(self):
        """The first line of the verdict."""
        self.page.get_by_role("button", name="Grade").click()
        self.page.wait_for_selector("details.lab progress", state="hidden", timeout=300_000)
        return self.page.inner_text(".lab-report >> nth=0").splitlines()[0]


@pytest.mark.slow
def test_an_exercise_is_solved_after_a_mistake_and_the_browser_knows_it(lab_site, browser):
    window = browser.new_context(viewport={"width": PHONE, "height": 844})
    page = window.new_page()
    exercise = Exercise(page, lab_site, "01_thread_mapping")
    solution = (exercise.folder / "solution.cuh").read_text()
    exercise.write(solution.replace(" || column >= columns", ""))
    assert exercise.grade().startswith(
        "NOT YET  01_thread_mapping: exercise.cuh:7: writes past the end of a row of out"
    )
    assert "writes past the end of a row" in page.inner_text(".lab-message >> nth=0")
    assert page.get_by_text("3 more findings").is_visible()
    exercise.write(solution)
    assert exercise.grade() == "PASSED  01_thread_mapping: all holds"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

    exercise = Exercise(page, lab_site, "01_thread_mapping")  # the browser remembers
    assert page.get_by_text("done", exact=True).is_visible()
    marked = "links => links.map(link => link.closest('a').pathname)"
    done = page.eval_on_selector_all(".md-sidebar--primary .lab-done", marked)
    assert [address for address in done if "/01_thread_mapping/" not in address] == []
    assert done != []
    assert "factor * in[row * ld_in + column]" in page.inner_text(".cm-content")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export my progress").click()
    known = {"done": True, "hints": 0, "solution": False, "told": False}
    exported = read_json(Path(download.value.path()), PROGRESS)
    assert exported == {"01_thread_mapping": known}
    window.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", LATER)
def test_a_later_exercise_is_solved_after_a_mistake(lab_site, browser, name):
    page = browser.new_page()
    exercise = Exercise(page, lab_site, name)
    mistake = mistakes_of(catalogue.find(name))[0]
    exercise.write(mistake.text)
    assert mistake.refused.search(exercise.grade())
    exercise.write((exercise.folder / "solution.cuh").read_text())
    assert exercise.grade() == f"PASSED  {name}: all holds"
    page.close()


@pytest.mark.slow
def test_the_lines_of_a_bug_are_asked_for_before_they_are_shown(lab_site, browser):
    window = browser.new_context()
    page = window.new_page()
    exercise = Exercise(page, lab_site, "06_missing_barrier")
    assert exercise.grade().startswith("NOT YET  06_missing_barrier: race: reads what another")
    assert page.locator(".lab-message").count() == 0
    for lines, said in (("1", "No."), ("18", "No, but 18 is part of it.")):
        page.fill("input[name=lines]", lines)
        page.get_by_role("button", name="Answer").click()
        assert page.eval_on_selector("form output", "output => output.value") == said
    page.fill("input[name=lines]", "18 22")
    page.keyboard.press("Enter")
    assert "exercise.cuh:" in page.inner_text(".lab-report >> nth=0")
    window.close()


@pytest.mark.slow
def test_predicted_numbers_are_graded(lab_site, browser):
    page = browser.new_page()
    exercise = Exercise(page, lab_site, "02_predict_sectors")
    page.fill("input[name=load_sectors]", "17")
    assert exercise.grade().endswith(
        "load_sectors is not 17, store_sectors has no whole number yet"
    )
    page.fill("input[name=load_sectors]", "18")
    page.fill("input[name=store_sectors]", "16")
    assert exercise.grade() == "PASSED  02_predict_sectors: all holds"
    page.close()
