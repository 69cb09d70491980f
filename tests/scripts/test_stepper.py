"""Uses docs/stepper.md as a reader does, in headless Chromium, from disk and without a network."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "docs/assets/traces"
STAGES = sorted(path.stem for path in TRACES.glob("*.js") if path.stem != "index")

# The costs of every recorded request that the page's rules give differently from the CPU device:
# for the recorded addresses, and for those that the kernel's own layout gives again.
DIFFERENCES = """stage => new Promise((done, failed) => {
  const script = document.createElement("script");
  script.src = `assets/traces/${stage}.js`;
  script.onerror = failed;
  script.onload = () => {
    const { stepsOf, offsetsOf, parseLayout, relaid } = LadderStepper;
    const wrong = [];
    let requests = 0;
    for (const variant of LADDER_TRACES.of[stage].variants)
      for (const line of variant.lines) {
        const own = line.pitch ? `row * ${line.pitch / line.element} + col` : "col";
        line.first.forEach(([, recorded], request) => {
          ++requests;
          const costs = [offsetsOf(line, request), relaid(line, request, parseLayout(own))]
            .map(offsets => stepsOf(line, request, offsets).length);
          if (costs.some(c => c !== recorded))
            wrong.push([variant.name, line.line, line.array, request, recorded, ...costs]);
        });
      }
    done([requests, wrong]);
  };
  document.head.append(script);
})"""


class Stepper:
    """The page, by what a reader sees and does."""

    def __init__(self, page):
        self.page = page

    def choose(self, stage, variant, line):
        self.page.select_option("#stepper-stage", stage)
        self.page.wait_for_function(
            "name => [...document.querySelectorAll('#stepper-variant option')]"
            ".some(option => option.value === name)",
            arg=variant,
        )
        self.page.select_option("#stepper-variant", variant)
        options = self.page.locator("#stepper-line option").all_inner_texts()
        self.page.select_option("#stepper-line", index=[line in o for o in options].index(True))

    def text(self, part):
        return self.page.inner_text(f"#stepper-{part}")

    def cost(self):
        return self.page.inner_text("#stepper-cost strong")

    def fill(self, field, text):
        self.page.fill(f"#stepper-{field}", text)


def load(site, browser, width=1280, colours="light", name="stepper.html"):
    """A Stepper, and what goes wrong in it from now on."""
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=colours, offline=True
    )
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith("file:") else problems.append(asked.url),
    )
    page.goto((site / name).as_uri())
    page.wait_for_selector("#stepper-panel")
    return Stepper(page), problems


@pytest.fixture
def fresh(site, browser):
    stepper, problems = load(site, browser)
    yield stepper
    stepper.page.context.close()
    assert problems == []


@pytest.fixture(scope="module")
def kept(site, browser):
    """Steppers, by width and colours."""
    steppers = {}
    yield steppers
    for stepper, _ in steppers.values():
        stepper.page.context.close()


@pytest.fixture
def opened(site, browser, kept, request):
    """A Stepper that others have used, as a reader's: a test chooses its line first. With the
    parameter's width and colours, where there is one."""
    how = getattr(request, "param", ())
    if how not in kept:
        kept[how] = load(site, browser, *how)
    stepper, problems = kept[how]
    yield stepper
    assert problems == []


def test_the_costs_are_those_of_the_cpu_device(fresh):
    for stage in STAGES:
        requests, wrong = fresh.page.evaluate(DIFFERENCES, stage)
        assert requests > 5, stage
        assert wrong == [], stage


def test_every_stage_that_has_a_trace_can_be_chosen(opened):
    names = opened.page.locator("#stepper-stage option").all_inner_texts()
    assert sorted(names) == STAGES and len(names) >= 15


def test_padding_removes_the_conflict(opened):
    opened.choose("03_transposed_b", "conflicted", "store sB")
    assert opened.cost() == "32 wavefronts"
    assert opened.text("step") == "wavefront 1 of 32"
    assert opened.page.input_value("#stepper-pitch") == "32"
    opened.fill("pitch", "33")
    assert opened.cost() == "1 wavefront"
    assert opened.page.input_value("#stepper-layout") == "row * 33 + col"
    assert "as the kernel has it: 32" in opened.text("cost")
    assert opened.text("message") == ""
    opened.page.click("#stepper-reset")
    assert opened.cost() == "32 wavefronts"


def test_a_layout_of_ones_own_stands_beside_the_kernels(opened):
    opened.choose("03_transposed_b", "conflicted", "store sB")
    kernels = opened.page.locator("#stepper-kernels .row")
    assert kernels.filter(visible=True).count() == 0
    opened.fill("pitch", "33")
    assert kernels.filter(visible=True).count() == 32
    assert kernels.locator(".beyond").count() == 31
    assert opened.page.locator("#stepper-all .row").count() == 1
    opened.fill("pitch", "32")
    assert kernels.filter(visible=True).count() == 0


def test_it_speaks_chinese(site, browser):
    stepper, problems = load(site, browser, name="zh/stepper.html")
    stepper.choose("03_transposed_b", "conflicted", "store sB")
    assert (stepper.cost(), stepper.text("step")) == (
        "32 个 wavefront",
        "第 1 个 wavefront, 共 32 个",
    )
    stepper.fill("layout", "row $ 2")
    assert stepper.text("message") == '第 5 列: "$" 在这里没有意义'
    assert re.findall(r"[a-z]{3,} [a-z]{3,}", stepper.page.inner_text("#stepper-panel")) == []
    stepper.page.context.close()
    assert problems == []


def test_all_that_it_says_is_known_in_chinese():
    text = (ROOT / "docs/assets/stepper.js").read_text()
    known, _, rest = text.partition("const say = ")
    sentences = set(re.findall(r'"((?:[^"\\]|\\.)+)": "', known))
    said = re.findall(r"""(?:say|LayoutError|labelled)\((["'])(.*?)\1""", rest)
    said = {words.replace('"', '\\"') for _, words in said}
    assert len(said) > 30 and said - sentences == set()
    unsaid = {words for words in sentences - said if f'"{words}"' not in rest}
    assert all("sector" in words or "wavefront" in words for words in unsaid)  # of a unit


def test_a_pitch_that_a_gpu_could_not_use_is_said(opened):
    opened.choose("03_transposed_b", "transposed_b", "load sB")
    opened.fill("pitch", "65")
    assert opened.text("message") == (
        "Lane 1 asks for byte 260, which is no multiple of 16: a GPU would stop with a misaligned "
        "address."
    )


def test_the_leading_dimension_changes_sectors(opened):
    opened.choose("01_naive", "uncoalesced", "load A")
    assert opened.cost() == "32 sectors"
    assert opened.text("step") == "sector 1 of 32"
    opened.fill("pitch", "1")
    assert opened.cost() == "4 sectors"
    opened.fill("pitch", "0")
    assert opened.text("message") == (
        "leading dimension, in elements: a whole number from 1 on is needed"
    )


def test_a_layout_of_ones_own(opened):
    opened.choose("03_transposed_b", "conflicted", "store sB")
    opened.fill("layout", "row * 32 + (col ^ row)")
    assert opened.cost() == "1 wavefront"
    assert opened.text("message") == ""
    opened.fill("layout", "lane / 2 * 32")
    assert opened.cost() == "16 wavefronts"
    assert "would overwrite each other" in opened.text("message")
    opened.fill("layout", "k")
    assert opened.cost() == "1 wavefront"


@pytest.mark.parametrize(
    ("layout", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 - 2 - 1", 4),
        ("1 | 6 ^ 3 & 2", 5),
        ("1 << 2 + 1", 8),
        ("-7 / 2 + 9", 6),
        ("-7 % 4 + 9", 6),
        ("100 >> 1 >> 1", 25),
        ("- - lane + row % 4 + col / 4 + k", 5 + 2 + 2 + 1),
    ],
)
def test_a_layout_is_computed_as_in_c(opened, layout, value):
    place = {"lane": 5, "row": 6, "col": 8, "k": 1}
    assert (
        opened.page.evaluate(
            "([layout, place]) => LadderStepper.parseLayout(layout)(place)", [layout, place]
        )
        == value
    )


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("", "the layout ends where a number, lane, row, col, k or ( was expected"),
        ("row *", "the layout ends where a number, lane, row, col, k or ( was expected"),
        ("row * 32 col", 'column 10: an operator was expected, not "col"'),
        ("row ** 2", 'column 6: a number, lane, row, col, k or ( was expected, not "*"'),
        ("alert(1)", 'column 1: there is no "alert"; there are lane, row, col and k'),
        ("constructor", 'column 1: there is no "constructor"; there are lane, row, col and k'),
        ("row $ 2", 'column 5: "$" has no meaning here'),
        ("(row + 1", "column 1: this ( is never closed"),
        ("(row 1)", 'column 6: ) was expected, not "1"'),
        ("row / 0", "the layout divides by 0"),
        ("row % (1 - 1)", "the layout divides by 0"),
        ("1 << 32", "the layout shifts by 32"),
        ("col - 100", "lane 0: the layout gives -100, which is before the array"),
        ("99999999999", "99999999999 is too large for a layout"),
        ("1 << 31", "2147483648 is too large for a layout"),
        ("(" * 501, "a layout has at most 500 characters"),
    ],
)
def test_a_bad_layout_is_one_clear_line(opened, layout, said):
    opened.choose("03_transposed_b", "conflicted", "store sB")
    opened.fill("layout", layout)
    assert opened.text("message") == said
    assert opened.cost() == "32 wavefronts"  # the last one that was valid stays, and only that
    assert opened.page.locator("#stepper-panel.stale #stepper-all .row").count() == 32
    opened.page.focus("#stepper-panel")
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowDown")
    assert (opened.text("request"), opened.text("step")) == ("request 1 of 4", "wavefront 2 of 32")
    opened.fill("layout", "row * 33 + col")
    assert (opened.cost(), opened.text("message")) == ("1 wavefront", "")
    assert opened.text("request") == "request 1 of 4"
    assert opened.page.locator("#stepper-panel.stale").count() == 0


def test_red_is_what_exceeds_the_least(opened):
    opened.choose("07b_swizzle", "unswizzled", "load shared memory")
    rows = opened.page.locator("#stepper-all .row:has(.beyond)")
    assert opened.page.locator("#stepper-all .row").count() - rows.count() == 4
    assert "Red: the 28 beyond the fewest." in opened.text("cost")
    opened.fill("layout", "col ^ (col / 64 % 8 * 8)")
    assert rows.count() == 0 and "Red" not in opened.text("cost")


def test_it_plays_to_the_last_step_and_begins_anew(fresh):
    fresh.choose("03_transposed_b", "conflicted", "store C")
    fresh.page.clock.install()
    fresh.page.click("#stepper-play")
    assert fresh.text("play") == "Pause"
    fresh.page.clock.run_for(1500)
    assert fresh.text("step") == "sector 3 of 4"
    fresh.page.clock.run_for(60_000)
    last = fresh.text("request")
    assert re.fullmatch(r"request (\d+) of \1", last) and fresh.text("step") == "sector 4 of 4"
    assert fresh.text("play") == "Play"
    fresh.page.click("#stepper-play")
    assert (fresh.text("request")[:9], fresh.text("step")) == ("request 1", "sector 1 of 4")
    fresh.fill("pitch", "1")  # another drawing: it stops
    assert fresh.text("play") == "Play"


def test_it_steps_by_keyboard(opened):
    opened.choose("03_transposed_b", "transposed_b", "load sB")
    opened.page.focus("#stepper-panel")
    seen = []
    for key in ["ArrowRight"] * 4 + ["ArrowLeft", "ArrowDown", "ArrowUp", "ArrowUp"]:
        opened.page.keyboard.press(key)
        seen.append((opened.text("request"), opened.text("step")))
    steps = re.findall(r"request (\d+) of 32', 'wavefront (\d) of 4", str(seen))
    assert [(int(r), int(s)) for r, s in steps] == [
        *[(1, 2), (1, 3), (1, 4), (2, 1)],
        *[(1, 4), (2, 1), (1, 1), (1, 1)],
    ]


def test_a_copy_costs_the_sectors_that_it_fills(opened):
    # Rows of 80 bytes: every other one begins in the middle of a sector of shared memory.
    opened.choose("06b_wmma_pipelined", "wmma_pipelined", "load A")
    assert opened.cost() == "20 sectors"
    cards = opened.page.locator("#stepper-lanes .lane")
    assert [card.split("\n")[-1] for card in cards.all_inner_texts()[:6]] == [
        f"to byte {to}" for to in (0, 16, 32, 48, 80, 96)
    ]
    assert opened.page.locator("#stepper-lanes .served b").all_inner_texts() == ["lane 0", "lane 1"]


def test_each_step_serves_its_lanes(opened):
    opened.choose("03_transposed_b", "transposed_b", "load sB")
    served = opened.page.locator("#stepper-lanes .served b")
    assert served.all_inner_texts() == [f"lane {lane}" for lane in range(8)]
    opened.page.click("#stepper-next")
    assert served.all_inner_texts() == [f"lane {lane}" for lane in range(8, 16)]
    assert opened.page.locator("#stepper-all .row").count() == 4


@pytest.mark.parametrize(
    "opened",
    [(width, colours) for width in (390, 1280) for colours in ("light", "dark")],
    indirect=True,
)
@pytest.mark.parametrize(
    ("stage", "variant", "line"),
    [
        ("03_transposed_b", "conflicted", "store sB"),
        ("01_naive", "uncoalesced", "load A"),
        ("06b_wmma_pipelined", "wmma_pipelined", "load A"),
    ],
)
def test_it_fits_and_can_be_read(opened, stage, variant, line):
    opened.choose(stage, variant, line)
    sizes = opened.page.evaluate(
        """() => ({
          beyond: document.documentElement.scrollWidth - window.innerWidth,
          smallest: Math.min(...[...document.querySelectorAll("#stepper *")].filter(
            e => e.childElementCount === 0 && e.innerText).map(
            e => parseFloat(getComputedStyle(e).fontSize))),
          cut: [...document.querySelectorAll("#stepper .lane > *, #stepper .cell > *")].filter(
            e => e.scrollWidth > e.clientWidth).map(e => e.innerText),
        })"""
    )
    assert sizes["beyond"] <= 0
    assert sizes["smallest"] >= 9
    assert sizes["cut"] == []


def test_a_link_chooses_the_stage(site, browser):
    page = browser.new_page()
    page.goto((site / "stepper.html").as_uri() + "?stage=07b_swizzle&variant=unswizzled")
    page.wait_for_selector("#stepper-panel")
    assert page.input_value("#stepper-stage") == "07b_swizzle"
    assert page.input_value("#stepper-variant") == "unswizzled"
    page.close()


def test_the_address_has_the_state(fresh, browser):
    fresh.choose("03_transposed_b", "conflicted", "load sB")
    fresh.fill("layout", "row * 36 + col + 4")
    fresh.page.click("#stepper-next-request")
    fresh.page.click("#stepper-next")
    shown = {part: fresh.text(part) for part in ("request", "step", "cost", "lanes")}
    page = browser.new_page()
    page.goto(fresh.page.url)
    page.wait_for_selector("#stepper-panel")
    again = Stepper(page)
    assert {part: again.text(part) for part in shown} == shown
    assert shown["step"] == "wavefront 2 of 4" and shown["request"].startswith("request 2 ")
    assert page.input_value("#stepper-layout") == "row * 36 + col + 4"
    page.close()


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("concepts/bank_conflicts", "32 wavefronts"),
        ("concepts/coalescing", "32 sectors"),
        ("concepts/swizzle", "32 wavefronts"),
        ("03_transposed_b", "32 wavefronts"),
        ("07b_swizzle", "32 wavefronts"),
    ],
)
def test_it_is_inside_pages_and_costs_nothing_until_it_is_opened(site, browser, name, cost):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    loaded = []
    page.on("request", lambda asked: loaded.append(asked.url.rpartition("/assets/")[2]))
    page.goto((site / f"{name}.html").as_uri())
    page.wait_for_load_state("networkidle")
    own = [asset for asset in loaded if asset == "site.js" or "stepper" in asset]
    assert own == ["site.js"] and (site / "assets/site.js").stat().st_size < 15_000
    page.click(".stepper-here summary")
    page.wait_for_selector("#stepper-panel")
    assert Stepper(page).cost() == cost
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.goto(page.url)  # an address with a state opens it
    page.wait_for_selector("#stepper-panel")
    page.close()


@pytest.mark.parametrize("name", ["concepts/bank_conflicts", "07b_swizzle"])
def test_without_script_a_link_is_there(site, name):
    text = (site / f"{name}.html").read_text()
    inside = text[text.index('<div id="stepper"') :]
    link = re.search(r'href="([^"?]+)\?[^"]*"', inside[: inside.index("</details>")])[1]
    assert (site / f"{name}.html").parent.joinpath(link).resolve() == site / "stepper.html"


def test_the_traces_are_small():
    texts = {path.name: path.read_text() for path in TRACES.glob("*.js")}
    assert sum(map(len, texts.values())) < 1_000_000
    for name, text in texts.items():
        call, _, value = text.strip().removesuffix(");").partition("(")
        assert call == ("ladderStages" if name == "index.js" else "ladderTrace")
        json.loads(value)
