# The pages: types, units, and the built page in Chromium; the engine in WebAssembly has the native
# bits.
source scripts/lib.sh
source scripts/node.sh
run_vitest() {
  local junit=$root/build/web/junit.xml
  rm -f "$junit"
  (cd web && npx --no-install vitest run --reporter=default --reporter=junit --outputFile.junit="$junit" "$@") || true
  [ -s "$junit" ] || { echo "vitest ran nothing"; return 1; }
  python3 scripts/read_junit.py "$junit" >>"$QKV_RESULTS"
}
say "build the pages"
scripts/web.sh --pseudo
check "types of the pages" npx --prefix web --no-install tsc --noEmit --project web
run_vitest
configure test
build test bit_hashes
cmake --build build/wasm
check "WebAssembly has the native bits" node tests/wasm/compare_bits.mjs \
  build/test/tests/bits/bit_hashes build/wasm/tests/wasm/bit_hashes.wasm 200
