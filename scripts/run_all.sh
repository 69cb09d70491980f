#!/usr/bin/env bash
# Installs what is missing, builds, and runs every stage in sequence: each variant is checked
# against cuBLAS and timed beside it. Ends with a table of all of them.
#
#   ./scripts/run_all.sh [OPTION OF A STAGE ...]      for example --size 8192, or --sustained
#
# Writes build/results/NN_name.json. Exit code: 0 all right, 1 a stage failed, 2 bad input,
# 77 there is no GPU to run on.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

set_up
build
mapfile -t names < <(all_stages)
if [ ${#names[@]} -eq 0 ]; then
  say "no stage was built, because there is no CUDA toolkit here: nothing to run"
  exit 77
fi
if ! have_gpu; then
  say "everything is built, but there is no NVIDIA GPU here (nvidia-smi finds none): nothing to run"
  exit 77
fi

mkdir -p build/results
rm -f build/results/*.json
failed=()
for name in "${names[@]}"; do
  say "$name"
  code=0
  "build/stages/$name" --json "build/results/$name.json" "$@" || code=$?
  case $code in
    0) ;;
    2) exit 2 ;;
    *) failed+=("$name (exit code $code)") ;;
  esac
done

say "summary"
python3 scripts/results_table.py build/results
if [ ${#failed[@]} -gt 0 ]; then
  say "failed: ${failed[*]}"
  exit 1
fi
