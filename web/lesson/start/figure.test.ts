import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import { fromRows, type Engine } from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import type { Point } from '../../ui/plane.tsx';
import { Store } from '../../ui/store.ts';
import { coneShape, cones, hull, inside } from '../sections/figure_geometry.ts';
import { lineOf, type Line } from '../sections/figure_lines.ts';
import { FigureModel, kScale } from '../sections/figure_model.ts';
import { pairs } from '../sections/pairs.ts';
import { kExercises, kFigure, kLongest, startOf, type FigureState } from './figure.ts';

let engine: Engine;
let model: FigureModel;
beforeAll(async () => {
  engine = await load();
  model = new FigureModel({ engine, store: new Store() });
});

const run = (state: Partial<FigureState>, scale = kScale) =>
  model.stepsOf({ ...kFigure, ...state }, scale);
const weightsOf = (state: Partial<FigureState>, scale = kScale) =>
  run(state, scale).keys.map((k) => k.weight);
const leadersOf = (state: Partial<FigureState>) => model.leadersOf(run(state));
const keys = pairs(kFigure.keys);
const values = pairs(kFigure.values);
const [A, B, C, D] = [0, 1, 2, 3];
const all = new Set([A, B, C]);

const coordinate = fc.integer({ min: -300, max: 300 }).map((x) => x / 100);
const vector = fc.tuple(coordinate, coordinate);
const four = fc.array(coordinate, { minLength: 8, maxLength: 8 });
const seen = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 });

describe('what the figure starts with', () => {
  test('D is strictly inside the triangle of the other keys, and wins nowhere', () => {
    expect(inside(keys[D], hull(keys.slice(0, 3)))).toBeGreaterThan(0.2);
    expect(
      cones(engine, keys, kFigure.seen)
        .map((c) => c.token)
        .sort(),
    ).toEqual([A, B, C]);
  });

  test('D is the key nearest to the query, A has the longest shadow and wins', () => {
    const [x, y] = kFigure.q;
    const distances = keys.map(([a, b]) => Math.hypot(a - x, b - y));
    expect(distances.indexOf(Math.min(...distances))).toBe(D);
    expect(leadersOf({})).toEqual([A]);
  });

  test('no two keys tie, and the weights can all be seen', () => {
    const weights = weightsOf({});
    expect(new Set(weights).size).toBe(4);
    expect(Math.min(...weights)).toBeGreaterThan(0.001);
  });

  test('the values are the corners of their hull, and no three are on a line', () => {
    expect(hull(values).length).toBe(4);
    for (const skipped of [A, B, C, D]) {
      const [a, b, c] = values.filter((_, n) => n !== skipped);
      expect(
        Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])),
      ).toBeGreaterThan(1);
    }
  });

  test('a long query gives almost all the weight to its token', () => {
    expect(weightsOf({ q: [kLongest, 0] })[A]).toBeGreaterThan(0.9);
  });
});

describe('each exercise starts unsolved, and can be solved', () => {
  const at = (
    exercise: number,
    changes: Partial<FigureState> = {},
    which = 0,
    won = new Set<number>(),
    parts = new Set<string>(),
  ): Line => {
    const start = startOf(exercise, which);
    const own = new FigureModel({ engine, store: new Store() });
    const set = (state: FigureState) => {
      own.q.set(state.q);
      own.keys.set(state.keys);
      own.values.set(state.values);
      own.seen.set(state.seen);
      own.normalise.set(state.normalise);
    };
    set(start);
    own.exercise.set(exercise);
    set({ ...start, ...changes });
    return lineOf(exercise, own, won, parts);
  };

  for (let n = 1; n <= kExercises; ++n)
    test(`${n} starts unsolved`, () => expect(at(n).done).toBe(false));

  const half = startOf(6).keys;
  const solutions: [number, Partial<FigureState>, string, number?][] = [
    [1, { q: [0, 0] }, 'figure.1-done'],
    [2, { q: [1.6, 0.7] }, 'figure.2-done'],
    [2, { q: [1.5, 1.5] }, 'figure.2-tied', 1],
    [5, { keys: [...kFigure.keys.slice(0, 6), 2.7, 1.5] }, 'figure.5-done'],
    [6, { keys: half.map((x) => x + 0.5) }, 'figure.6-done'],
    [7, { q: [-2, -2] }, 'figure.7-done'],
    [8, { values: [0, 0, ...kFigure.values.slice(2)] }, 'figure.8-done'],
  ];
  for (const [n, changes, text, which] of solutions) {
    test(`${n}: ${text}`, () => {
      const { done, message } = at(n, changes, which);
      expect([done, message.text]).toEqual([true, text]);
    });
  }

  const halves: [number, Partial<FigureState>, string, string, string][] = [
    [
      4,
      { keys: [...kFigure.keys.slice(0, 6), 2.7, 1.5] },
      'figure.4-done',
      'figure.4-then-normalise',
      'figure.4-cosine',
    ],
    [4, { normalise: true }, 'figure.4-cosine', 'figure.4-then-drag', 'figure.4-done'],
    [9, { seen: [true, true, false, true] }, 'figure.9-done', 'figure.9-then-all', 'figure.9-none'],
    [
      9,
      { seen: [false, false, false, false] },
      'figure.9-none',
      'figure.9-then-one',
      'figure.9-done',
    ],
  ];
  for (const [n, changes, text, then, other] of halves) {
    test(`${n}: ${text} is one half, and needs the other`, () => {
      const half = at(n, changes);
      expect([half.done, half.part, half.then]).toEqual([false, text, then]);
      const whole = at(n, changes, 0, new Set(), new Set([other]));
      expect([whole.done, whole.message.text]).toEqual([true, text]);
    });
  }

  const only = (...tokens: number[]) => [A, B, C, D].map((n) => tokens.includes(n));
  const same = [1, 1, 1, 1, 1, 1, 1, 1];
  const flat = [0, 0, 1, 1, 2, 2, 2.5, 2.5];
  const unsolvable: [number, Partial<FigureState>, string][] = [
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((n): [number, Partial<FigureState>, string] => [
      n,
      { seen: only() },
      'figure.none',
    ]),
    ...[1, 2, 3].map((n): [number, Partial<FigureState>, string] => [
      n,
      { q: [0, 0], seen: only(C) },
      'figure.only-one',
    ]),
    [3, { keys: same }, 'figure.3-same'],
    [3, { q: [0, 0] }, 'figure.3-tied'],
    [4, { seen: only(A, B, C) }, 'figure.need-all'],
    [4, { seen: only(C, D) }, 'figure.need-all'],
    [4, { keys: same }, 'figure.4-tied'],
    [5, { seen: only(B, D) }, 'figure.need-all'],
    [5, { keys: same }, 'figure.5-inside'],
    [7, { seen: only(A, B) }, 'figure.7-flat'],
    [7, { values: flat }, 'figure.7-flat'],
    [8, { seen: only(B, C, D), values: [0, 0, ...kFigure.values.slice(2)] }, 'figure.8-masked'],
    [9, { seen: only(A) }, 'figure.9-few'],
  ];
  for (const [n, changes, text] of unsolvable) {
    test(`${n} isn't solved by ${JSON.stringify(changes)}`, () => {
      const { done, message, part } = at(n, changes, 0, all);
      expect([done, message.text, part]).toEqual([false, text, undefined]);
    });
  }

  test('2: of several that tie, none gets more than its share', () => {
    for (const [count, share] of [
      [3, '33\u202f%'],
      [4, '25\u202f%'],
    ] as const) {
      const q = [2, 2];
      const seen = only(...[A, B, C, D].slice(0, count));
      const { done, message } = at(2, { q, keys: same, seen });
      expect([done, message.text, message.numbers?.share]).toEqual([true, 'figure.2-tied', share]);
    }
  });

  test('what a link shows is nobody’s solution, until something is changed', () => {
    const own = new FigureModel({ engine, store: new Store() });
    own.store.open('#v=1&figure-exercise.open=2'); // the figure as it starts: twice the length of the exercise
    const { done, lead } = lineOf(2, own, new Set());
    expect([done, lead]).toEqual([false, 'figure.as-left']);
    own.q.set([2, 1]);
    expect(lineOf(2, own, new Set()).done).toBe(true);
  });

  test('3: when all that win anywhere have won', () => {
    expect(at(3, {}, 0, new Set([A, B])).done).toBe(false);
    expect(at(3, { q: [0, 2] }, 0, all).done).toBe(true);
  });

  test('4: D is nearest but A wins; 9: C has weight to lose', () => {
    expect(at(4).message.words).toEqual({ winner: 'A', nearest: 'D' });
    expect(weightsOf(startOf(9))[C]).toBeGreaterThan(0.15);
  });

  test('5: the query points at D, and D is not the winner', () => {
    const [x, y] = startOf(5).q;
    expect(Math.atan2(y, x)).toBeCloseTo(Math.atan2(keys[D][1], keys[D][0]), 2);
    expect(leadersOf(startOf(5))).not.toContain(D);
  });
});

describe('what always holds', () => {
  test('1: the zero query gives the mean of the visible values', () => {
    fc.assert(
      fc.property(four, four, seen, (k, v, visible) => {
        fc.pre(visible.includes(true));
        const { out } = run({ q: [0, 0], keys: k, values: v, seen: visible });
        const shown = pairs(v).filter((_, n) => visible[n]);
        for (const axis of [0, 1]) {
          expect(out[axis]).toBeCloseTo(
            shown.reduce((sum, p) => sum + p[axis], 0) / shown.length,
            5,
          );
        }
      }),
    );
  });

  test('2: the entropy never rises with the length', () => {
    fc.assert(
      fc.property(vector, four, fc.double({ min: 0.1, max: 3, noNaN: true }), (q, k, c) => {
        const entropy = (length: number) => model.entropyOf(run({ q, keys: k }, length * kScale));
        expect(entropy(1.02 * c)).toBeLessThanOrEqual(entropy(c) + 5e-6);
      }),
    );
  });

  test('2: its slope is -c times the variance of the scores', () => {
    const small = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), {
      minLength: 8,
      maxLength: 8,
    });
    fc.assert(
      fc.property(small, small, fc.double({ min: 0.1, max: 3, noNaN: true }), (q, k, c) => {
        const steps = (length: number) => run({ q: q.slice(0, 2), keys: k }, length * kScale);
        const { keys: now } = steps(c);
        const scores = now.map((s) => s.dot * kScale);
        const mean = now.reduce((sum, s, n) => sum + s.weight * scores[n], 0);
        const variance = now.reduce((sum, s, n) => sum + s.weight * (scores[n] - mean) ** 2, 0);
        const h = 0.02;
        const slope = (model.entropyOf(steps(c + h)) - model.entropyOf(steps(c - h))) / (2 * h);
        expect(Math.abs(slope + c * variance)).toBeLessThan(2e-3);
      }),
    );
  });

  test('2: the numbers of the text, in double precision', () => {
    const { q, keys: k } = startOf(2);
    const scores = pairs(k).map(([x, y]) => (x * q[0] + y * q[1]) / Math.SQRT2);
    const weightsAt = (c: number) => {
      const exps = scores.map((s) => Math.exp(c * s));
      const sum = exps.reduce((a, b) => a + b);
      return exps.map((e) => e / sum);
    };
    const entropy = (c: number) => -weightsAt(c).reduce((sum, w) => sum + w * Math.log(w), 0);
    const mean = weightsAt(1).reduce((sum, w, n) => sum + w * scores[n], 0);
    const squared = weightsAt(1).reduce((sum, w, n) => sum + w * (scores[n] - mean) ** 2, 0);
    expect([squared, 0.1 * squared, entropy(1), entropy(1.1)].map((x) => x.toFixed(3))).toEqual([
      '0.318',
      '0.032',
      '1.152',
      '1.121',
    ]);
    const texts = JSON.parse(
      readFileSync(new URL('../texts/en/figure.json', import.meta.url), 'utf8'),
    ) as Record<string, string>;
    for (const number of ['0.318', '0.032', '1.152', '1.121'])
      expect(texts['page.figure.2-why']).toContain(number);
  });

  test('2: in the limit the tied best keys share', () => {
    const weights = weightsOf({ q: [1, 1] }, 1000);
    expect(weights).toEqual([0.5, 0.5, 0, 0]);
    const { out } = run({ q: [1, 1] }, 1000);
    expect([...out]).toEqual(
      [0, 1].map((axis) => expect.closeTo((values[A][axis] + values[B][axis]) / 2, 5)),
    );
  });

  test('3: the winner of a direction is the same at every length, and the cones say which', () => {
    fc.assert(
      fc.property(four, fc.double({ min: 0, max: 2 * Math.PI, noNaN: true }), (k, angle) => {
        const regions = cones(engine, pairs(k), kFigure.seen);
        expect(regions.reduce((sum, c) => sum + c.to - c.from, 0)).toBeCloseTo(2 * Math.PI, 5);
        const turn = 2 * Math.PI;
        const at = regions.find(({ from, to }) =>
          [angle, angle - turn].some((a) => a > from + 1e-2 && a < to - 1e-2),
        );
        if (!at) return; // too near to a border to tell in float32
        for (const length of [0.5, 3]) {
          const weights = weightsOf({
            q: [length * Math.cos(angle), length * Math.sin(angle)],
            keys: k,
          });
          expect(weights[at.token]).toBeGreaterThanOrEqual(Math.max(...weights) - 1e-6);
        }
        expect(coneShape(at, 3).length).toBeGreaterThanOrEqual(3);
      }),
    );
  });

  test('5: an inner key never wins', () => {
    const shares = fc.array(fc.integer({ min: 5, max: 100 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(vector, four, shares, (q, k, share) => {
        const corners = pairs(k).slice(0, 3);
        const total = share[0] + share[1] + share[2];
        const inner = [0, 1].map((axis) =>
          corners.reduce((sum, p, n) => sum + (share[n] / total) * p[axis], 0),
        );
        const weights = weightsOf({ q, keys: [...k.slice(0, 6), ...inner] });
        expect(weights[D]).toBeLessThanOrEqual(Math.max(...weights.slice(0, 3)) + 1e-6);
      }),
    );
  });

  test('6: adding a vector to every key changes no weight, but for rounding', () => {
    fc.assert(
      fc.property(vector, four, vector, (q, k, by) => {
        const before = weightsOf({ q, keys: k });
        const after = weightsOf({ q, keys: k.map((x, n) => x + by[n % 2]) });
        after.forEach((w, n) => expect(Math.abs(w - before[n])).toBeLessThan(1e-5));
      }),
    );
  });

  test('7: the result is inside the hull of the visible values', () => {
    fc.assert(
      fc.property(vector, four, four, seen, (q, k, v, visible) => {
        fc.pre(visible.includes(true));
        const { out } = run({ q, keys: k, values: v, seen: visible });
        const shape = hull(pairs(v).filter((_, n) => visible[n]));
        const area = shape.reduce((sum, [x, y], n) => {
          const [a, b] = shape[(n + 1) % shape.length];
          return sum + x * b - a * y;
        }, 0);
        if (area > 0.1) expect(inside([out[0], out[1]] as Point, shape)).toBeGreaterThan(-1e-5);
      }),
    );
  });

  test('8: the values change no weight', () => {
    fc.assert(
      fc.property(vector, four, four, four, (q, k, v, w) => {
        expect(weightsOf({ q, keys: k, values: v })).toEqual(weightsOf({ q, keys: k, values: w }));
      }),
    );
  });

  test('9: a masked key has weight 0 exactly, and the others keep their ratios', () => {
    fc.assert(
      fc.property(vector, four, seen, (q, k, visible) => {
        const before = weightsOf({ q, keys: k });
        const after = weightsOf({ q, keys: k, seen: visible });
        const shown = [A, B, C, D].filter((n) => visible[n]);
        [A, B, C, D].filter((n) => !visible[n]).forEach((n) => expect(after[n]).toBe(0));
        for (const n of shown) {
          const first = shown[0];
          if (before[n] < 1e-6 || before[first] < 1e-6) continue; // float32 has few digits there
          expect(after[n] / after[first] / (before[n] / before[first])).toBeCloseTo(1, 4);
        }
        if (shown.length === 0) expect([...run({ q, keys: k, seen: visible }).out]).toEqual([0, 0]);
      }),
    );
  });

  test('normalised keys all have length 1, so none is inside the others', () => {
    fc.assert(
      fc.property(four, (k) => {
        fc.pre(pairs(k).every(([x, y]) => Math.hypot(x, y) > 0.1));
        const own = new FigureModel({ engine, store: new Store() });
        own.keys.set(k);
        own.normalise.set(true);
        for (const [x, y] of own.keysUsed.value) expect(Math.hypot(x, y)).toBeCloseTo(1, 5);
      }),
    );
  });

  test('the steps are those of attention itself', () => {
    fc.assert(
      fc.property(vector, four, four, seen, (q, k, v, mask) => {
        const steps = run({ q, keys: k, values: v, seen: mask });
        const { out } = engine.attention(fromRows([q]), fromRows(pairs(k)), fromRows(pairs(v)), {
          mask,
          scale: kScale,
        });
        expect([...steps.out]).toEqual([...out.data]);
      }),
    );
  });
});
