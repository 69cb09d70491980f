#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: without a GPU those that need none, in minutes.
#
#   ./scripts/test.sh [--all] [OPTION OF CTEST ...]   for example -L host, or -R 03_transposed_b
#
# --all: everything that there is. CONTRIBUTING.md says what this catches beyond the rest: all planted
# edits and wrong solutions, all shapes of all stages, damaged files for all that the scripts read. Where
# there is a toolkit and no GPU, it compiles what only a GPU runs, for sm_90a.
#
# Exit code: 0 all right, 2 bad input, 8 a test failed or there is none of that name, 1 anything else.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

targets=(ladder_tests) slow_tests=OFF
if [ "${1:-}" = --all ]; then
  targets=(all ladder_tests) slow_tests=ON
  have_gpu || BUILD_OPTIONS+=(-DCMAKE_CUDA_ARCHITECTURES=90a)
  shift
fi
BUILD_OPTIONS+=("-DLADDER_SLOW_TESTS=$slow_tests")

set_up
known=$(run_ctest --help)
# ctest ignores what it does not know.
knows() { [[ $1 =~ ^-[-A-Za-z]+$ ]] && grep -qE -- "(^|[ ,])$1$2" <<<"$known"; }
before=''
for argument in "$@"; do
  if [[ $argument == -* ]]; then
    knows "${argument%%[=0-9]*}" '([ ,=[]|$)' ||
      bad_input "ctest has no option '$argument'; ctest --help lists them"
  elif [[ $before != -* ]]; then
    bad_input "'$argument' belongs to no option; -R '$argument' runs the tests of this name"
  fi
  before=$argument
done
if knows "$before" ' <'; then bad_input "ctest's option $before needs a value"; fi
venv_with pytest,yaml,scikit_build_core test claims ||
  say "pytest and PyYAML could not be installed: the tests of the scripts are left out"
build "${targets[@]}"
if ! have_gpu && [ "$slow_tests" = OFF ]; then say "there is no GPU: the tests that need one are left out"; fi
say "testing"
run_tests build "$@"
