#!/usr/bin/env bash
# Measures the constants with which 15_chosen_by_cost chooses among its kernels, on the GPU that is here, and
# makes the table of it. Builds what it needs first; the measurement takes some minutes.
#
#   ./ladder tune [OPTION ...]            into build/tune.json; what it found, as a table
#   ./ladder tune --shapes usual          and how good a choice these constants make: some minutes
#   ./ladder tune --adopt h200 [FILE]     takes build/tune.json, or FILE, over into kernels/tuned/h200.h
#
# All options of the measurement: build/tune --help. Exit code: 0 all right, 1 something failed, 2 bad input,
# 77 no GPU.
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"
help "$@"

if [ "${1:-}" = --adopt ]; then
  exec ./ladder adopt-tuning "$@"
fi
need_gpu
set_up
build ladder_tune
exec build/tune --json build/tune.json "$@"
