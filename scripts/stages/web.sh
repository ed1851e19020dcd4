# The pages: types, units, and the built page in Chromium: what holds for all of it, its drawings, and
# the first figures. The stage web-long has the others. The engine in WebAssembly has the native bits.
source scripts/lib.sh
source scripts/node.sh
say "build the pages"
scripts/web.sh --pseudo
check "types of the pages" npx --prefix web --no-install tsc --noEmit --project web
run_vitest --project unit
run_vitest --project browser tests/page.spec.ts tests/golden.spec.ts tests/turn.spec.ts \
  tests/figure.spec.ts
configure test
build test bit_hashes
cmake --build build/wasm
check "WebAssembly has the native bits" node tests/wasm/compare_bits.mjs \
  build/test/tests/bits/bit_hashes build/wasm/tests/wasm/bit_hashes.wasm 200
