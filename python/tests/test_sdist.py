"""The source distribution: all that it needs to be configured is in it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parents[1]
NVCC = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
# For a Python that has PyTorch, as far as CMakeLists.txt asks it.
INTERPRETER = """#!/bin/sh
case "$*" in
  *"import torch"*) echo "2.6.0;{cuda};1;/torch/lib;/torch/include" ;;
  *) exec {python} "$@" ;;
esac
"""


@pytest.mark.slow
@pytest.mark.skipif(not NVCC, reason="there is no CUDA toolkit")
def test_a_source_distribution_can_be_configured_elsewhere(tmp_path):
    build = pytest.importorskip("scikit_build_core.build", reason="needs scikit-build-core")
    command = f"import {build.__name__} as build; build.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", command], cwd=PYTHON, check=True)
    (archive,) = tmp_path.glob("gemm_ladder-*.tar.gz")
    shutil.unpack_archive(archive, tmp_path)
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    assert (source / "LICENSE").is_file()
    # pip's first step, in a folder with no project above it.
    command = f"import {build.__name__} as build; build.prepare_metadata_for_build_wheel('built')"
    subprocess.run([sys.executable, "-c", command], cwd=source, check=True)
    (metadata,) = source.glob("built/gemm_ladder-*.dist-info/METADATA")
    assert "\nRequires-Dist: torch>=" in metadata.read_text()
    assert (source / "gemm_ladder/py.typed").is_file()

    version = subprocess.run([NVCC, "--version"], capture_output=True, text=True).stdout
    cuda = re.search(r"release ([\d.]+)", version)[1]
    interpreter = tmp_path / "python3"
    interpreter.write_text(INTERPRETER.format(cuda=cuda, python=sys.executable))
    interpreter.chmod(0o755)
    options = [f"-DPython_EXECUTABLE={interpreter}", f"-DCMAKE_CUDA_COMPILER={NVCC}"]
    done = subprocess.run(
        ["cmake", "-S", source, "-B", tmp_path / "build", *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
