#!/usr/bin/env bash
# Measures what the documentation says of a GPU: builds, runs the tests on the GPU, compute-sanitizer,
# ncu on every variant at 4096^3, at 128^3 and at ten small shapes, every stage beside cuBLAS at the
# shapes that the documentation is made of (./ladder sweep DIR --documented), and checks the claims.
#
#   ./ladder measure --out DIR
#   ./ladder measure --out DIR --only ncu,sweep   of the parts: tests sanitizers ncu sweep claims
#   ./ladder measure --out DIR/h100 --thin        for a second GPU: no sanitizers, and of the
#                                                     shapes those that its tables and claims need;
#                                                     claims about some GPUs go by the folder's name
#
# DIR then has NN_name_SHAPE.json, counters.json, counters_128.json and counters_shapes.json (ncu),
# environment.json, and what the parts printed: tests.txt, sanitizers.txt, ncu.txt, claims.txt. What
# is in DIR from an earlier run is not measured again, so that a run that was interrupted goes on
# where it stopped.
# ./ladder adopt DIR NAME takes it over into docs/results. Exit code: 0 all right, 1 a part
# failed (the others run nevertheless), 2 bad input, 77 no GPU.
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"
help "$@"

PARTS="tests sanitizers ncu sweep claims"
usage() { bad_input "write ./ladder measure --out DIR [--thin] [--only PART,PART]; the parts: $PARTS"; }
out='' only='' shapes=--documented
while [ $# -gt 0 ]; do
  if [ "$1" = --thin ]; then
    shapes=--claimed
    shift
    continue
  fi
  if [ $# -lt 2 ] || [[ -z ${2//[, ]/} || $2 == -* ]]; then usage; fi
  case $1 in
    --out) out=$2 ;;
    --only) only=${2//,/ } ;;
    *) usage ;;
  esac
  shift 2
done
[ -n "$out" ] || usage
if [ -z "$only" ]; then
  only=$PARTS
  if [ $shapes = --claimed ]; then only=${PARTS/sanitizers /}; fi
fi
for part in $only; do
  [[ " $PARTS " == *" $part "* ]] || bad_input "no part '$part'; there are: $PARTS"
done
wanted() { [[ " $only " == *" $1 "* ]]; }

writable "$out" || exit 2
out=$(cd "$out" && pwd)
tools=''
if wanted sanitizers; then tools+=' compute-sanitizer'; fi
if wanted ncu; then tools+=' ncu'; fi
# shellcheck disable=SC2034  # stages_for reads it
if ! wanted tests && ! wanted sanitizers; then TARGETS=(ladder_stages); fi
stages_for "$tools"
python_with yaml claims
say "ready after $SECONDS s"

# step NAME COMMAND...: its output into NAME.txt, its verdict here, unless an earlier run succeeded.
step() {
  local name=$1 file=$out/$1.txt begin=$SECONDS
  shift
  if [ -e "$file" ] && [ ! -e "$file.failed" ]; then
    say "$name: kept"
    return
  fi
  rm -f "$file.failed"
  if "$@" >"$file.partial" 2>&1; then
    mv "$file.partial" "$file"
    say "$name: $((SECONDS - begin)) s $(grep -E 'tests passed|no findings|claims hold' "$file")"
  else
    mv "$file.partial" "$file"
    : >"$file.failed"
    say "$name FAILED after $((SECONDS - begin)) s, see $file"
    tail -n 5 "$file" >&2
  fi
}

if wanted tests; then step tests run_tests build -L gpu; fi
if wanted sanitizers; then step sanitizers ./ladder sanitize; fi
if wanted ncu; then
  step ncu ./ladder counters build "$out/counters.json" --size 4096
  step ncu_128 ./ladder counters build "$out/counters_128.json"
  step ncu_shapes ./ladder counters build "$out/counters_shapes.json" --shapes
fi
if wanted sweep; then
  begin=$SECONDS
  rm -f "$out/sweep.failed"
  ./ladder sweep "$out" "$shapes" || : >"$out/sweep.failed"
  say "sweep: $((SECONDS - begin)) s"
fi
if wanted claims; then
  rm -f "$out/claims.txt"
  step claims ./ladder claims --results "$out"
fi

failed=()
for file in "$out"/*.failed; do
  if [ -e "$file" ]; then failed+=("$(basename "${file%.failed}" .txt)"); fi
done
if [ ${#failed[@]} -gt 0 ]; then
  printf '== failed: %s\n' "${failed[@]}"
  exit 1
fi
say "it is in $out, after $SECONDS s"
