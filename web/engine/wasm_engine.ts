// The engine over qkv's C interface in WebAssembly. Offsets of fields are those that
// bindings/c/layout.cc asserts for wasm32.
import { CallMemory } from './call_memory.ts';
import { checked, textAt } from './calls.ts';
import {
  EngineError,
  matrix,
  type AttentionOptions,
  type AttentionResult,
  type Engine,
  type EngineInfo,
  type Generator,
  type Matrix,
  type RowSteps,
  type Scene,
  type SceneLayout,
  type Training,
} from './engine.ts';
import type { Module } from './module.ts';
import { kStepsDescriptionSize, readSteps } from './read_steps.ts';
import { drawScene, WasmTraining } from './wasm_training.ts';

const kFloat32 = 0;
const kBool = 4;
const kTogether = 4; // rows of rowDots that share one product

export class WasmEngine implements Engine {
  readonly info: EngineInfo;

  constructor(private readonly module: Module) {
    this.info = this.readInfo();
  }

  matmul(a: Matrix, b: Matrix): Matrix {
    return this.call((memory) => {
      const out = memory.take(4 * a.rows * b.columns);
      this.check('qkv_matmul', [
        this.tensor(memory, memory.takeFloats(a.data), kFloat32, [a.rows, a.columns]),
        this.tensor(memory, memory.takeFloats(b.data), kFloat32, [b.rows, b.columns]),
        this.tensor(memory, out, kFloat32, [a.rows, b.columns]),
        0,
      ]);
      return matrix(a.rows, b.columns, memory.floats(out, a.rows * b.columns));
    });
  }

  rowDots(a: Matrix, b: Matrix): Float32Array {
    return this.call((memory) => {
      // The kernel makes no fewer than 12 x 4 entries of a product at a time. One entry a product
      // would waste all others; of a product of 4 rows with 4 the diagonal is what was asked for,
      // in the same bits and a quarter of the time.
      const groups = Math.ceil(a.rows / kTogether);
      const rows = (m: Matrix) => {
        const address = memory.take(4 * groups * kTogether * m.columns);
        memory.floats(address, m.data.length).set(m.data);
        return address;
      };
      const square = kTogether * kTogether;
      const out = memory.take(4 * groups * square);
      this.check('qkv_matmul', [
        this.tensor(memory, rows(a), kFloat32, [groups, kTogether, a.columns]),
        this.tensor(
          memory,
          rows(b),
          kFloat32,
          [groups, b.columns, kTogether],
          [kTogether * b.columns, 1, b.columns],
        ),
        this.tensor(memory, out, kFloat32, [groups, kTogether, kTogether]),
        0,
      ]);
      const products = memory.floats(out, groups * square);
      return Float32Array.from({ length: a.rows }, (_, row) => {
        const group = Math.floor(row / kTogether);
        return products[group * square + (row % kTogether) * (kTogether + 1)];
      });
    });
  }

  attention(
    query: Matrix,
    key: Matrix,
    value: Matrix,
    options: AttentionOptions = {},
  ): AttentionResult {
    return this.call((memory) => {
      const out = memory.take(4 * query.rows * value.columns);
      const weights = memory.take(4 * query.rows * key.rows);
      const lse = memory.take(4 * query.rows);
      const outputs = memory.take(48);
      const view = memory.view();
      view.setUint32(outputs, 48, true);
      view.setUint32(
        outputs + 8,
        this.tensor(memory, out, kFloat32, [query.rows, value.columns]),
        true,
      );
      // The rank of query less its last dimension, and the full table: one head.
      view.setUint32(outputs + 12, this.tensor(memory, lse, kFloat32, [query.rows]), true);
      view.setUint32(
        outputs + 16,
        this.tensor(memory, weights, kFloat32, [query.rows, key.rows]),
        true,
      );
      this.check('qkv_attention', [
        this.inputs(memory, query, key, value),
        outputs,
        this.options(memory, query, key, options),
        0,
      ]);
      return {
        out: matrix(query.rows, value.columns, memory.floats(out, query.rows * value.columns)),
        weights: matrix(query.rows, key.rows, memory.floats(weights, query.rows * key.rows)),
        lse: memory.floats(lse, query.rows).slice(),
      };
    });
  }

  steps(
    query: Matrix,
    key: Matrix,
    value: Matrix,
    row: number,
    options: AttentionOptions = {},
  ): RowSteps {
    return this.call((memory) => {
      const handleAt = memory.take(4);
      this.check('qkv_steps_of', [
        this.inputs(memory, query, key, value),
        this.options(memory, query, key, options),
        0n,
        0n,
        BigInt(row),
        handleAt,
      ]);
      const handle = memory.view().getUint32(handleAt, true);
      try {
        const description = memory.take(kStepsDescriptionSize);
        memory.view().setUint32(description, kStepsDescriptionSize, true);
        this.check('qkv_steps_describe', [handle, description]);
        return readSteps(memory, description);
      } finally {
        this.module.functions.qkv_steps_destroy(handle);
      }
    });
  }

  jacobianNorm(weights: Float32Array): number {
    return this.call((memory) => {
      const norm = memory.take(8);
      this.check('qkv_softmax_jacobian_norm', [
        memory.takeFloats(weights),
        BigInt(weights.length),
        0,
        norm,
      ]);
      return memory.view().getFloat64(norm, true);
    });
  }

  positions(first: number, count: number, d: number): Matrix {
    return this.call((memory) => {
      const out = memory.take(4 * count * d);
      this.check('qkv_sinusoidal_positions', [
        BigInt(first),
        10000,
        this.tensor(memory, out, kFloat32, [count, d]),
      ]);
      return matrix(count, d, memory.floats(out, count * d));
    });
  }

  generator(seed: number): Generator {
    const handle = this.call((memory) => {
      const address = memory.take(4);
      this.check('qkv_generator_create', [BigInt(seed), address]);
      return memory.view().getUint32(address, true);
    });
    const draw = <T>(bytes: number, run: (memory: CallMemory, out: number) => T): T =>
      this.call((memory) => run(memory, memory.take(bytes)));
    const integers = (name: string, count: number, ...limits: bigint[]) =>
      draw(8 * count, (memory, out) => {
        this.check(name, [handle, out, BigInt(count), ...limits]);
        return Array.from(memory.longs(out, count), Number);
      });
    return {
      normal: (count, mean = 0, deviation = 1) =>
        draw(8 * count, (memory, out) => {
          this.check('qkv_generator_normal', [handle, out, BigInt(count), mean, deviation]);
          return memory.doubles(out, count).slice();
        }),
      random: (count) =>
        draw(8 * count, (memory, out) => {
          this.check('qkv_generator_random', [handle, out, BigInt(count)]);
          return memory.doubles(out, count).slice();
        }),
      integers: (count, low, high) =>
        integers('qkv_generator_integers', count, BigInt(low), BigInt(high)),
      permutation: (count) => integers('qkv_generator_permutation', count),
      free: () => {
        this.module.functions.qkv_generator_destroy(handle);
      },
    };
  }

  scoreGradient(query: Matrix, key: Matrix, value: Matrix, options: AttentionOptions = {}): Matrix {
    return this.call((memory) => {
      // That of a bias, which is added to the scores: here of zeros.
      const pairs = [query.rows, key.rows];
      const bias = memory.take(4 * query.rows * key.rows);
      const gradient = memory.take(4 * query.rows * key.rows);
      const one = memory.takeFloats([1]);
      const inputs = memory.take(44);
      const forward = this.inputs(memory, query, key, value);
      memory.bytes(inputs, 20).set(memory.bytes(forward, 20));
      memory.view().setUint32(inputs, 44, true);
      const sum = this.tensor(memory, one, kFloat32, [query.rows, value.columns], [0, 0]);
      memory.view().setUint32(inputs + 20, sum, true);
      const outputs = memory.take(28);
      const result = this.tensor(memory, gradient, kFloat32, pairs);
      memory.view().setUint32(outputs, 28, true);
      memory.view().setUint32(outputs + 20, result, true);
      const asked = this.options(memory, query, key, options);
      const zeros = this.tensor(memory, bias, kFloat32, pairs);
      memory.view().setUint32(asked + 56, zeros, true);
      this.check('qkv_attention_gradients', [inputs, outputs, asked, 0]);
      return matrix(query.rows, key.rows, memory.floats(gradient, query.rows * key.rows));
    });
  }

  scene(seed: number, layout: SceneLayout = 'scattered'): Scene {
    return drawScene(this.module, seed, layout);
  }

  training(seed: number, steps: number): Training {
    return new WasmTraining(this.module, seed, steps);
  }

  private readInfo(): EngineInfo {
    return this.call((memory) => {
      const contract = memory.take(40);
      memory.view().setUint32(contract, 40, true);
      this.check('qkv_get_contract', [contract]);
      const view = memory.view();
      const name = textAt(this.module, view.getUint32(contract + 32, true));
      return {
        version: textAt(this.module, this.module.functions.qkv_version()),
        contract: `${name} version ${view.getInt32(contract + 4, true)}`,
        block: Number(view.getBigInt64(contract + 8, true)),
        span: Number(view.getBigInt64(contract + 16, true)),
      };
    });
  }

  private call<T>(body: (memory: CallMemory) => T): T {
    return CallMemory.with(this.module, body);
  }

  private check(name: string, args: (number | bigint)[]): void {
    checked(this.module, name, args);
  }

  /** `strides`: those of a contiguous tensor, unless given. */
  private tensor(
    memory: CallMemory,
    data: number,
    dtype: number,
    shape: readonly number[],
    strides?: readonly number[],
  ): number {
    const address = memory.take(80);
    const view = memory.view();
    view.setUint32(address, data, true);
    view.setInt32(address + 4, dtype, true);
    view.setInt32(address + 8, shape.length, true);
    let stride = 1;
    for (let axis = shape.length - 1; axis >= 0; --axis) {
      view.setBigInt64(address + 16 + 8 * axis, BigInt(shape[axis]), true);
      view.setBigInt64(address + 48 + 8 * axis, BigInt(strides?.[axis] ?? stride), true);
      stride *= shape[axis];
    }
    return address;
  }

  private inputs(memory: CallMemory, query: Matrix, key: Matrix, value: Matrix): number {
    const address = memory.take(20);
    const input = (m: Matrix) =>
      this.tensor(memory, memory.takeFloats(m.data), kFloat32, [m.rows, m.columns]);
    const tensors = [query, key, value].map(input);
    const view = memory.view();
    view.setUint32(address, 20, true);
    tensors.forEach((tensor, n) => view.setUint32(address + 8 + 4 * n, tensor, true));
    return address;
  }

  private options(
    memory: CallMemory,
    query: Matrix,
    key: Matrix,
    options: AttentionOptions,
  ): number {
    const address = memory.take(216);
    let mask = 0;
    if (options.mask) {
      if (options.mask.length !== query.rows * key.rows) {
        throw new EngineError(
          1,
          `mask: ${options.mask.length} entries for ${query.rows} queries and ${key.rows} keys; pass one a pair`,
        );
      }
      const bytes = memory.takeBytes(options.mask.map(Number));
      mask = this.tensor(memory, bytes, kBool, [query.rows, key.rows]);
    }
    const view = memory.view();
    view.setUint32(address, 216, true);
    view.setInt32(address + 4, options.causal ? 1 : 0, true);
    if (options.scale !== undefined) {
      view.setFloat64(address + 8, options.scale, true);
      view.setInt32(address + 16, 1, true);
    }
    view.setUint32(address + 60, mask, true);
    return address;
  }
}
