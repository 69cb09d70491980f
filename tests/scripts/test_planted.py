"""The edits of tests/planted_edits, as far as they need no compiler, and what findings become."""

import re
import shutil

import pytest

from ladder import manifest, planted
from ladder.project import ROOT, BadInput

FILES = sorted(planted.EDITS.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_edit_fits_its_kernel(path, tmp_path):
    assert path.stem in manifest.read(manifest.MANIFEST)
    main = (ROOT / f"stages/{path.stem}.cu").read_text()
    others = set(re.findall(r'\{"(\w+)"', main))
    edits = planted.read_edits(path)
    assert len({edit.id for edit in edits}) == len(edits)
    kernels = shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    for edit in edits:
        alone = planted.main_of(main, edit)
        if "run_type(" in main:
            assert edit.variant in others
            assert ("STAGE, decltype(contents<" if edit.kernel else "STAGE, contents<") in alone
        else:
            assert [v for v in others if f'"{v}"' in alone] == [edit.variant]
            assert "CONFIGURATIONS" not in alone
        assert alone.count("{") == alone.count("}")
        planted.plant(edit, kernels)
        shutil.copy(ROOT / "kernels" / edit.file, kernels / edit.file)


def edit(finds, follows=""):
    return planted.Edit(
        id="it",
        stage="02_smem_tiled",
        mistake="a mistake",
        file="02_smem_tiled.cuh",
        old="__syncthreads();  // the tiles are complete",
        new="// the tiles are complete",
        shape=(64, 64, 64),
        variant="smem_tiled",
        finds=finds,
        follows=follows,
    )


RACE = {"cause": "race", "line": "acc += sA[ty][k]", "file": "02_smem_tiled.cuh"}
FOUND = planted.Finding("02_smem_tiled.cuh", 33, "race: reads", "x; acc += sA[ty][k] * sB[k][tx];")
OTHER = planted.Finding("02_smem_tiled.cuh", 30, "reads what nobody has written", "sA = 0;")


@pytest.mark.parametrize(
    "findings, follows, objections",
    [
        ((FOUND,), "", []),
        ((FOUND, OTHER), "nobody has written", []),
        ((), "", ["is not found: race at"]),
        ((OTHER,), "nobody", ["is not found: race at"]),
        ((FOUND, OTHER), "", ["is not expected: 02_smem_tiled.cuh:30: reads what nobody"]),
        ((planted.replace(FOUND, cause="deadlock"),), "", ["is not found", "is not expected"]),
        ((planted.replace(FOUND, file="launch.cuh"),), "", ["is not found"]),
        ((planted.replace(FOUND, text="another line"),), "", ["is not found"]),
    ],
)
def test_only_the_finding_that_is_looked_for_will_do(findings, follows, objections):
    said = planted.objections(edit(RACE, follows), planted.Outcome(findings))
    assert len(said) == len(objections)
    assert all(line.startswith(start) for line, start in zip(said, objections, strict=True))


def test_a_wrong_result_alone_is_looked_for():
    wrong = edit(planted.WRONG_RESULT)
    assert planted.objections(wrong, planted.Outcome(wrong=True)) == []
    assert planted.objections(wrong, planted.Outcome()) == ["the result is right"]
    (said,) = planted.objections(wrong, planted.Outcome((FOUND,), wrong=True))
    assert said.startswith("is not expected: 02_smem_tiled.cuh:33: race")
    assert planted.objections(wrong, planted.Outcome(ended="hangs")) == ["hangs"]


def test_a_finding_is_taken_apart(tmp_path):
    header = tmp_path / "a.cuh"
    header.write_text("\n  b = x ? y : z;\n")
    assert planted.finding_of(f"{header}:2: race: it is (2 times): b = x ? y : z;") == (
        planted.Finding("a.cuh", 2, "race: it is (2 times)", "b = x ? y : z;")
    )


def test_a_row_has_the_finding_that_is_looked_for():
    assert planted.table_row(edit(RACE), planted.Outcome((OTHER, FOUND))) == (
        "| 02_smem_tiled | a mistake | race: reads "
        "| 02_smem_tiled.cuh:33: `x; acc += sA[ty][k] * sB[k][tx];` |"
    )


STAGE_MAIN = """#include "02_smem_tiled.cuh"
int main(int argc, char** argv) {
  using namespace ladder::smem;
  std::vector<Variant<half, half>> configurations;
  return ladder::harness::run<half, half>(
      ladder::STAGE, {{"other", x}, {"smem_tiled", gemm<1,
       2>, bytes}}, argc, argv, configurations);
}
"""
ALONE = """#include "02_smem_tiled.cuh"
int main(int argc, char** argv) {
  using namespace ladder::smem;
  return ladder::harness::run<half, half>(ladder::STAGE, {%s}, argc, argv);
}
"""


def test_the_stage_is_compiled_with_one_variant():
    variant = edit(RACE)
    entry = '{"smem_tiled", gemm<1,\n       2>, bytes}'
    assert planted.main_of(STAGE_MAIN, variant) == ALONE % entry
    entry = '{"smem_tiled", [](const auto& p) { chosen(p); }}'
    assert (
        planted.main_of(STAGE_MAIN, planted.replace(variant, kernel="chosen(p)")) == ALONE % entry
    )
    with pytest.raises(BadInput, match="it: 02_smem_tiled has no variant 'none'"):
        planted.main_of(STAGE_MAIN, planted.replace(variant, variant="none"))


OWN_MAIN = """int main(int argc, char** argv) {
  constexpr Way WAY = Way::IN_TURN;
  return ladder::x_bench::run("02_smem_tiled", %s, argc, argv);
}
"""


@pytest.mark.parametrize("kernel", ["", "false, chosen<1>"])
def test_with_a_harness_of_its_own_too(kernel):
    others = '{"a", [](auto p) { f({p}); }}', '{"smem_tiled", true, [](auto p) { g(p); }}'
    alone = f'{{"smem_tiled", {kernel}}}' if kernel else others[1]
    it = planted.replace(edit(RACE), kernel=kernel)
    main = OWN_MAIN % f"{{{others[0]},\n {others[1]}}}"
    assert planted.main_of(main, it) == OWN_MAIN % f"{{{alone}}}"
    with pytest.raises(BadInput, match="it: 02_smem_tiled has no variant 'none'"):
        planted.main_of(main, planted.replace(it, variant="none"))


def test_what_is_not_there_once_cannot_be_edited(tmp_path):
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    several = planted.replace(edit(RACE), old="__syncthreads();")
    with pytest.raises(BadInput, match=r"it: 02_smem_tiled.cuh has `old` 2 times, not once"):
        planted.plant(several, tmp_path / "kernels")
    no_line = edit(RACE | {"line": "acc -= 1;"})
    with pytest.raises(BadInput, match=r"the edited 02_smem_tiled.cuh has 'acc -= 1;' 0 times"):
        planted.plant(no_line, tmp_path / "kernels")


def test_mistakes_in_a_file_of_edits_are_bad_input(tmp_path, capsys):
    path = tmp_path / "02_smem_tiled.yaml"
    path.write_text(
        "- {id: a, mistake: b, old: c, new: d, shape: [1, 2, 3], finds: {cause: race}}\n"
    )
    (tmp_path / "compile_commands.json").write_text("[]")
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/libraries").write_text("")
    assert planted.main(["--build", str(tmp_path), str(path)]) == 2
    assert ".finds has no 'line'" in capsys.readouterr().err
    assert planted.main(["--build", str(tmp_path / "none"), str(path)]) == 2
    assert "none/compile_commands.json: No such file" in capsys.readouterr().err
