#!/usr/bin/env bash
# Times the fastest stages beside cuBLAS, all algorithms of cublasLt, CUTLASS and Triton's matmul, in random
# order, shape by shape, and prints a table. Builds what it needs first. Triton takes part where a python3
# has PyTorch and it, CUTLASS once its headers are there.
#
#   ./ladder peers [OPTION ...] [SHAPE ...]       for example 4096 16x4096x4096
#   ./ladder peers --sweep --out sweep.jsonl      hundreds of shapes; goes on where it stopped
#   ./ladder peers --fetch-cutlass                its headers into .venv; the next build takes minutes longer
#
# All options: ./ladder race --help. Exit code: 0 all right, 1 something failed, 2 bad input, 77 no GPU.
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"
help "$@"

if [ "${1:-}" = --fetch-cutlass ]; then
  say "installing CUTLASS into .venv"
  # Without what its Python half needs: the headers are all that is used.
  PIP_NO_DEPS=1 venv_install cutlass
  exit
fi

need_gpu
set_up
if compgen -G '.venv/lib/python3*/site-packages/cutlass_library/source/include' >/dev/null; then
  BUILD_OPTIONS+=(-DLADDER_CUTLASS=ON)
else
  say "without CUTLASS; ./ladder peers --fetch-cutlass gets its headers"
fi
build ladder_peers
exec ./ladder race "$@"
