// What the section on the engine starts with.
export const kMachine = {
  keys: 128,
  size: 8, // d_k
  values: 2, // d_v
  seed: 51,
  shifts: [-1000, 0, 50, 100, 1000],
  shift: 0,
  scores: [2, 1, 0],
} as const;
