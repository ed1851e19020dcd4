// Self-attention of tokens in an order, and how far two results are apart.
import {
  fromRows,
  matrix,
  rowOf,
  transposed,
  type Engine,
  type Matrix,
} from '../../engine/engine.ts';

export interface Tokens {
  readonly x: Matrix;
  /** W_Q, W_K, W_V; without them the tokens themselves are queries, keys and values. */
  readonly w?: readonly Matrix[];
}

export interface Marks {
  readonly positions?: boolean;
  readonly causal?: boolean;
}

export function reordered(m: Matrix, order: readonly number[]): Matrix {
  return fromRows(
    order.map((row) => rowOf(m, row)),
    m.columns,
  );
}

/** a + b, by the engine: [I I] times a on top of b. */
function added(engine: Engine, a: Matrix, b: Matrix): Matrix {
  const twice = Array.from({ length: a.rows }, (_, r) =>
    Array.from({ length: 2 * a.rows }, (_, c) => (c % a.rows === r ? 1 : 0)),
  );
  return engine.matmul(fromRows(twice), matrix(2 * a.rows, a.columns, [...a.data, ...b.data]));
}

/** One row an output, in the order given. Positions belong to places, not to tokens. */
export function outputs(
  engine: Engine,
  { x, w }: Tokens,
  order: readonly number[],
  marks: Marks = {},
): Matrix {
  const shuffled = reordered(x, order);
  const tokens = marks.positions
    ? added(engine, shuffled, engine.positions(0, shuffled.rows, shuffled.columns))
    : shuffled;
  const [q, k, v] = w
    ? w.map((one) => engine.matmul(tokens, transposed(one)))
    : [tokens, tokens, tokens];
  return engine.attention(q, k, v, { causal: marks.causal ?? false }).out;
}

/** The largest difference of two entries at the same place. */
export function largestGap(engine: Engine, a: Matrix, b: Matrix): number {
  const size = a.data.length;
  const gaps = engine.matmul(matrix(1, 2, [1, -1]), matrix(2, size, [...a.data, ...b.data])).data;
  return Math.max(...Array.from(gaps, Math.abs));
}
