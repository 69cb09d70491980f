"""What ./ladder prove counts and says; and that it refuses mistakes, also those that an ordinary
small test lets through (tests/proof_edits)."""

import math
import shutil
import sys
from dataclasses import replace

import pytest

from ladder import manifest, planted, prove, proved
from ladder.coverage import Coverage
from ladder.project import ROOT, BadInput

PROOF_EDITS = sorted((ROOT / "tests/proof_edits").glob("*.yaml"))
SLIP = [edit for path in PROOF_EDITS for edit in planted.read_edits(path)]


def test_what_goes_unseen_has_a_bound():
    assert prove.unseen(1025, 0.0) == 2 / 1025
    assert prove.unseen(5, 0.25) == 0.65
    assert prove.Product(1025, 0.0, 7).bits == pytest.approx(63.01, abs=0.01)


@pytest.mark.parametrize("tile", [(32, 32, 64), (128, 256, 8), (32, 32, 1)])
def test_shapes_have_every_pair_of_remainders(tile):
    found = prove.cases(tile)
    assert found[0].shape == (1, 1, 1)
    assert [case.several_waves for case in found].count(True) == 1
    remainders = {tuple(s % t for s, t in zip(case.shape, tile, strict=True)) for case in found}
    for one, other in ((0, 1), (0, 2), (1, 2)):
        wanted = {
            (a, b)
            for a in {0, 1 % tile[one], tile[one] - 1}
            for b in {0, 1 % tile[other], tile[other] - 1}
        }
        assert wanted <= {(r[one], r[other]) for r in remainders}


def test_a_stage_has_its_own_tile_or_one_that_its_launcher_may_choose():
    assert prove.own_tile("04c_warp_tiled") == (128, 256, 8)
    assert prove.own_tile("13_fit_the_waves") == (128, 256, 64)
    assert prove.own_tile("17_fp8") == (128, 256, 128)
    assert prove.own_tile("19_tf32")[2] == prove.own_tile("05e_few_rows")[2] == 32


def test_what_is_assumed_is_read_from_the_kernel():
    of = {name: " ".join(proved.assumptions(name)) for name in manifest.of_one_gpu()}
    assert all("only blocks are compared" in said for said in of.values())
    assert [name for name, said in of.items() if "as good as random" in said] == [*manifest.load()]
    assert "fences" in of["11b_overlapped_stores"]
    assert "fences" not in of["02_smem_tiled"]
    assert "tests of a phase" in of["05b_split_barrier"]
    assert "early start" in of["13_fit_the_waves"]
    assert not [name for name, said in of.items() if "atomics" in said]


def test_every_stage_of_one_gpu_has_shapes():
    for stage in manifest.of_one_gpu().values():
        assert len(prove.cases_of(stage)) >= 5


def test_on_a_gpu_each_type_and_layout_has_shapes():
    ways = {name: prove.ways(stage) for name, stage in manifest.load().items()}
    assert [len(ways[name]) for name in ("01_naive", "18_layouts", "20_int8")] == [1, 8, 2]
    assert ways["18_layouts"][5][:4] == ("--type", "bf16", "--layout", "NT")
    for name, stage in manifest.load().items():
        tile, (waves, *others) = prove.own_tile(name), prove.cases_on_gpu(stage)
        tiles = [-(-size // of) for size, of in zip(waves.shape[:2], tile[:2], strict=True)]
        assert math.prod(tiles) > 132  # multiprocessors
        assert {case.shape for case in prove.cases(tile)[:10]} <= {
            case.shape for case in others if isinstance(case, prove.Case)
        }
        assert any("--groups" in case.options for case in others) == stage.groups


# Stands for a stage's program, which needs a GPU.
ON_A_GPU = """#!{python}
import json, sys
words = sys.argv[1:]
value = dict(zip(words, words[1:]))
assert "--prove" in words and value["--seed"].isdigit()
if {code} == 77:
    print("no usable GPU", file=sys.stderr)
    sys.exit(77)
bad = {code} == 1 and "--k=65" in words
report = {{
    "device": {{"name": "GPU", "toolkit": "13.0"}},
    "problem": {{"runs": 7}},
    "variants": [{{"name": name, "check": {{"ok": not bad}}}} for name in ("one", "own")],
}}
open(value["--json"], "w").write(json.dumps(report))
if bad:
    print("  own  WRONG  31")
    print("  WRONG own: seed 5: row 1, column 2: got 3")
sys.exit(bad)
"""


def on_a_gpu(folder, code):
    program = folder / "stages/03_transposed_b"
    program.parent.mkdir(exist_ok=True)
    program.write_text(ON_A_GPU.format(python=sys.executable, code=code))
    program.chmod(0o755)
    return ["--gpu", "--record", "--build", str(folder)]


def test_what_a_gpu_proves_is_kept_and_what_it_refuses_is_not(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(proved, "RECORD_ON_GPU", tmp_path / "proved_on_gpu.jsonl")
    assert prove.main(on_a_gpu(tmp_path, 0)) == 0
    assert proved.on_gpu() == {
        "03_transposed_b": {
            "kernel": proved.kernel("03_transposed_b"),
            "gpu": "GPU",
            "toolkit": "13.0",
            "shapes": 12,
            "variants": 2,
            "runs": 12 * 7,
        }
    }
    monkeypatch.setattr(proved, "kernel", lambda stage: "0123456789abcdef")
    assert proved.on_gpu() == {}
    assert prove.main(on_a_gpu(tmp_path, 1)) == 1
    said = capsys.readouterr()
    assert "63x63x65, fp32 NN: refused: wrong result: own: seed 5: row 1, column 2" in said.out
    assert "refused" in said.err
    assert proved.read_on_gpu() == {}


def test_without_a_gpu_nothing_is_proved_on_it(tmp_path, capsys):
    assert prove.main(on_a_gpu(tmp_path, 77)) == 77
    assert capsys.readouterr().err == "ladder prove: no usable GPU\n"
    with pytest.raises(BadInput, match="build the stages first"):
        prove.main(["01_naive", "--gpu", "--build", str(tmp_path)])
    with pytest.raises(BadInput, match="no single product"):
        prove.main(["22_unfused", "--gpu", "--build", str(tmp_path)])


def test_what_is_recorded_is_of_the_kernel_as_it_was(tmp_path, monkeypatch):
    class Covered:
        def counts(self):
            return 3, 4

        def missed(self):
            return ["01_naive.cuh:30"]

    monkeypatch.setattr(proved, "RECORD", tmp_path / "proved.jsonl")
    assert proved.state("01_naive", proved.read()) == "no"
    proved.record("02_smem_tiled", 11, [], Covered(), True)
    proved.record("01_naive", 11, ["1x1x1"], Covered(), False)
    assert [*proved.read()] == ["01_naive", "02_smem_tiled"]
    assert ["several_ways" in entry for entry in proved.read().values()] == [False, True]
    assert proved.state("01_naive", proved.read()) == "in part"
    assert proved.state("02_smem_tiled", proved.read()) == "yes"
    text = proved.text_of("02_smem_tiled")
    monkeypatch.setattr(proved, "text_of", lambda stage: f"  {text}\n")
    assert proved.state("02_smem_tiled", proved.read()) == "yes"
    monkeypatch.setattr(proved, "text_of", lambda stage: text.replace("+=", "-="))
    assert proved.state("02_smem_tiled", proved.read()) == "not since its last change"


def digest(**lines):
    listed = [
        {"file": "/kernels/k.cuh", "line": int(at[1:]), "text": "x", "digest": number}
        for at, number in lines.items()
    ]
    return {"lines": listed}


def test_the_line_is_named_whose_accesses_differ():
    one = digest(_3="a", _5="b")
    assert prove.difference(one, digest(_3="a", _5="c")) == "k.cuh:5: x"
    assert prove.difference(one, digest(_3="a")) == "k.cuh:5: x"
    assert prove.difference(digest(_3="a"), one) == "k.cuh:5: x"
    assert prove.difference(one, one) == "their order"


def test_a_planted_edit_is_refused_with_its_own_data(monkeypatch):
    asked = []

    def run(stage, case, data, seed, digest):
        asked.append((stage.variant, case.options, data, digest))
        if data == "random":
            raise prove.Refused("wrong result")

    monkeypatch.setattr(prove.Stage, "run", run)
    edit = replace(SLIP[0], shape=(1, 2, 3), options="--layout TT")
    assert prove.not_refused(edit, built_folder()) == []
    assert asked == [(edit.variant, ["--layout", "TT", "--m=1", "--n=2", "--k=3"], "random", True)]
    edit = replace(edit, shape=(), options="--rows 3 --data exact --width 9")
    assert prove.not_refused(edit, built_folder()) == ["prove does not refuse it"]
    assert asked[1][1:3] == (["--rows", "3", "--width", "9"], "exact")


def test_what_is_no_shape_or_stage_is_bad_input(tmp_path, capsys):
    for wrong in ("64x64", "0x1x1", "64x64x64x64", "axbxc"):
        with pytest.raises(SystemExit) as ended:
            prove.main(["--shape", wrong])
        assert ended.value.code == 2
        assert "is not MxNxK" in capsys.readouterr().err
    with pytest.raises(BadInput, match="no stage 'nothing'"):
        prove.main(["nothing", "--build", str(built_folder())])
    with pytest.raises(BadInput):
        prove.main(["02_smem_tiled", "--build", str(tmp_path)])
    with pytest.raises(BadInput, match="not at one --shape"):
        prove.main(["02_smem_tiled", "--shape", "1x1x1", "--record"])
    with pytest.raises(BadInput, match="no single product"):
        prove.main(["22_unfused", "--shape", "1x1x1", "--build", str(built_folder())])


def built_folder():
    folder = ROOT / "build"
    if not (folder / "compile_commands.json").is_file():
        pytest.skip("no stages are configured in build/")
    return folder


@pytest.fixture
def build():
    found = planted.Build(built_folder())
    try:
        for edit in SLIP:
            found.command_of(edit.stage)
    except BadInput as error:
        pytest.skip(str(error))
    if not all((found.folder / lib).is_file() for lib in found.libraries if lib.endswith(".a")):
        pytest.skip("the CPU device's libraries are not built in build/")
    return found


def compiled(edit, build, folder):
    kernels, program = folder / "kernels", folder / "program"
    shutil.copytree(ROOT / "kernels", kernels)
    planted.plant(edit, kernels)
    assert build.compile(edit, kernels, program) == ""
    return program


def why_refused(program, edit):
    with pytest.raises(prove.Refused) as refused:
        prove.prove(prove.Stage(program, edit.variant), prove.Case(edit.shape))
    return str(refused.value)


def named(edit):
    return f"{edit.stage}-{edit.id}"


@pytest.mark.slow
@pytest.mark.parametrize("edit", SLIP, ids=named)
def test_what_slips_through_an_ordinary_test_is_refused(edit, build, tmp_path):
    program = compiled(edit, build, tmp_path)
    for data in ("random", "exact"):
        ordinary = replace(edit, shape=(64, 64, 64), options=f"--data {data}")
        assert planted.run(program, ordinary) == planted.Outcome()
    said = why_refused(program, edit)
    if edit.finds == planted.WRONG_RESULT:
        assert said.startswith("wrong result with wide data, seed ")
    else:
        assert edit.finds["cause"] in said
        assert edit.finds["line"] in said


@pytest.mark.slow
def test_lines_are_named_to_which_no_run_comes(build):
    program = build.folder / "stages/cpu/03_transposed_b"
    if not program.is_file():
        pytest.skip("03_transposed_b is not built in build/")
    text = (ROOT / "kernels/03_transposed_b.cuh").read_text().splitlines()
    tail = next(i for i, line in enumerate(text, 2) if "make_float4(valid > 0" in line)  # its end
    stage, coverage = prove.Stage(program, "transposed_b"), Coverage()

    def missed(*shape):
        ran = stage.run(prove.Case(shape), "random", 1, digest=True)
        coverage.add(program, ran["variants"][0]["digest"]["blocks"])
        return coverage.missed()

    assert f"03_transposed_b.cuh:{tail}" in missed(32, 32, 64)
    before = coverage.counts()
    assert f"03_transposed_b.cuh:{tail}" not in missed(32, 32, 67)
    assert before[0] < coverage.counts()[0] <= coverage.counts()[1] == before[1]
