// The engine in Node, for tests: engine.wasm from the build folder.
import { readFile } from 'node:fs/promises';

import { instantiate, type Module } from './module.ts';
import { WasmEngine } from './wasm_engine.ts';

const kPath = new URL('../../build/wasm/bindings/wasm/engine.wasm', import.meta.url);

export async function engineModule(): Promise<Module> {
  return instantiate(await WebAssembly.compile(await readFile(kPath)));
}

export async function engine(): Promise<WasmEngine> {
  return new WasmEngine(await engineModule());
}
