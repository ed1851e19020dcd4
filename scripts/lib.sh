# Shared by the stages in scripts/stages/. A stage is a bash script that sources this file, works
# in the root of the repository, and records what it ran with `check`, `run_ctest`, `skip`.
# Anything that stops it on the way is one failure (scripts/test.sh sees to that).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
jobs=$(nproc)

# One line a result: passed|failed|skipped, name, reason, separated by tabs.
: "${QKV_RESULTS:?run stages by scripts/test.sh STAGE}"

# The tests that also run under sanitizers and other slow conditions, by label.
quick_labels='^(tensor|io|problem|plan|parallel|random|api|small)$'

say() { printf '\n== %s\n' "$*"; }

record() { printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$QKV_RESULTS"; }

skip() {
  echo "skipped: $1: $2"
  record skipped "$1" "$2"
}

# check NAME COMMAND...: the command's success is a result; its failure does not end the stage.
check() {
  local name=$1
  shift
  if "$@"; then
    echo "ok: $name"
    record passed "$name"
  else
    echo "FAILED: $name: $*"
    record failed "$name" "$*"
  fi
}

# configure PRESET [-D...], build PRESET [TARGET...]
configure() {
  say "configure $1"
  cmake --preset "$@" >"build/configure-$1.log" 2>&1 || { cat "build/configure-$1.log"; return 1; }
}

build() {
  local preset=$1
  shift
  say "build $preset $*"
  cmake --build "build/$preset" ${@:+--target "$@"}
}

# run_ctest BUILD_FOLDER [CTEST ARGUMENTS...]: every test is a result.
run_ctest() {
  local folder=$1
  shift
  local junit=$root/$folder/junit.xml
  rm -f "$junit"
  say "test $folder $*"
  ctest --test-dir "$folder" --output-junit "$junit" --output-on-failure --no-tests=error \
    --timeout 900 -j "$jobs" "$@" || true
  # No file: ctest itself failed, or there was nothing to run.
  [ -s "$junit" ] || { echo "ctest ran nothing in $folder"; return 1; }
  python3 scripts/read_junit.py "$junit" >>"$QKV_RESULTS"
}

# run_vitest [VITEST ARGUMENTS...]: every test of the pages is a result.
run_vitest() {
  local junit=$root/build/web/junit.xml
  rm -f "$junit"
  say "vitest $*"
  (cd web && npx --no-install vitest run --reporter=default --reporter=junit \
    --outputFile.junit="$junit" "$@") || true
  [ -s "$junit" ] || { echo "vitest ran nothing"; return 1; }
  python3 scripts/read_junit.py "$junit" >>"$QKV_RESULTS"
}

# Builds and runs the tests that have one of the labels 'a|b|c' in '^(a|b|c)$', and no others.
build_labelled() {
  local known targets=() label
  known=$(cmake --build "build/$1" --target help)
  for label in $(tr '^()|$' ' ' <<<"$2"); do
    grep -q "^tests-$label:" <<<"$known" && targets+=("tests-$label")
  done
  build "$1" "${targets[@]}"
}

run_labelled() { run_ctest "build/$1" -L "$2"; }
