"""A kernel of one's own, through scripts/try.sh."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAIVE = (ROOT / "kernels/01_naive.cuh").read_text()
TILED = (ROOT / "kernels/02_smem_tiled.cuh").read_text()


@pytest.fixture
def tried(tmp_path):
    """Writes a header and tries it, from the header's folder."""
    if not (ROOT / "build/CMakeCache.txt").is_file():
        pytest.skip("nothing is built in build/")

    def run(text, *options):
        (tmp_path / "my_kernel.cuh").write_text(text)
        return subprocess.run(
            [ROOT / "scripts/try.sh", "my_kernel.cuh", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def line_of(part, text):
    (number,) = [i for i, line in enumerate(text.splitlines(), 1) if part in line]
    return number


def test_a_kernel_is_checked_and_counted_like_a_stage(tried, tmp_path):
    done = tried(NAIVE, "--m", "40", "--n", "50", "--k", "60", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["stage"] == "my_kernel"
    assert [report["problem"][size] for size in "mnk"] == [40, 50, 60]
    (variant,) = report["variants"]
    assert variant["check"]["ok"]
    assert {Path(row["file"]).name for row in variant["memory"]} == {"my_kernel.cuh"}


def test_a_kernel_of_halves_without_a_namespace(tried):
    text = """
#include "launch.cuh"
static __global__ void zero_kernel(int N, half* C, int64_t ldc) {
  for (int n = static_cast<int>(threadIdx.x); n < N; n += 32) C[blockIdx.x * ldc + n] = half{};
}
inline void gemm(const ladder::Gemm<half, half>& p) {
  ladder::launch(zero_kernel, dim3(p.M), dim3(32), 0, p.stream, p.N, p.C, p.ldc);
}
"""
    assert "fp16 -> fp16" in tried(text, "--size", "40", "--data", "zeros").stdout
    wrong = tried(text, "--size", "40")
    assert wrong.returncode == 1 and "WRONG gemm: " in wrong.stdout


def test_a_race_is_found_at_its_line(tried):
    text = TILED.replace("__syncthreads();  // the tiles are complete", "// the tiles are complete")
    done = tried(text, "--size", "64")
    line = line_of("acc += sA[ty][k] * sB[k][tx];", text)
    assert done.returncode == 1
    assert f"my_kernel.cuh:{line}: race: " in done.stdout


CHEVRONS = """inline void helper();
inline void gemm(const ladder::Gemm<float, float>&) { helper<<<1, 32>>>(); }
inline void multiply("""


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("acc += A[", "sum += A[", "my_kernel.cuh:{line}:31: error: "),
        ("inline void gemm(", "inline void multiply(", "there is no function gemm(const ladder::"),
        ("inline void gemm(", CHEVRONS, "a kernel is launched by ladder::launch, not by <<< >>>"),
    ],
)
def test_what_does_not_compile_is_said_in_lines(tried, old, new, message):
    head, _, rest = NAIVE.rpartition(old)
    done = tried(head + new + rest)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) <= 7
    assert any(message.format(line=head.count("\n") + 1) in line for line in lines), done.stderr
    assert lines[-1].startswith("try.sh: my_kernel.cuh does not compile; all messages are in ")


def test_bad_options_are_a_stages(tried):
    done = tried(NAIVE, "--size", "x")
    assert done.returncode == 2
    assert done.stderr.startswith("my_kernel: --size: 'x' is not an integer")


def test_what_the_cpu_device_lacks_is_named(tried):
    text = NAIVE.replace("acc = 0.0f", "acc = __vadd4(0, 0)", 1)
    assert text != NAIVE
    done = tried(text)
    assert done.returncode == 2
    assert "error: the CPU device has no __vadd4\n" in done.stderr
