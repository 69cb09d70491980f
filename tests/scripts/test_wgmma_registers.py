"""What may touch a wgmma's registers, on kernels of a few lines of PTX, and on a stage's."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ladder import wgmma_registers

ROOT = Path(__file__).resolve().parents[2]
NVCC = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")

KERNEL = """.version 8.0
.visible .entry kernel(.param .u64 kernel_0)
.maxntid 128, 1, 1
{{
\t.reg .f32 %f<9>;
{body}
\tret;
}}
"""
FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"
ADD = "add.f32 %f3, %f1, %f4;"
STORE = "st.global.v2.f32 [%rd1], {%f1, %f2};"


def multiply(n=8, sums="%f1, %f2", a="%rd1"):
    return f"""{{
.reg .pred p;
setp.ne.b32 p, %r1, 0;
wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {{{sums}}}, {a}, %rd2, p, 1, 1;
}}"""


def wait(groups):
    return f"wgmma.wait_group.sync.aligned {groups};"


def found(*body):
    text = KERNEL.format(body="\n".join(body))
    (kernel,) = wgmma_registers.kernels(text)
    lines = text.splitlines()
    for instruction, _ in wgmma_registers.findings(kernel):
        assert instruction.text.splitlines()[0] in lines[instruction.line - 1]
    return [what for _, what in wgmma_registers.findings(kernel)]


ONE = [FENCE, multiply(), COMMIT]
OTHER = [multiply(sums="%f5, %f6"), COMMIT]
A = "{%r3, %r4}"  # in registers
LOOP = "$L1:"
AGAIN = "@%p1 bra $L1;"


@pytest.mark.parametrize(
    "body",
    [
        [*ONE, wait(0), STORE],
        [FENCE, multiply(), multiply(), COMMIT, wait(0), STORE],
        [*ONE, *OTHER, wait(1), STORE],
        [*ONE, "add.f32 %f3, %f4, %f5;", "mov.b32 %f11, %f12;", wait(0), STORE],
        [LOOP, *ONE, wait(1), AGAIN, wait(0), STORE],
        [FENCE, LOOP, multiply(), COMMIT, wait(0), AGAIN, STORE],
        [*ONE, "bra.uni $L1;", STORE, LOOP, wait(0)],
        ["brx.idx %r1, $T;", "$T: .branchtargets $L1, $L2;", LOOP, *ONE, "$L2:", wait(0), STORE],
        [FENCE, multiply(a=A), multiply(a=A), COMMIT, wait(0), "mov.b32 %r3, 0;"],
    ],
)
def test_what_is_waited_for_may_be_touched(body):
    assert found(*body) == []


RUNNING = "which may be running"
NO_FENCE = "no wgmma.fence"


@pytest.mark.parametrize(
    "what, body",
    [
        (RUNNING, [*ONE, ADD, wait(0)]),
        (RUNNING, [*ONE, STORE, wait(0)]),
        (RUNNING, [*ONE, "@%p2 mov.b32 %f2, 0;", wait(0)]),
        (RUNNING, [*ONE, wait(1), STORE]),
        (RUNNING, [FENCE, multiply(), wait(0), COMMIT, STORE]),  # in no group yet
        (RUNNING, [*ONE, *OTHER, wait(1), "mov.b32 %f5, 0;"]),
        (RUNNING, [*ONE, f"@%p1 {wait(0)}", STORE]),
        (RUNNING, [*ONE, "@%p1 bra $L1;", wait(0), LOOP, STORE]),
        (RUNNING, [LOOP, FENCE, "ld.shared.f32 %f7, [%r9];", ADD, *ONE, AGAIN, wait(0)]),
        (RUNNING, ["brx.idx %r1, $T;", "$T: .branchtargets $L1, $L2;", LOOP, *ONE, "$L2:", STORE]),
        (RUNNING, [FENCE, multiply(a=A), COMMIT, "mov.b32 %r3, 0;", wait(0)]),
        (RUNNING, [FENCE, multiply(a=A), multiply(sums="%r3, %f2"), COMMIT, wait(0)]),
        (RUNNING, [*ONE, multiply(16, "%f1, %f2, %f5, %f6"), COMMIT, wait(0)]),
        ("during this call", [*ONE, "call.uni _f, ();", wait(0)]),
        (NO_FENCE, [multiply(), COMMIT, wait(0)]),
        (NO_FENCE, [FENCE, "mov.f32 %f1, 0;", multiply(), COMMIT, wait(0)]),
        (NO_FENCE, [FENCE, LOOP, multiply(), COMMIT, wait(0), STORE, AGAIN]),
        (NO_FENCE, ["@%p1 bra $L1;", FENCE, LOOP, multiply(), COMMIT, wait(0)]),
        (NO_FENCE, [FENCE, "mov.b32 %r4, 0;", multiply(a=A), COMMIT, wait(0)]),
    ],
)
def test_what_is_not_waited_for_or_ordered_is_found(what, body):
    assert any(what in text for text in found(*body)), found(*body)


@pytest.mark.slow
@pytest.mark.skipif(not NVCC, reason="there is no CUDA toolkit")
def test_a_mistake_in_a_stage_is_found_at_its_line(tmp_path):
    lines = (ROOT / "kernels/09_wgmma.cuh").read_text().splitlines()
    commit = lines.index("    ptx::wgmma_commit_group();")
    lines.insert(commit, "    acc[0] += 1;")
    (tmp_path / "09_wgmma.cuh").write_text("\n".join(lines))
    (tmp_path / "main.cu").write_text('#include "09_wgmma.cuh"\n')
    command = [NVCC, "-std=c++17", "-c", "-no-compress", "-lineinfo", "-arch=compute_90a"]
    command += ["-code=compute_90a", "main.cu"]
    subprocess.run([*command, "-I", ROOT / "kernels"], cwd=tmp_path, check=True)
    command = [ROOT / "ladder", "wgmma-registers", "main.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    place = f"{tmp_path}/09_wgmma.cuh:{commit + 1}: "
    assert {line[: len(place)] for line in done.stderr.splitlines()[::2]} == {place}
    assert all(RUNNING in line for line in done.stderr.splitlines()[1::2])


def test_a_file_without_a_wgmma_is_bad_input(tmp_path, capsys):
    path = tmp_path / "empty.ptx"
    path.write_text(KERNEL.format(body=STORE))
    assert wgmma_registers.main([str(path)]) == 2
    assert (
        capsys.readouterr().err == f"ladder wgmma-registers: {path}: there is no wgmma in its PTX\n"
    )
