// What the first section starts with: the vectors and the keys of the worked example.
export const kDot = {
  a: [1, 2],
  b: [1, 1],
  matrix: [1, 0, 0, 1, 1, 1], // 3 rows of 2
} as const;
