#!/usr/bin/env bash
# build_and_run.sh BUILD TARGET [PROGRAM [ARGUMENT ...]]: a test that nobody builds who does not name it: builds it
# and runs the program. Where there is no GPU, neither: exit code 77.
set -euo pipefail
nvidia-smi -L >/dev/null 2>&1 || exit 77
cmake --build "$1" --target "$2"
"${@:3}"
