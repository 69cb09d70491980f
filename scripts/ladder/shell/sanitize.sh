#!/usr/bin/env bash
# Runs the GPU tests of every variant of every stage that have shapes dividing by no tile under
# compute-sanitizer: memcheck, racecheck, synccheck and initcheck; and 200 launches of random shapes,
# back to back, under memcheck. Any finding or wrong result makes it fail. Several run at a time.
#
#   ./ladder sanitize [STAGE ...]                 for example 05_cp_async; default all
#
# Exit code: 0 all right, 1 a finding, 2 bad input, 77 no GPU.
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"
help "$@"

stages_for compute-sanitizer "$@"

export OMP_NUM_THREADS=1  # the references; several run at a time
# check STAGE TOOL
check() {
  local tests='*smallest:*primes' output passed
  if [ "$2" = memcheck ]; then tests+=':*back_to_back'; fi
  if output=$(LADDER_SANITIZER=1 compute-sanitizer --tool "$2" --error-exitcode 1 \
    "build/tests/$1_gpu_test" --gtest_filter="$tests" 2>&1) &&
    passed=$(grep -oE 'PASSED  \] [1-9][0-9]* test' <<<"$output"); then
    printf '%-22s %-10s %2d tests clean\n' "$1" "$2" "$(tr -dc '0-9' <<<"$passed")"
  else
    printf '%-22s %-10s FAILED\n%s\n' "$1" "$2" "$output"
    return 1
  fi
}

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
for name in "${NAMES[@]}"; do
  for tool in memcheck racecheck synccheck initcheck; do
    while [ "$(jobs -rp | wc -l)" -ge $((($(nproc) + 1) / 2)) ]; do wait -n; done
    { check "$name" "$tool" || : >"$output/failed.$name"; } >"$output/$name.$tool" 2>&1 &
  done
done
wait
for name in "${NAMES[@]}"; do cat "$output/$name".*; done
failed=("$output"/failed.*)
if [ -e "${failed[0]}" ]; then
  say "failed: ${failed[*]##*/failed.}"
  exit 1
fi
say "no findings"
