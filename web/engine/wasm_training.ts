// Scenes of points and a model that learns from them: qkv_train.h.
import { CallMemory } from './call_memory.ts';
import { checked } from './calls.ts';
import {
  kSceneHeads,
  kScenePoints,
  matrix,
  type Evaluation,
  type Look,
  type Scene,
  type SceneLayout,
  type Training,
} from './engine.ts';
import type { Module } from './module.ts';

const kToken = 27;
const kLayouts: readonly SceneLayout[] = ['scattered', 'ring', 'clusters'];
const kEvaluationSize = 64;

export function drawScene(module: Module, seed: number, layout: SceneLayout): Scene {
  return CallMemory.with(module, (memory) => {
    const tokens = memory.take(4 * kScenePoints * kToken);
    const lists = [0, 1, 2].map(() => memory.take(8 * kScenePoints));
    checked(module, 'qkv_point_scenes_fill', [
      BigInt(seed),
      kLayouts.indexOf(layout),
      1n,
      tokens,
      ...lists,
    ]);
    const [labels, nearOf, alikeOf] = lists.map((list) =>
      Array.from(memory.longs(list, kScenePoints), Number),
    );
    const values = memory.floats(tokens, kScenePoints * kToken);
    return { tokens: matrix(kScenePoints, kToken, values), labels, nearOf, alikeOf };
  });
}

export class WasmTraining implements Training {
  private readonly handle: number;

  constructor(
    private readonly module: Module,
    seed: number,
    steps: number,
  ) {
    this.handle = this.call((memory) => {
      const address = memory.take(4);
      this.check('create', [BigInt(seed), BigInt(steps), 0, address]);
      return memory.view().getUint32(address, true);
    });
  }

  step(count: number): void {
    this.check('step', [this.handle, BigInt(count)]);
  }

  steps(): number {
    return this.call((memory) => {
      const address = memory.take(8);
      this.check('steps', [this.handle, address]);
      return Number(memory.longs(address, 1)[0]);
    });
  }

  loss(): number {
    return this.call((memory) => {
      const address = memory.take(4);
      this.check('loss', [this.handle, address]);
      return memory.floats(address, 1)[0];
    });
  }

  look({ tokens }: Scene): Look {
    return this.call((memory) => {
      const weights = memory.take(4 * kScenePoints * kSceneHeads * kScenePoints);
      const labels = memory.take(8 * kScenePoints);
      this.check('look', [this.handle, memory.takeFloats(tokens.data), 1n, weights, labels]);
      // [24, heads, 24] to a matrix a head.
      const all = memory.floats(weights, kScenePoints * kSceneHeads * kScenePoints);
      const ofHead = (head: number) => {
        const rows = new Float32Array(kScenePoints * kScenePoints);
        for (let i = 0; i < kScenePoints; ++i) {
          const from = (i * kSceneHeads + head) * kScenePoints;
          rows.set(all.subarray(from, from + kScenePoints), i * kScenePoints);
        }
        return matrix(kScenePoints, kScenePoints, rows);
      };
      return {
        weights: Array.from({ length: kSceneHeads }, (_, head) => ofHead(head)),
        labels: Array.from(memory.longs(labels, kScenePoints), Number),
      };
    });
  }

  evaluate(seed: number, count: number): Evaluation {
    return this.call((memory) => {
      const address = memory.take(kEvaluationSize);
      memory.view().setUint32(address, kEvaluationSize, true);
      this.check('evaluate', [this.handle, BigInt(seed), 0, BigInt(count), 0, address]);
      const numbers = [...memory.doubles(address + 8, 1 + 2 * kSceneHeads)];
      return {
        accuracy: numbers[0],
        near: numbers.slice(1, 1 + kSceneHeads),
        alike: numbers.slice(1 + kSceneHeads),
      };
    });
  }

  parameters(): Float32Array {
    return this.call((memory) => {
      const counted = memory.take(8);
      this.check('read', [this.handle, 0, 0n, counted]);
      const count = Number(memory.longs(counted, 1)[0]);
      const address = memory.take(4 * count);
      this.check('read', [this.handle, address, BigInt(count), counted]);
      return memory.floats(address, count).slice();
    });
  }

  free(): void {
    this.module.functions.qkv_point_training_destroy(this.handle);
  }

  private call<T>(body: (memory: CallMemory) => T): T {
    return CallMemory.with(this.module, body);
  }
  private check(name: string, args: (number | bigint)[]): void {
    checked(this.module, `qkv_point_training_${name}`, args);
  }
}
