// What the texts of the section on several heads claim, and what holds for any matrices.
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import { at, fromRows, rowOf, type Engine } from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import { cost, multiHead, tokenMatrix } from '../sections/heads_compute.ts';
import { kMatrices, kOriginal, kPresets, kThings, kTokens, type Matrices } from './heads.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

/** The tokens from the largest weight down. */
const order = (weights: Float32Array) =>
  kThings.map((_, n) => n).sort((a, b) => weights[b] - weights[a]);

describe('at the start', () => {
  test('each token has one other of its colour and one other of its shape', () => {
    for (const a of kThings) {
      const others = kThings.filter((b) => b !== a);
      expect(others.filter((b) => b.colour === a.colour).length).toBe(1);
      expect(others.filter((b) => b.shape === a.shape).length).toBe(1);
    }
  });

  test('head 1 looks along the row, head 2 along the column', () => {
    const { heads } = multiHead(engine, tokenMatrix(), kMatrices, 2);
    kThings.forEach((a, n) => {
      for (const [h, kind] of (['colour', 'shape'] as const).entries()) {
        const [first, second, third] = order(rowOf(heads[h].weights, n));
        expect([first, second].every((m) => kThings[m][kind] === a[kind])).toBe(true);
        expect(at(heads[h].weights, n, second)).toBeGreaterThan(
          10 * at(heads[h].weights, n, third),
        );
      }
    });
  });

  test('the one head looks most at the token itself, and cannot tell colour from shape', () => {
    const [{ weights }] = multiHead(engine, tokenMatrix(), kMatrices, 1).heads;
    kThings.forEach((a, n) => {
      expect(order(rowOf(weights, n))[0]).toBe(n);
      const like = kThings.flatMap((b, m) =>
        m !== n && (b.colour === a.colour || b.shape === a.shape) ? [m] : [],
      );
      expect(at(weights, n, like[0])).toBeCloseTo(at(weights, n, like[1]), 2);
    });
  });

  test('heads 1 and 2 fetch for A the mean of its shapes and of its colours; W_O puts colour first', () => {
    const { joined, out } = multiHead(engine, tokenMatrix(), kMatrices, 2);
    const mean = (kind: readonly number[], other: readonly number[]) =>
      kind.map((x, n) => (x + other[n]) / 2);
    const [a, b, c] = kTokens;
    const expected = [...mean(a.slice(2), b.slice(2)), ...mean(a.slice(0, 2), c.slice(0, 2))];
    rowOf(joined, 0).forEach((x, n) => expect(Math.abs(x - expected[n])).toBeLessThan(0.1));
    // The numbers of the text.
    expect(a.slice(2)).toEqual([0, 1]);
    expect(b.slice(2)).toEqual([-0.87, -0.5]);
    expect(expected.slice(0, 2)).toEqual([-0.435, 0.25]);
    expect(Array.from(rowOf(joined, 0).slice(0, 2), (x) => Number(x.toFixed(2)))).toEqual([
      -0.38, 0.22,
    ]);
    expect([...rowOf(out, 0)]).toEqual([2, 3, 0, 1].map((n) => at(joined, 0, n)));
  });

  test('swapped matrices swap the heads; alike ones make both look in the same place', () => {
    const own = multiHead(engine, tokenMatrix(), kPresets.own, 2).heads;
    const swapped = multiHead(engine, tokenMatrix(), kPresets.swapped, 2).heads;
    const same = multiHead(engine, tokenMatrix(), kPresets.same, 2).heads;
    expect(swapped[0].weights).toEqual(own[1].weights);
    expect(swapped[1].weights).toEqual(own[0].weights);
    expect(same[0].weights).toEqual(same[1].weights);
  });

  test('8 heads of 64 have as many numbers, and as many multiplications, as one of 512', () => {
    const { size, heads, tokens } = kOriginal;
    const one = cost(engine, size, 1, tokens);
    const many = cost(engine, size, heads, tokens);
    expect(many.parameters).toBe(4 * 512 * 512);
    expect(many.parameters).toBe(one.parameters);
    expect(many.multiplications).toBe(one.multiplications);
    expect(many.exponentials).toBe(heads * one.exponentials);
  });
});

// ---- For any matrices ----------------------------------------------------------------------------

const entry = fc.integer({ min: -300, max: 300 }).map((n) => n / 100);
const square = fc.array(entry, { minLength: 16, maxLength: 16 });
const anyMatrices: fc.Arbitrary<Matrices> = fc.record({
  q: square,
  k: square,
  v: square,
  o: square,
});

/** Rows `first` to `end` of W times x, in double. */
const times = (w: readonly number[], x: readonly number[], first: number, end: number) =>
  Array.from({ length: end - first }, (_, r) =>
    x.reduce((sum, value, c) => sum + Math.fround(w[4 * (first + r) + c]) * Math.fround(value), 0),
  );
const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, x, n) => sum + x * b[n], 0);

/** The textbook's formula for token `n`, in double: the head with these rows of the matrices. */
function head(w: Matrices, n: number, first: number, end: number): number[] {
  const query = times(w.q, kTokens[n], first, end);
  const scores = kTokens.map((x) => dot(query, times(w.k, x, first, end)) / Math.sqrt(end - first));
  const exps = scores.map((s) => Math.exp(s - Math.max(...scores)));
  const sum = exps.reduce((a, b) => a + b);
  const values = kTokens.map((x) => times(w.v, x, first, end));
  return values[0].map((_, c) => exps.reduce((total, e, m) => total + (e / sum) * values[m][c], 0));
}

describe('for any matrices', () => {
  test('two heads are two attentions joined, times W_O', () => {
    fc.assert(
      fc.property(anyMatrices, (w) => {
        const { joined, out } = multiHead(engine, tokenMatrix(), w, 2);
        kThings.forEach((_, n) => {
          const expected = [...head(w, n, 0, 2), ...head(w, n, 2, 4)];
          rowOf(joined, n).forEach((x, c) => expect(x).toBeCloseTo(expected[c], 3));
          const result = times(w.o, expected, 0, 4);
          rowOf(out, n).forEach((x, c) => expect(x).toBeCloseTo(result[c], 2));
        });
      }),
      { numRuns: 50 },
    );
  });

  test('one head is one attention over all four numbers', () => {
    fc.assert(
      fc.property(anyMatrices, (w) => {
        const { joined } = multiHead(engine, tokenMatrix(), w, 1);
        kThings.forEach((_, n) => {
          const expected = head(w, n, 0, 4);
          rowOf(joined, n).forEach((x, c) => expect(x).toBeCloseTo(expected[c], 3));
        });
      }),
      { numRuns: 50 },
    );
  });

  test('the weights of every head add up to 1', () => {
    fc.assert(
      fc.property(anyMatrices, fc.constantFrom(1, 2, 4), (w, heads) => {
        const made = multiHead(engine, tokenMatrix(), w, heads).heads;
        const ones = fromRows(kThings.map(() => [1]));
        for (const { weights } of made) {
          engine.matmul(weights, ones).data.forEach((sum) => expect(sum).toBeCloseTo(1, 5));
        }
      }),
      { numRuns: 50 },
    );
  });

  test('any number of heads that divides 512 has as many numbers to learn', () => {
    for (const heads of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) {
      expect(cost(engine, 512, heads, 32).parameters).toBe(4 * 512 * 512);
    }
  });
});
