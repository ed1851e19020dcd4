import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';

import { fromRows, type Engine } from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import { plainAttention } from '../plain.ts';
import { pairs } from '../sections/pairs.ts';
import { judge, kGuesses, kTurn } from './turn.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

const query = fromRows([kTurn.q]);
const key = fromRows(pairs(kTurn.keys));
const value = fromRows(pairs(kTurn.values));
const rounded = (values: ArrayLike<number>, digits: number) =>
  Array.from(values, (x) => Number(x.toFixed(digits)));

test('the numbers that the text gives', () => {
  const { keys, max, sum, out } = engine.steps(query, key, value, 0);
  expect(keys.map((k) => k.dot)).toEqual([1, 2, 3]);
  expect(
    rounded(
      keys.map((k) => k.score),
      3,
    ),
  ).toEqual([0.707, 1.414, 2.121]);
  expect(
    rounded(
      keys.map((k) => k.exp),
      3,
    ),
  ).toEqual([0.243, 0.493, 1]);
  expect(rounded([max, sum], 3)).toEqual([2.121, 1.736]);
  expect(
    rounded(
      keys.map((k) => k.weight),
      3,
    ),
  ).toEqual([0.14, 0.284, 0.576]);
  expect(rounded(out, 2)).toEqual([4.28, 5.72]);
});

test('the steps are those of attention itself', () => {
  const steps = engine.steps(query, key, value, 0);
  const { out, weights, lse } = engine.attention(query, key, value);
  steps.keys.forEach((k, n) => expect(k.weight).toBeCloseTo(weights.data[n], 6));
  expect([...steps.out]).toEqual([...out.data]);
  expect(steps.lse).toBe(lse[0]);
});

test('each choice of a place is judged by its own reason, and one is right', () => {
  const { out } = engine.attention(query, key, value);
  const reasons = Object.fromEntries(
    Object.entries(kGuesses).map(([name, at]) => [name, judge(at, out.data)]),
  );
  expect(reasons).toEqual({
    c: 'c',
    'c-to-b': 'right',
    'c-to-a': 'c-to-a',
    b: 'b',
    beyond: 'beyond',
  });
});

test('the values lie on one line, so the result does too', () => {
  for (const [x, y] of pairs(kTurn.values)) expect(x + y).toBe(10);
  fc.assert(
    fc.property(
      fc.float({ min: -9, max: 9, noNaN: true }),
      fc.float({ min: -9, max: 9, noNaN: true }),
      (x, y) => {
        const { data } = engine.attention(fromRows([[x, y]]), key, value).out;
        expect(data[0] + data[1]).toBeCloseTo(10, 4);
      },
    ),
  );
});

test('the engine and plain TypeScript agree up to rounding in float32', () => {
  const entry = fc.integer({ min: -900, max: 900 }).map((x) => x / 100);
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 2, maxLength: 2 }),
      fc.array(entry, { minLength: 6, maxLength: 6 }),
      fc.array(entry, { minLength: 6, maxLength: 6 }),
      (q, k, v) => {
        const ours = engine.steps(fromRows([q]), fromRows(pairs(k)), fromRows(pairs(v)), 0);
        const plain = plainAttention(q, pairs(k), pairs(v), 1 / Math.sqrt(2));
        // float32 keeps 24 bits of a score, which may be as large as 9 * 9 * 2 / 1.41.
        plain.weights.forEach((w, n) =>
          expect(Math.abs(ours.keys[n].weight - w)).toBeLessThan(3e-5),
        );
        plain.out.forEach((x, n) => expect(Math.abs(ours.out[n] - x)).toBeLessThan(3e-4));
      },
    ),
  );
});
