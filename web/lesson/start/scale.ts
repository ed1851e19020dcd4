// What the section on scaling starts with.
export const kScale = {
  size: 64, // d_k
  seed: 0,
  dots: 10_000,
  large: [8, 0, -8],
  small: [1, 0, -1],
  nudge: 0.1,
  sizes: [1, 2, 8, 32, 64, 128, 512],
  trend: { queries: 64, keys: 16, sizes: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] },
} as const;
