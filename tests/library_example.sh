#!/usr/bin/env bash
# library_example.sh BUILD SOURCE FOLDER ARCHITECTURES: builds and installs the library, and from there
# examples/library, whose programs run. Where there is no GPU, nothing: exit code 77.
set -euo pipefail
nvidia-smi -L >/dev/null 2>&1 || exit 77
cmake --build "$1" --target ladder_gemm
cmake --install "$1" --prefix "$3/installed"
cmake -S "$2/examples/library" -B "$3/build" -DCMAKE_PREFIX_PATH="$3/installed" -DCMAKE_CUDA_ARCHITECTURES="$4"
cmake --build "$3/build"
"$3/build/multiply"
"$3/build/multiply_in_c"
