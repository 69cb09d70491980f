#!/usr/bin/env bash
# Installs what is missing, builds, and runs every stage in sequence: each variant is checked
# against cuBLAS and timed beside it. Ends with a table of all of them. Where there is no GPU the
# stages run on the CPU instead: functionally, at 256^3, with no times.
#
#   ./scripts/run_all.sh [OPTION OF A STAGE ...]      for example --size 8192, or --sustained
#
# Writes build/results/NN_name.json. Exit code: 0 all right, 1 a stage failed, 2 bad input.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

set_up
if have_gpu; then build ladder_stages; fi
if have_gpu && [ -n "$(all_stages build/stages)" ]; then
  folder=build/stages
else
  build ladder_cpu_stages
  if have_gpu; then
    say "there is a GPU but no CUDA toolkit that knows it"
  else
    say "there is no NVIDIA GPU here (nvidia-smi finds none)"
  fi
  say "this is a functional run on the CPU, at 256^3 unless told otherwise; it says nothing about the speed of a GPU"
  folder=build/stages/cpu
fi
mapfile -t names < <(all_stages "$folder")

# Beside the results of the run before, which bad input must not cost.
rm -rf build/results.new
mkdir -p build/results.new
failed=()
for name in "${names[@]}"; do
  say "$name"
  code=0
  "$folder/$name" --json "build/results.new/$name.json" "$@" || code=$?
  case $code in
    0) ;;
    77) say "$name was skipped" ;;
    2) exit 2 ;;
    *) failed+=("$name (exit code $code)") ;;
  esac
done

rm -rf build/results
mv build/results.new build/results

say "summary"
python3 scripts/results_table.py build/results
if [ ${#failed[@]} -gt 0 ]; then
  say "failed: ${failed[*]}"
  exit 1
fi
