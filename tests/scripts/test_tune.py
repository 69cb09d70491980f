"""The tables of 15_chosen_by_cost: what is adopted, and what is refused in one line."""

import json
import shutil

import pytest

from ladder import tune
from ladder.project import GPUS, ROOT

TUNED = ROOT / "kernels/tuned"
CANDIDATES = [
    {
        "stage": stage,
        "BM": rows,
        "BN": 256,
        "down": 1,
        "across": across,
        "split": split,
        "resident": 1,
        "layout": layout,
        "start_ns": 5000.04,
        "start_alone_ns": 5500,
        "step_ns": 674.94,
        "step_in_row_ns": 680.4,
        "step_off_lines_ns": 742.4,
        "step_alone_ns": 600,
        "later": 1.05,
        "tile_ns": 0,
        "bytes_per_ns": 4300,
        "times": 1.02,
    }
    for stage, rows, across, split, layout in (
        ("13", 152, 1, 1, "NN"),
        ("13b", 128, 2, 1, "NN"),
        ("14", 16, 1, 8, "NN"),
    )
]


@pytest.fixture
def table():
    return {
        "gpu": "NVIDIA H200",
        "date": "2025-01-02",
        "driver": "13.0",
        "toolkit": "13.0",
        "multiprocessors": 132,
        "count": len(CANDIDATES),
        "candidates": CANDIDATES,
    }


@pytest.fixture
def adopt(tmp_path, capsys):
    """Adopts a table, or text, under a name: exit code, what was said, the project's folder."""
    (tmp_path / "kernels/tuned").mkdir(parents=True)

    def run(content, name="h200"):
        file = tmp_path / "tune.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        code = tune.main(["--adopt", name, str(file)], tmp_path)
        captured = capsys.readouterr()
        return code, captured.out + captured.err, tmp_path

    return run


def test_adopting_writes_the_table_its_header_and_the_list(adopt, table):
    code, said, root = adopt(table)
    path = root / "docs/results/h200/tune.jsonl"
    assert (code, said) == (0, f"{path}: NVIDIA H200, 3 candidates\n")
    assert len(path.read_text().splitlines()) == 4
    assert tune.checked(path) == tune.rounded(table)
    text = (root / "kernels/tuned/h200.h").read_text()
    constants = "5000, 5500, 674.9, 680.4, 742.4, 600, 1.05, 0, 4300, 1.02"
    row = f"{{{{Kernel::PING_PONG, 128, 256, 1, 2, 1, 1}}, {{{constants}}}}},"
    assert row in text
    assert '"NVIDIA H200", /*multiprocessors*/ 132,' in text and "driver 13.0, 2025-01-02." in text
    assert "{&H200}" in (root / "kernels/tuned/gpus.h").read_text()


@pytest.mark.parametrize(
    ("layout", "array", "last"),
    [
        ("NT", "H200_B_BY_COLUMNS", "    {0}, sizeof {0} / sizeof *{0},\n    nullptr, 0}};"),
        ("TN", "H200_A_BY_COLUMNS", "    nullptr, 0,\n    {0}, sizeof {0} / sizeof *{0}}};"),
    ],
)
def test_a_matrix_by_columns_has_a_table_of_its_own(table, layout, array, last):
    assert "    nullptr, 0,\n    nullptr, 0};" in tune.header("h200", table)
    by_columns = [candidate | {"layout": layout} for candidate in CANDIDATES[:1]]
    text = tune.header("h200", table | {"candidates": [*CANDIDATES, *by_columns]})
    before, after = text.split(f"inline constexpr Row {array}[] = {{")
    assert before.count("{{Kernel::") == 3
    assert after.count("{{Kernel::") == 1
    assert last.format(array) in after


def test_four_digits_of_a_measurement_are_kept(table):
    assert tune.rounded({"a": [1234567, 1234567.8, 0.000123456], "b": "1.23456"}) == {
        "a": [1234567, 1235000, 0.0001235],
        "b": "1.23456",
    }
    assert tune.header("h200", tune.rounded(table)) == tune.header("h200", table)


def test_the_first_table_is_the_one_of_the_pages(adopt, table):
    adopt(table | {"gpu": "NVIDIA A1"}, "a1")
    adopt(table | {"gpu": "NVIDIA H100 80GB HBM3"}, "h100")
    _, _, root = adopt(table)
    assert "{&H200, &H100, &A1}" in (root / "kernels/tuned/gpus.h").read_text()


def test_what_a_new_table_no_longer_has_is_said(adopt, table):
    adopt(table)
    fewer = table | {"candidates": table["candidates"][:2], "count": 2}
    _, said, _ = adopt(fewer)
    assert said.endswith("2 candidates, without 1 that were there: 14 16 256 1 1 8 1 NN, ...\n")


def written(root):
    return {p: p.read_text() for p in root.rglob("*") if p.is_file() and p.name != "tune.json"}


def without(table, key):
    return {k: v for k, v in table.items() if k != key}


def changed(table, key, value):
    first, *rest = table["candidates"]
    return table | {"candidates": [first | {key: value}, *rest]}


BAD = {
    "no JSON": lambda t: json.dumps(t)[:-40],
    "no table": lambda _: [],
    "no GPU": lambda t: without(t, "gpu"),
    "no candidates": lambda t: without(t, "candidates"),
    "nothing measured": lambda t: t | {"candidates": [], "count": 0},
    "cut off": lambda t: t | {"candidates": t["candidates"][:1]},
    "no memory": lambda t: changed(t, "bytes_per_ns", 0),
    "a name that is code": lambda t: t | {"gpu": 'NVIDIA H200"; x'},
    "a candidate that is none": lambda t: t | {"candidates": [1, 2, 3]},
    "an unknown stage": lambda t: changed(t, "stage", "99"),
    "no rows": lambda t: changed(t, "BM", 0),
    "a fraction of a row": lambda t: changed(t, "BM", 1.5),
    "a negative step": lambda t: changed(t, "step_ns", -3),
    "no step": lambda t: changed(t, "step_off_lines_ns", None),
    "a step that is no number": lambda t: json.dumps(changed(t, "step_ns", float("nan"))),
    "a flag as a count": lambda t: t | {"count": True},
    "twice": lambda t: t | {"candidates": [t["candidates"][0]] * 3},
    "a newline that would end a comment": lambda t: t | {"driver": "13.0\n#error"},
    "a newline in the date": lambda t: t | {"date": "2025-01-02\rx"},
    "a number that is true": lambda t: t | {"multiprocessors": True},
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_table_is_refused_in_one_line(how, adopt, table):
    code, said, root = adopt(BAD[how](table))
    assert code == 2
    assert said.startswith("ladder adopt-tuning: ") and said.count("\n") == 1
    assert written(root) == {}


@pytest.mark.parametrize("name", ["h100", "H200", "../h200", "h 200"])
def test_a_table_goes_by_its_gpu(name, adopt, table):
    code, said, root = adopt(table, name)
    assert (code, said.count("\n"), written(root)) == (2, 1, {})


def test_a_gpu_has_one_table(adopt, table):
    adopt(table)
    code, said, _ = adopt(table, "nvidia")
    assert code == 2 and said.endswith("has its table already: h200\n")


def test_a_bad_table_beside_it_changes_nothing(adopt, table):
    _, _, root = adopt(table)
    (root / "docs/results/h100").mkdir()
    (root / "docs/results/h100/tune.jsonl").write_text("{}")
    before = written(root)
    code, said, _ = adopt(table | {"date": "2025-02-03"})
    assert (code, said.count("\n")) == (2, 1)
    assert written(root) == before


def test_no_file_is_one_line(tmp_path, capsys):
    assert tune.main(["--adopt", "h200", str(tmp_path / "none.json")], tmp_path) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_committed_headers_are_made_of_the_committed_tables(tmp_path):
    (tmp_path / "kernels/tuned").mkdir(parents=True)
    for gpu in GPUS:
        shutil.copytree(GPUS[gpu], tmp_path / "docs/results" / gpu)
    assert tune.main(["--headers"], tmp_path) == 0
    made = sorted(path.name for path in (tmp_path / "kernels/tuned").iterdir())
    by_hand = {"model.h", "choice.h"}
    assert set(made) == {path.name for path in TUNED.glob("*.h")} - by_hand
    for name in made:
        assert (tmp_path / "kernels/tuned" / name).read_text() == (TUNED / name).read_text()
