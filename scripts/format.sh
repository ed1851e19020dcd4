#!/bin/bash
# clang-format over qkv's own sources, and Prettier over the pages if their packages are there:
# format.sh --check | --in-place.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  --check) how=(--dry-run -Werror) ;;
  --in-place) how=(-i) ;;
  *) echo "usage: format.sh --check | --in-place" >&2; exit 2 ;;
esac
folders=()
for folder in include src apps bindings examples tests bench; do
  [ ! -d $folder ] || folders+=($folder)
done
find "${folders[@]}" \( -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.inc' \) -print0 |
  sort -z | xargs -0 -n 40 -P "$(nproc)" clang-format-19 "${how[@]}"
if [ -x web/node_modules/.bin/prettier ] && command -v node >/dev/null; then
  [ "$1" = --check ] && mode=--check || mode=--write
  (cd web && npx --no-install prettier --log-level warn $mode .)
fi
