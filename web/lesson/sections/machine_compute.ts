// One query against many keys, in an order of choice; and the softmax of a school book, which overflows.
import {
  fromRows,
  matrix,
  rowOf,
  softmax,
  transposed,
  type AttentionResult,
  type Engine,
  type Matrix,
  type RowSteps,
} from '../../engine/engine.ts';
import { kMachine } from '../start/machine.ts';

export const kOrders = ['drawn', 'rising', 'falling'] as const;
export type Order = (typeof kOrders)[number];

export interface Problem {
  readonly query: Matrix; // [1, d_k]
  readonly key: Matrix; // [keys, d_k]
  readonly value: Matrix; // [keys, d_v]
}

/** Random numbers of a seed, with the keys by rising or falling scores, or as they were drawn. */
export function problem(engine: Engine, seed: number, order: Order): Problem {
  const { keys, size, values } = kMachine;
  const generator = engine.generator(seed);
  // A query of twice the usual length, so that scores differ enough to be seen.
  const query = matrix(1, size, generator.normal(size, 0, 2));
  const key = matrix(keys, size, generator.normal(keys * size));
  const value = matrix(keys, values, generator.normal(keys * values));
  generator.free();
  if (order === 'drawn') return { query, key, value };
  const scores = engine.matmul(query, transposed(key)).data;
  const places = Array.from(scores, (_, n) => n).sort((a, b) => scores[a] - scores[b]);
  if (order === 'falling') places.reverse();
  const ordered = (m: Matrix) => fromRows(places.map((n) => rowOf(m, n)));
  return { query, key: ordered(key), value: ordered(value) };
}

function firstRows(m: Matrix, rows: number): Matrix {
  return { rows, columns: m.columns, data: m.data.slice(0, rows * m.columns) };
}

/** Attention over the first `keys` keys: what the running state must give when it has read them. */
export function attentionOver(
  engine: Engine,
  { query, key, value }: Problem,
  keys: number,
): AttentionResult {
  return engine.attention(query, firstRows(key, keys), firstRows(value, keys));
}

export function stepsOf(engine: Engine, { query, key, value }: Problem): RowSteps {
  return engine.steps(query, key, value, 0);
}

/** O / l, as the engine divides: rounded once to float32. Never -0. */
export function quotient(accumulator: Float32Array, sum: number): Float32Array {
  return accumulator.map((o) => Math.fround(o / sum) + 0);
}

const kBits = new DataView(new ArrayBuffer(4));

/** The 32 bits of a float32, as 8 hexadecimal digits. */
export function bits(value: number): string {
  kBits.setFloat32(0, value);
  return kBits.getUint32(0).toString(16).padStart(8, '0');
}

export interface NaiveRow {
  readonly score: number;
  readonly exp: number;
  readonly weight: number;
  /** The engine's weight, with the largest score subtracted first. */
  readonly right: number;
}

/**
 * exp(score) / sum without subtracting the largest score, in float32. The engine has exp of negative numbers only,
 * and needs no other: exp of a positive s is 1 / exp(-s).
 */
export function naiveSoftmax(engine: Engine, scores: readonly number[]): NaiveRow[] {
  const exps = scores.map((score) => {
    // Beside a key of score 0 the steps have exp(-|s| - 0).
    const two = engine.steps(
      matrix(1, 1, [1]),
      matrix(2, 1, [0, -Math.abs(score)]),
      matrix(2, 1, [0, 0]),
      0,
      {
        scale: 1,
      },
    );
    const exp = two.keys[1].exp;
    return score > 0 ? Math.fround(1 / exp) : exp;
  });
  const n = scores.length;
  const sum = engine.matmul(matrix(1, n, exps), matrix(n, 1, new Float32Array(n).fill(1))).data[0];
  const right = softmax(engine, scores);
  return scores.map((score, k) => ({
    score,
    exp: exps[k],
    weight: Math.fround(exps[k] / sum),
    right: right[k],
  }));
}
