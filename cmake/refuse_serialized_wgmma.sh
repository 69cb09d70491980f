#!/usr/bin/env bash
# Runs a compiler. Fails when ptxas says, which it does as information only, that it has to run the
# wgmmas of a kernel one after the other (C7510 to C7515, C7520) or that it ignores setmaxnreg (C7504).
set -uo pipefail
"$@" 2>&1 | tee >(cat >&2) | { ! grep -qE '\(C75(04|1[0-5]|20)\)'; }
status=("${PIPESTATUS[@]}")
[ "${status[0]}" = 0 ] || exit "${status[0]}"
if [ "${status[2]}" != 0 ]; then
  echo "refused: serialized wgmma, or setmaxnreg without effect" >&2
  exit 1
fi
