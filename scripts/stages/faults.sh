# Does the bit suite find faults? Each build has one on purpose; passed means that a test failed.
source scripts/lib.sh

# Enough for each of these faults; the full number takes minutes a fault.
export QKV_BITS_PROBLEMS=50

# One folder for all, so that only what a fault touches is compiled again.
build_fault() { configure fault -DQKV_FAULT="$1" && build fault tests-bits; }
run_fault() {
  rm -f build/fault/junit.xml
  ctest --test-dir build/fault -L '^bits$' --stop-on-failure --no-tests=error --timeout 900 \
    --output-junit "$root/build/fault/junit.xml" >build/fault/ctest.log 2>&1 || true
  python3 scripts/read_junit.py build/fault/junit.xml >build/fault/results.tsv
}

build_fault ""
run_fault
check "bit suite without a fault" \
  sh -c 'grep -q ^passed build/fault/results.tsv && ! grep ^failed build/fault/results.tsv'
for fault in merge_order short_block mul_add exp_ulp reciprocal mask_by_adding; do
  build_fault $fault
  run_fault
  check "fault $fault is found" grep -m 1 ^failed build/fault/results.tsv
done
