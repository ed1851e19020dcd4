import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import { matrix, rowOf, type Engine } from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import { largestGap, outputs, reordered, type Tokens } from '../sections/set_compute.ts';
import { kCloud, kCloudPoints, kSet, kSetSize, kSetTokens, kWords, kWordSize } from './set.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

const tokens: Tokens = {
  x: matrix(kSetTokens, kSetSize, kSet.x),
  w: [kSet.wq, kSet.wk, kSet.wv].map((w) => matrix(2, kSetSize, w)),
};
const words: Tokens = { x: matrix(3, kWordSize, kWords.vectors) };
const inOrder = (n: number) => [...Array(n).keys()];

/** How far Attn(PX) is from P Attn(X). */
function gap(of: Tokens, order: readonly number[], marks = {}): number {
  const base = outputs(engine, of, inOrder(of.x.rows), marks);
  return largestGap(engine, outputs(engine, of, order, marks), reordered(base, order));
}
/** Up to rounding: sums of this size in float32. */
const kRounding = 1e-5;

const orders = (n: number) => fc.shuffledSubarray(inOrder(n), { minLength: n });

describe('self-attention is permutation equivariant', () => {
  const entries = (length: number) =>
    fc.array(
      fc.integer({ min: -300, max: 300 }).map((n) => n / 100),
      { minLength: length, maxLength: length },
    );

  test('whatever the tokens, the matrices and the order: Attn(PX) = P Attn(X) up to rounding', () => {
    const cases = fc
      .integer({ min: 2, max: 8 })
      .chain((n) => fc.tuple(entries(n * 4), entries(8), entries(8), entries(8), orders(n)));
    fc.assert(
      fc.property(cases, ([x, wq, wk, wv, order]) => {
        const some = { x: matrix(x.length / 4, 4, x), w: [wq, wk, wv].map((w) => matrix(2, 4, w)) };
        // Scores reach hundreds, and an error of a score is one of the exponent.
        expect(gap(some, order)).toBeLessThan(2e-3);
      }),
      { numRuns: 300 },
    );
  });

  test('on the start values to within 1e-6, in every order', () => {
    fc.assert(
      fc.property(orders(kSetTokens), (order) => {
        expect(gap(tokens, order)).toBeLessThan(1e-6);
      }),
    );
    expect(gap(tokens, inOrder(kSetTokens))).toBe(0);
  });

  test('the points of the cloud lie about equally far from the centre, and near ones match best', () => {
    const points = inOrder(kCloudPoints).map((n) => kCloud.points.slice(2 * n, 2 * n + 2));
    const lengths = points.map(([x, y]) => Math.hypot(x, y));
    expect(Math.max(...lengths) / Math.min(...lengths)).toBeLessThan(1.4);
    const best = (score: (a: readonly number[], b: readonly number[]) => number) =>
      points.map((a, n) => {
        const scores = points.map((b, other) => (other === n ? -Infinity : score(a, b)));
        return scores.indexOf(Math.max(...scores));
      });
    const nearest = best((a, b) => -Math.hypot(a[0] - b[0], a[1] - b[1]));
    expect(best((a, b) => a[0] * b[0] + a[1] * b[1])).toEqual(nearest);
  });

  test('the cloud does not see the order of its points', () => {
    const cloud = { x: matrix(kCloudPoints, 2, kCloud.points) };
    fc.assert(
      fc.property(orders(kCloudPoints), (order) => {
        expect(gap(cloud, order)).toBeLessThan(kRounding);
      }),
    );
  });

  test('one query alone: its output does not change at all with the order of the keys', () => {
    const { x } = tokens;
    const query = matrix(1, kSetSize, rowOf(x, 0));
    const base = engine.attention(query, x, x).out;
    fc.assert(
      fc.property(orders(kSetTokens), (order) => {
        const keys = reordered(x, order);
        expect(largestGap(engine, engine.attention(query, keys, keys).out, base)).toBeLessThan(
          1e-6,
        );
      }),
    );
  });
});

describe('what ends the symmetry, on the start values', () => {
  const others = orders(kSetTokens).filter((order) => order.some((token, n) => token !== n));

  test('a causal mask', () => {
    fc.assert(
      fc.property(others, (order) => {
        expect(gap(tokens, order, { causal: true })).toBeGreaterThan(0.05);
      }),
    );
  });

  test('positions', () => {
    fc.assert(
      fc.property(others, (order) => {
        expect(gap(tokens, order, { positions: true })).toBeGreaterThan(0.02);
      }),
    );
    expect(gap(tokens, kSet.order, { positions: true })).toBeGreaterThan(0.1);
  });

  test('dog bites man: the same outputs as man bites dog, until positions are added', () => {
    const [, backwards] = kWords.sentences;
    expect(gap(words, backwards)).toBeLessThan(1e-6);
    expect(gap(words, backwards, { positions: true })).toBeGreaterThan(1);
  });
});
