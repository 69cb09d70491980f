#!/usr/bin/env bash
# examples_refuse.sh LIBRARY_EXAMPLE INSTALLED FOLDER CUDA_COMPILER LEAKY: LEAKY, which is examples/jit, finds no
# GPU: one line and exit code 77. LIBRARY_EXAMPLE does not configure where INSTALLED lacks the library, and CMake
# says how to build it.
set -uo pipefail
printed=$(CUDA_VISIBLE_DEVICES='' "$5" 2>&1)
status=$?
if [[ $status != 77 || $printed != "no GPU" ]]; then
  printf '%s: exit code %s, printed:\n%s\n' "$5" "$status" "$printed"
  exit 1
fi

rm -rf "$3"
said=$(cmake -S "$1" -B "$3" -DCMAKE_PREFIX_PATH="$2" -DCMAKE_CUDA_COMPILER="$4" -DCMAKE_CUDA_ARCHITECTURES=80 2>&1)
status=$?
[[ -n $(find "$2" -name libgemm_ladder.a) ]] && exit "$status"
if [[ $status == 0 || $said != *"gemm_ladder::gemm was not built"*"--target ladder_gemm"* ]]; then
  printf '%s\n' "$said"
  exit 1
fi
