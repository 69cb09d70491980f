"""What PyTorch is not needed for: the lines that say it is missing, and the shapes to be timed."""

import ast
import importlib.util
import math
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

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


@pytest.fixture
def operators(monkeypatch) -> ModuleType:
    """The functions, with a PyTorch that takes every call and computes nothing."""
    torch = MagicMock()
    torch.compiler.is_compiling = lambda: False
    for name in ("torch", "torch.compiler"):
        monkeypatch.setitem(sys.modules, name, torch if name == "torch" else torch.compiler)
    spec = importlib.util.spec_from_file_location("operators", PYTHON / "gemm_ladder/operators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["matmul", "linear"])
def test_another_type_of_the_product_is_refused(operators, name):
    function, called = getattr(operators, name), getattr(operators, f"_{name}")
    assert function("a", "b", out_dtype=None) == called.return_value
    called.assert_called_once_with("a", "b", None, None)
    with pytest.raises(ValueError) as error:
        function("a", MagicMock(), out_dtype="torch.float16")
    assert str(error.value) == (
        "out_dtype is torch.float16, but may only be torch.float32 or torch.float8_e4m3fn, without "
        "out and where b is a matrix"
    )
    scaled = "scale and column_scale belong to a result in float8_e4m3fn"
    for given in ({"scale": 2.0}, {"column_scale": "s"}, {"scale": 2.0, "out_dtype": "float32"}):
        with pytest.raises(ValueError, match=scaled):
            function("a", MagicMock(), **given)
    called.assert_called_once()


def unannotated(path: Path) -> list[str]:
    """Of the functions that users see: which have a parameter, or a result, of no declared type."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        is_seen = isinstance(node, ast.FunctionDef) and (
            not node.name.startswith("_") or node.name == "__init__"
        )
        if is_seen:
            arguments = node.args
            several = [arguments.vararg, arguments.kwarg]
            each = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            named = [a for a in [*each, *filter(None, several)] if a.arg != "self"]
            if node.returns is None or any(a.annotation is None for a in named):
                found.append(node.name)
    return found


def test_every_function_has_types(tmp_path):
    for path in (PYTHON / "gemm_ladder").glob("*.py"):
        assert unannotated(path) == [], path.name
    assert (PYTHON / "gemm_ladder/py.typed").exists()
    (tmp_path / "some.py").write_text("def f(x) -> int: ...\ndef g(*x): ...\ndef _h(x): ...\n")
    assert unannotated(tmp_path / "some.py") == ["f", "g"]


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
