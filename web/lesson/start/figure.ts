// What the main figure starts with, and what each exercise sets up. figure.test.ts checks that each exercise can
// show what it is to show.

/** All that the exercises set. Keys and values: 4 rows of 2, A to D. */
export interface FigureState {
  readonly q: readonly number[];
  readonly keys: readonly number[];
  readonly values: readonly number[];
  /** Which tokens are visible. */
  readonly seen: readonly boolean[];
  readonly normalise: boolean;
  readonly editKeys: boolean;
  readonly editValues: boolean;
  readonly cones: boolean;
  readonly shadows: boolean;
}

/** The query stays within this distance of the centre. */
export const kLongest = 3;

export const kFigure: FigureState = {
  q: [1.6, 0.7],
  // A and B mirror each other, so that a query on the diagonal ties them. D is inside the triangle of the others,
  // and nearest to the query without winning.
  keys: [2.4, -0.4, -0.4, 2.4, -1.6, -1.4, 0.9, 0.5],
  // Four corners, in another order around the centre than the keys.
  values: [-1.8, 2, 2.2, 1.6, 1.9, -1.5, -1.4, -2.1],
  seen: [true, true, true, true],
  normalise: false,
  editKeys: false,
  editValues: false,
  cones: false,
  shadows: false,
};

export const kExercises = 9;

type SetUp = Partial<FigureState>;

/** The first is where an exercise starts; some have another to try after it. */
export const kSetUps: Readonly<Record<number, readonly SetUp[]>> = {
  1: [{}],
  2: [{ q: [0.8, 0.35] }, { q: [0.6, 0.6] }],
  3: [{ q: [2, 0] }],
  4: [{ editKeys: true, shadows: true }],
  5: [{ q: [2.43, 1.35], editKeys: true, cones: true }],
  6: [{ keys: [1.2, -0.2, -0.2, 1.2, -0.8, -0.7, 0.45, 0.25] }],
  7: [{ q: [0.2, 0.1] }],
  8: [{ editValues: true }],
  9: [{ q: [-0.5, 0.5] }],
};

export function startOf(exercise: number, which = 0): FigureState {
  return { ...kFigure, ...kSetUps[exercise]?.[which] };
}
