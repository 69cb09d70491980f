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

    def run(text, *options, name="my_kernel.cuh"):
        (tmp_path / name).write_text(text)
        return subprocess.run(
            [ROOT / "scripts/try.sh", name, *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def line_of(part, text):
    (number,) = [i for i, line in enumerate(text.splitlines(), 1) if part in line]
    return number


@pytest.mark.slow
def test_a_kernel_is_checked_and_counted_like_a_stage(tried, tmp_path):
    done = tried(NAIVE, "--m", "40", "--n", "50", "--k", "60", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["stage"] == "my_kernel"
    assert [report["problem"][size] for size in "mnk"] == [40, 50, 60]
    (variant,) = report["variants"]
    assert variant["check"]["ok"]
    assert {Path(row["file"]).name for row in variant["memory"]} == {"my_kernel.cuh"}


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_of_many_errors_the_first_are_said(tried):
    errors = "".join(f"int wrong_{i} = x{i};\n" for i in range(2000))
    done = tried(errors + NAIVE)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert [line.split(" error: ")[0] for line in lines[:-1]] == [
        f"my_kernel.cuh:{i}:15:" for i in range(1, 6)
    ]
    assert "does not compile" in lines[-1]


@pytest.mark.parametrize("name", ['a"b.cuh', "a\nb.cuh"])
def test_what_an_include_cannot_name_is_bad_input(name, tried):
    done = tried(NAIVE, name=name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("try.sh: an #include cannot name a file with ")


@pytest.mark.slow
def test_a_name_may_have_any_other_character(tried):
    name = "a|b[1]*\\n& c.cuh"
    done = tried(NAIVE.replace("acc += A[", "sum += A["), name=name)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith(f"{name}:")
    assert "error: " in done.stderr.splitlines()[0]


@pytest.mark.slow
def test_a_kernel_that_ends_the_program_is_a_finding(tried):
    text = "#include <cstdlib>\n" + NAIVE.replace("  float acc", "  std::exit(0);\n  float acc")
    done = tried(text, "--size", "32")
    assert done.returncode == 1
    assert done.stderr == "my_kernel: the kernel has ended the program, by exit()\n"


@pytest.mark.slow
def test_bad_options_are_a_stages(tried):
    done = tried(NAIVE, "--size", "x")
    assert done.returncode == 2
    assert done.stderr.startswith("my_kernel: --size: 'x' is not an integer")


@pytest.mark.slow
def test_what_the_cpu_device_lacks_is_named(tried):
    text = NAIVE.replace("acc = 0.0f", "acc = __vadd4(0, 0)", 1)
    assert text != NAIVE
    done = tried(text)
    assert done.returncode == 2
    assert "error: the CPU device has no __vadd4\n" in done.stderr
