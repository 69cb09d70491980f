#!/usr/bin/env bash
# Times the fastest stages beside cuBLAS, all algorithms of cublasLt, CUTLASS and Triton's matmul, in random
# order, shape by shape, and prints a table. Builds what it needs first. Triton takes part where a python3
# has PyTorch and it, CUTLASS once its headers are there.
#
#   ./scripts/peers.sh [OPTION ...] [SHAPE ...]       for example 4096 16x4096x4096
#   ./scripts/peers.sh --sweep --out sweep.jsonl      hundreds of shapes; goes on where it stopped
#   ./scripts/peers.sh --fetch-cutlass                its headers into .venv; the next build takes minutes longer
#
# All options: python3 scripts/peers.py --help. Exit code: 0 all right, 1 something failed, 2 bad input, 77 no GPU.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

if [ "${1:-}" = --fetch-cutlass ]; then
  say "installing CUTLASS into .venv"
  # Without what its Python half needs: the headers are all that is used.
  PIP_NO_DEPS=1 venv_install cutlass
  exit
fi

have_gpu || {
  echo "peers.sh: there is no NVIDIA GPU here (nvidia-smi finds none)" >&2
  exit 77
}
set_up
if compgen -G '.venv/lib/python3*/site-packages/cutlass_library/source/include' >/dev/null; then
  BUILD_OPTIONS+=(-DLADDER_CUTLASS=ON)
else
  say "without CUTLASS; ./scripts/peers.sh --fetch-cutlass gets its headers"
fi
build ladder_peers
exec python3 scripts/peers.py "$@"
