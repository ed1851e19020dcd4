// A model that learns in WebAssembly, and gradients of scores.
import { expect, test } from 'vitest';

import { at, matrix, rowOf } from './engine.ts';
import { engine as loadEngine } from './node.ts';

const engine = await loadEngine();

function fnv1a(bytes: Uint8Array): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

test('a hundred steps of training leave the bits of the native build', { timeout: 60_000 }, () => {
  // The line "training 100" of the native build: build/test/tests/bits/bit_hashes avx2 0
  const training = engine.training(1, 1000);
  training.step(100);
  const parameters = training.parameters();
  expect(fnv1a(new Uint8Array(parameters.buffer))).toBe('efd9f834c53d7ee9');
  training.free();
});

test('scenes: the near point is the nearest, the alike one the most alike, the label both', () => {
  for (const layout of ['scattered', 'ring', 'clusters'] as const) {
    const { tokens, labels, nearOf, alikeOf } = engine.scene(7, layout);
    const off = (i: number, j: number, first: number, end: number) =>
      Math.hypot(
        ...rowOf(tokens, i)
          .slice(first, end)
          .map((x, n) => x - at(tokens, j, first + n)),
      );
    const nearest = (i: number, first: number, end: number) => {
      const others = labels.map((_, j) => j).filter((j) => j !== i);
      return others.sort((a, b) => off(i, a, first, end) - off(i, b, first, end))[0];
    };
    const bit = (i: number) => (at(tokens, i, 26) > 0 ? 1 : 0);
    labels.forEach((label, i) => {
      expect(nearOf[i]).toBe(nearest(i, 0, 2));
      expect(alikeOf[i]).toBe(nearest(i, 18, 26));
      expect(label).toBe(2 * bit(nearOf[i]) + bit(alikeOf[i]));
    });
  }
});

test('looks and evaluations are what they say, and change nothing', () => {
  const training = engine.training(3, 100);
  training.step(2);
  const before = training.parameters();
  const scene = engine.scene(5);
  const { weights, labels } = training.look(scene);
  expect(weights).toHaveLength(2);
  for (const head of weights) {
    for (let i = 0; i < 24; ++i) {
      expect(rowOf(head, i).reduce((a, b) => a + b, 0)).toBeCloseTo(1, 5);
    }
  }
  const { accuracy, near, alike } = training.evaluate(5, 1);
  const right = labels.filter((label, n) => label === scene.labels[n]).length;
  expect(accuracy).toBeCloseTo(right / 24, 12);
  const mean = (head: number, to: readonly number[]) =>
    to.reduce((sum, j, i) => sum + at(weights[head], i, j), 0) / 24;
  for (const head of [0, 1]) {
    expect(near[head]).toBeCloseTo(mean(head, scene.nearOf), 6);
    expect(alike[head]).toBeCloseTo(mean(head, scene.alikeOf), 6);
  }
  expect(training.steps()).toBe(2);
  expect(training.loss()).toBeGreaterThan(0);
  expect(training.parameters()).toEqual(before);
  training.free();
});

test('what a training refuses, it says', () => {
  expect(() => engine.training(1, 0)).toThrow('steps: 0 of the schedule; pass at least 1');
});

test('the gradient of the scores is w (v - y), as finite differences say', () => {
  const scores = [0.3, -1, 2, 0.5];
  const values = [1, -2, 0.5, 3];
  const [q, k, v] = [matrix(1, 1, [1]), matrix(4, 1, scores), matrix(4, 1, values)];
  const gradient = engine.scoreGradient(q, k, v, { scale: 1 });
  const result = (moved: number, by: number) => {
    const exps = scores.map((s, n) => Math.exp(s + (n === moved ? by : 0)));
    const sum = exps.reduce((a, b) => a + b, 0);
    return exps.reduce((y, e, n) => y + (e / sum) * values[n], 0);
  };
  for (let n = 0; n < 4; ++n) {
    const slope = (result(n, 1e-5) - result(n, -1e-5)) / 2e-5;
    expect(at(gradient, 0, n)).toBeCloseTo(slope, 5);
  }
});
