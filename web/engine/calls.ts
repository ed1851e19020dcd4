// Calls of the C interface: what fails becomes an EngineError.
import { EngineError } from './engine.ts';
import type { Module } from './module.ts';

export function textAt(module: Module, address: number): string {
  const all = new Uint8Array(module.memory.buffer);
  return new TextDecoder().decode(all.subarray(address, all.indexOf(0, address)));
}

export function checked(module: Module, name: string, args: (number | bigint)[]): void {
  const status = module.functions[name](...args);
  if (status !== 0) {
    throw new EngineError(status, textAt(module, module.functions.qkv_last_error()));
  }
}
