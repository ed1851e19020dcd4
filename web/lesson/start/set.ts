// A set of tokens: four tokens to shuffle, a cloud of points, and the words of a sentence.
export const kSet = {
  x: [1, 0.5, 0, 2, -1, 1.5, 0.5, -1, 0.5, -1, 1, 0, -0.5, -1.5, -1, 2], // 4 rows of 4
  // W_Q, W_K, W_V: 2 rows of 4 each
  wq: [-2, 1, 1, -0.5, 0, 0.5, 0.5, 0.5],
  wk: [1.5, -0.5, 0, -0.5, 1, -0.5, 0.5, 1.5],
  wv: [0.5, -1, -0.5, 0, 1, 0.5, 0, -0.5],
  order: [2, 0, 3, 1],
} as const;
export const kSetTokens = 4;
export const kSetSize = 4;

/** Five points; the tokens are their places, and so are queries, keys and values. */
export const kCloud = {
  points: [-2.2, 1.6, -1.4, 2.2, 1.9, 1.2, 2.3, -1.1, -0.6, -2],
  order: [0, 1, 2, 3, 4],
} as const;
export const kCloudPoints = 5;

/** Made-up vectors of two numbers for dog, bites, man. */
export const kWords = {
  names: ['dog', 'bites', 'man'],
  vectors: [1.5, 0.5, -0.5, 1.5, 0.5, -1.5],
  sentences: [
    [0, 1, 2],
    [2, 1, 0],
  ],
} as const;
export const kWordSize = 2;
