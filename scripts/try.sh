#!/usr/bin/env bash
# Compiles a kernel of your own for the CPU and runs it like a stage: the result is checked, memory
# is counted line by line, races and accesses out of bounds are found. Takes neither a GPU nor a CUDA
# toolkit.
#
#   ./scripts/try.sh my_kernel.cuh [OPTION OF A STAGE ...]
#                                   for example --size 128, --m 50 --n 60 --k 70, or --no-memory
#
# The header is one as those in kernels/: it includes "launch.cuh" and has, in any namespace, a
# function gemm(const ladder::Gemm<float, float>&), or of half, that calls ladder::launch.
#
# Exit code: 0 all right, 1 a wrong result or a finding, 2 bad input, or a header that does not
# compile.
from=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

bad_input() {
  echo "try.sh: $*" >&2
  exit 2
}
[ $# -gt 0 ] || bad_input "write ./scripts/try.sh my_kernel.cuh [OPTION OF A STAGE ...]"
given=$1
shift
kernel=$(cd "$from" && realpath -- "$given" 2>/dev/null) || bad_input "there is no file $given"
[ -f "$kernel" ] || bad_input "there is no file $given"
case $kernel in *[\"$'\n']*) bad_input "an #include cannot name a file with a quotation mark or a line's end" ;; esac

set_up
build ladder_harness_cpu
folder=build/own_kernel
mkdir -p $folder
name=$(basename "${kernel%.*}")
{
  printf '#define OWN_KERNEL "%s"\n#include "%s"\n' "${name//\\/\\\\}" "$kernel"
  sed -nE 's/^ *(inline )?namespace ([A-Za-z_][A-Za-z0-9_:]*) *(\{.*)?$/using namespace \2;/p' "$kernel"
} >$folder/own_kernel.h

say "compiling $given"
if ! "$CMAKE" --build build --target ladder_own_kernel >$folder/log 2>&1; then
  # A line each, five at most. Where no error is in the header itself, the place in it from which one comes.
  KERNEL=$kernel GIVEN=$given HERE=$PWD/ awk '
    { at = index($0, ENVIRON["KERNEL"] ":") }
    at { $0 = ENVIRON["GIVEN"] substr($0, at + length(ENVIRON["KERNEL"])) }
    !at && (here = index($0, ENVIRON["HERE"])) {
      $0 = substr($0, 1, here - 1) substr($0, here + length(ENVIRON["HERE"]))
    }
    /:[0-9]+: (fatal )?error: |:[0-9]+: undefined reference/ {
      if (at == 1) own = 1
      if (!seen[$0]++ && ++lines <= 5) print
      next
    }
    at && !place { place = $0 }
    END { if (!own && place) print place }' $folder/log >&2
  if grep -q '<<<' "$kernel"; then echo "a kernel is launched by ladder::launch, not by <<< >>>" >&2; fi
  bad_input "$given does not compile; all messages are in $PWD/$folder/log"
fi
program=$PWD/$folder/run
cd "$from"
exec "$program" "$@"
