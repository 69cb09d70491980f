#!/usr/bin/env bash
# Installs what is missing, builds, and runs the stages in sequence: each variant is checked
# against cuBLAS and timed beside it. Ends with a table of all of them. Where there is no GPU the
# stages run on the CPU instead: functionally, with no times, at 256^3, and those before 06, which take it ten
# times as long, at 128^3. The stages from 22 on are no single product: they print tables of their own, and run
# where no option is given or they are named.
#
#   ./scripts/run_all.sh [STAGE ...] [--core] [OPTION OF A STAGE ...]
#
#   ./scripts/run_all.sh                          all stages
#   ./scripts/run_all.sh 04d 05b --size 8192      these, by number or name, and not at 4096
#   ./scripts/run_all.sh --core --sustained       the six levels: 01 to 06 without what lies between
#
# Writes build/results/NN_name.json, when all have run. Exit code: 0 all right, 1 a stage failed, 2 bad input.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

stages=() options=()
while [ $# -gt 0 ] && [[ $1 != -* || $1 == --core ]]; do
  stages+=("$1")
  shift
done
for option in "$@"; do
  case $option in
    --core) stages+=(--core) ;;
    *) options+=("$option") ;;
  esac
done
products=$(./ladder stages)
is_product() { grep -qxF "$1" <<<"$products"; }
asked_for=(${stages[@]+"${stages[@]}"})
if [ ${#stages[@]} = 0 ] && [ ${#options[@]} = 0 ]; then asked_for=(--all); fi
chosen=$(./ladder stages ${asked_for[@]+"${asked_for[@]}"} 2>&1) || bad_input "${chosen#ladder stages: }"
known=$(grep -rohE --include={options,own,run}.cpp -e '--[a-z][a-z-]*' bench | sort -u)
for option in ${options[@]+"${options[@]}"}; do
  case $option in
    --json | --json=* | --trace | --trace=*)
      bad_input "every stage would write the same file; run one of them with ${option%%=*}"
      ;;
    --*)
      grep -qxF -e "${option%%=*}" <<<"$known" || bad_input "a stage has no option '${option%%=*}'"
      ;;
  esac
done

# build_stages CPU NAME...: for the GPU where CPU is "", else it is cpu_. What the first of all refuses ends the
# script before the others are built.
build_stages() {
  local cpu=$1 folder=build/stages${1:+/cpu} first targets=("${@:2}")
  if [ "$2" = "${all[0]}" ] && is_product "$2" && [ -n "${stages[*]-}${options[*]-}" ]; then
    build "ladder_first_${cpu}stage"
    first=$(all_stages "$folder" | head -n 1)
    [ -n "$first" ] || return 0
    "$folder/$first" --json /dev/null ${options[@]+"${options[@]}"} --list >/dev/null || exit $?
  fi
  targets=("${targets[@]/#/ladder_}")
  targets=("${targets[@]/%/${cpu:+_cpu}}")
  if [ -z "$cpu${stages[*]-}" ]; then targets=(ladder_stages); fi # those that the GPU can run
  build "${targets[@]}"
}

# Beside the results of the run before, which bad input must not cost.
writable build || exit 1
rm -rf build/results.new
mkdir -p build/results.new/others # those that are no product, whose reports are no rows of the summary
said=$(mktemp -d)
trap 'jobs -pr | xargs -r kill 2>/dev/null || true; rm -rf "$said"' EXIT
failed=()
# run_stages CPU NAME...: those that are built; on the CPU two at a time.
run_stages() {
  local folder=build/stages${1:+/cpu} at_a_time=$((${#1} ? 2 : 1)) names=() processes=() i name json size code
  for name in "${@:2}"; do
    if [ -x "$folder/$name" ]; then names+=("$name"); fi
  done
  for ((i = 0; i < ${#names[@]}; ++i)); do
    for name in "${names[@]:${#processes[@]}:i + at_a_time - ${#processes[@]}}"; do
      json=build/results.new/$name.json
      if ! is_product "$name"; then json=build/results.new/others/$name.json; fi
      size=()
      if [ -n "$1" ] && [ ${#options[@]} = 0 ] && [[ $name < 06_ ]]; then size=(--size 128); fi
      "$folder/$name" --json "$json" ${size[@]+"${size[@]}"} ${options[@]+"${options[@]}"} \
        >"$said/$name" 2>"$said/$name.errors" &
      processes+=($!)
    done
    name=${names[i]} code=0
    say "$name"
    wait "${processes[i]}" || code=$?
    cat "$said/$name"
    cat "$said/$name.errors" >&2
    case $code in
      0) ;;
      77) say "$name was skipped" ;;
      2) exit 2 ;;
      *) failed+=("$name (exit code $code)") ;;
    esac
  done
}

set_up
mapfile -t all <<<"$chosen"
if have_gpu; then build_stages "" "${all[@]}"; fi
if have_gpu && [ -n "$(all_stages build/stages)" ]; then
  run_stages "" "${all[@]}"
else
  if have_gpu; then
    say "there is a GPU but no CUDA toolkit that knows it"
  else
    say "there is no NVIDIA GPU here (nvidia-smi finds none)"
  fi
  say "this is a functional run on the CPU, at 256^3, before 06 at 128^3, unless told otherwise; it says nothing" \
    "about the speed of a GPU"
  # Compiling takes minutes: the first stages run before the others are compiled.
  for ((from = 0; from < ${#all[@]}; from += 18)); do
    build_stages cpu_ "${all[@]:from:18}"
    run_stages cpu_ "${all[@]:from:18}"
  done
fi

if [ -n "$(find build/results.new -name '*.json')" ]; then # which --list and --version leave empty
  rm -rf build/results
  mv build/results.new build/results
  if [ -n "$(find build/results -maxdepth 1 -name '*.json')" ]; then
    say "summary"
    ./ladder table build/results
  fi
fi
if [ ${#failed[@]} -gt 0 ]; then
  say "failed: ${failed[*]}"
  exit 1
fi
