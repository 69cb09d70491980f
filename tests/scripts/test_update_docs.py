import json
import re
import shutil
import sys
import types
from pathlib import Path

import pytest

import ladder
from ladder import docs, evaluation, manifest
from ladder.counters import LIMITS, PREDICTED, STALL, TIME
from ladder.docs import claimed, counters, pictures, results, sources
from ladder.project import BadInput
from ladder.translated import in_english

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path("docs/page.md")
WORDS = 2000
TWO_LAYERS, SEEN_WORDS, SEEN_NUMBERS = 2400, 1100, 80  # of a page with folds: in all, at once


def variant(name, tflops=50.0, **more):
    facts = {"registers": 64, "shared_bytes": 2048, "threads": 256, "occupancy": 0.5}
    times = {"time_ms": {"median": 2.5}, "tflops": tflops, "percent_of_cublas": 80.25}
    return {"name": name, **times, **facts, **more}


def report(stage, *variants, shape=(4096, 4096, 4096)):
    device = {"name": "Some GPU", "multiprocessors": 132, "clock_mhz": 1980.0, "peak_tflops": 60.0}
    device |= {"sm": 90, "memory_gb_s": 4800.0, "driver": "13.0", "toolkit": "13.0"}
    problem = dict(zip("mnk", shape, strict=True))
    cublas = {"tflops": 70.0}
    made = {"stage": stage, "device": device, "problem": problem, "variants": variants}
    return made | {"cublas": cublas}


COUNTED = {counter: 4e9 for counter in [*PREDICTED.values(), *LIMITS.values(), TIME]}
COUNTED |= {STALL.format("long_scoreboard"): 3.25, STALL.format("selected"): 1.0}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch, manifest_of):
    """Three stages, their pages and kernels, and results of them."""
    half = {"name": "06_three", "types": ["fp16"], "parent": "02_two"}
    needs = [{"compute_capability": capability, "features": []} for capability in (90, 80)]
    one = {"name": "10_one", "needs": needs[0]}
    manifest_of("02_two", one, half | {"needs": needs[1]})
    results = tmp_path / "results"
    for folder in ("docs", "kernels", "results"):
        (tmp_path / folder).mkdir()
    for number, name in enumerate(("02_two", "10_one", "06_three")):
        page = f"# {name}\n\nThe idea of\n{name}. And more.\n"
        (tmp_path / f"docs/{name}.md").write_text(page)
        kernel = f"// {name}\nvoid gemm() {{\n  first();\n  last({number});\n}}\n"
        (tmp_path / f"kernels/{name}.cuh").write_text(kernel)
        for size in (4096, 8192):
            own = variant("own", 50.0 + number, sustained={"percent_of_cublas": 91.5})
            made = report(name, variant("slow", 7.0), own, shape=(size,) * 3)
            (results / f"{name}_{size}.json").write_text(json.dumps(made))
    counters = {name: {"slow": COUNTED, "own": COUNTED} for name in ("02_two", "06_three")}
    (results / "counters.json").write_text(json.dumps({"size": 4096, "counters": counters}))
    (results / "provenance.json").write_text("[]")
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(sources, "GPUS", {"h200": results})
    monkeypatch.setattr(pictures, "drawn", {})
    measured = evaluation.Measurements(results, [{"size": 4096, "counters": counters}])
    monkeypatch.setattr(sources, "measurements", lambda gpu: measured)
    fast = {"id": "fast", "claim": "It is fast.", "holds": "tflops(02_two/own) > 49"}
    false = {"id": "false", "claim": "It is.", "holds": "tflops(02_two/own) > 99"}
    unmeasured = {"id": "unmeasured", "claim": "It is.", "holds": "tflops(02_two/own, 5) > 99"}
    all_claims = {claim["id"]: claim for claim in (fast, false, unmeasured)}
    monkeypatch.setattr(sources, "all_claims", lambda: all_claims)
    for cached in (sources.reports, sources.counters, sources.provenance):
        cached.cache_clear()
    yield tmp_path
    for cached in (sources.reports, sources.counters, sources.provenance):
        cached.cache_clear()


@pytest.fixture
def second(project, monkeypatch):
    """Results of another GPU, which is too old for 10_one."""
    folder = project / "second"
    shutil.copytree(project / "results", folder)
    for path in folder.glob("*0_one_*.json"):
        path.unlink()
    for path in folder.glob("*_*.json"):
        made = json.loads(path.read_text())
        made["device"] |= {"name": "Other GPU", "sm": 80}
        percent = 95.5 if made["problem"]["m"] == 4096 else 97.5
        made["variants"][-1] |= {"percent_of_cublas": percent, "tflops": 49.5}
        path.write_text(json.dumps(made))
    monkeypatch.setattr(sources, "GPUS", {"h200": project / "results", "h100": folder})
    counters = json.loads((folder / "counters.json").read_text())
    measured = {gpu: evaluation.Measurements(p, [counters]) for gpu, p in sources.GPUS.items()}
    monkeypatch.setattr(sources, "measurements", measured.get)
    return folder


def block(kind, body="old"):
    return f"before\n<!-- {kind} -->\n{body}\n<!-- end -->\nafter\n"


def written(kind):
    problems = []
    text = docs.updated(block(kind), PAGE, problems)
    assert problems == []
    return text


def problems_of(kind):
    """What is said of a block that cannot be written, which stays as it is."""
    problems = []
    assert docs.updated(block(kind), PAGE, problems) == block(kind)
    return problems


def change(project, name, edit):
    path = project / "results" / name
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))
    sources.reports.cache_clear()


def test_only_what_is_between_the_marks_changes():
    text = written("results 02_two")
    assert text.startswith("before\n<!-- results 02_two -->\n| 4096^3 | ms |")
    assert text.endswith("|\n<!-- end -->\nafter\n") and "old" not in text
    assert docs.updated(text, PAGE, []) == text
    assert "| `slow` | 2.5 | 7.0 | 80.2 | 64 | 2.0 | 50 |" in text


def test_the_table_of_stages_is_in_the_order_of_the_manifest_and_leads_to_the_pages():
    rows = [line for line in written("stages").splitlines() if line.startswith("| [")]
    assert rows == [
        "| [02_two](02_two.md) | The idea of 02_two | 50.0 | 80.2 | 50.0 | 80.2 | no |",
        "| [10_one](10_one.md) | The idea of 10_one | 51.0 | 80.2 | 51.0 | 80.2 | no |",
        "| [06_three](06_three.md) | The idea of 06_three | 52.0 | 80.2 | 52.0 | 80.2 | no |",
    ]


def test_the_table_of_milestones_has_the_stages_that_are_some(project, manifest_of):
    manifest_of("02_two", {"name": "10_one", "milestone": "what is new"}, "06_three")
    assert written("milestones").splitlines()[2:5] == [
        "| stage | what is new | inputs | TFLOP/s | % of cuBLAS |",
        "| --- | --- | --- | ---: | ---: |",
        "| [10_one](10_one.md) | what is new | fp32 | 51.0 | 80.2 |",
    ]
    (project / "results/10_one_4096.json").unlink()
    sources.reports.cache_clear()
    assert problems_of("milestones") == ["docs/page.md: no results of 10_one at 4096"]


def test_what_run_all_prints_of_a_stage_is_shown(project):
    change(
        project,
        "02_two_4096.json",
        lambda c: [v.update(percent_of_peak=9.5) for v in c["variants"]],
    )
    lines = written("summary 02_two").splitlines()
    assert lines[2] == lines[-3] == "```"
    assert lines[3].startswith("stage   variant  M=N=K")
    assert [line.split()[:3] for line in lines[4:6]] == [
        ["02_two", "slow", "4096"],
        ["02_two", "own", "4096"],
    ]


def test_what_the_grader_lists_is_shown_shortened():
    lines = written("grader").splitlines()
    assert lines[3].split()[0] == "01" and lines[5] == "..."
    assert re.fullmatch(r"0 of \d+ done\. Next: \./scripts/exercise\.sh 01", lines[6])


def test_each_result_that_the_table_of_stages_lacks_is_a_line(project):
    (project / "results/02_two_8192.json").unlink()
    (project / "results/06_three_4096.json").unlink()
    (project / "docs/10_one.md").write_text("No heading.")
    sources.reports.cache_clear()
    assert problems_of("stages") == [
        "docs/page.md: no results of 02_two at 8192",
        "docs/page.md: docs/10_one.md does not begin with a heading and a sentence",
        "docs/page.md: no results of 06_three at 4096",
    ]


def test_numbers_of_variants_that_are_no_more_are_not_shown(project):
    main = 'run(ladder::STAGE, {{"slow", a::b}, {"newer", a::c}}, argc, argv);'
    (project / "stages/02_two.cu").write_text(main)
    why = "of other variants than there are now: newer, own"
    assert problems_of("results 02_two") == [
        f"docs/page.md: the results of 02_two at 4096 are {why}"
    ]
    assert problems_of("counters 02_two/own") == [f"docs/page.md: the counters of 02_two are {why}"]
    assert problems_of("stages") == [f"docs/page.md: the results of 02_two at 4096 are {why}"]


def test_the_fastest_of_cublaslt_is_shown_where_it_was_measured(project):
    assert "cublasLt" not in written("stages") + written("results 02_two") + written(
        "shapes 02_two"
    )

    def compare(content):
        content["variants"][-1] |= {"percent_of_best": 74.96, "percent_of_cublas": 80.0}

    change(project, "06_three_8192.json", compare)
    text = written("stages")
    assert text.splitlines()[-3].endswith(
        "Of the fastest, with its own choice among them, percent at 4096 and 8192: "
        "06_three - and 75.0."
    )
    shapes = written("shapes 06_three").splitlines()
    assert "| % of cuBLAS | % of best | sustained |" in shapes[2]
    assert "| not compared |" in shapes[4] and "| 75.0 |" in shapes[5]
    change(project, "06_three_4096.json", compare)
    rows = written("results 06_three").splitlines()
    assert rows[4].endswith("| not compared |") and rows[5].endswith("| 75.0 |")


def test_steps_are_counted_against_the_parent():
    rows = [line for line in written("steps").splitlines() if line.startswith("| [")]
    assert rows == [
        "| [10_one](10_one.md) | [02_two](02_two.md) | 1 | 1 | - |",
        "| [06_three](06_three.md) | [02_two](02_two.md) | 1 | 1 | - |",
    ]


def test_rows_of_several_runs_are_said_to_be(project):
    files = ["06_three_4096", "06_three_8192"]

    def runs(*parts):
        text = json.dumps([{"files": part} for part in parts])
        (project / "results/provenance.json").write_text(text)
        sources.provenance.cache_clear()
        return written("shapes 06_three")

    assert "runs" not in runs(files, ["x"])
    assert "are from 2 runs" in runs(files[:1], ["x"], files[1:])


def test_the_steady_state_has_a_column_where_it_was_measured(project):
    rows = written("shapes 02_two").splitlines()
    assert rows[4:6] == ["| 4096 | 50.0 | 80.2 | 91.5 |", "| 8192 | 50.0 | 80.2 | 91.5 |"]

    def short(content):
        content["variants"][-1]["time_ms"]["median"] = 0.01

    change(project, "02_two_4096.json", short)
    assert "| 4096 | 50.0 | 80.2 | too short |" in written("shapes 02_two")
    change(project, "02_two_4096.json", lambda content: content["variants"][-1].pop("sustained"))
    assert "| 4096 | 50.0 | 80.2 | not measured |" in written("shapes 02_two")
    change(project, "02_two_8192.json", lambda content: content["variants"][-1].pop("sustained"))
    assert "sustained" not in written("shapes 02_two")


def test_code_is_included_with_its_lines():
    text = written('code kernels/10_one.cuh "void gemm" "last("')
    assert "[kernels/10_one.cuh](../kernels/10_one.cuh#L2-L4), line 2:" in text
    assert 'linenums="2"\nvoid gemm() {\n  first();\n  last(1);\n```' in text


@pytest.mark.parametrize(
    "page, kernels, figures",
    [
        ("README.md", "kernels", "docs/figures"),
        ("docs/page.md", "../kernels", "figures"),
        ("docs/concepts/page.md", "../../kernels", "../figures"),
    ],
)
def test_links_are_ways_from_where_the_page_stands(page, kernels, figures, drawings):
    text = docs.updated(block('code kernels/10_one.cuh "first" "last("'), Path(page), [])
    assert f"[kernels/10_one.cuh]({kernels}/10_one.cuh#L3-L4)" in text
    text = docs.updated(block('figure order "What is drawn"'), Path(page), [])
    assert f"![What is drawn]({figures}/order.svg)\n\n*Blocks in groups.*\n" in text


@pytest.fixture
def drawings(monkeypatch):
    module = types.ModuleType("ladder.figures")
    module.FIGURES = {"order": lambda: types.SimpleNamespace(caption="Blocks in groups.")}
    monkeypatch.setitem(sys.modules, "ladder.figures", module)
    pictures.caption.cache_clear()
    yield
    pictures.caption.cache_clear()


def test_a_figure_that_there_is_not_is_named(drawings):
    (problem,) = problems_of('figure none "words"')
    assert problem == "docs/page.md: no figure 'none'; there are: order"


def test_claims_have_their_values_in_footnotes():
    text = written("claims fast")
    assert "- It is fast.[^fast]\n\n[^fast]: `tflops(02_two/own) > 49`: 50.\n<!--" in text


def test_a_page_has_a_footnote_once():
    problems = []
    text = docs.updated(block("claims fast") + block("claims fast"), PAGE, problems)
    assert problems == [] and text.count("It is fast.[^fast]\n") == 2
    assert text.count("[^fast]:") == 1


def test_values_in_footnotes_are_short():
    assert claimed.shown("instructions(a/b)", 4_185_915_392) == "4,186 M"
    assert claimed.shown("time(a/b)", 15.41) == "15.4 ms"


def test_values_in_the_prose_are_kept_up_to_date():
    problems = []
    text = "It takes <!--= time(02_two/own) * 2 | .1f -->9.9<!--/--> ms, of <!--= 1e4 | ,.0f -->"
    now = docs.updated(text + "<!--/-->.\n", PAGE, problems)
    assert now == (
        "It takes <!--= time(02_two/own) * 2 | .1f -->5.0<!--/--> ms, "
        "of <!--= 1e4 | ,.0f -->10,000<!--/-->.\n"
    )
    assert problems == []


def test_a_value_in_a_table_has_a_bar_that_ends_no_cell():
    row = (
        "| a | <!--= time(02_two/own) \\| .1f -->{}<!--/--> | <!--= 1e4 \\| ,.0f -->{}<!--/--> |\n"
    )
    assert docs.updated(row.format(9.9, 1), PAGE, []) == row.format(2.5, "10,000")


@pytest.mark.parametrize(
    "expression, message",
    [
        ("time(02_two/none) | .1f", "no results of 02_two/none at 4096"),
        ("time(02_two/own) > 2 | .1f", "is a comparison, not a number"),
        ("time(02_two/own) | .1z", "'.1z' is no format of a number"),
        ("time(02_two/own) / 0 | .1f", "division by zero"),
    ],
)
def test_a_value_that_cannot_be_told_stays(expression, message):
    problems = []
    text = f"It is <!--= {expression} -->5<!--/-->.\n"
    assert docs.updated(text, PAGE, problems) == text
    (problem,) = problems
    assert message in problem and problem.startswith("docs/page.md: ") and "\n" not in problem


@pytest.mark.parametrize(
    "text",
    ["<!--= 1 | .1f -->1\n", "1<!--/-->\n", "<!--= 1 -->1<!--/-->\n", "<!--=1|d-->1<!--/-->\n"],
)
def test_a_value_without_its_marks_is_an_error(text):
    with pytest.raises(BadInput, match="a value is not <!--= EXPRESSION"):
        docs.updated(text, PAGE, [])


@pytest.mark.parametrize("before", ["Text\n", "- ", "> ", "1. ", "| a | "])
def test_a_value_does_not_stand_where_markdown_breaks_on_it(before):
    with pytest.raises(BadInput, match="a value begins a line, or its bar ends a cell"):
        docs.updated(f"{before}<!--= 1 | .1f -->1.0<!--/--> ms\n", PAGE, [])


def counted(project, stage, variant, **changed):
    """Writes other numbers of a variant, by their short names; None: not counted."""
    path = project / "results/counters.json"
    content = json.loads(path.read_text())
    numbers = content["counters"][stage][variant]
    for name, value in changed.items():
        if value is None:
            del numbers[counters.NAMES[name]]
        else:
            numbers[counters.NAMES[name]] = value
    path.write_text(json.dumps(content))
    sources.counters.cache_clear()


def test_counters_at_another_shape(project):
    numbers = {"02_two": {"own": COUNTED}}
    text = json.dumps({"size": "16x32x64", "counters": numbers})
    (project / "results/counters_16x32x64.json").write_text(text)
    assert "| ncu, 16x32x64 | `own` |" in written("counters 16x32x64 02_two/own : time")
    (problem,) = problems_of("counters 16x32x64 02_two/slow : time")
    assert "no counters of 02_two/slow at 16x32x64" in problem


def rows_of(text):
    return [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if "| " in line]


def test_counters_have_units_and_the_stages_labels():
    text = written(
        "counters 02_two 06_three/own : time, l2_sectors, fma_pipe, copies, clock, stalls"
    )
    assert "| ncu, 4096^3 | 02 `slow` | 02 `own` | 06 `own` |" in text
    assert "| time, ms | 4,000 |" in text and "long scoreboard 3.2" in text
    units = ["read from L2, GB", "FMA pipe, %", "copies, M", "clock, GHz"]
    assert rows_of(text)[2:] == ["time, ms", *units, "warps waiting, by issued instruction"]
    assert "| ncu, 4096^3 | `own` |" in written("counters 06_three/own")


def test_without_a_choice_the_rows_that_move_are_shown(project):
    stalls = "warps waiting, by issued instruction"
    assert rows_of(written("counters 02_two"))[2:] == [stalls]
    counted(project, "02_two", "own", issue=4.15e9, fma_pipe=3.9e9, dram_bytes=0)
    shown = ["issue slots used, %", "read from device memory, GB", stalls]
    assert rows_of(written("counters 02_two"))[2:] == shown


def test_one_column_has_all_rows_that_are_not_zero(project):
    counted(project, "02_two", "own", tensor_pipe=0)
    rows = rows_of(written("counters 02_two/own"))
    assert "tensor pipe, %" not in rows and "FMA pipe, %" in rows


def test_a_counter_that_was_not_counted_is_left_out_unless_asked_for(project):
    counted(project, "02_two", "own", l2_sectors=None, fma_pipe=1)
    assert "read from L2, GB" not in rows_of(written("counters 02_two"))
    (problem,) = problems_of("counters 02_two : time, l2_sectors")
    assert problem == "docs/page.md: l2_sectors of 02_two/own was not counted"
    (problem,) = problems_of("counters 02_two : tea")
    assert problem.startswith("docs/page.md: no row 'tea': no function 'tea'; there are: ")


def test_a_row_may_be_anything_that_claims_name():
    rows = written("counters 02_two : registers, stall_long_scoreboard").splitlines()[4:6]
    assert rows == ["| registers | 64 | 64 |", "| stall long scoreboard | 3.25 | 3.25 |"]


def predictions(monkeypatch):
    module = types.ModuleType("ladder.model")
    module.page_rows = lambda variant: [("time of " + variant, "2.0", "2.5", "waves")]
    error = {"variant": "02_two/own", "size": 4096, "predicted": 0.002, "measured": 0.0025}
    error |= {"relative": -0.2, "missed": True, "calibrated": False}
    module.errors = lambda: [types.SimpleNamespace(**error)]
    module.TABLES = {"constants": lambda: (["constant", "value"], [["clock", "2"]])}
    monkeypatch.setitem(sys.modules, "ladder.model", module)
    monkeypatch.setattr(ladder, "model", module, raising=False)


def test_the_model_stands_beside_what_was_measured(monkeypatch):
    predictions(monkeypatch)
    text = written("model 02_two/own")
    assert "| 4096^3 | predicted | measured | why different |" in text
    assert "| time of 02_two/own | 2.0 | 2.5 | waves |" in text
    assert "| variant | 4096: predicted, ms | 4096: measured | 4096: error, % |" in written("model")
    assert "| `02_two/own` | 2 | 2.5 | -20.0 missed |" in written("model")
    assert "| constant | value |\n| --- | ---: |\n| clock | 2 |" in written("model constants")


def test_the_machine_is_that_of_the_last_stage_of_each_type():
    text = written("machine")
    assert "|  | Some GPU |" in text
    assert "| cuBLAS FP32 / FP16 at 4096^3 | 70.0 / 70.0 TFLOP/s |" in text


def test_kernels_around_gemm_are_compared_with_the_copy_and_with_what_reads(project):
    assert problems_of("around")[0].endswith(f"no around_gemm in {project}/results")
    kernel = {"variant": "slow", "ms": 0.25, "gb_per_s": 2147.5, "of_copy": 0.521}
    kernels = [kernel | {"exercise": "transpose"}, kernel | {"exercise": "gemv", "of_read": 0.498}]
    (project / "results/around_gemm.json").write_text(json.dumps({"kernels": kernels}))
    text = written("around")
    assert "| `transpose` | `slow` | 0.25 | 2,148 | 52% |  |" in text
    assert "| `gemv` | `slow` | 0.25 | 2,148 | 52% | 50% |" in text


def test_a_pair_is_compared_with_its_first_variant(project):
    assert problems_of("pairs")[0].endswith(f"no programs/pairs in {project}/results")
    variants = [{"variant": "slow", "ms": 3.0, "gb_per_s": 1200.5}, {"variant": "fast", "ms": 2.0}]
    rows = [{"pair": pair} | variant for pair in ("tree", "ring") for variant in variants]
    rows[2]["ms"] = 1.0
    (project / "results/programs").mkdir(exist_ok=True)
    (project / "results/programs/pairs.json").write_text(json.dumps({"pairs": rows}))
    text = written("pairs")
    assert "| `tree` | `slow` | 3 | 1.00 | 1,200 |" in text
    assert "| `tree` | `fast` | 2 | 1.50 |  |" in text
    assert "| `ring` | `fast` | 2 | 0.50 |  |" in text
    assert "error" not in text
    rows[0] |= {"registers": 136, "warps": 8, "threads": 256, "spilled_bytes": 0, "error": 2.5e-3}
    rows[1] |= {"registers": 32, "warps": 64, "threads": 256, "spilled_bytes": 144}
    (project / "results/programs/pairs.json").write_text(json.dumps({"pairs": rows}))
    text = written("pairs")
    assert "| GB/s | registers | bytes spilled | warps that fit | error |" in text
    assert "| 1.00 | 1,200 | 136 |  | 8 | 2.5e-03 |" in text
    assert "| 1.50 |  | 32 | 144 | 64 |  |" in text
    assert "| `ring` | `fast` | 2 | 0.50 |  |  |  |  |  |" in text


def test_the_library_is_shown_by_kind_and_where_it_is_slow(project):
    assert problems_of("library shapes")[0].endswith(f"no library_fp16 in {project}/results")
    times = {"us": 2.0, "cublas_us": 1.62, "stage": "14 16x64 split 2,"}
    percents = {"4096x4096x4096": 100.0, "512x512x512": 81.0, "1000x999x1000": 400.0}
    shapes = [times | {"shape": s, "percent": percent} for s, percent in percents.items()]
    for name in ("fp16", "bf16"):
        (project / f"results/library_{name}.json").write_text(json.dumps({"shapes": shapes}))
    text = written("library shapes")
    assert "| squares | 2 | 90.0 | 81.0 | 90.0 | 81.0 |" in text
    assert "| N or K no multiple of 8 | 1 | 400.0 | 400.0 | 400.0 | 400.0 |" in text
    assert "| all | 3 | 148.0 | 81.0 |" in text
    slow = written("library slow")
    assert "| 512x512x512 | bf16 | 2 | 1.62 | 81.0 | 14 16x64 split 2 |" in slow
    assert "4096" not in slow


def test_what_a_call_of_the_library_takes_of_the_host(project):
    shape = {"shape": "8x8x8", "us": 1, "cublas_us": 1, "percent": 100, "stage": "14 8x64"}
    times = {"host_us": 6.74, "workspace_bytes_host_us": 0.21, "cublas_host_us": 11.2}
    for name, more in (("fp16", {}), ("bf16", {"plan_host_us": 3.25})):  # older results have none
        found = times | more | {"shapes": [shape]}
        (project / f"results/library_{name}.json").write_text(json.dumps(found))
    same = "0.2 in `workspace_bytes`, 11.2 in cuBLAS's call"
    text = written("library host")
    assert f"in fp16 6.7 us in `gemm`, {same}; " in text
    assert f"in bf16 6.7 us in `gemm`, 3.2 in a plan's `run`, {same}." in text


def test_tuning_is_shown_beside_the_model(project):
    shapes = [
        {"shape": "64x4096x4096", "tuned_percent": 100.0, "model_percent": 81.0},
        {"shape": "1x4096x4096", "tuned_percent": 100.0, "model_percent": 100.0},
    ]
    (project / "results/jit_shapes.json").write_text(json.dumps({"shapes": shapes}))
    assert "| up to 128 rows | 2 | 100.0 | 100.0 | 90.0 | 81.0 |" in written("jit shapes")


def test_contenders_have_a_row_for_each_workload(project):
    folder = project / "results/programs"
    folder.mkdir()

    def write(name, report):
        (folder / f"{name}.json").write_text(json.dumps(report))

    both = [{"name": "ours", "ms": 0.25}, {"name": "theirs", "ms": 1.5}]
    groups = [{"groups": rows, "contenders": both} for rows in ([64, 64], [7, 9])]
    write("groups", {"workloads": groups})
    write("block", {"tokens": 4, "width": 5, "hidden": 6, "contenders": both})
    text = written("contenders groups block")
    assert "| us | ours | theirs |" in text
    assert "| 2 x 64 | 250 | 1,500 |\n| 7, 9 | 250 | 1,500 |\n| 4, 5 -> 6 | 250 | 1,500 |" in text
    write("block", {"tokens": 4, "width": 5, "hidden": 6, "contenders": both[::-1]})
    assert problems_of("contenders groups block")[0].endswith("have different contenders")
    assert problems_of("contenders")[0].endswith("contenders wants a file")


def test_counters_of_references_that_were_not_predicted_are_shown(project):
    assert problems_of("references")[0].endswith(f"no exercises in {project}/results")

    def write(*pairs):
        counters = {f"counter{i}": pair for i, pair in enumerate(pairs)}
        seen = {"wrong": "", "findings": {"memcheck": ["1 error"]}, "counters": {"8 x 8": counters}}
        text = json.dumps({"exercises": {"50_warp_sum": seen}})
        (project / "results/exercises.json").write_text(text)

    write([4, 4], [1416, 2611])
    text = written("references")
    assert "Of 1 references 1 are right, and in 0 compute-sanitizer finds nothing. " in text
    assert "Of 2 counters 1 are equal. The others:" in text
    assert "README.md) | 8 x 8 | counter1 | 1,416 | 2,611 |" in text
    write([4, 4])
    assert "Of 1 counters 1 are equal.\n" in written("references")


@pytest.mark.parametrize(
    "kind, messages",
    [
        ("nothing", ["no kind 'nothing'; there are: stages, "]),
        ("results", ["results : results() missing"]),
        ("results 99_none", ["no results of 99_none at 4096"]),
        ("shapes 99_none", ["no results of 99_none"]),
        ("counters 02_two/none 10_one", ["no counters of 02_two/none", "no counters of 10_one"]),
        (
            "claims no-such-claim unmeasured fast false",
            [
                "there is no claim 'no-such-claim'",
                "claim 'unmeasured': no results of 02_two/own at 5",
                "claim 'false' does not hold",
            ],
        ),
        ('code kernels/none.cuh "a" "b"', ["there is no kernels/none.cuh"]),
        ('code kernels/10_one.cuh "not there" "b"', ["no line of kernels/10_one.cuh has 'not "]),
        ('code kernels/10_one.cuh "first" "not there"', ["no line of kernels/10_one.cuh after"]),
        ("library tea", ["library tea: there are shapes, slow, "]),
        ("jit tea", ["jit tea: there are calls, shapes"]),
        ("predict 02_two own", ["stages/cpu/02_two: No such file or directory"]),
    ],
)
def test_what_is_not_there_is_named(kind, messages, project, monkeypatch):
    monkeypatch.setattr(sources, "CPU_STAGES", project / "build/stages/cpu")
    problems = problems_of(kind)
    assert len(problems) == len(messages)
    for problem, message in zip(problems, messages, strict=True):
        assert problem.startswith("docs/page.md: ") and message in problem and "\n" not in problem


def test_predictions_lead_to_their_lines_in_parts_too(monkeypatch):
    line = {"op": "load", "array": "sB", "space": "shared", "bytes": 4, "requests": 1}
    line |= {"wavefronts_per_request": 1.0, "ideal_wavefronts": 1.0, "line": 7}
    files = ["/a/kernels/b/kernels/02_two.cuh", "/a/kernels/parts/swizzle.cuh"]
    memory = [line | {"file": file} for file in files]
    monkeypatch.setattr(sources, "predicted", lambda stage: {"x": {"memory": memory}})
    text = written("predict 02_two x")
    assert "| [02_two.cuh:7](../kernels/02_two.cuh#L7) | load sB |" in text
    assert "| [parts/swizzle.cuh:7](../kernels/parts/swizzle.cuh#L7) |" in text
    assert "| bytes a lane | requests |" in text


def test_boxes_stand_alone_where_they_are_asked_for(monkeypatch):
    box = {"op": "tma load", "array": "A", "space": "global", "bytes": 16384, "requests": 2}
    box |= {"sectors_per_request": 512.0, "ideal_sectors": 512.0, "line": 7, "file": "a.cuh"}
    monkeypatch.setattr(
        sources, "predicted", lambda stage: {"x": {"memory": [box, box | {"op": "load"}]}}
    )
    text = written("predict 02_two x boxes")
    assert "| bytes | requests |" in text
    assert "| tma load A | 16384 | 2 | 512 sectors | 512 |" in text
    assert "| load A |" not in text and "| load A |" in written("predict 02_two x")
    (problem,) = problems_of("predict 02_two x operands")
    assert "there is 'boxes', or nothing" in problem


def test_a_figure_that_the_cpu_device_does_not_bear_out_is_an_error(monkeypatch):
    line = {"op": "load", "array": "sB", "space": "shared", "bytes": 4, "requests": 1}
    line |= {"sample": [128 * i for i in range(32)], "ideal_wavefronts": 1.0}
    memory = [line | {"wavefronts_per_request": 31.5}]
    monkeypatch.setattr(sources, "predicted", lambda stage: {"x": {"memory": memory}})
    (problem,) = problems_of("access 02_two x sB load")
    assert "has 32 wavefronts, the CPU device counts 31.5" in problem
    memory[0]["wavefronts_per_request"] = 32.0
    assert "by one warp, 32 wavefronts](figures/" in written("access 02_two x sB load")


def test_a_block_without_end_is_an_error():
    with pytest.raises(BadInput, match="does not begin or does not end"):
        docs.updated("text\n<!-- end -->\n", PAGE, [])


@pytest.fixture
def pages(project, monkeypatch):
    """README.md, a page, and what is said of them. No plots."""
    (project / "docs/figures").mkdir()
    (project / "README.md").write_text(block("results 02_two"))
    (project / "docs/index.md").write_text(block("claims fast"))
    monkeypatch.setattr(docs, "stale_plots", lambda: [])
    return project


def test_check_fails_where_a_file_would_change_and_changes_nothing(pages, capsys):
    assert docs.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "ladder docs: README.md is not up to date",
        "ladder docs: docs/index.md is not up to date",
    ]
    assert (pages / "README.md").read_text() == block("results 02_two")
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0


def test_check_fails_for_a_stale_plot(pages, capsys, monkeypatch):
    assert docs.main([]) == 0
    stale = pages / "docs/figures/ladder_light.svg"
    monkeypatch.setattr(docs, "stale_plots", lambda: [stale])
    assert docs.main(["--check"]) == 1
    assert "docs/figures/ladder_light.svg is not up to date" in capsys.readouterr().err


def test_what_cannot_be_written_is_said_and_the_rest_is_written(pages, capsys):
    (pages / "docs/index.md").write_text(block("claims false"))
    assert docs.main([]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "ladder docs: docs/index.md: claim 'false' does not hold"
    ]
    assert "| `slow` |" in (pages / "README.md").read_text()
    assert docs.main(["--check"]) == 2


def test_a_figure_that_no_page_has_is_removed(pages):
    unused = pages / "docs/figures/access_x.svg"
    unused.write_text("")
    assert docs.main([]) == 0
    assert not unused.exists()


CODE = re.compile(r"^( *)(`{3,}).*?^\1\2$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ONWARD = re.compile(r"<!-- onward .*?<!-- end -->", re.DOTALL)
EMPTY_FOLD = re.compile(r"<details[^>]*>\s*<summary>[^<]*</summary>\s*</details>")
TAG = re.compile(r"</?[a-z][^>\n]*>")


FOLD = re.compile(r"<details.*?</details>", re.DOTALL)
PAGE_LINK = re.compile(r"\[[^]]*\]\([^)]*\b\d\d[b-e]?_\w+\.md[^)]*\)")  # whose text names a stage
TARGET = re.compile(r"(?<=\])\([^)]*\)")
PICTURE = re.compile(r"!\[[^]]*\]")
FOOTNOTE_MARK = re.compile(r"\[\^[^]]*\](?!:)")
STAGE_NAME = re.compile(r"\b(?:0\d[b-e]?|\d\d[b-e])\b")
PLACE = re.compile(r"^ *\d+\. |, line \d+:$", re.MULTILINE)  # in a list, in a file


def read(text):
    """What there is to read: prose, tables, footnotes, captions, what is folded. No code between
    fences, no comments, no tags, no fold that had nothing but code, no links to exercises and the
    next page."""
    return TAG.sub("", EMPTY_FOLD.sub("", COMMENT.sub("", CODE.sub("", ONWARD.sub("", text)))))


def words(text):
    """A word has a letter or a digit, so the bars of a table are none."""
    return sum(bool(re.search(r"\w", word)) for word in read(text).split())


def numbers(text):
    """Words with a digit that follows no letter, as in L2, but for names of stages, what a picture
    shows, where links lead, and places."""
    text = read(text)
    for not_a_number in (PICTURE, PAGE_LINK, TARGET, FOOTNOTE_MARK, STAGE_NAME, PLACE):
        text = not_a_number.sub("", text)
    return sum(bool(re.search(r"(?<![\w/.[])\d", word)) for word in text.split())


def pages_of_docs():
    """Those that are read in an order; the site makes some of them."""
    names = sorted(p.relative_to(ROOT / "docs").as_posix() for p in in_english(ROOT / "docs"))
    order = ROOT / "docs/order.json"
    if order.exists():
        listed = {page for part in json.loads(order.read_text()) for page in part["pages"]}
        names = [name for name in names if name in listed]
    return names


def pages_of_stages():
    stages = json.loads((ROOT / "stages/manifest.json").read_text())["stages"]
    return [Path(stage["page"]).name for stage in stages]


def pages_in_two_layers():
    """Of stages and concepts: what is read first, and what is folded."""
    return [*pages_of_stages(), *(name for name in pages_of_docs() if name.startswith("concepts/"))]


# Those of them that are not yet so, for an example by hand that has more numbers. No new ones.
ONE_LAYER = """
concepts/descriptors.md concepts/fragments.md concepts/mbarrier.md concepts/swizzle.md
"""


@pytest.mark.parametrize("name", pages_of_docs())
def test_pages_are_short(name):
    in_two_layers = name in pages_in_two_layers() and name not in ONE_LAYER
    most = TWO_LAYERS if in_two_layers else WORDS
    assert words((ROOT / "docs" / name).read_text()) < most


@pytest.mark.parametrize(
    "text, count",
    [
        ("Two words.", 2),
        ("| a | 1.5 | - |", 2),
        ("Two words.\n<!-- onward a.md -->\n**Now do** it\n<!-- end -->", 2),
        ("<!-- results 02_two -->One, <!--= 1 | .1f -->2<!--/-->.", 2),
        ("Before\n```cuda\nint a;\n```\nafter", 2),
        ("<details markdown>\n<summary>Whole code</summary>\n\n```\na b\n```\n\n</details>", 0),
        ("<details>\n<summary>Folded:</summary>\n\nwords count\n</details>", 3),
    ],
)
def test_words_are_what_there_is_to_read(text, count):
    assert words(text) == count


@pytest.mark.parametrize(
    "text, count",
    [
        ("In 05b 128x256 and 1.5%, see [13](13_fit.md#the-2) and [two](waves.md#2).", 2),
        ("| `own_2` | 4096^3 |\n<!--= 2 | .1f -->2<!--/-->", 2),
        ("1. L2 has room.\n2. 60 MB on an H200.", 1),
        ("It holds.[^at-4096]\n\n[^at-4096]: `2 < x`: 3.", 3),
        ('<details markdown="1"><summary>At 2</summary>\n\n4 and 5\n</details>', 3),
    ],
)
def test_numbers_are_words_with_a_digit(text, count):
    assert numbers(text) == count


@pytest.mark.parametrize("page", pages_in_two_layers())
def test_what_a_page_shows_at_once_is_short(page):
    seen = FOLD.sub("", (ROOT / "docs" / page).read_text())
    is_short = words(seen) <= SEEN_WORDS and numbers(seen) <= SEEN_NUMBERS
    counts = f"{words(seen)} words and {numbers(seen)} numbers are seen at once"
    if page in ONE_LAYER:
        assert not is_short, f"{page}: {counts}: take it out of ONE_LAYER"
    else:
        assert is_short, f"{page}: {counts}"


def test_every_stage_has_a_page_of_the_same_shape():
    parts = ["The question", "The picture", "The idea", "The code", "Prediction and measurement"]
    parts += ["What surprised", "Exercises", "Next"]
    for stage in manifest.read(ROOT / "stages/manifest.json").values():
        text = re.sub(r"^```.*?^```", "", (ROOT / stage.page).read_text(), flags=re.M | re.S)
        assert re.findall(r"^## (.*)$", text, flags=re.M) == parts, stage.name


def test_a_second_gpu_has_columns_beside_the_first(second):
    stages = written("stages").splitlines()
    assert stages[2].endswith("| % of cuBLAS | % on H100, 4096 | % on H100, 8192 | proved |")
    assert stages[4].endswith("| 50.0 | 80.2 | 50.0 | 80.2 | 95.5 | 97.5 | no |")
    assert stages[5].endswith("| needs sm_90 | needs sm_90 | no |")
    results = written("results 02_two").splitlines()
    assert "| % of cuBLAS | % on H100 | registers |" in results[2]
    assert "| 7.0 | 80.2 | 80.2 |" in results[4] and "| 50.0 | 80.2 | 95.5 |" in results[5]
    assert "| `own` | 2.5 | 51.0 | 80.2 | needs sm_90 | 64 |" in written("results 10_one")
    assert "|  | Some GPU | Other GPU |" in written("machine")


def test_shapes_may_be_measured_on_the_first_gpu_alone(second):
    (second / "02_two_4096.json").unlink()
    rows = written("shapes 02_two").splitlines()
    assert rows[2] == "| M x N x K | TFLOP/s | % of cuBLAS | % on H100 | sustained |"
    assert rows[4] == "| 4096 | 50.0 | 80.2 | not measured | 91.5 |"
    assert rows[5] == "| 8192 | 50.0 | 80.2 | 97.5 | 91.5 |"
    assert "| 8192 | 51.0 | 80.2 | needs sm_90 | 91.5 |" in written("shapes 10_one")


def test_what_the_second_gpu_has_not_measured_is_said(second):
    (second / "02_two_4096.json").unlink()
    (second / "06_three_8192.json").unlink()
    stages = written("stages").splitlines()
    assert stages[4].endswith("| not measured | 97.5 | no |")
    assert stages[6].endswith("| 95.5 | not measured | no |")
    assert "| `own` | 2.5 | 50.0 | 80.2 | not measured |" in written("results 02_two")


def test_a_folded_claim_has_its_values_below_it():
    text = "<details>\n" + block("claims fast") + "</details>\n" + block("claims fast")
    folded, shown = docs.updated(text, PAGE, []).split("</details>")
    assert "- It is fast.<br>\n  `tflops(02_two/own) > 49`: 50.\n<!-- end -->" in folded
    assert "- It is fast.[^fast]\n" in shown and "[^fast]: `tflops" in shown


def test_a_claim_has_values_of_each_gpu_that_it_holds_on(second):
    assert "[^fast]: `tflops(02_two/own) > 49`: 50 (H200); 49.5 (H100).\n" in written("claims fast")
    faster = {"id": "faster", "claim": "It is.", "holds": "tflops(02_two/own) > 49.9"}
    sources.all_claims()["faster"] = faster
    assert problems_of("claims faster") == [
        "docs/page.md: claim 'faster' does not hold on H100",
    ]
    sources.all_claims()["faster"] = faster | {"on": ["h200"], "why_not_elsewhere": "Slow."}
    assert "[^faster]: `tflops(02_two/own) > 49.9`: 50 (H200).\n" in written("claims faster")
    sources.all_claims()["faster"] = faster | {"on": ["b200"]}
    assert problems_of("claims faster") == ["docs/page.md: claim 'faster': no results of b200"]


def test_attention_stands_beside_cudnn_or_a_copy():
    shape = {"batch": 4, "heads": 16, "kv_heads": 16, "queries": 4096, "keys": 4096, "width": 128}
    variants = [
        {"name": "slow", "tflops": 300.4, "gbytes_per_s": 9},
        {"name": "own", "tflops": 660, "gbytes_per_s": 2000},
    ]
    beside_cudnn = shape | {"causal": True, "variants": [*variants, {"name": "c", "tflops": 600}]}
    row = ["D = 128, 4 x 16 heads, 4,096 keys, causal", "300", "660", "600", "110.0"]
    assert results.attention_row(beside_cudnn, {"c"}) == row
    copy = {"kv_heads": 8, "causal": False, "copy": {"gbytes_per_s": 2500}, "variants": variants}
    row = ["D = 128, 4 x 16 over 8 heads, 4,096 keys", "9", "2,000", "2,500", "80.0"]
    assert results.attention_row(shape | copy, {"copy"}) == row
