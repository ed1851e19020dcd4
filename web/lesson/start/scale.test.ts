// What the texts of the section on scaling claim, and what holds for any scores.
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import { softmax, type Engine } from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import { Sampler, spread, type Sample } from '../sections/scale_sampler.ts';
import { trend } from '../sections/scale_trend.tsx';
import { kScale } from './scale.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

const rounded = (values: ArrayLike<number>, digits: number) =>
  Array.from(values, (x) => Number(x.toFixed(digits)));

async function wholeSample(size: number, seed: number): Promise<Sample> {
  let last: Sample | undefined;
  await new Sampler(engine, kScale.dots).request(size, seed, (sample) => (last = sample));
  return last!;
}

describe('at the start', () => {
  test('10,000 dots of 64 numbers spread 8.08, and 1.01 once divided, as scaling.py prints', async () => {
    const sample = await wholeSample(kScale.size, kScale.seed);
    expect(sample.before.length).toBe(10_000);
    expect(rounded([sample.spreadBefore, sample.spreadAfter], 2)).toEqual([8.08, 1.01]);
  });

  test('the weights of 8, 0, -8 and of 1, 0, -1', () => {
    const large = softmax(engine, kScale.large);
    expect(rounded(large.subarray(0, 2), 5)).toEqual([0.99966, 0.00034]);
    expect(rounded(large.subarray(2), 7)).toEqual([1e-7]);
    expect(rounded(softmax(engine, kScale.small), 3)).toEqual([0.665, 0.245, 0.09]);
  });

  test('a nudge moves the weights of small scores more than a hundred times as far', () => {
    const farthest = (scores: readonly number[]) => {
      const before = softmax(engine, scores);
      const after = softmax(engine, [scores[0], scores[1] + kScale.nudge, scores[2]]);
      return Math.max(...after.map((weight, n) => Math.abs(weight - before[n])));
    };
    expect(farthest(kScale.small)).toBeGreaterThan(100 * farthest(kScale.large));
  });

  test('the worked entries of the Jacobian, and the move that the figure shows', () => {
    const by = (scores: readonly number[]) => {
      const p = softmax(engine, scores);
      const q = softmax(engine, [scores[0], scores[1] + kScale.nudge, scores[2]]);
      return { p: p[1], rule: p[1] * (1 - p[1]) * kScale.nudge, moved: q[1] - p[1] };
    };
    const [small, large] = [by(kScale.small), by(kScale.large)];
    expect(rounded([small.p, 1 - small.p], 3)).toEqual([0.245, 0.755]);
    expect(rounded([small.rule, small.moved], 4)).toEqual([0.0185, 0.019]);
    expect(rounded([large.p, 1 - large.p], 5)).toEqual([0.00034, 0.99966]);
    expect(rounded([large.rule], 6)).toEqual([0.000034]);
  });

  test('without dividing, entropy and Jacobian fall with the key size; with it they stay', () => {
    const rows = trend(engine, 0);
    const [first, last] = [rows[0], rows[rows.length - 1]];
    expect(last.undivided.entropy).toBeLessThan(0.2 * first.undivided.entropy);
    expect(last.undivided.jacobian).toBeLessThan(0.5 * first.undivided.jacobian);
    for (const { divided } of rows) {
      expect(Math.abs(divided.entropy - first.divided.entropy)).toBeLessThan(0.3);
      expect(Math.abs(divided.jacobian - first.divided.jacobian)).toBeLessThan(0.06);
    }
  });
});

test('the newest request wins: an older one shows nothing any more', async () => {
  const sampler = new Sampler(engine, kScale.dots);
  const shown: number[] = [];
  const show = (sample: Sample) => shown.push(sample.size);
  await Promise.all([sampler.request(300, 1, show), sampler.request(4, 1, show)]);
  expect(new Set(shown)).toEqual(new Set([4]));
});

describe('for any', () => {
  const scores = fc.array(
    fc.integer({ min: -80, max: 80 }).map((n) => n / 8),
    { minLength: 1, maxLength: 20 },
  );

  test('scores: adding a number to all of them changes no weight', () => {
    // Eighths and whole numbers of this size are added without rounding, so even the bits stay.
    fc.assert(
      fc.property(scores, fc.integer({ min: -1000, max: 1000 }), (s, shift) => {
        expect([
          ...softmax(
            engine,
            s.map((x) => x + shift),
          ),
        ]).toEqual([...softmax(engine, s)]);
      }),
    );
  });

  test('weights: the Jacobian has the norm that its entries say', () => {
    fc.assert(
      fc.property(scores, (s) => {
        const p = softmax(engine, s);
        let squares = 0;
        for (let i = 0; i < p.length; ++i) {
          for (let j = 0; j < p.length; ++j)
            squares += (i === j ? p[i] * (1 - p[i]) : -p[i] * p[j]) ** 2;
        }
        expect(engine.jacobianNorm(p)).toBeCloseTo(Math.sqrt(squares), 4);
      }),
    );
  });

  test('key size: 10,000 dots spread about the root of it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 128 }),
        fc.nat({ max: 1000 }),
        async (size, seed) => {
          const sample = await wholeSample(size, seed);
          // The spread of n dots is itself off by about sqrt((kurtosis - 1) / 4n), kurtosis 3 + 6 / size.
          const off = Math.sqrt((2 + 6 / size) / (4 * kScale.dots));
          expect(Math.abs(sample.spreadBefore / Math.sqrt(size) - 1)).toBeLessThan(5 * off);
          expect(sample.spreadAfter * Math.sqrt(size)).toBeCloseTo(sample.spreadBefore, 3);
        },
      ),
      { numRuns: 10 },
    );
  }, 30_000);

  test('values: the spread is their standard deviation', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 1, maxLength: 50 }),
        (values) => {
          const mean = values.reduce((a, b) => a + b) / values.length;
          const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length;
          expect(spread(engine, Float32Array.from(values))).toBeCloseTo(Math.sqrt(variance), 4);
        },
      ),
    );
  });
});
