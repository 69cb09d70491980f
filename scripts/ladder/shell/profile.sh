#!/usr/bin/env bash
# Profiles stages with Nsight Compute: every section of the full set, one entry a variant.
#
#   ./ladder profile [STAGE ...]                  for example 03_transposed_b; default all
#
# Writes build/profiles/NN_name.ncu-rep, to be opened in ncu-ui, and build/profiles/NN_name.csv, the
# raw counters. Needs ncu (it comes with the CUDA toolkit) and a GPU whose counters may be read.
# Exit code: 0 all right, 1 something failed, 2 bad input, 77 no GPU.
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"
help "$@"

stages_for ncu "$@"

mkdir -p build/profiles
for name in "${NAMES[@]}"; do
  say "$name"
  report=build/profiles/$name
  rm -f "$report".*
  # Counters do not depend on the clock; locking it needs rights that many machines do not give.
  ncu --set full --clock-control none --force-overwrite --export "$report" "build/stages/$name"
  [ -f "$report.ncu-rep" ] ||
    die "ncu wrote no report; with ERR_NVGPUCTRPERM above, see https://developer.nvidia.com/ERR_NVGPUCTRPERM"
  ncu --import "$report.ncu-rep" --page raw --csv >"$report.csv"
done
say "profiles are in build/profiles"
