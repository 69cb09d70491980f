#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests. Tests that need a GPU are skipped, by name,
# where there is none.
#
#   ./scripts/test.sh [--all] [OPTION OF CTEST ...]   for example -L host, or -R 03_transposed_b
#
# --all: also those that take minutes each and are labelled slow: damaged files for all that the scripts
# read, the registers of wgmma in PTX, a clone in a folder of an odd name.
#
# Exit code: 0 all right, 2 bad input, 8 a test failed or there is none of that name, 1 anything else.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

tier=(-LE slow)
if [ "${1:-}" = --all ]; then
  tier=()
  shift
fi

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
build
say "testing"
run_tests build ${tier[@]+"${tier[@]}"} "$@"
