"""What PyTorch is not needed for: the lines that say it is missing, and the shapes to be timed."""

import importlib.util
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ladder.sweep_shapes import sizes

PYTHON = Path(__file__).resolve().parents[1]


def load_bench():
    spec = importlib.util.spec_from_file_location("bench", PYTHON / "bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_hundred_shapes_are_timed():
    bench = load_bench()
    shapes = bench.shapes()
    assert len(set(shapes)) == 100
    assert {f"{s}x{s}x{s}" for s in bench.SQUARES} <= set(shapes)
    assert sum(map(bench.is_ragged, shapes)) == bench.RAGGED
    assert {sizes(shape)[0] for shape in shapes} >= {1, 8, 32, 100, 512, 2048, 8192}
    assert bench.shapes(10) == shapes[:10]
    assert all(math.prod(sizes(shape)) >= 2**23 for shape in shapes)


def test_bench_needs_a_gpu(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    run = subprocess.run(
        [sys.executable, PYTHON / "bench.py"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 77 and run.stderr.startswith("bench.py: ")


def test_without_pytorch_importing_says_so(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    run = subprocess.run(
        [sys.executable, "-c", "import gemm_ladder"],
        env={"PYTHONPATH": f"{tmp_path}:{PYTHON}"},
        capture_output=True,
        text=True,
    )
    assert run.stderr.splitlines()[-1] == (
        "ImportError: gemm_ladder needs PyTorch: https://pytorch.org/get-started"
    )


def configured(tmp_path: Path, torch_says: str) -> str:
    """What CMake complains of, with a Python whose PyTorch answers with `torch_says`."""
    if not shutil.which("cmake"):
        pytest.skip("needs cmake")
    python = tmp_path / "python"
    # What find_package(Python) asks of an interpreter is answered by the one that is here.
    python.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *cpp_extension*) {torch_says};; *) exec {sys.executable} "$@";; esac\n'
    )
    python.chmod(0o755)
    run = subprocess.run(
        ["cmake", "-S", PYTHON, "-B", tmp_path / "build", f"-DPython_EXECUTABLE={python}"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    return " ".join(run.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "torch_says, said",
    [
        ("exit 1", "gemm_ladder needs PyTorch, which"),
        ("echo '2.11.0+cpu;;1;/lib'", "needs a PyTorch with CUDA, but 2.11.0+cpu has none"),
    ],
)
def test_without_pytorch_building_says_so(tmp_path, torch_says, said):
    assert said in configured(tmp_path, torch_says)
