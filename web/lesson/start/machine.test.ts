// What the texts of the section on the engine claim, and what holds for any scores.
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import { rowOf, type Engine } from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import {
  attentionOver,
  bits,
  kOrders,
  naiveSoftmax,
  problem,
  quotient,
  stepsOf,
} from '../sections/machine_compute.ts';
import { kMachine } from './machine.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

describe('at the start', () => {
  test('blocks of 32 keys; blocks 2 and 4 raise the maximum, block 3 does not', () => {
    const { blocks } = stepsOf(engine, problem(engine, kMachine.seed, 'drawn'));
    expect(blocks.map(({ firstKey, endKey }) => [firstKey, endKey])).toEqual([
      [0, 32],
      [32, 64],
      [64, 96],
      [96, 128],
    ]);
    expect(blocks.slice(1).map(({ max, maxBefore }) => max > maxBefore)).toEqual([
      true,
      false,
      true,
    ]);
    expect(blocks[1].rescale).toBeLessThan(1);
    expect(blocks[2].rescale).toBe(1);
  });

  test('rising scores raise the maximum in each block, falling ones in none after the first', () => {
    const rising = stepsOf(engine, problem(engine, kMachine.seed, 'rising')).blocks.slice(1);
    const falling = stepsOf(engine, problem(engine, kMachine.seed, 'falling')).blocks.slice(1);
    expect(rising.every(({ rescale }) => rescale < 1)).toBe(true);
    expect(falling.every(({ rescale }) => rescale === 1)).toBe(true);
  });

  test('without subtracting, 0 and 50 work, 100 and 1000 overflow, -1000 leaves nothing', () => {
    const broken = (shift: number) =>
      naiveSoftmax(
        engine,
        kMachine.scores.map((score) => score + shift),
      ).map(({ exp, weight }) => [exp, weight]);
    for (const shift of [100, 1000]) expect(broken(shift)).toEqual(Array(3).fill([Infinity, NaN]));
    expect(broken(-1000)).toEqual(Array(3).fill([0, NaN]));
    for (const shift of [0, 50]) {
      for (const { weight, right } of naiveSoftmax(
        engine,
        kMachine.scores.map((score) => score + shift),
      )) {
        expect(weight).toBeCloseTo(right, 6);
      }
    }
  });

  test('of the numbers to add, just 100, 1000 and -1000 leave no weights', () => {
    const none = kMachine.shifts.filter((shift) =>
      naiveSoftmax(
        engine,
        kMachine.scores.map((score) => score + shift),
      ).every(({ weight }) => Number.isNaN(weight)),
    );
    expect(none).toEqual([-1000, 100, 1000]);
  });

  test("the engine's weights don't change with what is added", () => {
    const start = naiveSoftmax(engine, kMachine.scores).map(({ right }) => right);
    for (const shift of kMachine.shifts) {
      const rows = naiveSoftmax(
        engine,
        kMachine.scores.map((score) => score + shift),
      );
      expect(rows.map(({ right }) => right)).toEqual(start);
    }
  });

  test('float32 holds 3.4e38 but not e^89', () => {
    expect(Math.fround(3.4e38)).toBeLessThan(Infinity);
    expect(Math.fround(Math.exp(89))).toBe(Infinity);
  });
});

describe('for any seed and order', () => {
  const asked = fc.tuple(fc.nat({ max: 9999 }), fc.constantFrom(...kOrders));

  test('O / l is attention over the keys read so far, in every bit', () => {
    fc.assert(
      fc.property(asked, ([seed, order]) => {
        const made = problem(engine, seed, order);
        for (const { endKey, sum, accumulator } of stepsOf(engine, made).blocks) {
          const whole = rowOf(attentionOver(engine, made, endKey).out, 0);
          expect(Array.from(quotient(accumulator, sum), bits)).toEqual(Array.from(whole, bits));
        }
      }),
      { numRuns: 50 },
    );
  });

  test('each step follows from the one before, as the text has it', () => {
    fc.assert(
      fc.property(asked, ([seed, order]) => {
        const { blocks } = stepsOf(engine, problem(engine, seed, order));
        blocks.slice(1).forEach((block, n) => {
          const before = blocks[n];
          expect(block.maxBefore).toBe(before.max);
          const factor = Math.exp(block.maxBefore - block.max);
          expect(block.rescale).toBeCloseTo(factor, 6);
          const near = (x: number, y: number) =>
            expect(Math.abs(x - y)).toBeLessThan(1e-5 * (1 + Math.abs(y)));
          near(block.sum, before.sum * factor + block.blockSum);
          block.accumulator.forEach((o, c) =>
            near(o, before.accumulator[c] * factor + block.blockAccumulator[c]),
          );
        });
      }),
      { numRuns: 50 },
    );
  });

  test('the blocks give what the formula gives in double', () => {
    fc.assert(
      fc.property(asked, ([seed, order]) => {
        const { query, key, value } = problem(engine, seed, order);
        const scores = Array.from({ length: key.rows }, (_, n) => {
          const products = rowOf(key, n).map((x, c) => x * query.data[c]);
          return products.reduce((a, b) => a + b) / Math.sqrt(key.columns);
        });
        const exps = scores.map((s) => Math.exp(s - Math.max(...scores)));
        const sum = exps.reduce((a, b) => a + b);
        const { blocks } = stepsOf(engine, { query, key, value });
        const last = blocks[blocks.length - 1];
        quotient(last.accumulator, last.sum).forEach((x, c) => {
          const right = exps.reduce((total, e, n) => total + (e / sum) * rowOf(value, n)[c], 0);
          expect(Math.abs(x - right)).toBeLessThan(1e-5);
        });
      }),
      { numRuns: 50 },
    );
  });

  test('another order gives the same up to rounding', () => {
    fc.assert(
      fc.property(fc.nat({ max: 9999 }), (seed) => {
        const [first, ...others] = kOrders.map((order) =>
          attentionOver(engine, problem(engine, seed, order), 128),
        );
        for (const { out } of others) {
          out.data.forEach((x, c) => expect(Math.abs(x - first.out.data[c])).toBeLessThan(1e-5));
        }
      }),
      { numRuns: 50 },
    );
  });
});

test('the bits of numbers', () => {
  expect([1, -2, 0.5].map(bits)).toEqual(['3f800000', 'c0000000', '3f000000']);
});
