// Attention for one query in plain TypeScript and double precision, by the book. It is only for the reader to
// check the engine by: no figure draws these numbers.
export interface PlainResult {
  readonly weights: readonly number[];
  readonly out: readonly number[];
}

type Rows = readonly ArrayLike<number>[];

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let n = 0; n < a.length; ++n) sum += a[n] * b[n];
  return sum;
}

/** `seen` says which keys may be attended to. None: zeros, as the engine gives. */
export function plainAttention(
  query: ArrayLike<number>,
  keys: Rows,
  values: Rows,
  scale: number,
  seen: readonly boolean[] = keys.map(() => true),
): PlainResult {
  const scores = keys.map((key, n) => (seen[n] ? scale * dot(query, key) : -Infinity));
  const max = Math.max(...scores);
  const exps = scores.map((score) => (score === -Infinity ? 0 : Math.exp(score - max)));
  const sum = exps.reduce((a, b) => a + b, 0);
  const weights = exps.map((e) => (sum === 0 ? 0 : e / sum));
  const out = Array.from(values[0], (_, column) =>
    dot(
      weights,
      values.map((value) => value[column]),
    ),
  );
  return { weights, out };
}
