import copy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import update_docs  # noqa: E402

PAGE = Path("page.md")
WORDS = 1500


def written(kind, body="old"):
    text = f"before\n<!-- {kind} -->\n{body}\n<!-- end -->\nafter\n"
    return update_docs.updated(text, PAGE)


def test_only_what_is_between_the_marks_changes():
    text = written("results 01_naive")
    assert text.startswith("before\n<!-- results 01_naive -->\n| 4096^3 | ms |")
    assert text.endswith("|\n<!-- end -->\nafter\n") and "old" not in text
    assert update_docs.updated(text, PAGE) == text
    assert "`uncoalesced`" in text


def test_the_table_of_stages_has_the_own_variants_numbers_and_leads_to_the_pages():
    row = next(line for line in written("stages docs").splitlines() if "06_wmma" in line)
    own = [update_docs.own(update_docs.report("06_wmma", size)) for size in ("4096", "8192")]
    assert own[0]["name"] == "wmma"
    numbers = [f"{v[key]:.1f}" for v in own for key in ("tflops", "percent_of_cublas")]
    assert row.startswith("| [06_wmma](docs/06_wmma.md) | Warps multiply")
    assert row.endswith(f"| {' | '.join(numbers)} |")
    assert "| [06_wmma](06_wmma.md) |" in written("stages")


def test_a_stage_without_a_report_is_an_error(monkeypatch):
    at_4096 = {key: r for key, r in update_docs.reports().items() if key[1] == "4096"}
    monkeypatch.setattr(update_docs, "reports", lambda: at_4096)
    with pytest.raises(update_docs.BadInput, match="no results of 01_naive at 8192"):
        written("stages")


def test_the_readme_shows_the_committed_numbers():
    text = (ROOT / "README.md").read_text()
    assert "<!-- stages docs -->" in text
    assert update_docs.updated(text, PAGE) == text


def test_rows_of_several_runs_are_said_to_be(monkeypatch):
    files = [f"11_persistent_{size}.json" for stage, size in update_docs.reports()]
    monkeypatch.setattr(update_docs, "provenance", lambda: [{"files": files}, {"files": ["x"]}])
    assert "runs" not in written("shapes 11_persistent")
    parts = [{"files": files[:1]}, {"files": ["x"]}, {"files": files[1:]}]
    monkeypatch.setattr(update_docs, "provenance", lambda: parts)
    assert "are from 2 runs" in written("shapes 11_persistent")


def test_the_steady_state_has_a_column_where_it_was_measured(monkeypatch):
    rows = {line.split(" | ")[0]: line for line in written("shapes 11_persistent").splitlines()}
    assert rows["| 1024"].endswith("| too short |")
    sustained = update_docs.own(update_docs.report("11_persistent", "8192"))["sustained"][
        "percent_of_cublas"
    ]
    assert rows["| 8192"].endswith(f"| {sustained:.1f} |")
    assert "sustained" not in written("shapes 05b_split_k")
    reports = copy.deepcopy(update_docs.reports())
    del update_docs.own(reports["11_persistent", "8192"])["sustained"]
    monkeypatch.setattr(update_docs, "reports", lambda: reports)
    assert "| not measured |" in written("shapes 11_persistent")


def test_code_is_included_with_its_lines():
    text = written('code kernels/01_naive.cuh "// The stage: only" "acc;"')
    assert (
        "kernels/01_naive.cuh#L" in text
        and "const int row = blockIdx.y * BM + threadIdx.y;" in text
    )
    assert text.count("C[row * ldc + col] = acc;") == 1


def test_a_diff_counts_its_lines():
    text = written("diff 01_naive 02_smem_tiled")
    assert "+  __shared__ float sA" in text and "lines added" in text


def test_claims_show_their_values():
    text = written("claims naive-full-occupancy")
    assert "`naive-full-occupancy`: occupancy(01_naive/naive) = 1" in text


def test_counters_have_units():
    text = written("counters 01_naive 02_smem_tiled/smem_tiled")
    assert "| ncu, 4096^3 | 01 `uncoalesced` | 01 `naive` | 02 `smem_tiled` |" in text
    assert "| time, ms |" in text and "long scoreboard" in text


@pytest.mark.parametrize(
    "kind, message",
    [
        ("nothing", "no kind 'nothing'; there are: stages, results"),
        ("results", "results : results() missing"),
        ("results 99_none", "no results of 99_none at 4096"),
        ("counters 01_naive/none", "no counters of 01_naive/none"),
        ("claims no-such-claim", "there is no claim 'no-such-claim'"),
        ('code kernels/none.cuh "a" "b"', "there is no kernels/none.cuh"),
        ('code kernels/01_naive.cuh "not there" "b"', "has 'not there'"),
        ('code kernels/01_naive.cuh "namespace" "not there"', "has 'not there'"),
    ],
)
def test_what_is_not_there_is_named(kind, message):
    with pytest.raises(update_docs.BadInput) as error:
        written(kind)
    assert message in str(error.value) and str(error.value).startswith("page.md: ")


def test_a_figure_that_the_cpu_device_does_not_bear_out_is_an_error(monkeypatch):
    line = {"op": "load", "array": "sB", "space": "shared", "bytes": 4, "requests": 1}
    line |= {"sample": [128 * i for i in range(32)], "ideal_wavefronts": 1.0}
    memory = [line | {"wavefronts_per_request": 31.5}]
    monkeypatch.setattr(update_docs, "predicted", lambda stage: {"x": {"memory": memory}})
    with pytest.raises(
        update_docs.BadInput, match=r"has 32 wavefronts, the CPU device counts 31\.5"
    ):
        written("access 02_smem_tiled x sB load")
    memory[0]["wavefronts_per_request"] = 32.0
    assert "by one warp, 32 wavefronts](figures/" in written("access 02_smem_tiled x sB load")


def test_a_block_without_end_is_an_error():
    with pytest.raises(update_docs.BadInput, match="does not begin or does not end"):
        update_docs.updated("text\n<!-- end -->\n", PAGE)


def test_a_false_claim_is_not_shown(monkeypatch):
    false = {"id": "x", "claim": "y", "holds": "tflops(01_naive/naive) > 1000"}
    monkeypatch.setattr(update_docs, "all_claims", lambda: {"x": false})
    with pytest.raises(update_docs.BadInput, match="claim 'x' does not hold"):
        written("claims x")


def prose(text):
    """The page without what is generated."""
    return update_docs.BLOCK.sub("", text)


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda p: p.stem)
def test_pages_are_short(path):
    assert len(prose(path.read_text()).split()) < WORDS


def test_every_stage_has_a_page_of_the_same_shape():
    parts = ["The idea", "The code", "Predict", "Measure", "In ncu", "The limit", "Exercises"]
    for stage in (ROOT / "stages").glob("*.cu"):
        text = (ROOT / f"docs/{stage.stem}.md").read_text()
        places = [text.find(f"\n## {part}\n") for part in parts]
        assert -1 not in places and places == sorted(places), stage.stem
