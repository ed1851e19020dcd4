#!/bin/bash
# Runs stages of the tests and sums them up: test.sh quick | full | STAGE...
# A stage is a file in scripts/stages/. The last line printed is "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.."

quick=(release checks install web sanitizers)
full=("${quick[@]}" web-long long clang tidy tsan aarch64 wasm faults fuzz)

case "${1:-}" in
  quick) level=test; stages=("${quick[@]}") ;;
  full) level=full; stages=("${full[@]}") ;;
  '' | -*) echo "usage: test.sh quick | full | STAGE...   stages: ${full[*]}" >&2; exit 2 ;;
  *)
    stages=("$@")
    level=test
    for stage in "${stages[@]}"; do
      [ -f "scripts/stages/$stage.sh" ] || { echo "no stage '$stage': ${full[*]}" >&2; exit 2; }
      [[ " ${quick[*]} " == *" $stage "* ]] || level=full
    done ;;
esac

# Debian's own tools before others of the same name, so that setup.sh decides what is used.
export PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin:$PATH
export LC_ALL=C.UTF-8
scripts/setup.sh "$level" || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }

results=build/results
mkdir -p "$results"
rm -f "$results"/*
started=$SECONDS
for stage in "${stages[@]}"; do
  printf '\n==== %s\n' "$stage"
  file=$results/$stage.tsv
  : >"$file"
  begin=$SECONDS
  QKV_RESULTS=$PWD/$file bash "scripts/stages/$stage.sh"
  code=$?
  if [ $code -ne 0 ]; then
    printf 'failed\tstage %s\tstopped with exit code %s\n' "$stage" "$code" >>"$file"
  elif [ ! -s "$file" ]; then
    printf 'failed\tstage %s\tran nothing\n' "$stage" >>"$file"
  fi
  echo $((SECONDS - begin)) >"$results/$stage.seconds"
done

# The summary: reasons first, then a line a stage, then the totals.
count() { cat "${@:2}" | grep -c "^$1"$'\t'; }
files=()
for stage in "${stages[@]}"; do files+=("$results/$stage.tsv"); done

printf '\n==== summary\n'
for kind in skipped failed; do
  for stage in "${stages[@]}"; do
    sed -n "s/^$kind\t\([^\t]*\)\t\(.*\)/$kind: $stage: \1: \2/p" "$results/$stage.tsv"
  done
done
printf '%-12s %8s %8s %8s %8s\n' stage passed failed skipped seconds
for stage in "${stages[@]}"; do
  file=$results/$stage.tsv
  printf '%-12s %8d %8d %8d %8d\n' "$stage" "$(count passed "$file")" "$(count failed "$file")" \
    "$(count skipped "$file")" "$(cat "$results/$stage.seconds")"
done
for stage in "${full[@]}"; do
  [[ " ${stages[*]} " == *" $stage "* ]] || left_out+="$stage "
done
[ -z "${left_out:-}" ] || echo "not asked for: $left_out(scripts/test.sh full runs all)"
echo "took $((SECONDS - started)) seconds"

passed=$(count passed "${files[@]}")
failed=$(count failed "${files[@]}")
echo "$passed passed, $failed failed, $(count skipped "${files[@]}") skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
