import json
import re
import subprocess

import pytest

from ladder import diagnose, manifest, steps
from ladder.counters import LIMITS, at_4096
from ladder.project import GPUS, ROOT, BadInput

H200 = GPUS["h200"] / "counters.jsonl"
# Where every variant leads: the first stage named as its remedy.
LEADS_TO = {
    "01_naive/uncoalesced": "01_naive",
    "01_naive/naive": "02_smem_tiled",
    "02_smem_tiled/smem_tiled": "04_register_blocked",
    "03_transposed_b/conflicted": "03_transposed_b",
    "03_transposed_b/padded": "04_register_blocked",
    "03_transposed_b/shallow": "04_register_blocked",
    "03_transposed_b/transposed_b": "04_register_blocked",
    "04_register_blocked/strip": "04_register_blocked",
    "04_register_blocked/one_block": "04c_warp_tiled",
    "04_register_blocked/register_blocked": "04b_vectorized",
    "04b_vectorized/scalar": "04b_vectorized",
    "04b_vectorized/vectorized": "04c_warp_tiled",
    "04c_warp_tiled/row_by_row": "04d_register_banks",
    "04c_warp_tiled/checked": "04d_register_banks",
    "04c_warp_tiled/not_ahead": "04c_warp_tiled",
    "04c_warp_tiled/warp_tiled": "04d_register_banks",
    "04d_register_banks/through_shared": "04d_register_banks",
    "04d_register_banks/there_and_back": "04d_register_banks",
    "04d_register_banks/swapped": "05b_split_barrier",
    "04d_register_banks/register_banks": "05b_split_barrier",
    "05_cp_async/two_buffers": "05b_split_barrier",
    "05_cp_async/eight_buffers": "05b_split_barrier",
    "05_cp_async/bk_16": "05b_split_barrier",
    "05_cp_async/cp_async": "05b_split_barrier",
    "05b_split_barrier/full_barrier": "05b_split_barrier",
    "05b_split_barrier/single_fragments": "05c_split_k",
    "05b_split_barrier/split_barrier": "05c_split_k",
    "05c_split_k/split_k": "05c_split_k",
    "05d_split_in_cluster/split_in_cluster": "05c_split_k",
    "05e_few_rows/few_rows": "05c_split_k",
    "06_wmma/wmma_global": "02_smem_tiled",
    "06_wmma/unpadded": "07b_swizzle",
    "06_wmma/wmma": "06b_wmma_pipelined",
    "06b_wmma_pipelined/small_tile": "06b_wmma_pipelined",
    "06b_wmma_pipelined/wmma_pipelined": "06c_fragments_ahead",
    "06c_fragments_ahead/shallow": "07b_swizzle",
    "06c_fragments_ahead/fragments_ahead": "07b_swizzle",
    "07_mma_sync/plain_stores": "07b_swizzle",
    "07_mma_sync/mma_sync": "07b_swizzle",
    "07b_swizzle/unswizzled": "07b_swizzle",
    "07b_swizzle/two_buffers": "07b_swizzle",
    "07b_swizzle/swizzle": "09_wgmma",
    "08_tma/three_buffers": "09_wgmma",
    "08_tma/tma": "09_wgmma",
    "09_wgmma/drained": "09_wgmma",
    "09_wgmma/row_by_row": "11_persistent",
    "09_wgmma/wgmma": "11_persistent",
    "10_warp_specialized/fixed_registers": "11_persistent",
    "10_warp_specialized/warp_specialized": "11_persistent",
    "10b_cluster/own_reads": "11_persistent",
    "10b_cluster/cluster": "11_persistent",
    "11_persistent/forward": "11_persistent",
    "11_persistent/persistent": "11_persistent",
    "11b_overlapped_stores/by_lanes": "11_persistent",
    "11b_overlapped_stores/overlapped_stores": "11_persistent",
    "11c_chosen_by_shape/one_width": "11_persistent",
    "11c_chosen_by_shape/no_clusters": "11_persistent",
    "11c_chosen_by_shape/all_blocks": "11_persistent",
    "11c_chosen_by_shape/chosen_by_shape": "11_persistent",
    "13_fit_the_waves/not_transposed": "11_persistent",
    "13_fit_the_waves/one_tile": "11_persistent",
    "13_fit_the_waves/multiples_of_64": "11_persistent",
    "13_fit_the_waves/no_pairs": "11_persistent",
    "13_fit_the_waves/fit_the_waves": "11_persistent",
    "13b_ping_pong/together": "11_persistent",
    "13b_ping_pong/stores_in_turn": "11_persistent",
    "13b_ping_pong/ping_pong": "11_persistent",
    "14_few_rows/one_block_a_tile": "06b_wmma_pipelined",
    "14_few_rows/workspace": "06b_wmma_pipelined",
    "14_few_rows/fetched": "06b_wmma_pipelined",
    "14_few_rows/k_in_a_row": "06b_wmma_pipelined",
    "14_few_rows/barriers_first": "06b_wmma_pipelined",
    "14_few_rows/sent": "06b_wmma_pipelined",
    "14_few_rows/few_rows": "11_persistent",
    "15_chosen_by_cost/products_alone": "06b_wmma_pipelined",
    "15_chosen_by_cost/lines_alike": "11_persistent",
    "15_chosen_by_cost/tiles_for_nothing": "11_persistent",
    "15_chosen_by_cost/memory_for_nothing": "11_persistent",
    "15_chosen_by_cost/chosen_by_cost": "11_persistent",
    "16_fused_epilogue/unfused": "05c_split_k",
    "16_fused_epilogue/bias_fused": "05c_split_k",
    "16_fused_epilogue/one_block_a_tile": "11_persistent",
    "16_fused_epilogue/in_turn": "11_persistent",
    "16_fused_epilogue/fused_epilogue": "11_persistent",
    "17_fp8/one_tile": "11_persistent",
    "17_fp8/fp8": "11_persistent",
    "17b_promoted/one_set": "06c_fragments_ahead",
    "17b_promoted/two_sets": "11_persistent",
    "17b_promoted/promoted": "11_persistent",
    "17c_block_scaled/one_tile": "11_persistent",
    "17c_block_scaled/block_scaled": "11c_chosen_by_shape",
    "18_layouts/transposed_first": "11_persistent",
    "18_layouts/heights_as_by_rows": "11_persistent",
    "18_layouts/layouts": "11_persistent",
    "19_tf32/cut": "11_persistent",
    "19_tf32/three_products": "06b_wmma_pipelined",
    "19_tf32/tf32": "11_persistent",
    "20_int8/int8": "11_persistent",
}
SMALL = (
    "tiles of 16 rows are too small for 4096, which shows; with few rows another report is needed"
)
# What leaves a stage's idea out has to lead to that stage, by the counter that shows it...
OWN_REMEDY = {
    "01_naive/uncoalesced": "sectors per request",
    "03_transposed_b/conflicted": "of the wavefronts, %",
    "04_register_blocked/strip": "L1's data stage, %",
    "04b_vectorized/scalar": "of the used slots, %",
    "04c_warp_tiled/not_ahead": "stall long_scoreboard or lg_throttle",
    "04d_register_banks/through_shared": "stall dispatch_stall",
    "04d_register_banks/there_and_back": "stall dispatch_stall",
    "05b_split_barrier/full_barrier": "stall barrier",
    "06_wmma/wmma_global": "sectors loaded / received from L2",
    "06_wmma/unpadded": "of the wavefronts, %",
    "06b_wmma_pipelined/small_tile": "data stage / tensor pipe",
    "07b_swizzle/unswizzled": "of the wavefronts, %",
    "07b_swizzle/two_buffers": "stall long_scoreboard",
    "09_wgmma/drained": "stall barrier, with stall gmma",
}
# ... unless one report cannot show it.
NOT_FROM_ONE_REPORT = {
    "03_transposed_b/padded": "it undoes conflicts; what is left is 02's limit",
    "03_transposed_b/shallow": "the data stage is full with deeper tiles as well",
    "04_register_blocked/one_block": "it waits for global memory; more warps or loads ahead help",
    "04c_warp_tiled/row_by_row": "1.5% of the time; L2 is far from its limit in either order",
    "04c_warp_tiled/checked": "2% more instructions; a report does not say which are needed",
    "04d_register_banks/swapped": "what shows is ptxas's order of loads, not the banks",
    "05_cp_async/two_buffers": "it is the better choice there",
    "05_cp_async/eight_buffers": "the same time and counters as with four",
    "05_cp_async/bk_16": "1% of the time, and fewer waits at the barrier",
    "05b_split_barrier/single_fragments": "its waits are those of the stage; 1% more instructions",
    "07_mma_sync/plain_stores": "5% of the time; what leads are the padded rows of the stage",
    "08_tma/three_buffers": "a fourth buffer is not waited for",
    "09_wgmma/row_by_row": "what another order reads less shows in another report",
    "10_warp_specialized/fixed_registers": "how the warps divide registers is not counted",
    "10b_cluster/own_reads": "what multicast reads less shows in another report",
    "06c_fragments_ahead/shallow": "the tensor pipe leads the waits, as in the stage",
    "11_persistent/forward": "0.5% of the time; device memory is far from its limit",
    "11b_overlapped_stores/by_lanes": "0.3% of the time",
    "11c_chosen_by_shape/one_width": "the same launch at 4096",
    "11c_chosen_by_shape/no_clusters": "the same launch at 4096",
    "11c_chosen_by_shape/all_blocks": "the clock, which another report has to be compared for",
    "13_fit_the_waves/not_transposed": "another kernel at the same limit",
    "13_fit_the_waves/one_tile": "it is the better choice at 4096",
    "13_fit_the_waves/multiples_of_64": "the tensor pipe is the limit, as in the stage",
    "13_fit_the_waves/no_pairs": "the same launch at 4096",
    "13b_ping_pong/together": "the tensor pipe is the limit, as in the stage",
    "13b_ping_pong/stores_in_turn": "the tensor pipe is the limit, as in the stage",
    "14_few_rows/one_block_a_tile": SMALL,
    "14_few_rows/workspace": SMALL,
    "14_few_rows/fetched": SMALL,
    "14_few_rows/k_in_a_row": SMALL,
    "14_few_rows/barriers_first": SMALL,
    "14_few_rows/sent": SMALL,
    "15_chosen_by_cost/products_alone": "that its tile is small shows, not what else there was",
    "15_chosen_by_cost/lines_alike": "the same launch at 4096",
    "15_chosen_by_cost/tiles_for_nothing": "the same launch at 4096",
    "15_chosen_by_cost/memory_for_nothing": "the same launch at 4096",
    "16_fused_epilogue/unfused": "the sum of two kernels' counters; each has a report of its own",
    "16_fused_epilogue/bias_fused": "the sum of two kernels' counters, as of unfused",
    "16_fused_epilogue/one_block_a_tile": "2% of the time; the tensor pipe is the limit",
    "16_fused_epilogue/in_turn": "the tensor pipe is the limit, as in the stage",
    "17_fp8/one_tile": "the same launch at 4096",
    "17b_promoted/one_set": "that warps wait for the tensor core shows, not that they could add",
    "17b_promoted/two_sets": "the same launch at 4096",
    "17c_block_scaled/one_tile": "another tile at the same limit",
    "18_layouts/transposed_first": "the same launch at 4096",
    "18_layouts/heights_as_by_rows": "the same launch at 4096",
    "19_tf32/cut": "which bits of a float are read is not counted",
    "19_tf32/three_products": "that two of three products are for what rounding loses",
}


@pytest.fixture(scope="module")
def kernels():
    return of_gpu("h200")


def of_gpu(gpu):
    return {kernel.name: kernel for kernel in diagnose.kernels_of(GPUS[gpu] / "counters.jsonl")}


@pytest.mark.parametrize("gpu", GPUS)
def test_where_every_variant_leads(gpu):
    found = {name: diagnose.walk(kernel)[1].stages[0] for name, kernel in of_gpu(gpu).items()}
    assert found == {name: LEADS_TO[name] for name in found}
    assert gpu != next(iter(GPUS)) or found == LEADS_TO  # not all is measured elsewhere


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", OWN_REMEDY)
def test_a_counterexample_leads_to_its_own_remedy(name, gpu):
    kernel = of_gpu(gpu)[name]
    asked, remedy = diagnose.walk(kernel)
    assert name.split("/")[0] in remedy.stages
    assert diagnose.deciding(asked, kernel).shown == OWN_REMEDY[name]


def test_every_counterexample_is_diagnosed_or_cannot_be(kernels):
    others = {
        f"{stage}/{variant}"
        for stage in manifest.load()
        for variant, _ in steps.listed_variants((ROOT / f"stages/{stage}.cu").read_text())[:-1]
    }
    assert others & set(kernels) == set(OWN_REMEDY) | set(NOT_FROM_ONE_REPORT)
    assert not set(OWN_REMEDY) & set(NOT_FROM_ONE_REPORT)


def test_the_tree_has_every_remedy_and_two_sentences_each():
    remedies = diagnose.REMEDIES
    reached = []

    def visit(node):
        if isinstance(node, diagnose.Remedy):
            reached.append(node)
        else:
            visit(node.yes), visit(node.no)

    visit(diagnose.TREE)
    assert {r.means for r in reached} == {r.means for r in remedies.values()}
    for remedy in remedies.values():
        assert len(re.findall(r"\.(?: |$)", remedy.means)) == 2, remedy.means
        assert all(stage in manifest.load() for stage in remedy.stages)


def diagnosed(capsys, *arguments):
    assert diagnose.main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_what_is_printed(capsys):
    text = diagnosed(capsys, H200, "03_transposed_b/conflicted")
    assert "Decided by: of the wavefronts, % = 82.4 (yes from 10 on)\n" in text
    assert "Threshold:  measured: at most 2%" in text
    assert "Remedy:     docs/03_transposed_b.md\n" in text
    assert "more kernels in the report" in text
    assert len(text.splitlines()) < 25


def test_a_name_may_be_a_part_and_the_longest_kernel_is_taken(capsys):
    assert diagnosed(capsys, H200).startswith("01_naive/uncoalesced\n")
    assert diagnosed(capsys, H200, "07b").startswith("07b_swizzle/unswizzled\n")


def wide(kernel, **more):
    names = [*kernel.counters, *more]
    cells = [f"{value:,}" for value in [*kernel.counters.values(), *more.values()]]
    units = ["ns" if name == diagnose.TIME else "" for name in names]
    rows = [["ID", "Kernel Name", *names], ["", "", *units], ["0", "gemm(Gemm<float>)", *cells]]
    return "\n".join(["==PROF== 1 pass", *(",".join(f'"{c}"' for c in row) for row in rows)])


def long(kernel):
    rows = [["ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"]]
    rows += [["0", "gemm", name, "", f"{v:,}"] for name, v in kernel.counters.items()]
    rows += [["1", "other", diagnose.TIME, "nsecond", "1"]]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)


@pytest.mark.parametrize("form", [wide, long])
def test_tables_of_ncu_give_what_the_counters_give(kernels, tmp_path, capsys, form):
    (tmp_path / "report.csv").write_text(form(kernels["09_wgmma/drained"]))
    text = diagnosed(capsys, tmp_path / "report.csv")
    assert text.startswith("gemm") and "Remedy:     docs/09_wgmma.md" in text


def test_a_last_wave_that_is_mostly_empty(kernels, tmp_path, capsys):
    waves = wide(kernels["05b_split_barrier/split_barrier"], **{LIMITS["waves"]: 1.24})
    (tmp_path / "report.csv").write_text(waves)
    text = diagnosed(capsys, tmp_path / "report.csv")
    assert "of all waves missing, % = 38" in text and "docs/05c_split_k.md" in text


def test_times_count_in_their_units(kernels, tmp_path, capsys):
    rows = [["ID", "Kernel Name", diagnose.TIME], ["", "", "usecond"], ["0", "a", "900"]]
    text = "\n".join(",".join(f'"{c}"' for c in row) for row in rows)
    assert diagnose.from_csv(text, tmp_path)[0].counters[diagnose.TIME] == pytest.approx(9e-4)


def test_ncu_reads_its_own_reports(kernels, tmp_path, capsys, monkeypatch):
    (tmp_path / "table").write_text(wide(kernels["06_wmma/wmma"]))
    ncu = tmp_path / "ncu"
    ncu.write_text(f'#!/bin/sh\n[ "$1" = --import ] && cat {tmp_path}/table\n')
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert "docs/06b_wmma_pipelined.md" in diagnosed(capsys, tmp_path / "of.ncu-rep")


def test_without_ncu_it_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert diagnose.main([str(tmp_path / "of.ncu-rep")]) == 2
    error = capsys.readouterr().err
    assert "no ncu here to read it" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("report.csv", "nothing\n", "is no table of ncu's"),
        ("report.csv", '"ID","Metric Name"\n"0","x"\n', "no column 'Kernel Name'"),
        ("report.csv", '"ID","Kernel Name"\n"",""\n', "has no kernel"),
        ("report.json", "{}", "has no 'counters'"),
        ("report.json", '{"counters": {"a": 7}}', ".counters.a is no object"),
        (
            "report.json",
            '{"counters": {"a": {"b": {"c": "x"}}}}',
            ".a.b.c is not a number",
        ),
        ("report.json", '{"counters": {"a": {"b": {"c": 1}}}}', "a/b lacks l1tex__t_requests"),
        ("none.csv", None, "No such file"),
    ],
)
def test_bad_input_is_one_line_and_code_2(tmp_path, capsys, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    assert diagnose.main([str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("ladder diagnose: ") and message in error and error.count("\n") == 1


def test_missing_counters_are_named(tmp_path, capsys):
    counters = at_4096(H200.parent)["08_tma"]["tma"]
    left = {n: v for n, v in counters.items() if "tensor_cycles" not in n and "ldsm" not in n}
    (tmp_path / "report.json").write_text(json.dumps({"counters": {"a": {"b": left}}}))
    assert diagnose.main([str(tmp_path / "report.json")]) == 2
    error = capsys.readouterr().err
    assert "a/b lacks smsp__inst_executed_op_ldsm.sum, sm__pipe_tensor_cycles_active.avg" in error


def test_a_kernel_that_is_not_there(capsys):
    assert diagnose.main([str(H200), "14_next"]) == 2
    assert "has no kernel '14_next'; there are: 01_naive/naive" in capsys.readouterr().err


def test_the_command_runs():
    command = [ROOT / "ladder", "diagnose", H200, "08_tma/tma"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "docs/09_wgmma.md" in done.stdout


def test_the_page_has_the_tree_and_the_thresholds_of_the_code():
    page = (ROOT / "docs/reading_ncu.md").read_text()
    assert diagnose.block("tree") in page
    assert diagnose.block("thresholds") in page
    with pytest.raises(BadInput):
        diagnose.block("bark")


def stages_below(node):
    if isinstance(node, diagnose.Remedy):
        return set(node.stages)
    return stages_below(node.yes) | stages_below(node.no)


def test_techniques_name_the_questions_that_lead_to_their_stages():
    page = (ROOT / "docs/techniques.md").read_text()
    questions = {diagnose.stands()[id(q)][0]: q for q, _ in diagnose.places(diagnose.TREE)}
    labels = {stage.label: name for name, stage in manifest.load().items()}
    named = 0
    for section in page.split("\n## ")[1:]:
        sign = re.search(r"\*\*The sign\*\* \(([\d, ]+)\)", section)
        linked = {labels[label] for label in re.findall(r"\[(\d\d\w?)\]\(", section)}
        for number in re.findall(r"\d+", sign[1]) if sign else ():
            question, named = questions[int(number)], named + 1
            no = stages_below(question.no) if isinstance(question.no, diagnose.Remedy) else set()
            assert (stages_below(question.yes) | no) & linked, (section.splitlines()[0], number)
    assert named > 10
