#!/usr/bin/env bash
# A clone in a folder whose name means something to shells and build tools: an exercise is graded there, an
# edit is planted, and a stage is added as a newcomer would.
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
touch cpu_device/mbarrier.h # as an update does: what is compiled ahead of solutions must follow
./scripts/exercise.sh 01
ahead=(build/bench/exercises/CMakeFiles/ladder_exercise_yours.dir/cmake_pch.hxx.?ch) # .gch of g++, .pch of Clang
[ "${ahead[0]}" -nt cpu_device/mbarrier.h ]
cmake --build build --parallel "$(nproc)" --target ladder_03_transposed_b_cpu >/dev/null
./ladder planted tests/planted_edits/03_transposed_b.yaml
./ladder add-stage 05f my_idea --parent 05b
cmake --build build --parallel "$(nproc)" --target ladder_05f_my_idea_cpu ladder_05f_my_idea_cpu_test >/dev/null
if build/stages/cpu/05f_my_idea --size 64 | grep ' :0 '; then # an access whose line is not found
  exit 1
fi
ctest --test-dir build --no-tests=error -R '^05f_my_idea'
if [ -x .venv/bin/python ]; then
  .venv/bin/python -m pytest -q tests/scripts/test_{claims,figures,glossary,manifest,reading,steps,timeline}.py
fi
rm -rf "$2"
