// Attention with one head or several, from the same four matrices.
import { fromRows, matrix, transposed, type Engine, type Matrix } from '../../engine/engine.ts';
import { kTokens, type Matrices } from '../start/heads.ts';

export interface Head {
  readonly weights: Matrix; // [tokens, tokens]
  readonly out: Matrix; // [tokens, d_k]
}

export interface MultiHead {
  readonly heads: readonly Head[];
  readonly joined: Matrix; // [tokens, d]
  readonly out: Matrix; // [tokens, d]
}

export function columns(m: Matrix, first: number, end: number): Matrix {
  const rows = Array.from({ length: m.rows }, (_, row) =>
    m.data.subarray(row * m.columns + first, row * m.columns + end),
  );
  return fromRows(rows, end - first);
}

function joined(parts: readonly Matrix[]): Matrix {
  return fromRows(
    Array.from({ length: parts[0].rows }, (_, row) =>
      parts.flatMap((part) => [
        ...part.data.subarray(row * part.columns, (row + 1) * part.columns),
      ]),
    ),
  );
}

/** q = W_Q x for each row x of `tokens`, and so on. Head h has the h-th share of the rows of W_Q, W_K and W_V. */
export function multiHead(engine: Engine, tokens: Matrix, w: Matrices, heads: number): MultiHead {
  const d = tokens.columns;
  const times = (values: readonly number[], x: Matrix) =>
    engine.matmul(x, transposed(matrix(d, d, values)));
  const [query, key, value] = [w.q, w.k, w.v].map((values) => times(values, tokens));
  const size = d / heads;
  const made = Array.from({ length: heads }, (_, h) => {
    const part = (m: Matrix) => columns(m, h * size, (h + 1) * size);
    const { weights, out } = engine.attention(part(query), part(key), part(value));
    return { weights, out };
  });
  const join = joined(made.map(({ out }) => out));
  return { heads: made, joined: join, out: times(w.o, join) };
}

export const tokenMatrix = (): Matrix => fromRows(kTokens);

export interface Cost {
  readonly perHead: number; // numbers in W_Q of one head, as in W_K and W_V
  readonly allHeads: number; // W_Q, W_K and W_V of all heads
  readonly joining: number; // W_O
  readonly parameters: number;
  readonly multiplications: number; // for `tokens` tokens
  readonly exponentials: number;
}

/** What h heads of size d / h cost. Counted by the engine, as are all numbers of the page; all are exact. */
export function cost(engine: Engine, d: number, heads: number, tokens: number): Cost {
  const product = (...factors: number[]) =>
    factors.reduce((a, b) => engine.matmul(matrix(1, 1, [a]), matrix(1, 1, [b])).data[0]);
  const sum = (...terms: number[]) =>
    engine.matmul(
      matrix(1, terms.length, terms),
      matrix(
        terms.length,
        1,
        terms.map(() => 1),
      ),
    ).data[0];
  const size = d / heads;
  const perHead = product(size, d);
  const allHeads = product(3, heads, perHead);
  const joining = product(d, d);
  return {
    perHead,
    allHeads,
    joining,
    parameters: sum(allHeads, joining),
    multiplications: sum(
      product(tokens, allHeads), // queries, keys and values
      product(2, heads, tokens, tokens, size), // scores, and weighted sums
      product(tokens, joining),
    ),
    exponentials: product(heads, tokens, tokens),
  };
}
