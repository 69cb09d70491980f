import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import need

from ladder import manifest, triton_twins
from ladder.docs import sources, twins
from ladder.files import read_lines
from ladder.project import BadInput
from ladder.twins import (
    ALIGNED,
    KERNELS,
    RAGGED,
    TWINS,
    Wrong,
    cuda_lines,
    lines_of_stage,
    ptx_counts,
    resources,
    shared_loads,
    triton_lines,
)

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results/triton.jsonl"

# ---- lines ----

PYTHON = """
GROUP = 8  # a comment

@triton.jit
def helper(x):
    # a comment
    return (
        x + 1
    )

@triton.jit
def unused(x):
    return x

@triton.jit
def kernel(
    A,
):

    a = helper(A)  # a comment
    tl.store(A, a)
"""


def test_lines_of_a_kernel_are_its_code_and_what_it_calls():
    assert triton_lines(PYTHON, "kernel") == 5 + 4
    assert triton_lines(PYTHON, "unused") == 2


def test_lines_of_a_cuda_kernel_are_its_code_and_what_it_calls(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/add.cuh").write_text("int more(int x) {\n  return x;\n}\n")
    (tmp_path / "launch.cuh").write_text("int ceil_div(int x) {\n  return x;\n}\n")
    header = tmp_path / "01_one.cuh"
    header.write_text(
        '#include "launch.cuh"\n#include "parts/add.cuh"\n'
        "__global__ void other() {\n  more(1);\n}\n"
        "int twice(int x) { return more(x); }\n\n"
        "__global__ void gemm_kernel() {\n  // a comment\n\n"
        "  if (twice(2)) ceil_div(1);\n}\n"
    )
    assert cuda_lines(header) == 3 + 1 + 3


def test_every_kernel_is_there_and_has_lines():
    for twin in TWINS:
        assert triton_lines(KERNELS.read_text(), twin.kernel) > 5
        in_cuda = lines_of_stage(twin.stage, ROOT)
        assert in_cuda is None if twin.bias else in_cuda > 5


# ---- PTX ----

PTX = """
.visible .entry kernel(
	.param .u64 .ptr .global .align 1 kernel_param_0
)
	ld.param.b32 	%r20, [grouped_kernel_param_4];
	// begin inline asm
	@%p2 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
	// end inline asm
	@!%p2 ld.global.b16 { %rs1 }, [ %rd1 + 0 ];
	cp.async.cg.shared.global [ %r71 + 0 ], [ %rd48 + 0 ], 0x10, %r73;
	cp.async.ca.shared.global [ %r71 + 0 ], [ %rd48 + 0 ], 0x4, %r73;
	cp.async.commit_group;
	@%p5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5];
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::x.multicast::cluster [%r5];
	@%p5 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r159, %r261}], [%r160];
	wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%r269,%r270}, %rd7, %rd8, %p30, 1, 1, 0, 1;
	wgmma.commit_group.sync.aligned;
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r1 }, { %r2 }, { %r3 }, { %r4 };
	ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];
	fma.rn.f32 	%r1, %r2, %r3, %r1;
	fma.rn.f32 	%r1, %r2, %r3, %r1;
	st.global.v2.b16 [ %rd1 + 0 ], { %rs1, %rs2 };
	// ld.global.b32 in a comment
"""


def test_ptx_is_counted_by_what_a_lane_moves():
    assert ptx_counts(PTX) == {
        "TMA load": 1,
        "TMA load, multicast": 1,
        "TMA store": 1,
        "cp.async 16": 1,
        "cp.async 4": 1,
        "fma": 2,
        "ld.global 16": 1,
        "ld.global 2": 1,
        "ldmatrix": 1,
        "mma.sync m16n8k16": 1,
        "st.global 4": 1,
        "wgmma m64n256k16": 1,
    }


def test_loads_from_shared_memory_are_counted_by_width():
    sass = (
        "\t\tFunction : blocked_kernel\n"
        "        /*0000*/                   LDS.128 R4, [R0] ;    /* 0x1 */\n"
        "        /*0010*/              @!P0 LDS.128 R4, [R0+0x10] ;    /* 0x1 */\n"
        "        /*0020*/                   LDS R4, [R0+0x10] ;    /* 0x1 */\n"
        "        /*0030*/                   LDSM.16.M88.4 R4, [R0] ;    /* 0x1 */\n"
        "        /*0038*/              @!PT LDS RZ, [RZ] ;    /* 0x1 */\n"
        "        /*0040*/                   STS.128 [R0], R4 ;    /* 0x1 */\n"
    )
    assert shared_loads(sass) == {"LDS": 1, "LDS.128": 2, "LDSM": 1}


def test_resources_are_those_of_the_function():
    usage = "Resource usage:\n Common:\n  GLOBAL:0\n Function k:\n  REG:255 STACK:384 SHARED:1024\n"
    assert resources(usage) == {"registers": 255, "local_bytes": 384}


# ---- the command ----


def ran(*arguments):
    command = [sys.executable, ROOT / "ladder", "triton", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["4096x1"], "ladder triton: no shape: '4096x1'; write 4096 or 16x4096x4096\n"),
        (["0"], "ladder triton: no shape: '0'; write 4096 or 16x4096x4096\n"),
        (["--compile", "512"], "ladder triton: --compile has its own two shapes, and takes no "),
        (["--out", "/nowhere/x"], "ladder triton: /nowhere/x: there is no folder /nowhere\n"),
    ],
)
def test_bad_input_is_said_in_a_line(arguments, message):
    code, said = ran(*arguments)
    assert code == 2
    assert said.startswith(message) and said.count("\n") == 1


def test_a_kernel_that_is_not_there_cannot_be_left_out():
    code, said = ran("--leave-out", "nave")
    assert code == 2 and "'nave'" in said.splitlines()[-1]


def test_without_pytorch_triton_or_gpu_it_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "ladder.triton_gpu", raising=False)
    assert triton_twins.main([]) == 77
    said = capsys.readouterr().err
    assert said.startswith("ladder triton: it needs PyTorch and Triton: ")
    assert said.count("\n") == 1


def test_kernels_that_failed_are_named(monkeypatch, capsys):
    wrong = {"name": "naive", "failed": "1x7x5: row 0", "compiled": {}}
    right = {"name": "blocked", "times": {}, "compiled": {}}
    found = {"twins": [wrong, right], "tried": []}
    monkeypatch.setattr(triton_twins, "measured", lambda options: found)
    assert triton_twins.main([]) == 1
    said = capsys.readouterr()
    assert said.err == "ladder triton: failed: naive\n"
    assert said.out.startswith("naive           failed: 1x7x5: row 0\n")
    del wrong["failed"]
    assert triton_twins.main([]) == 0


# ---- the tables ----


def compiled(**counts):
    at = {"registers": 172, "local_bytes": 0, "shared_bytes": 16384, "warps": 8, "counts": counts}
    at["shared_loads"] = {"LDS.128": 96}
    return {ALIGNED: at, RAGGED: at}


def time(ms, percent):
    return {"ms": ms, "tflops": 137.4 / ms, "percent_of_cublas": percent}


def record(name, stage, **more):
    made = {"name": name, "stage": stage, "type": "fp32", "lines": 10}
    return made | {"compiled": compiled(**{"ld.global 4": 5, "fma": 4})} | more


@pytest.fixture
def results(tmp_path, monkeypatch, manifest_of):
    """Writes docs/results/triton.jsonl of a project of its own."""
    manifest_of("01_one", "02_two")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/01_one.cuh").write_text("__global__ void gemm_kernel() {\n  f();\n}\n")
    (tmp_path / "docs/results").mkdir(parents=True)
    monkeypatch.setattr(sources, "ROOT", tmp_path)

    def report(stage, size):
        if stage != "01_one":
            raise BadInput("no results")
        return {"variants": [{"percent_of_cublas": 12.5}]}

    monkeypatch.setattr(sources, "report", report)

    def write(*records, **more):
        found = {"gpu": None, "triton": "3.6.0", "torch": "2.11.0", "tried": []} | more
        path = tmp_path / "docs/results/triton.jsonl"
        path.write_text(json.dumps(found | {"twins": records}))

    return write


def test_without_times_the_table_has_no_columns_for_them(results):
    results(record("naive", "01_one"), record("new", "99_new"))
    assert twins.block("twins").splitlines() == [
        "| kernel | type | lines | in CUDA |",
        "| --- | --- | ---: | --- |",
        "| `naive`, as [01](/docs/01_one.md) | fp32 | 10 | 3 |",
        "| `new` | fp32 | 10 |  |",
    ]
    assert twins.block("versions") == "Compiled by Triton 3.6.0 for sm_90."


def test_with_times_it_has_those_that_were_measured_and_the_stages(results):
    slow = record("naive", "01_one", times={"4096": time(20, 12.34)})
    fast = record("two", "02_two", times={"4096": time(2, 90.0), "8192": time(16, 88.8)})
    results(slow, fast, gpu="NVIDIA H200")
    assert twins.block("twins").splitlines()[0] == (
        "| kernel | type | lines | in CUDA | 4096: TFLOP/s | % of cuBLAS (the stage) "
        "| 8192: TFLOP/s | % of cuBLAS (the stage) |"
    )
    first, second = twins.block("twins").splitlines()[2:]
    assert first.endswith("| 10 | 3 | 6.9 | 12.3 (12.5) |  | not timed |")
    assert second.endswith("| 10 |  | 68.7 | 90.0 | 8.6 | 88.8 |")
    assert twins.block("versions").endswith(" Timed on an H200 with PyTorch 2.11.0.")


def test_a_kernel_that_failed_has_no_times(results):
    right = record("naive", "01_one", times={"4096": time(20, 12.34)})
    wrong = record("two", "02_two", failed="1x7x5, exact data: row 0")
    results(right, wrong, gpu="NVIDIA H200")
    assert twins.block("twins").splitlines()[-1].endswith("| 10 |  |  | failed |")
    assert twins.block("versions").endswith(" `two` failed: 1x7x5, exact data: row 0.")


def test_the_fused_kernel_stands_beside_two_kernels(results):
    fused = record("fused", "02_two", times={"4096": time(0.2, 90.0) | {"unfused_ms": 0.25}})
    results(fused, gpu="NVIDIA H200")
    assert twins.block("versions").endswith(
        " At 4096 `fused` takes 0.2 ms; PyTorch's `addmm` and then `gelu` take 0.25 ms."
    )


def test_the_table_of_what_the_compiler_did(results):
    wide = {"TMA load": 6, "wgmma m64n256k16": 4, "st.global 16": 1}
    results(record("one", "01_one", compiled=compiled(**wide)))
    assert twins.block("compiled").splitlines()[2] == (
        "| `one` | 172 | 16.0 | 6 TMA loads | 96 `LDS.128` | 4 `wgmma m64n256k16` "
        "| 1 `st.global` of 16 B |"
    )


def test_ragged_has_only_what_becomes_different(results):
    other = compiled(fma=4)
    other[RAGGED] = other[RAGGED] | {"local_bytes": 384, "counts": {"ld.global 2": 96}}
    results(record("same", "01_one"), record("other", "02_two", compiled=other))
    rows = twins.block("ragged").splitlines()[2:]
    assert rows == ["| `other` | 172 | 16.0 | 384 | 96 `ld.global` of 2 B |  |"]


def test_an_unknown_table_is_refused(results):
    with pytest.raises(BadInput, match="triton tea: there are twins, "):
        twins.block("tea")


# ---- what the page says ----


@pytest.fixture(scope="module")
def committed():
    found = read_lines(RESULTS, {})
    return {record["name"]: record["compiled"] for record in [*found["twins"], *found["tried"]]}


def test_the_committed_results_are_of_the_kernels_as_they_are():
    found = read_lines(RESULTS, {})["twins"]
    assert [record["name"] for record in found] == [twin.name for twin in TWINS]
    for twin, record in zip(TWINS, found, strict=True):
        assert record["lines"] == triton_lines(KERNELS.read_text(), twin.kernel)


def test_what_the_page_says_of_the_instructions(committed):
    def counts(name, shape=ALIGNED):
        return committed[name][shape]["counts"]

    assert "cp.async 16" not in counts("grouped") and "cp.async 16" in counts("pipelined")
    assert counts("blocked") == counts("grouped")
    assert committed["blocked"][ALIGNED]["shared_loads"] == {"LDS.128": 96}
    assert [counts("naive")[name] for name in ("ld.global 4", "fma")] == [5, 4]
    assert "ld.global 16" in counts("blocked")
    assert "wgmma m64n256k16" in counts("tensor_cores")
    assert not any(name.startswith("TMA") for name in counts("tensor_cores"))
    assert {"mma.sync m16n8k16", "ldmatrix"} <= {*counts("tensor_cores on sm_80")}
    assert "ld.global 2" in counts("tensor_cores", RAGGED)
    assert not any(name.startswith("cp.async") for name in counts("tensor_cores", RAGGED))
    assert committed["tensor_cores"][RAGGED]["local_bytes"] > 0
    for name in ("persistent", "fused_epilogue", "warp_specialized"):
        assert counts(name)["TMA load"] == counts(name, RAGGED)["TMA load"]
        assert "TMA store" in counts(name) and "st.global 2" not in counts(name)
        assert "TMA store" not in counts(name, RAGGED) and "st.global 2" in counts(name, RAGGED)
    assert committed["persistent"][RAGGED]["local_bytes"] > 0
    assert committed["warp_specialized"][RAGGED]["local_bytes"] == 0
    assert "TMA load" in counts("persistent, num_ctas=2")
    assert "TMA load, multicast" not in counts("persistent, num_ctas=2")
    assert committed["warp_specialized"][ALIGNED]["warps"] == 12
    assert "setmaxnreg" in counts("warp_specialized") and "setmaxnreg" not in counts("persistent")
    assert "setmaxnreg" not in counts("warp_specialized, num_warps=8")
    assert "ex2.approx" in counts("fused_epilogue")
    assert "tanh.approx" not in counts("fused_epilogue")


def test_pages_of_stages_lead_to_their_twin():
    need("latex2mathml", "latex2mathml")
    from ladder import site

    stages = manifest.load()
    for twin in TWINS:
        for stage in (twin.stage, *twin.more):
            if stage in stages:
                source = stages[stage].page.removeprefix("docs/")
                assert "[its twin in Triton](triton.md)" in site.stage_links(source)
    assert "triton.md" not in site.stage_links("04d_register_banks.md")


# ---- with PyTorch and Triton ----


@pytest.fixture(scope="module")
def gpu_part():
    """The module that imports them, where Triton's interpreter runs the kernels on a CPU."""
    os.environ["TRITON_INTERPRET"] = "1"  # which is read when Triton is imported
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("triton", reason="Triton is not installed")
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    if tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4):
        pytest.skip("the interpreter of Triton 3.6 needs an older NumPy than 2.4")
    from triton.runtime.interpreter import InterpreterBuilder, TensorDescHandle, TensorHandle

    from ladder import triton_gpu

    # The interpreter stores only the elements that exist. TMA rounds the end of a row up to 16
    # bytes, as a GPU showed; here stores do it, too, or the tests could not see it.
    def store_as_tma(self, desc, value, indices):
        unit = 16 // value.data.itemsize
        width = TensorHandle(-(-desc.shape[-1].data // unit) * unit, desc.shape[-1].dtype)
        shape = [*desc.shape[:-1], width]
        wider = TensorDescHandle(desc.base, shape, desc.strides, desc.block_shape, desc.padding)
        return as_it_is(self, wider, value, indices)

    as_it_is = InterpreterBuilder.create_descriptor_store
    InterpreterBuilder.create_descriptor_store = store_as_tma
    yield triton_gpu
    InterpreterBuilder.create_descriptor_store = as_it_is


def findings(part, name, edit=None, tmp_path=None):
    """What the checks say of a kernel, or of one with a mistake planted."""
    if edit:
        text = KERNELS.read_text()
        assert edit[0] in text
        part.KERNELS = tmp_path / "kernels.py"
        part.KERNELS.write_text(text.replace(*edit))
    part.torch.manual_seed(1)
    kernels = part.load_kernels()
    part.KERNELS = KERNELS
    twin = next(twin for twin in TWINS if twin.name == name)
    for shape in ("1x7x5", "140x263x70", "140x264x70"):
        for exact in (True, False):
            problem = part.problem(shape, twin.type, exact, "cpu")
            try:
                part.check(twin, getattr(kernels, name), problem)
            except Wrong as wrong:
                return str(wrong)
    return ""


@pytest.mark.parametrize("name", [twin.name for twin in TWINS])
def test_every_kernel_is_right(gpu_part, name):
    assert findings(gpu_part, name) == ""


def test_blocks_share_out_the_tiles(gpu_part, tmp_path):
    assert findings(gpu_part, "persistent", ("return 1\n", "return 3\n"), tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "edit", "finding"),
    [
        ("naive", ("mask=(m < M) & (n < N)", "mask=m < M"), "wrote past the end of"),
        ("blocked", ("k0 + a_k < K", "k0 + a_k <= K"), "got nan"),
        ("grouped", ("min(GROUP, tiles_m - first_m)", "GROUP"), "got nothing"),
        ("persistent", ("c.shape[1] % 8 != 0", "False"), "wrote past the end of a row"),
        ("fused_epilogue", ("c.shape[1] % 8 != 0", "False"), "wrote past the end of a row"),
        ("warp_specialized", ("tile, mask=(m < M) & (n < N)", "tile, mask=m < M"), "wrote past"),
        ("persistent", ("[M, N], [ldc", "[M, N - 8], [ldc"), "got nothing"),
        ("persistent", ("[M, K], [lda", "[M, K + 1], [lda"), "got nan"),
        ("fused_epilogue", ("0.044715 * x", "0.04 * x"), "expected"),
        ("tensor_cores", ("tl.zeros((BM, BN)", "0.01 + tl.zeros((BM, BN)"), "expected"),
    ],
)
def test_a_planted_mistake_is_found(gpu_part, name, edit, finding, tmp_path):
    assert finding in findings(gpu_part, name, edit, tmp_path)


def test_what_others_gave_is_kept_when_a_kernel_fails(gpu_part, monkeypatch):
    """Runs nothing: what is tested is what is saved, and when."""
    fates = {
        "naive": {"4096": {"ms": 1.0}},
        "blocked": Wrong("1x7x5: row 0"),
        "grouped": RuntimeError("CUDA error\nand a long hint"),
        "pipelined": {"4096": {"ms": 2.0}},
        "tensor_cores": KeyboardInterrupt(),  # it hangs, and somebody ends it
    }

    def checked_and_timed(twin, launch, shapes):
        fate = fates[twin.name]
        if isinstance(fate, BaseException):
            raise fate
        return fate

    monkeypatch.setattr(gpu_part, "checked_and_timed", checked_and_timed)
    for name in ("need_gpu", "tried", "refused", "compiled"):
        monkeypatch.setattr(gpu_part, name, lambda *_: [])
    monkeypatch.setattr(gpu_part.torch.cuda, "get_device_name", lambda: "a GPU")
    saved = []

    def save(found):
        saved.append({r["name"]: r.get("times", r.get("failed")) for r in found["twins"]})

    with pytest.raises(KeyboardInterrupt):
        gpu_part.run(list(TWINS), [], False, save)
    unfinished = "it did not come to an end"
    assert saved[:2] == [{"naive": unfinished}, {"naive": {"4096": {"ms": 1.0}}}]
    assert saved[-1] == {
        "naive": {"4096": {"ms": 1.0}},
        "blocked": "1x7x5: row 0",
        "grouped": "CUDA error",
        "pipelined": {"4096": {"ms": 2.0}},
        "tensor_cores": unfinished,
    }


def test_the_bound_is_that_of_the_harness(gpu_part):
    import torch

    norms, reference = torch.tensor([3.0]).double(), torch.tensor([2.0]).double()
    product = 8 * 2.0**-24 * 3  # K = 16
    bound = gpu_part.difference_bound("fp16", 8, norms, reference)
    assert bound.item() == pytest.approx(2 * (product + 2.0**-11 * (2 + 2 * product)), rel=1e-12)
    before, bias = torch.tensor([2.5]).double(), torch.tensor([-0.5]).double()
    bound = gpu_part.difference_bound("fp16", 8, norms, reference, (before, bias))
    error = 1.13 * (product + 5 * 2.0**-24 * 3.5) + (2.0**-12 + 2.0**-21) * 2.5 + 2.0**-24 * 7
    assert bound.item() == pytest.approx(2 * (error + 2.0**-11 * (2 + 2 * error)), rel=1e-12)


@pytest.fixture
def clock(gpu_part, monkeypatch):
    """A GPU on which a launch takes as long as it says, in ms."""
    state = SimpleNamespace(now=0.0, capturing=None, order=[], rests=0)

    class Event:
        def __init__(self, enable_timing):
            pass

        def record(self):
            self.at = state.now

        def elapsed_time(self, other):
            return other.at - self.at

    class Graph:
        def __init__(self):
            self.launches = []

        def replay(self):
            for launch in self.launches:
                launch()

    class capture:
        def __init__(self, graph):
            self.graph = graph

        def __enter__(self):
            state.capturing = self.graph

        def __exit__(self, *_):
            state.capturing = None

    def launch(name, ms):
        def run():
            if state.capturing:
                state.capturing.launches.append(run)
            else:
                state.now += ms
                state.order.append(name)

        return run

    def sleep(seconds):
        state.rests += 1
        state.now += 1e3 * seconds

    cuda = SimpleNamespace(Event=Event, CUDAGraph=Graph, graph=capture, synchronize=lambda: None)
    monkeypatch.setattr(gpu_part, "torch", SimpleNamespace(cuda=cuda))
    # Each look at the clock is 10 ms later: the warm-up ends.
    times = iter(i / 100 for i in range(10**6))
    monkeypatch.setattr(
        gpu_part, "time", SimpleNamespace(monotonic=lambda: next(times), sleep=sleep)
    )
    state.launch = launch
    return state


def test_a_race_alternates_and_rests_and_its_times_are_of_a_launch(gpu_part, clock):
    launches = {"a": [clock.launch("a", 0.5)] * 3, "b": [clock.launch("b", 0.25)]}
    times = gpu_part.race(launches)
    assert times["a"] == pytest.approx([0.5] * len(times["a"]))
    assert times["b"] == pytest.approx([0.25] * len(times["b"]))
    # A turn of a is 3 launches, of b 4: 2.5 ms a round, 200 rounds, in bursts of 4.
    assert len(times["a"]) == len(times["b"]) == 200
    assert clock.rests == 50
    names = "".join(clock.order)
    assert "aaabbbbbbbbaaa" in names and "aaaaaa" in names


def test_long_launches_rest_one_by_one(gpu_part, clock):
    times = gpu_part.race({"a": [clock.launch("a", 30)], "b": [clock.launch("b", 20)]})
    assert len(times["a"]) == 20
    assert clock.rests == 40
