# The release build with warnings as errors, and all tests but the long ones.
source scripts/lib.sh
configure test
build test
run_ctest build/test -LE '^long$'
