# What takes longer: the bit suite with every combination of instruction set, way, thread count and
# caller's mode for each problem, and the tests labelled `long`, if there are any.
source scripts/lib.sh
configure test
build test
# A quarter of an hour on two cores that nobody else uses.
QKV_BITS_FULL=1 QKV_BITS_PROBLEMS=30 run_ctest build/test -L '^bits$' --timeout 3600
if ctest --test-dir build/test -N -L '^long$' | grep -q '^  Test '; then
  run_ctest build/test -L '^long$'
fi
