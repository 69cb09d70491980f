#!/usr/bin/env bash
# Writes requirements/*.txt: for each group of pyproject.toml the newest versions that it allows, of all
# that they need, with the hashes of all their files, for every Python and platform. The scripts install
# nothing else.
#
#   ./ladder lock                     needs uv (https://docs.astral.sh/uv)
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"
help "$@"

command -v uv >/dev/null || die "uv is not on the PATH (https://docs.astral.sh/uv)"
mapfile -t groups < <(sed -n '/^\[dependency-groups\]/,/^$/s/^\([a-z]*\) = .*/\1/p' pyproject.toml)
for group in "${groups[@]}"; do
  options=()
  # Its headers are all that is used.
  if [ "$group" = cutlass ]; then options=(--no-deps); fi
  uv pip compile -q --universal --python-version 3.10 --generate-hashes --upgrade --no-annotate \
    --custom-compile-command "./ladder lock" --group "$group" "${options[@]}" -o "requirements/$group.txt"
  sed -i -z 's/ \\\n */ /g' "requirements/$group.txt" # a line for each package
done
