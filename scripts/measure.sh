#!/usr/bin/env bash
# Measures what the claims and the tables of all stages say of a GPU, in less than eight minutes on an H200:
# builds, runs the tests on the GPU, compute-sanitizer, ncu on every variant at 4096^3, every stage beside
# cuBLAS, and checks the claims. For the other shapes there is scripts/sweep.py DIR.
#
#   ./scripts/measure.sh --out DIR
#
# DIR then has NN_name_SHAPE.json, counters.json (ncu), environment.json, and what the steps printed:
# tests.txt, sanitizers.txt, claims.txt. What is in DIR from an earlier run is not measured again.
# scripts/adopt_results.py DIR NAME takes it over into docs/results. Exit code: 0 all right, 1 a step
# failed (the others run nevertheless), 2 bad input.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

if [ $# -ne 2 ] || [ "$1" != --out ] || [ -z "$2" ]; then
  echo "measure.sh: write ./scripts/measure.sh --out DIR" >&2
  exit 2
fi
mkdir -p "$2" || exit 2
out=$(cd "$2" && pwd)
stages_for ncu
command -v compute-sanitizer >/dev/null || die "compute-sanitizer is not on the PATH; it comes with the CUDA toolkit"
python_with yaml pyyaml

failed=()
# step NAME FILE COMMAND...: its output into FILE, its verdict here
step() {
  local name=$1 file=$2 begin=$SECONDS
  shift 2
  if "$@" >"$out/$file" 2>&1; then
    say "$name: $((SECONDS - begin)) s $(grep -E 'tests passed|no findings|claims hold' "$out/$file")"
  else
    say "$name FAILED after $((SECONDS - begin)) s, see $out/$file"
    tail -n 5 "$out/$file" >&2
    : >"$out/$file.failed"
  fi
}
sweep() {
  "$PYTHON" scripts/sweep.py "$out" "$@" || failed+=("sweep $*")
}
rm -f "$out"/*.failed

step tests tests.txt run_tests build -L gpu
step sanitizers sanitizers.txt ./scripts/sanitize.sh
if [ ! -f "$out/counters.json" ]; then
  step ncu ncu.txt "$PYTHON" scripts/ncu_counters.py build "$out/counters.json" --size 4096
fi
begin=$SECONDS
fast=()  # 05 without tensor cores
for name in "${NAMES[@]}"; do
  case $name in 05* | 08_* | 09_* | 1[0-9]*) fast+=("$name") ;; esac
done
sweep --shapes 4096 8192
sweep "${fast[@]}" --shapes 1024 2048
sweep 10_warp_specialized 10b_cluster --shapes 5000  # where multicast is claimed to help
sweep "${NAMES[-1]}"
say "sweep: $((SECONDS - begin)) s"
compgen -G "$out/[0-9]*.json" >/dev/null || die "no stage was measured; why is said above"

"$PYTHON" - "$out" <<'PYTHON'
import datetime, json, subprocess, sys
from pathlib import Path

out = Path(sys.argv[1])
device = json.loads(next(out.glob("[0-9]*.json")).read_text())["device"]
commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
environment = {
    "gpu": device["name"],
    "driver": device["driver"],
    "toolkit": device["toolkit"],
    "date": datetime.date.today().isoformat(),
    "commit": commit or "unknown: not a git checkout",
}
(out / "environment.json").write_text(json.dumps(environment, indent=2) + "\n")
PYTHON
step claims claims.txt "$PYTHON" scripts/claims.py --results "$out"

for file in "$out"/*.failed; do
  if [ -e "$file" ]; then failed+=("$(basename "$file" .txt.failed)"); fi
done
if [ ${#failed[@]} -gt 0 ]; then
  printf '== failed: %s\n' "${failed[@]}"
  exit 1
fi
say "everything is in $out, after $SECONDS s"
