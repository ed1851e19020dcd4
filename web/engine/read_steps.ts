// A qkv_steps_description (bindings/c/qkv_learn.h) as objects. Offsets are those of wasm32 in
// bindings/c/layout.cc.
import type { CallMemory } from './call_memory.ts';
import type { RowSteps } from './engine.ts';

export const kStepsDescriptionSize = 176;

export function readSteps(memory: CallMemory, address: number): RowSteps {
  const view = memory.view();
  const count = (offset: number) => Number(view.getBigInt64(address + offset, true));
  const pointer = (offset: number) => view.getUint32(address + offset, true);
  const floats = (offset: number, length: number) => memory.floats(pointer(offset), length);
  const longs = (offset: number, length: number) => memory.longs(pointer(offset), length);
  const [width, keys, blocks] = [count(48), count(56), count(64)];

  const index = longs(80, keys);
  const live = new Int32Array(view.buffer, pointer(88), keys);
  const [dot, score, exp, weight] = [92, 96, 100, 104].map((offset) => floats(offset, keys));
  const [first, end] = [108, 112].map((offset) => longs(offset, blocks));
  const [before, after, rescale, blockSum, sum] = [120, 124, 128, 132, 140].map((offset) =>
    floats(offset, blocks),
  );
  const [blockValues, values] = [136, 144].map((offset) => floats(offset, blocks * width));
  const row = (all: Float32Array, n: number) => all.slice(n * width, (n + 1) * width);
  return {
    keys: Array.from(index, (key, n) => ({
      key: Number(key),
      live: live[n] !== 0,
      dot: dot[n],
      score: score[n],
      exp: exp[n],
      weight: weight[n],
    })),
    blocks: Array.from(first, (firstKey, n) => ({
      firstKey: Number(firstKey),
      endKey: Number(end[n]),
      maxBefore: before[n],
      max: after[n],
      rescale: rescale[n],
      blockSum: blockSum[n],
      sum: sum[n],
      blockAccumulator: row(blockValues, n),
      accumulator: row(values, n),
    })),
    max: view.getFloat32(address + 20, true),
    sum: view.getFloat32(address + 24, true),
    lse: view.getFloat32(address + 28, true),
    out: floats(172, width).slice(),
  };
}
