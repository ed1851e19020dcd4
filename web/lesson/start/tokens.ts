// Four tokens of three numbers, and the matrices that make queries, keys and values of two numbers.
export const kTokens = {
  x: [1, 0.5, -1, 0.5, 2, 1, -1, 1, 0.5, 2, -1, 1], // 4 rows of 3
  // W_Q, W_K, W_V: 2 rows of 3 each
  wq: [1, 0.5, 0, -0.5, 1, 1],
  wk: [0.5, 1, -0.5, 1, 0, 0.5],
  wv: [2, 0, 1, 0.5, 1, -1],
  /** Which entry is taken apart: of the queries, token B's first. */
  entry: [0, 1, 0],
  /** Whose turn, and the key it looks at: B looks at D. */
  pair: [1, 3],
} as const;

export const kTokenCount = 4;
export const kTokenSize = 3;
export const kKeySize = 2;
