# shellcheck shell=bash
# Set-up and build, shared by the scripts beside this one; sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C  # what tools print is read below

NAME=${LADDER_COMMAND:-$(basename "$0")}  # ./ladder sets it, for the one script that it starts
unset LADDER_COMMAND
# For headers that are compiled once. By what the preprocessor makes of them ccache would return those from before
# a comment changed; the compiler does not know the file again and reads it twice. So ccache compares files.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=true
say() { printf '== %s\n' "$*"; }
# end CODE TEXT: ends the script with a line on stderr.
end() {
  printf '%s: %s\n' "$NAME" "${*:2}" >&2
  exit "$1"
}
die() { end 1 "$@"; }
bad_input() { end 2 "$@"; }

# help "$@": with --help or -h anywhere, prints the comment at the top of the script and ends.
help() {
  local argument
  for argument in "$@"; do
    case $argument in
      -h | --help)
        sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
        exit 0
        ;;
    esac
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Debian's and Ubuntu's names for what is needed, after the command that makes a package unnecessary.
PACKAGES="c++=build-essential ccache=ccache cmake=cmake ninja=ninja-build python3=python3 =python3-venv
  =libcli11-dev =nlohmann-json3-dev =libfmt-dev =libgtest-dev"

# install_packages [COMMAND]=PACKAGE...: where that may be done without asking; else says how to.
install_packages() {
  command -v apt-get >/dev/null || return 0
  local missing=() entry command package
  for entry in "$@"; do
    command=${entry%%=*} package=${entry#*=}
    if [ -n "$command" ] && command -v "$command" >/dev/null; then continue; fi
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if as_root true 2>/dev/null; then
    say "installing ${missing[*]}"
    if as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
      return 0
    fi
    say "apt-get could not install them"
  fi
  say "missing packages; to install them: sudo apt-get install ${missing[*]}"
}

# The CMake to use: the system's if it is new enough, else one in .venv.
CMAKE_MINIMUM=3.25
new_enough() {
  local version
  version=$("$1" --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
  [ -n "$version" ] && printf '%s\n%s\n' "$CMAKE_MINIMUM" "$version" | sort -V -C
}
find_cmake() {
  local cmake
  for cmake in cmake .venv/bin/cmake; do
    if new_enough "$cmake"; then
      CMAKE=$cmake
      return
    fi
  done
  say "installing CMake into .venv"
  venv_install cmake || die "CMake $CMAKE_MINIMUM or newer is needed (https://cmake.org/download)"
  CMAKE=.venv/bin/cmake
}

# venv_install GROUP...: these groups of pyproject.toml from PyPI into .venv, in the versions and with the
# hashes of requirements/; fails where there is no network.
venv_install() {
  local files=() group
  for group in "$@"; do
    [ -f "requirements/$group.txt" ] || die "pyproject.toml has no group $group"
    files+=(-r "requirements/$group.txt")
  done
  [ -x .venv/bin/python ] || python3 -m venv .venv || return 1
  .venv/bin/python -m pip install -q --disable-pip-version-check --retries 1 --require-hashes "${files[@]}"
}

# venv_with MODULES GROUP...: installs the groups into .venv unless MODULES, separated by commas, are there.
venv_with() {
  local modules=$1
  shift
  .venv/bin/python -c "import $modules" 2>/dev/null || venv_install "$@"
}

# python_with MODULE GROUP: sets PYTHON to one that has MODULE, the system's or that of .venv.
python_with() {
  PYTHON=python3
  if "$PYTHON" -c "import $1" 2>/dev/null; then return; fi
  venv_with "$1" "$2" || die "Python's $1 is needed, and could not be installed into .venv"
  PYTHON=.venv/bin/python
}

set_up() {
  # shellcheck disable=SC2086  # a list of words
  install_packages $PACKAGES
  command -v c++ >/dev/null || die "a C++17 compiler is needed: sudo apt-get install build-essential"
  find_cmake
}

# writable FOLDER: makes it; fails with a line where it, or what is directly in it, may not be written.
writable() {
  local locked
  mkdir -p "$1" || return
  locked=$(find -H "$1" -maxdepth 1 ! -writable -print -quit)
  [ -z "$locked" ] || (die "no right to write to $locked")
}

# alone FILE WHAT: waits while another process has FILE, which is this one's until it ends or closes LOCK.
# To lock a file of another user's it is enough to read it.
alone() {
  : 2>/dev/null >>"$1" || true
  exec {LOCK}<"$1"
  flock -n "$LOCK" && return
  say "waiting for another process that $2"
  flock "$LOCK"
}

# build [TARGET ...]: these targets, or all, with BUILD_OPTIONS for CMake.
BUILD_OPTIONS=()
build() {
  local options=(${BUILD_OPTIONS[@]+"${BUILD_OPTIONS[@]}"}) targets=()
  if [ ! -f build/CMakeCache.txt ] && command -v ninja >/dev/null; then options+=(-G Ninja); fi
  if [ "${CI:-}" = true ]; then options+=(-DCMAKE_COMPILE_WARNING_AS_ERROR=ON); fi
  writable build || exit 1
  alone build/.lock "builds here"
  say "configuring"
  "$CMAKE" -S . -B build ${options[@]+"${options[@]}"} >build/configure.log 2>&1 || {
    cat build/configure.log >&2
    die "CMake could not configure the build; its messages are above"
  }
  grep -E '^-- (No CUDA|This CUDA|CUDA .* too old|GPU arch|.* left out for)|^   *(They need|[0-9.]+ or newer)' \
    build/configure.log || true
  if [ $# -gt 0 ]; then targets=(--target "$@"); fi
  say "building"
  if "$CMAKE" --build build --parallel "$(nproc)" ${targets[@]+"${targets[@]}"}; then
    exec {LOCK}<&-
    return
  fi
  local target
  for target in "$@"; do
    "$CMAKE" --build build --target help | grep -w -- "$target" >/dev/null ||
      die "the GPU targets are left out, $target too"
  done
  return 1
}

# The ctest beside that CMake.
run_ctest() { "$(dirname "$(command -v "$CMAKE")")/ctest" "$@"; }

# run_tests BUILD_FOLDER [OPTION OF ctest ...]; fails, too, when no test is selected.
run_tests() {
  local folder=$1
  shift
  # Tests that use the GPU at once hang. A test may run this script: it has the GPU already.
  if have_gpu && [ -z "${LADDER_HAS_GPU:-}" ]; then
    alone /tmp/gemm_ladder_gpu.lock "tests on this machine's GPU"
    export LADDER_HAS_GPU=1
  fi
  run_ctest --test-dir "$folder" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"
}

# Succeeds when there is a GPU that CUDA programs can use.
have_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }
need_gpu() { have_gpu || end 77 "there is no NVIDIA GPU here (nvidia-smi finds none)"; }

# all_stages FOLDER: the names of the executables there, in the order of the ladder.
all_stages() { ./ladder stages --built "$1"; }

# stages_for TOOLS [STAGE ...]: builds TARGETS, or all, and sets NAMES to the stages given, or to all.
# Ends the script when there is no such stage, one of the TOOLS, separated by spaces, is missing, or
# there is no GPU.
TARGETS=()
stages_for() {
  local tools=$1 tool name
  shift
  mapfile -t NAMES < <(./ladder stages)
  for name in "$@"; do
    [[ " ${NAMES[*]} " == *" $name "* ]] || bad_input "no stage '$name'; there are: ${NAMES[*]}"
  done
  for tool in $tools; do
    command -v "$tool" >/dev/null || die "$tool is not on the PATH; it comes with the CUDA toolkit"
  done
  need_gpu
  set_up
  build ${TARGETS[@]+"${TARGETS[@]}"}
  mapfile -t NAMES < <(all_stages build/stages)
  [ ${#NAMES[@]} -gt 0 ] || die "no stage was built: there is no CUDA toolkit here that knows this GPU"
  for name in "$@"; do
    [ -x "build/stages/$name" ] || die "$name was not built; there are: ${NAMES[*]}"
  done
  if [ $# -gt 0 ]; then NAMES=("$@"); fi
}
