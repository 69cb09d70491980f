#!/usr/bin/env bash
# tune_on_cpu.sh PROGRAM: tests/tune_on_cpu.cpp measures, and what it wrote makes a table.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
scripts=$(dirname "$0")/../scripts
expect() { grep -q -- "$1" "$folder/out" || { echo "not there: $1" && cat "$folder/out" && exit 1; }; }

"$1" --rounds 9 --json "$folder/tune.json" --calibrate 256x512x512 17x512x4096 --shapes 1024x512x512 333x512x512 >"$folder/out"
expect '^13 128x256 .* 67[3-7]\.[0-9] *8[01][0-9]\.[0-9] *67[3-7]\.[0-9] *1\.[01][0-9]* *1[45][0-9][0-9] '
expect '^14 16x64 split 2 resident 2 .* \(99\|100\)\.[0-9] .* [45][0-9][0-9] *[01]\.[0-9]*$'  # memory is slow
expect '^1024x512x512 *13b .* 100.0% *13b'
expect '^333x512x512 *13b .* 13 128x256$'  # the model is wrong there, and that is said
expect '^14 16x64 split 2 resident 2, B by columns '
expect '^14 16x64 split 2 resident 2, A by columns '
[ "$(grep -c '^333x512x512 ' "$folder/out")" = 3 ]  # once a layout
PYTHONPATH=$scripts python3 - "$folder" <<'PYTHON'
import sys
from pathlib import Path
from ladder import tune

folder = Path(sys.argv[1])
(folder / "kernels/tuned").mkdir(parents=True)
sys.exit(tune.main(["--adopt", "h200", str(folder / "tune.json")], folder))
PYTHON
for rows in ROWS B_BY_COLUMNS A_BY_COLUMNS; do
  grep -A3 "Row H200_$rows\[\]" "$folder/kernels/tuned/h200.h" | grep -q '^    {{Kernel::'
done
grep -q 'Kernel::FEW_ROWS, 16, 64, 1, 1, 2, 2}' "$folder/kernels/tuned/h200.h"

"$1" --explain --shapes 7x8x9 --gpu X >"$folder/out"
expect '^7 rows on X$'
expect '^no constants for X: those of NVIDIA H200 are taken'
[ "$("$1" --explain --shapes usual --gpu X | grep -c ' rows on X$')" = 22 ]
"$1" --list | grep -q '"stage": "13b"'
