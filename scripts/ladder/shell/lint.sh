#!/usr/bin/env bash
# What CI checks without a build: formatting, linters, and the size of every step.
#
#   ./ladder lint [CHECK ...]     of clang-format, shellcheck, ruff and steps; default all
#
# Exit code: 0 all right, 1 something was found, 2 bad input.
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"
help "$@"

ALL=(clang-format shellcheck ruff steps)
checks=("$@")
if [ $# = 0 ]; then checks=("${ALL[@]}"); fi
for name in "${checks[@]}"; do
  [[ " ${ALL[*]} " == *" $name "* ]] || bad_input "no check '$name'; there are: ${ALL[*]}"
done

check() {
  case $1 in
    clang-format)
      install_packages clang-format=clang-format
      git ls-files -z '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -0 clang-format --dry-run --Werror
      ;;
    shellcheck)
      install_packages shellcheck=shellcheck
      shellcheck -x .ci/run .ci/lab scripts/*.sh scripts/ladder/shell/*.sh cmake/*.sh .devcontainer/*.sh
      ;;
    ruff)
      venv_with ruff lint || die "ruff could not be installed into .venv"
      .venv/bin/ruff check . && .venv/bin/ruff format --check .
      ;;
    steps) ./ladder steps ;;
  esac
}

found=0
for name in "${checks[@]}"; do
  say "$name"
  # In a shell of its own: what ends one check does not keep the others from being made.
  (check "$name") || found=1
done
exit "$found"
