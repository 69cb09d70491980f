#!/usr/bin/env bash
# The documentation as a site, with MkDocs Material.
#
#   ./scripts/docs.sh serve       builds it, serves it locally, rebuilds as files change
#   ./scripts/docs.sh build       writes build/site, and below it build/site/zh, in Chinese; fails on any
#                                 warning, a broken link among them
#                                 serve --lab and build --lab: with kernels that run in the page; needs Clang
#                                 for WebAssembly, and once the network (lab/README.md)
#   ./scripts/docs.sh update      rewrites the plots, the stepper's traces and what is generated in README.md
#                                 and docs/ (needs the CPU build)
#
# Exit code: 0 all right, 1 something failed, 2 bad input.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
help "$@"

mkdocs_installed() {
  venv_with material,latex2mathml site || die "MkDocs Material could not be installed into .venv"
}

site() {
  install_packages doxygen=doxygen
  mkdocs_installed
  NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs "$@"
}

# What pages load to compile and run kernels.
lab() {
  install_packages clang++-19=clang-19 wasm-ld-19=lld-19 node=nodejs =libc++-19-dev-wasm32 =libclang-rt-19-dev-wasm32 \
    =wasi-libc =libfmt-dev =nlohmann-json3-dev
  mkdocs_installed  # with PyYAML
  rm -rf build/lab/site
  mkdir -p build/lab/site/lab
  .venv/bin/python lab/build.py build/lab/site/lab build/lab || die "the lab could not be built"
  export LADDER_LAB=1
}

case "$*" in
  "serve --lab" | "build --lab")
    writable build || exit 1
    lab
    set -- "$1"
    ;;
  serve | build) writable build || exit 1 ;;
  update) writable docs || exit 1 ;;
esac
case "$*" in
  serve) site serve ;;
  build)  # not with --quiet, which keeps --strict from seeing a warning
    for config in mkdocs.yml mkdocs.zh-CN.yml; do
      output=$(site build --strict --config-file "$config" 2>&1) || {
        grep -v '^INFO' <<<"$output" >&2
        die "the site has errors or warnings; they are above"
      }
      grep '^site: ' <<<"$output" >&2 || true
    done
    ;;
  update)
    venv_with yaml claims || die "PyYAML could not be installed"
    ./ladder figures
    ./ladder traces
    ./ladder docs
    ;;
  *)
    bad_input "write ./scripts/docs.sh serve, build or update; serve and build take --lab"
    ;;
esac
