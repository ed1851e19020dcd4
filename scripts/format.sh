#!/bin/bash
# clang-format over qkv's own sources: format.sh --check | --in-place.
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
