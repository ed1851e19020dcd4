# A minute of libFuzzer on each target of tests/fuzz, starting from the files of the tests.
source scripts/lib.sh
seconds=${QKV_FUZZ_SECONDS:-60}
configure fuzz
build fuzz fuzzers

fuzz() {
  local corpus=build/fuzz/corpus/$(basename "$1")
  mkdir -p "$corpus"
  "$1" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$corpus-" "$corpus" tests/io/data >"$corpus.log" 2>&1 ||
    { tail -n 60 "$corpus.log"; return 1; }
  grep -E 'stat::(number_of_exec|new_units)' "$corpus.log"
}

found=0
for target in build/fuzz/tests/fuzz/*_fuzzer; do
  say "$target for $seconds seconds"
  check "$(basename "$target")" fuzz "$target"
  found=1
done
[ $found = 1 ]
