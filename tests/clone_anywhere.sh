#!/usr/bin/env bash
# A clone in a folder whose name means something to shells and build tools: an exercise is graded there,
# and an edit is planted.
#
#   clone_anywhere.sh SOURCE FOLDER
set -euo pipefail
clone="$2/a b/c'd\$e/ü"
rm -rf "$2"
mkdir -p "$clone"
(cd "$1" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$clone")
if [ -d "$1/.venv" ]; then ln -s "$1/.venv" "$clone/.venv"; fi
cd "$clone"
cp exercises/01_thread_mapping/solution.cuh exercises/01_thread_mapping/exercise.cuh
./scripts/exercise.sh 01
cmake --build build --parallel "$(nproc)" --target ladder_harness_cpu >/dev/null
python=python3
if [ -x .venv/bin/python ]; then python=.venv/bin/python; fi
./ladder planted tests/planted_edits/03_transposed_b.yaml
rm -rf "$2"
