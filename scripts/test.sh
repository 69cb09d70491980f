#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests. Tests that need a GPU are skipped, by name,
# where there is none.
#
#   ./scripts/test.sh [OPTION OF CTEST ...]           for example -L host, or -R 03_transposed_b
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

set_up
.venv/bin/python -c 'import pytest, yaml, matplotlib' 2>/dev/null ||
  venv_install pytest pyyaml 'matplotlib==3.10.9' ||
  say "pytest, PyYAML, matplotlib could not be installed: the tests of the scripts are left out"
build
say "testing"
run_tests build "$@"
