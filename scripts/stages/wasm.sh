# The engine in WebAssembly gives the native bits: many problems.
source scripts/lib.sh
source scripts/node.sh
configure wasm
build wasm
configure test
build test bit_hashes
check "WebAssembly has the native bits" node tests/wasm/compare_bits.mjs \
  build/test/tests/bits/bit_hashes build/wasm/tests/wasm/bit_hashes.wasm 1200
