// The worked example: one query, three keys, three values.
export const kTurn = {
  q: [1, 2],
  keys: [1, 0, 0, 1, 1, 1], // 3 rows of 2
  values: [10, 0, 0, 10, 5, 5], // 3 rows of 2
} as const;

/** A guess this near to the result is a good one. */
export const kNear = 0.75;

/** Places that can be chosen for the guess. Each is right, or wrong for a reason of its own. */
export const kGuesses = {
  c: [5, 5],
  'c-to-b': [4, 6],
  'c-to-a': [6, 4],
  b: [0, 10],
  beyond: [9, 9],
} as const;

export type Reason = 'right' | 'c' | 'c-to-a' | 'b' | 'beyond';

/** Why a guess is right or wrong, given the result. The values all lie on the line x + y = 10. */
export function judge(
  [x, y]: ArrayLike<number> & Iterable<number>,
  result: ArrayLike<number>,
): Reason {
  if (Math.hypot(x - result[0], y - result[1]) <= kNear) return 'right';
  if (Math.abs(x + y - 10) / Math.SQRT2 > 1) return 'beyond';
  const along = (y - x) / 2; // from C; A is at -5, B at 5
  if (along < -0.5) return 'c-to-a';
  return along < 0.5 ? 'c' : 'b';
}
