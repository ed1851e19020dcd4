// What the two listings do, by calls of the engine; and their text for other numbers.
import { fromRows, matrix, rowOf, type Engine, type Matrix } from '../../engine/engine.ts';
import { arrayText, floatText, round } from '../numpy_print.ts';

export interface AttentionInputs {
  readonly q: readonly number[]; // 1 row of 2
  readonly k: readonly number[]; // 3 rows of 2
  readonly v: readonly number[]; // 3 rows of 2
  readonly seed: number;
  /** Numbers of a token. There are as many tokens as `perm` has places. */
  readonly d: number;
  readonly perm: readonly number[];
}

export interface ScalingInputs {
  readonly seed: number;
  readonly pairs: number;
  readonly d: number;
}

/** np.allclose, with room for float32: the listing computes in float64. */
function allClose(a: Matrix, b: Matrix): boolean {
  return a.data.every((x, n) => Math.abs(x - b.data[n]) <= 1e-6 + 1e-5 * Math.abs(b.data[n]));
}

const reordered = (m: Matrix, perm: readonly number[]) =>
  fromRows(
    perm.map((row) => rowOf(m, row)),
    m.columns,
  );

/** The lines that attention.py prints. */
export function runAttention(
  engine: Engine,
  { q, k, v, seed, d, perm }: AttentionInputs,
): string[] {
  const { out, weights } = engine.attention(matrix(1, 2, q), matrix(3, 2, k), matrix(3, 2, v));
  const rounded = (m: Matrix, digits: number) =>
    arrayText([Array.from(rowOf(m, 0), (x) => round(x, digits))]);

  const rng = engine.generator(seed);
  const x = matrix(perm.length, d, rng.normal(perm.length * d));
  const w = [0, 1, 2].map(() => matrix(d, d, rng.normal(d * d)));
  rng.free();
  const selfAttention = (tokens: Matrix) => {
    const [queries, keys, values] = w.map((one) => engine.matmul(tokens, one));
    return engine.attention(queries, keys, values).out;
  };
  const same = allClose(reordered(selfAttention(x), perm), selfAttention(reordered(x, perm)));
  return [`${rounded(weights, 3)} ${rounded(out, 2)}`, same ? 'True' : 'False'];
}

// scores.std()
function deviation(scores: Float32Array, divisor: number): number {
  let sum = 0;
  for (const s of scores) sum += s / divisor;
  const mean = sum / scores.length;
  let squares = 0;
  for (const s of scores) squares += (s / divisor - mean) ** 2;
  return Math.sqrt(squares / scores.length);
}

const kPiece = 1 << 15; // numbers drawn at a time

/**
 * The line that scaling.py prints. `pause` is called between pieces of the work with the part that is done;
 * if it says false, the run ends without a result.
 */
export async function runScaling(
  engine: Engine,
  { seed, pairs, d }: ScalingInputs,
  pause: (done: number) => Promise<boolean>,
): Promise<string[] | undefined> {
  const rng = engine.generator(seed);
  try {
    const rows = Math.max(1, Math.floor(kPiece / d));
    const pieces = Array.from({ length: Math.ceil(pairs / rows) }, (_, n) => [
      n * rows,
      Math.min(pairs, (n + 1) * rows),
    ]);
    const q: Matrix[] = [];
    for (const [first, end] of pieces) {
      q.push(matrix(end - first, d, rng.normal((end - first) * d)));
      if (!(await pause((0.5 * end) / pairs))) return undefined;
    }
    const scores = new Float32Array(pairs);
    for (const [n, [first, end]] of pieces.entries()) {
      const k = matrix(end - first, d, rng.normal((end - first) * d));
      scores.set(engine.rowDots(q[n], k), first);
      if (!(await pause(0.5 + (0.5 * end) / pairs))) return undefined;
    }
    const spread = (divisor: number) => floatText(round(deviation(scores, divisor), 2));
    return [`${spread(1)} ${spread(Math.sqrt(d))}`];
  } finally {
    rng.free();
  }
}

// ---- The text of the listings -------------------------------------------------------------------

function replaced(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`the listing has no ${from}`);
    return all.replace(from, () => to);
  }, text);
}

function array(values: readonly number[]): string {
  const rows = Array.from({ length: values.length / 2 }, (_, r) => values.slice(2 * r, 2 * r + 2));
  return `np.array([${rows.map((row) => `[${row.map(floatText).join(', ')}]`).join(', ')}])`;
}

const commented = (code: string, column: number, comment: string) =>
  `${code.padEnd(column)}${comment}`;
const kColumn = 48; // where the comments of attention.py begin

/** attention.py with other numbers in it. */
export function attentionListing(
  text: string,
  { q, k, v, seed, d, perm }: AttentionInputs,
): string {
  return replaced(text, [
    ['Q = np.array([[1.0, 2.0]])', `Q = ${array(q)}`],
    ['K = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])', `K = ${array(k)}`],
    ['V = np.array([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])', `V = ${array(v)}`],
    ['5 tokens with 4 numbers', `${perm.length} tokens with ${d} numbers`],
    ['default_rng(0)', `default_rng(${seed})`],
    ['size=(5, 4)', `size=(${perm.length}, ${d})`],
    [
      commented('Wq, Wk, Wv = rng.normal(size=(3, 4, 4))', kColumn, '# three random 4 x 4'),
      commented(
        `Wq, Wk, Wv = rng.normal(size=(3, ${d}, ${d}))`,
        kColumn,
        `# three random ${d} x ${d}`,
      ),
    ],
    [
      commented('perm = [3, 0, 4, 1, 2]', kColumn, '#'),
      commented(`perm = [${perm.join(', ')}]`, kColumn, '#'),
    ],
  ]);
}

/** scaling.py with other numbers in it. */
export function scalingListing(text: string, { seed, pairs, d }: ScalingInputs): string {
  const root = Math.sqrt(d);
  const many = pairs.toLocaleString('en-US');
  const column = 37; // where the comments begin
  return replaced(text, [
    ['default_rng(0)', `default_rng(${seed})`],
    [
      commented('q = rng.normal(size=(10000, 64))', column, '# 10,000 random queries, d_k = 64'),
      commented(
        `q = rng.normal(size=(${pairs}, ${d}))`,
        column,
        `# ${many} random queries, d_k = ${d}`,
      ),
    ],
    ['k = rng.normal(size=(10000, 64))', `k = rng.normal(size=(${pairs}, ${d}))`],
    ['# 10,000 dot products', `# ${many} dot products`],
    ['scores / 8', Number.isInteger(root) ? `scores / ${root}` : `scores / np.sqrt(${d})`],
  ]);
}
