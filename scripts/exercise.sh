#!/usr/bin/env bash
# The exercises: kernels to write, bugs to find, counters to predict. Graded on the CPU: takes neither
# a GPU nor a CUDA toolkit.
#
#   ./scripts/exercise.sh                 all of them, with what is done
#   ./scripts/exercise.sh 07              grades exercises/07_*/exercise.cuh, or answer.yaml
#   ./scripts/exercise.sh 07 my.cuh       grades a file of your own instead; of a prediction, my.yaml
#   ./scripts/exercise.sh 07 --all        with all findings; of a bug to find, with its lines unasked
#   ./scripts/exercise.sh 07 --watch      again whenever the file is saved, until Ctrl-C
#   ./scripts/exercise.sh 07 --hint       the next of three hints
#   ./scripts/exercise.sh 07 --solution   the reference; asks once
#   ./scripts/exercise.sh 07 --wrong ID   a wrong solution, of those in exercises/07_*/wrong.yaml
#
# Exit code: 0 all holds, 1 not yet, 2 bad input.
from=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

python_with yaml claims
case " $* " in
  "  " | *" --hint "* | *" --solution "* | *" --wrong "*) ;; # nothing is run
  *)
    ./ladder exercise --from "$from" --valid "$@" || exit # before anything is built
    set_up
    writable build || exit 2
    log=$(mktemp)
    [ -f build/exercises/libraries ] || say "building the grader, the first time"
    # Its messages are of interest where it fails. In a subshell, which is what die ends.
    if ! (build ladder_exercises ladder_exercise_yours) >"$log" 2>&1 ||
      { have_gpu && [ -f build/exercises/gpu_libraries ] && ! (build ladder_exercises_gpu) >"$log" 2>&1; }; then
      cat "$log" >&2
      die "the grader does not build"
    fi
    rm -f "$log"
    ;;
esac
exec ./ladder exercise --from "$from" "$@"
