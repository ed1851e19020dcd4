# The engine for WebAssembly: it compiles without exceptions and threads, and gives the native bits.
source scripts/lib.sh
configure wasm
build wasm
configure test
build test bit_hashes
check "WebAssembly has the native bits" node tests/wasm/compare_bits.mjs \
  build/test/tests/bits/bit_hashes build/wasm/tests/wasm/bit_hashes.wasm 1200
check "a page reads the steps of a row" node --no-warnings tests/wasm/read_steps.mjs \
  build/wasm/bindings/wasm/engine.wasm
