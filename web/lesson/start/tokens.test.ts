import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import {
  at,
  fromRows,
  matrix,
  rowOf,
  transposed,
  type Engine,
  type Matrix,
} from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import { project } from '../sections/tokens_state.ts';
import { kKeySize, kTokenCount, kTokens, kTokenSize } from './tokens.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

const kScale = 1 / Math.sqrt(kKeySize);
const entries = (length: number) =>
  fc.array(
    fc.integer({ min: -900, max: 900 }).map((n) => n / 100),
    { minLength: length, maxLength: length },
  );
const tokens = entries(kTokenCount * kTokenSize);
const weights = entries(kKeySize * kTokenSize);

function projections(x: readonly number[], ...w: readonly (readonly number[])[]): Matrix[] {
  return w.map((one) => project(engine, x, one));
}

describe('what the text says of the start', () => {
  test('the entry that is taken apart is 0.5 + 1 + 0 = 1.5', () => {
    const [part, token, column] = kTokens.entry;
    expect(part).toBe(0);
    expect(at(project(engine, kTokens.x, kTokens.wq), token, column)).toBe(1.5);
  });

  test('B looks most at D, and each row of weights is of another shape', () => {
    const [q, k, v] = projections(kTokens.x, kTokens.wq, kTokens.wk, kTokens.wv);
    const { weights: w, out } = engine.attention(q, k, v);
    expect(Array.from(rowOf(w, 1), (x) => Number(x.toFixed(2)))).toEqual([0.1, 0.33, 0, 0.57]);
    expect(Array.from(rowOf(out, 1), (x) => Number(x.toFixed(2)))).toEqual([3.6, 0.04]);
  });

  test('both notations give the same numbers: W_Q x is a row of X Wq', () => {
    fc.assert(
      fc.property(tokens, weights, (x, w) => {
        const rows = project(engine, x, w);
        for (let token = 0; token < kTokenCount; ++token) {
          const column = engine.matmul(
            matrix(kKeySize, kTokenSize, w),
            matrix(kTokenSize, 1, x.slice(kTokenSize * token, kTokenSize * (token + 1))),
          );
          for (let n = 0; n < kKeySize; ++n) expect(column.data[n]).toBe(at(rows, token, n));
        }
      }),
    );
  });
});

test('an entry of X W is the dot product of a row and a column', () => {
  fc.assert(
    fc.property(tokens, weights, (x, w) => {
      const product = project(engine, x, w);
      for (let r = 0; r < kTokenCount; ++r) {
        for (let c = 0; c < kKeySize; ++c) {
          const products = Array.from(
            { length: kTokenSize },
            (_, n) => x[r * kTokenSize + n] * w[c * kTokenSize + n],
          );
          const size = products.reduce((sum, p) => sum + Math.abs(p), 0);
          const dot = products.reduce((sum, p) => sum + p, 0);
          // The entries are rounded to float32, then their products summed.
          expect(Math.abs(at(product, r, c) - dot)).toBeLessThanOrEqual(size * 2 ** -21);
        }
      }
    }),
  );
});

test('each row of weights adds up to 1, masked or not', () => {
  fc.assert(
    fc.property(tokens, weights, weights, fc.boolean(), (x, wq, wk, causal) => {
      const [q, k] = projections(x, wq, wk);
      const { weights: w } = engine.attention(q, k, q, { causal });
      const sums = engine.matmul(w, matrix(kTokenCount, 1, [1, 1, 1, 1])).data;
      for (const sum of sums) expect(sum).toBeCloseTo(1, 6);
    }),
  );
});

test('a turn taken alone has the bits of its row of the table', () => {
  fc.assert(
    fc.property(tokens, weights, weights, weights, fc.boolean(), (x, wq, wk, wv, causal) => {
      const [q, k, v] = projections(x, wq, wk, wv);
      const all = engine.attention(q, k, v, { causal });
      for (let token = 0; token < kTokenCount; ++token) {
        const mask = Array.from({ length: kTokenCount }, (_, key) => !causal || key <= token);
        const alone = engine.attention(fromRows([rowOf(q, token)]), k, v, { mask });
        expect([...alone.out.data]).toEqual([...rowOf(all.out, token)]);
      }
    }),
  );
});

test('scores are dots of queries and keys; the weights are the softmax of the scaled ones', () => {
  const [q, k, v] = projections(kTokens.x, kTokens.wq, kTokens.wk, kTokens.wv);
  const scores = engine.matmul(q, transposed(k));
  const w = engine.attention(q, k, v).weights;
  for (let r = 0; r < kTokenCount; ++r) {
    const exps = Array.from(rowOf(scores, r), (s) => Math.exp(s * kScale));
    const sum = exps.reduce((a, b) => a + b, 0);
    exps.forEach((e, c) => expect(at(w, r, c)).toBeCloseTo(e / sum, 6));
  }
});

test('with the causal mask later tokens have weight exactly 0, and the first token sees itself alone', () => {
  fc.assert(
    fc.property(tokens, weights, weights, weights, (x, wq, wk, wv) => {
      const [q, k, v] = projections(x, wq, wk, wv);
      const { weights: w, out } = engine.attention(q, k, v, { causal: true });
      for (let r = 0; r < kTokenCount; ++r) {
        for (let c = r + 1; c < kTokenCount; ++c) expect(at(w, r, c)).toBe(0);
      }
      expect([...rowOf(out, 0)]).toEqual([...rowOf(v, 0)]);
    }),
  );
});
