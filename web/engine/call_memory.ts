// Memory of the module for the arguments of one call.
import { EngineError } from './engine.ts';
import type { Module } from './module.ts';

export class CallMemory {
  private readonly taken: number[] = [];

  private constructor(private readonly module: Module) {}

  /** Runs `body` with memory that is free again afterwards, whatever happens. */
  static with<T>(module: Module, body: (memory: CallMemory) => T): T {
    const memory = new CallMemory(module);
    try {
      return body(memory);
    } finally {
      for (const address of memory.taken) module.functions.free(address);
    }
  }

  /** Zeroed. Aligned for every type. */
  take(bytes: number): number {
    // Addresses above 2 GiB come as negative numbers.
    const address = this.module.functions.malloc(Math.max(bytes, 1)) >>> 0;
    if (address === 0) throw new EngineError(3, `no memory for ${bytes} bytes; use smaller sizes`);
    this.taken.push(address);
    this.bytes(address, bytes).fill(0);
    return address;
  }

  // Memory moves when it grows: views are made anew each time, and never kept over a call.
  view(): DataView {
    return new DataView(this.module.memory.buffer);
  }
  bytes(address: number, count: number): Uint8Array {
    return new Uint8Array(this.module.memory.buffer, address, count);
  }
  floats(address: number, count: number): Float32Array {
    return new Float32Array(this.module.memory.buffer, address, count);
  }
  doubles(address: number, count: number): Float64Array {
    return new Float64Array(this.module.memory.buffer, address, count);
  }
  longs(address: number, count: number): BigInt64Array {
    return new BigInt64Array(this.module.memory.buffer, address, count);
  }
  takeFloats(values: ArrayLike<number>): number {
    const address = this.take(4 * values.length);
    this.floats(address, values.length).set(values);
    return address;
  }
  takeBytes(values: ArrayLike<number>): number {
    const address = this.take(values.length);
    this.bytes(address, values.length).set(values);
    return address;
  }
}
