#!/usr/bin/env bash
# Runs every variant of every stage under compute-sanitizer, at small shapes that divide by no tile:
# memcheck, racecheck, synccheck and initcheck; and 200 launches of random shapes, back to back, under
# memcheck. Any finding makes it fail. Several stages run at a time.
#
#   ./scripts/sanitize.sh [STAGE ...]                 for example 05_cp_async; default all
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

stages_for compute-sanitizer "$@"

shapes=("--m 67 --n 131 --k 45" "--m 257 --n 263 --k 199" "--m 1 --n 1 --k 1")
# check STAGE TOOL WHAT COMMAND...
check() {
  local name=$1 tool=$2 what=$3 output
  shift 3
  if output=$(compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" 2>&1); then
    printf '%-22s %-10s %-26s clean\n' "$name" "$tool" "$what"
  else
    printf '%-22s %-10s %-26s FOUND\n%s\n' "$name" "$tool" "$what" "$output"
    return 1
  fi
}
check_stage() {
  local name=$1 tool shape code=0
  for tool in memcheck racecheck synccheck initcheck; do
    for shape in "${shapes[@]}"; do
      # shellcheck disable=SC2086  # a shape is several words
      check "$name" "$tool" "$shape" "build/stages/$name" --profile $shape || code=1
    done
  done
  LADDER_LAUNCHES=200 check "$name" memcheck "200 launches" \
    "build/tests/${name}_gpu_test" --gtest_filter='*back_to_back' || code=1
  return $code
}

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
failed=()
for name in "${NAMES[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge $((($(nproc) + 1) / 2)) ]; do sleep 0.2; done
  { check_stage "$name" || : >"$output/$name.failed"; } >"$output/$name" 2>&1 &
done
wait
for name in "${NAMES[@]}"; do
  cat "$output/$name"
  if [ -e "$output/$name.failed" ]; then failed+=("$name"); fi
done
if [ ${#failed[@]} -gt 0 ]; then
  say "findings in: ${failed[*]}"
  exit 1
fi
say "no findings"
