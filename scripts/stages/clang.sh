# Everything with clang++-19: no warning, and the tests.
source scripts/lib.sh
configure clang
build clang
run_ctest build/clang -LE '^long$'
