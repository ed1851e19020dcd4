// The numbers of the two listings.
export const kListings = {
  q: [1, 2],
  k: [1, 0, 0, 1, 1, 1],
  v: [10, 0, 0, 10, 5, 5],
  seed: 0,
  d: 4,
  perm: [3, 0, 4, 1, 2],
  scalingSeed: 0,
  pairs: 10_000,
  dk: 64,
} as const;
