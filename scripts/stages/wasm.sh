# The engine compiles for WebAssembly, without exceptions and threads.
source scripts/lib.sh
configure wasm
check "engine for wasm32-wasi" build wasm engine
