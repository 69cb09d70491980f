#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests. Tests that need a GPU are skipped, by name,
# where there is none.
#
#   ./scripts/test.sh [OPTION OF CTEST ...]           for example -L host, or -R 03_transposed_b
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

set_up
venv_with pytest,yaml,matplotlib pytest pyyaml "$MATPLOTLIB" ||
  say "pytest, PyYAML, matplotlib could not be installed: the tests of the scripts are left out"
build
say "testing"
run_tests build "$@"
