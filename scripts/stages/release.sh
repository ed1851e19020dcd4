# The release build with warnings as errors, and all tests but the long ones. The command has the
# lesson page in it.
source scripts/lib.sh
scripts/web.sh
configure test
build test
run_ctest build/test -LE '^long$'
