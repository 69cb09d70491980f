"""scripts/ladder/exercises_on_gpu.py, as far as it goes without a GPU."""

import pytest

from ladder import exercises_on_gpu as on_gpu
from ladder.project import BadInput


def line(space, operation, requests, cost):
    return {
        "space": space,
        "operation": operation,
        "requests": requests,
        "cost": cost,
        "array": "A",
    }


CPU = [
    {"name": "small", "launches": 2, "memory": [line("global", "load", 4, 16)]},
    {"name": "ragged", "launches": 1, "memory": [line("shared", "store", 2, 8)]},
]


def row(**counted):
    """Of a launch: zeros but for these."""
    by_name = {on_gpu.COUNTERS[counter][2][0]: n for counter, n in counted.items()}
    return {name: str(by_name.get(name, 0)) for name in on_gpu.NAMES}


ROWS = [
    row(load_requests=3, load_sectors=12),
    row(load_requests=1, load_sectors=4),
    row(store_wavefronts=8),
]


def test_the_launches_of_a_case_are_added_up():
    both = on_gpu.compared(CPU, CPU, ROWS)
    assert both["small"]["load_requests"] == [4, 4]
    assert both["small"]["load_sectors"] == [16, 16]
    assert both["ragged"]["store_wavefronts"] == [8, 8]
    assert on_gpu.objections("x", {"wrong": "", "findings": {}, "counters": both}) == []


@pytest.mark.parametrize(
    "counter, what, name",
    [
        ("store_requests", ("global", "store"), "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
        ("store_sectors", ("global", "store"), "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"),
        (
            "load_wavefronts",
            ("shared", "remote load"),
            "l1tex__t_requests_pipe_lsu_mem_dshared_op_ld.sum",
        ),
    ],
)
def test_what_has_several_names_in_ncu_is_added_up(counter, what, name):
    case = {"name": "a", "launches": 1, "memory": [line(*what, 3, 3)]}
    counted = row(**{counter: 1}) | {name: "2"}
    assert on_gpu.compared([case], [case], [counted])["a"][counter] == [3, 3]


def test_ncu_counts_no_store_to_another_block_as_one_of_shared_memory():
    case = {"name": "a", "launches": 1, "memory": [line("shared", "remote store", 3, 12)]}
    assert on_gpu.compared([case], [case], [row()])["a"]["store_wavefronts"] == [0, 0]


def test_a_launch_that_ncu_did_not_see_is_said():
    with pytest.raises(BadInput, match="ncu saw 2 of 3 launches"):
        on_gpu.compared(CPU, CPU, ROWS[:2])


def test_what_differs_is_said():
    both = on_gpu.compared(CPU, CPU, [*ROWS[:2], row(store_wavefronts=9)])
    seen = {"wrong": "wrong result", "findings": {"memcheck": ["1 error"]}, "counters": both}
    assert on_gpu.objections("08_padding", seen) == [
        "08_padding: wrong result",
        "08_padding: memcheck: 1 error",
        "08_padding, ragged: store_wavefronts predicted 8, counted 9",
    ]


def test_without_a_gpu_there_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(on_gpu, "Build", lambda folder: folder)
    monkeypatch.setattr(on_gpu.compiling, "compile_for_gpu", lambda *a, **k: None)
    assert on_gpu.main([str(tmp_path / "out.json"), "08"]) == 2
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "08_padding: there is no GPU here, or the build has no toolkit"
    assert not (tmp_path / "out.json").exists()


def test_a_program_that_nobody_compiled_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(on_gpu, "Build", lambda folder: folder)
    assert on_gpu.main([str(tmp_path / "out.json"), "08", "--programs", str(tmp_path)]) == 2
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"08_padding: {tmp_path}/08_padding is not there; --compile writes it"


def test_compiling_for_a_gpu_elsewhere_writes_a_program_for_each(tmp_path, monkeypatch, capsys):
    def compile_for_gpu(one, build, folder, architecture, reference):
        (folder / "made").write_text(f"{reference.name} for {architecture}")
        return folder / "made"

    monkeypatch.setattr(on_gpu, "Build", lambda folder: folder)
    monkeypatch.setattr(on_gpu.compiling, "compile_for_gpu", compile_for_gpu)
    monkeypatch.setattr(on_gpu, "once", lambda *a: pytest.fail("runs something"))
    assert on_gpu.main([str(tmp_path), "08", "--compile", "sm_90a"]) == 0
    assert (tmp_path / "08_padding").read_text() == "solution.cuh for sm_90a"
    assert on_gpu.main([str(tmp_path / "none"), "08", "--compile", "sm_90a"]) == 2
    assert capsys.readouterr().err == f"ladder exercises-on-gpu: {tmp_path}/none: is no folder\n"


def test_an_output_that_cannot_be_written_is_said_at_once(tmp_path, capsys):
    output = tmp_path / "none/out.json"
    assert on_gpu.main([str(output)]) == 2
    assert capsys.readouterr().err == (
        f"ladder exercises-on-gpu: {output}: there is no folder {output.parent}\n"
    )
