#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests. Tests that need a GPU are skipped, by name,
# where there is none.
#
#   ./scripts/test.sh [OPTION OF CTEST ...]           for example -L host, or -R 03_transposed_b
#
# Exit code: 0 all right, 2 bad input, 8 a test failed or there is none of that name, 1 anything else.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

set_up
known=$(run_ctest --help)
for argument in "$@"; do  # ctest ignores options it does not know
  if [[ $argument == -* ]] && ! grep -qE -- "(^|[ ,])${argument%%[=0-9]*}([ ,=[]|$)" <<<"$known"; then
    echo "test.sh: ctest has no option '$argument'; ctest --help lists them" >&2
    exit 2
  fi
done
venv_with pytest,yaml,scikit_build_core test claims ||
  say "pytest and PyYAML could not be installed: the tests of the scripts are left out"
build
say "testing"
run_tests build "$@"
