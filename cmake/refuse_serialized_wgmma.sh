#!/usr/bin/env bash
# Runs a compiler. Fails when ptxas says, which it does as information only, that it has to run the
# wgmmas of a kernel one after the other (C7510, C7511, C7512, C7515).
set -uo pipefail
"$@" 2>&1 | tee >(cat >&2) | { ! grep -q '(C751[0-5])'; }
status=("${PIPESTATUS[@]}")
[ "${status[0]}" = 0 ] || exit "${status[0]}"
if [ "${status[2]}" != 0 ]; then
  echo "refused: serialized wgmma" >&2
  exit 1
fi
