// What the pages ask of the engine. Every number they show comes from here; wasm_engine.ts answers
// with the C interface of qkv, tests may put another engine in its place.

/** A matrix of float32, row by row. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

export function matrix(rows: number, columns: number, values: ArrayLike<number>): Matrix {
  if (values.length !== rows * columns) {
    throw new RangeError(`${values.length} values for a matrix of ${rows} x ${columns}`);
  }
  return { rows, columns, data: Float32Array.from(values) };
}

/** From rows of numbers, all of one length. No rows: pass the number of columns. */
export function fromRows(
  rows: readonly ArrayLike<number>[],
  columns = rows[0]?.length ?? 0,
): Matrix {
  const values: number[] = [];
  for (const row of rows) values.push(...Array.from(row));
  return matrix(rows.length, columns, values);
}

export function rowOf(m: Matrix, row: number): Float32Array {
  return m.data.subarray(row * m.columns, (row + 1) * m.columns);
}

export function at(m: Matrix, row: number, column: number): number {
  return m.data[row * m.columns + column];
}

export function transposed(m: Matrix): Matrix {
  const data = new Float32Array(m.data.length);
  for (let r = 0; r < m.rows; ++r) {
    for (let c = 0; c < m.columns; ++c) data[c * m.rows + r] = at(m, r, c);
  }
  return { rows: m.columns, columns: m.rows, data };
}

export interface AttentionOptions {
  /** Query i sees keys 0 to i + keys - queries. */
  causal?: boolean;
  /** One entry a query and key, row by row; true: may attend. */
  mask?: readonly boolean[];
  /** Default: 1 / sqrt(columns of the query). */
  scale?: number;
}

export interface AttentionResult {
  readonly out: Matrix; // [queries, d_v]
  readonly weights: Matrix; // [queries, keys]
  readonly lse: Float32Array; // [queries]
}

/** One key's way through the four steps, for one query. */
export interface KeyStep {
  readonly key: number;
  /** A masked key has no dot and no score; its weight is 0. */
  readonly live: boolean;
  readonly dot: number;
  readonly score: number; // after scaling and all that changes it
  readonly exp: number; // exp(score - running maximum of its block)
  readonly weight: number;
}

/** One block of keys joins the running softmax. */
export interface BlockStep {
  readonly firstKey: number;
  readonly endKey: number;
  readonly maxBefore: number;
  readonly max: number;
  /** What the running sum and accumulator are multiplied by: exp(maxBefore - max). */
  readonly rescale: number;
  readonly blockSum: number;
  readonly sum: number; // running, after this block
  readonly blockAccumulator: Float32Array; // [d_v]
  readonly accumulator: Float32Array; // running, after this block
}

export interface RowSteps {
  readonly keys: readonly KeyStep[];
  readonly blocks: readonly BlockStep[];
  readonly max: number;
  readonly sum: number;
  readonly lse: number;
  readonly out: Float32Array; // [d_v]
}

/** NumPy's default_rng(seed), bit for bit. Call free() when done. */
export interface Generator {
  normal(count: number, mean?: number, deviation?: number): Float64Array;
  random(count: number): Float64Array;
  integers(count: number, low: number, high: number): number[];
  permutation(count: number): number[];
  free(): void;
}

export const kScenePoints = 24;
export const kSceneHeads = 2;
export type SceneLayout = 'scattered' | 'ring' | 'clusters';

/** One scene of points: each has a neighbour, and one elsewhere that is like it. */
export interface Scene {
  readonly tokens: Matrix; // [24, 27], x and y first, the bit as -1 or 1 last
  readonly labels: readonly number[];
  /** Of each point, which point of the scene is near, and which is like it. */
  readonly nearOf: readonly number[];
  readonly alikeOf: readonly number[];
}

/** What a model makes of a scene. */
export interface Look {
  /** Of each head: how much point i (a row) weights point j. */
  readonly weights: readonly Matrix[];
  readonly labels: readonly number[];
}

/** On scenes that it has never seen. */
export interface Evaluation {
  readonly accuracy: number;
  /** Of each head: the mean weight to the near point, and to the one alike. */
  readonly near: readonly number[];
  readonly alike: readonly number[];
}

/** The model of points as a seed draws it, which learns step by step. Call free() when done. */
export interface Training {
  step(count: number): void;
  steps(): number;
  /** Of the last step's scenes, before that step. */
  loss(): number;
  look(scene: Scene): Look;
  /** On `count` scenes of a seed. */
  evaluate(seed: number, count: number): Evaluation;
  parameters(): Float32Array;
  free(): void;
}

export interface EngineInfo {
  readonly version: string;
  readonly contract: string; // "A version 1"
  readonly block: number; // keys of a block
  readonly span: number;
}

export interface Engine {
  readonly info: EngineInfo;
  /** a [m, k] times b [k, n]. */
  matmul(a: Matrix, b: Matrix): Matrix;
  /** The dot product of row i of a with row i of b, for each i: one number a row. */
  rowDots(a: Matrix, b: Matrix): Float32Array;
  attention(query: Matrix, key: Matrix, value: Matrix, options?: AttentionOptions): AttentionResult;
  /** The inner steps of one row of `query`. */
  steps(
    query: Matrix,
    key: Matrix,
    value: Matrix,
    row: number,
    options?: AttentionOptions,
  ): RowSteps;
  /** Frobenius norm of the softmax's Jacobian, diag(p) - p p^T: how far scores move weights. */
  jacobianNorm(weights: Float32Array): number;
  /** Sines and cosines of positions first, first + 1, ...: [count, d]. */
  positions(first: number, count: number, d: number): Matrix;
  /** How far the sum of all results moves for a step of each score: [queries, keys]. */
  scoreGradient(query: Matrix, key: Matrix, value: Matrix, options?: AttentionOptions): Matrix;
  generator(seed: number): Generator;
  scene(seed: number, layout?: SceneLayout): Scene;
  /** `steps`: of the learning rate's schedule. */
  training(seed: number, steps: number): Training;
}

/** A call that the engine refused. The message is one sentence that says why. */
export class EngineError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'EngineError';
  }
}

/** Softmax of one row of scores. */
export function softmax(engine: Engine, scores: ArrayLike<number>): Float32Array {
  const n = scores.length;
  const one = matrix(1, 1, [1]);
  return engine.attention(one, matrix(n, 1, scores), matrix(n, 1, new Float32Array(n)), {
    scale: 1,
  }).weights.data;
}
