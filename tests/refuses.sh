#!/usr/bin/env bash
# refuses.sh PROGRAM PREFIX ARGUMENTS...: with each of ARGUMENTS, a command line's worth, PROGRAM has to
# print one line, which begins with PREFIX, and to exit with 2.
set -uo pipefail
program=$1 prefix=$2
shift 2
for arguments in "$@"; do
  # shellcheck disable=SC2086  # they are words
  printed=$("$program" $arguments 2>&1)
  status=$?
  if [[ $status != 2 || $printed == *$'\n'* || $printed != "$prefix"* ]]; then
    printf '%s %s: exit code %s, printed:\n%s\n' "$program" "$arguments" "$status" "$printed"
    exit 1
  fi
done
