#!/usr/bin/env bash
# Runs every variant of every stage under compute-sanitizer, at small shapes that divide by no tile:
# memcheck, racecheck, synccheck and initcheck; and 200 launches of random shapes, back to back, under
# memcheck. Any finding makes it fail.
#
#   ./scripts/sanitize.sh [STAGE ...]                 for example 05_cp_async; default all
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

stages_for compute-sanitizer "$@"

shapes=("--m 67 --n 131 --k 45" "--m 257 --n 263 --k 199" "--m 1 --n 1 --k 1")
failed=()
# check TOOL WHAT COMMAND...: of stage $name
check() {
  local tool=$1 what=$2 output
  shift 2
  if output=$(compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" 2>&1); then
    printf '%-22s %-10s %-26s clean\n' "$name" "$tool" "$what"
  else
    printf '%-22s %-10s %-26s FOUND\n%s\n' "$name" "$tool" "$what" "$output"
    failed+=("$name $tool ($what)")
  fi
}
for name in "${NAMES[@]}"; do
  for tool in memcheck racecheck synccheck initcheck; do
    for shape in "${shapes[@]}"; do
      # shellcheck disable=SC2086  # a shape is several words
      check "$tool" "$shape" "build/stages/$name" --profile $shape
    done
  done
  LADDER_LAUNCHES=200 check memcheck "200 launches" \
    "build/tests/${name}_gpu_test" --gtest_filter='*back_to_back'
done
if [ ${#failed[@]} -gt 0 ]; then
  printf '== findings: %s\n' "${failed[@]}"
  exit 1
fi
say "no findings"
