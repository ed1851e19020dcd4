#!/bin/bash
# Builds the pages: engine.wasm, then one file a page: build/web/lesson.html.
#
#   web.sh                builds them, or says what is missing
#   web.sh --if-possible  the same, but gives up quietly if Node or the WebAssembly compiler is missing
#   web.sh --modules      only gets the packages of web/package-lock.json
#   web.sh --pseudo       also builds it in a made-up language, build/web/pseudo, for the tests
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/node.sh

give_up() {
  if [ "${1:-}" = --if-possible ]; then
    echo "web.sh: $2; the command will have no lesson page (make web builds it)"
    exit 0
  fi
  echo "web.sh: $2; make web installs it on Debian 12" >&2
  exit 1
}
node_is_new_enough || give_up "${1:-}" "there is no Node 20.19 or later"
command -v npm >/dev/null || give_up "${1:-}" "there is no npm"
[ "${1:-}" = --modules ] || command -v clang++-19 wasm-ld-19 >/dev/null ||
  give_up "${1:-}" "there is no clang++-19 with wasm-ld-19"

# npm ci takes seconds, but needs the network: only when the lock has changed.
lock=web/package-lock.json
mark=web/node_modules/.qkv-lock
if ! cmp -s "$lock" "$mark"; then
  npm --prefix web ci --no-audit --no-fund --loglevel=error || give_up "${1:-}" "npm ci failed"
  cp "$lock" "$mark"
fi
[ "${1:-}" != --modules ] || exit 0

mkdir -p build
cmake --preset wasm >build/configure-wasm.log 2>&1 || { cat build/configure-wasm.log; exit 1; }
cmake --build build/wasm --target engine_wasm
page() {
  (cd web && npx --no-install vite build --config lesson/vite.config.ts --logLevel warn)
}
page
# The same in a made-up language, for the tests.
if [ "${1:-}" = --pseudo ]; then
  QKV_LOCALE=pseudo QKV_WEB_OUT=$PWD/build/web/pseudo page
fi
cp build/web/lesson/index.html build/web/lesson.html
size=$(gzip -9 -c build/web/lesson.html | wc -c)
echo "build/web/lesson.html: $((size / 1000)) kB gzipped, engine.wasm $(($(gzip -9 -c build/wasm/bindings/wasm/engine.wasm | wc -c) / 1000)) kB of it"
