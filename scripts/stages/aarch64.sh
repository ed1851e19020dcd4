# A cross build for AArch64 under qemu: the kernels' small tests. Vectors run 40 times slower there.
source scripts/lib.sh
if [ "$(uname -m)" = aarch64 ]; then
  skip aarch64 "this machine is AArch64: the other stages have run the NEON kernel"
  exit
fi
say "arm64 packages"
scripts/fetch-aarch64.sh
configure aarch64
build aarch64 tests-small
run_ctest build/aarch64 -L '^small$'
# The tests print which kernels they ran; without this line they may have run `portable` alone.
check "the NEON kernel ran" grep -m 1 'runs:.* neon [1-9]' build/aarch64/Testing/Temporary/LastTest.log
