// What the section on several heads starts with: six tokens, no two alike, of three colours and three shapes.
// Each has one other token of its colour and one other of its shape.
export const kColours = ['blue', 'orange', 'green'] as const;
export const kShapeNames = ['circle', 'square', 'triangle'] as const;

export interface Thing {
  readonly name: string;
  readonly colour: number;
  readonly shape: number;
}

export const kThings: readonly Thing[] = [
  { name: 'A', colour: 0, shape: 0 },
  { name: 'B', colour: 0, shape: 1 },
  { name: 'C', colour: 1, shape: 0 },
  { name: 'D', colour: 1, shape: 2 },
  { name: 'E', colour: 2, shape: 1 },
  { name: 'F', colour: 2, shape: 2 },
];

// Three kinds are vectors that point three ways: the dot product of like ones is 1, of unlike ones about -0.5.
const kColourWays = [
  [1, 0],
  [-0.5, 0.87],
  [-0.5, -0.87],
] as const;
const kShapeWays = [
  [0, 1],
  [-0.87, -0.5],
  [0.87, -0.5],
] as const;

/** A token: two numbers for its colour, two for its shape. */
export const kTokens: readonly (readonly number[])[] = kThings.map(({ colour, shape }) => [
  ...kColourWays[colour],
  ...kShapeWays[shape],
]);

const diagonal = (x: number) => [x, 0, 0, 0, 0, x, 0, 0, 0, 0, x, 0, 0, 0, 0, x];
/** Exchanges the two numbers of the colour and the two of the shape. */
const kExchange = [0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0];

export interface Matrices {
  readonly q: readonly number[];
  readonly k: readonly number[];
  readonly v: readonly number[];
  readonly o: readonly number[];
}

/**
 * 4 x 4 each, row by row. With two heads, rows 1 and 2 of W_Q, W_K and W_V are those of head 1, rows 3 and 4 those
 * of head 2. At the start head 1 matches colours and fetches shapes; head 2 matches shapes and fetches colours.
 */
export const kMatrices: Matrices = { q: diagonal(3), k: diagonal(1), v: kExchange, o: kExchange };

export const kPresets: Readonly<Record<'own' | 'swapped' | 'same', Matrices>> = {
  own: kMatrices,
  swapped: { q: kExchange.map((x) => 3 * x), k: kExchange, v: diagonal(1), o: diagonal(1) },
  same: {
    q: [3, 0, 0, 0, 0, 3, 0, 0, 3, 0, 0, 0, 0, 3, 0, 0],
    k: [1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0],
    v: kExchange,
    o: kExchange,
  },
};

/** The sizes of the original transformer; and the tokens of the measurement. */
export const kOriginal = { size: 512, heads: 8, tokens: 32 } as const;

/** The training of two heads: the seeds and steps are those of `qkv train points`. */
export const kTrain = {
  seed: 1,
  stuck: 4, // a seed whose heads don't specialise; 7 and 9 are others
  steps: 1000,
  scene: 8, // the seed of the scene that is drawn
  point: 11, // that looks, of 1 to 24
  heldOut: 1000, // the seed of the scenes that the model never learns from
  scenes: 32,
  every: 10, // steps from one evaluation to the next
  // A head looks near, or at what is alike, if it gives so much weight to the one and so little to the other.
  much: 0.3,
  little: 0.1,
} as const;
