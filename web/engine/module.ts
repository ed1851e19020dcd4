// engine.wasm as an instance: the functions of qkv.h, and memory to pass to them.

/** The functions are those of bindings/c/qkv.h; pointers and sizes are numbers. */
export interface Module {
  readonly memory: WebAssembly.Memory;
  readonly functions: Record<string, (...args: (number | bigint)[]) => number>;
}

/** The module wrote this before it ended: an abort's reason. */
export class EngineCrash extends Error {}

// What wasi-libc asks of a system: nothing but a place for an abort's message.
function imports(memory: () => WebAssembly.Memory): WebAssembly.Imports {
  const bytes = () => new DataView(memory().buffer);
  let said = '';
  return {
    wasi_snapshot_preview1: {
      environ_sizes_get: (count: number, size: number) => {
        bytes().setUint32(count, 0, true);
        bytes().setUint32(size, 0, true);
        return 0;
      },
      environ_get: () => 0,
      fd_close: () => 0,
      fd_seek: () => 70, // ESPIPE
      fd_write: (_fd: number, vectors: number, count: number, written: number) => {
        let total = 0;
        for (let n = 0; n < count; ++n) {
          const address = bytes().getUint32(vectors + 8 * n, true);
          const length = bytes().getUint32(vectors + 8 * n + 4, true);
          said += new TextDecoder().decode(new Uint8Array(memory().buffer, address, length));
          total += length;
        }
        bytes().setUint32(written, total, true);
        return 0;
      },
      proc_exit: (code: number) => {
        throw new EngineCrash(`the engine ended with code ${code}: ${said.trim()}`);
      },
    },
  };
}

export async function instantiate(wasm: WebAssembly.Module): Promise<Module> {
  let memory: WebAssembly.Memory;
  const instance = await WebAssembly.instantiate(
    wasm,
    imports(() => memory),
  );
  memory = instance.exports.memory as WebAssembly.Memory;
  const functions = instance.exports as unknown as Module['functions'];
  functions._initialize();
  return { memory, functions };
}
