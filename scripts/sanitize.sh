#!/usr/bin/env bash
# Runs every variant of every stage under compute-sanitizer, at small shapes that divide by no tile:
# memcheck, racecheck, synccheck and initcheck. Any finding makes it fail.
#
#   ./scripts/sanitize.sh [STAGE ...]                 for example 05_cp_async; default all
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

stages_for compute-sanitizer "$@"

shapes=("--m 67 --n 131 --k 45" "--m 257 --n 263 --k 199" "--m 1 --n 1 --k 1")
failed=()
for name in "${NAMES[@]}"; do
  for tool in memcheck racecheck synccheck initcheck; do
    for shape in "${shapes[@]}"; do
      # shellcheck disable=SC2086  # a shape is several words
      if output=$(compute-sanitizer --tool "$tool" --error-exitcode 1 \
        "build/stages/$name" --profile $shape 2>&1); then
        printf '%-20s %-10s %-26s clean\n' "$name" "$tool" "$shape"
      else
        printf '%-20s %-10s %-26s FOUND\n%s\n' "$name" "$tool" "$shape" "$output"
        failed+=("$name $tool ($shape)")
      fi
    done
  done
done
if [ ${#failed[@]} -gt 0 ]; then
  printf '== findings: %s\n' "${failed[@]}"
  exit 1
fi
say "no findings"
