// What the main figure knows: its state, and what the engine makes of it.
import { batch, computed, effect, signal, untracked, type ReadonlySignal } from '@preact/signals';

import { fromRows, matrix, type RowSteps } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { flag, flags, numbers, number, type Codec } from '../../ui/fields.ts';
import { kTokenNames, type Point } from '../../ui/plane.tsx';
import { fixed, t } from '../../ui/text.ts';
import { kPlane, type Lesson } from '../context.ts';
import { kExercises, kFigure, kLongest, startOf, type FigureState } from '../start/figure.ts';
import { cones } from './figure_geometry.ts';
import { pairs } from './pairs.ts';

export const kTokens = [0, 1, 2, 3];
export const kScale = 1 / Math.SQRT2;
const kTrail = 40;
const kTrailGap = 0.04;
/** Weights that differ by less tie: a key on a border of two regions differs by rounding only. */
const kTie = 1e-5;

/** A vector that is made shorter if it is longer than kLongest; finer than a drag, so that angles stay. */
function query(): Codec<readonly number[]> {
  const { format, parse } = numbers(2, { ...kPlane, step: 0.0001 });
  const shorter = (q: readonly number[]) => {
    const length = Math.hypot(q[0], q[1]);
    return length <= kLongest ? q : q.map((x) => (x * kLongest) / length);
  };
  return {
    format: (q) => format(shorter(q)),
    parse: (text) => {
      const q = parse(text);
      return q && parse(format(shorter(q)));
    },
  };
}

const degrees = (radians: number) => (radians * 180) / Math.PI;

export class FigureModel {
  readonly engine;
  readonly store;
  readonly q;
  readonly keys;
  readonly values;
  readonly seen;
  readonly normalise;
  readonly editKeys;
  readonly editValues;
  readonly cones;
  readonly shadows;
  readonly trail;
  /** The exercise that is open; 0: none. Not of the figure's section, whose reset leaves it open. */
  readonly exercise;

  /** The keys as the dot product gets them: made length 1 if the reader says so. */
  readonly keysUsed: ReadonlySignal<readonly Point[]>;
  readonly steps: ReadonlySignal<RowSteps>;
  readonly regions;
  /** The visible tokens with the largest weight: several if they tie, none if all are masked. */
  readonly leaders: ReadonlySignal<readonly number[]>;
  /** Where the result was lately. */
  readonly past = signal<readonly Point[]>([]);
  /** What is said after a change, from what the figure says: an exercise adds something. */
  tell: (says: string) => string = (says) => says;
  /** Has the reader changed anything since an exercise was set up or a link opened? */
  readonly touched: ReadonlySignal<boolean>;
  private readonly setUps = signal(0);
  /** Degrees, kept while the query has no length. */
  private heading = 0;

  constructor({ engine, store }: Lesson) {
    this.engine = engine;
    this.store = store;
    this.q = store.field('figure.q', query(), kFigure.q);
    this.keys = store.field('figure.keys', numbers(8, kPlane), kFigure.keys);
    this.values = store.field('figure.values', numbers(8, kPlane), kFigure.values);
    this.seen = store.field('figure.seen', flags(4), kFigure.seen);
    this.normalise = store.field('figure.normalise', flag(), kFigure.normalise);
    this.editKeys = store.field('figure.edit-keys', flag(), kFigure.editKeys);
    this.editValues = store.field('figure.edit-values', flag(), kFigure.editValues);
    this.cones = store.field('figure.cones', flag(), kFigure.cones);
    this.shadows = store.field('figure.shadows', flag(), kFigure.shadows);
    this.trail = store.field('figure.trail', flag(), true);
    this.exercise = store.field(
      'figure-exercise.open',
      number({ min: 0, max: kExercises, step: 1 }),
      0,
    );

    this.keysUsed = computed(() => this.used(this.keys.value, this.normalise.value));
    this.steps = computed(() => this.stepsOf(this.state));
    this.leaders = computed(() => this.leadersOf(this.steps.value));
    this.regions = computed(() => cones(engine, this.keysUsed.value, this.seen.value));
    const began = computed(() => {
      void [this.exercise.value, this.setUps.value, store.opened.value];
      return { touched: false, state: untracked(() => JSON.stringify(this.state)) };
    });
    // Once it is touched it stays so, as when the query has been turned once round.
    this.touched = computed(() => {
      const begun = began.value;
      begun.touched ||= JSON.stringify(this.state) !== begun.state;
      return begun.touched;
    });
    effect(() => void this.touched.value); // computed at each beginning, not only when it is asked for
    effect(() => this.leaveTrail());
  }

  get state(): FigureState {
    return {
      q: this.q.value,
      keys: this.keys.value,
      values: this.values.value,
      seen: this.seen.value,
      normalise: this.normalise.value,
      editKeys: this.editKeys.value,
      editValues: this.editValues.value,
      cones: this.cones.value,
      shadows: this.shadows.value,
    };
  }

  /** One token's turn at any state, also one that isn't shown. */
  stepsOf({ q, keys, values, seen, normalise }: FigureState, scale = kScale): RowSteps {
    const used = fromRows(this.used(keys, normalise));
    return this.engine.steps(fromRows([q]), used, fromRows(pairs(values)), 0, {
      mask: seen,
      scale,
    });
  }

  /** 0: one token has all the weight; ln n: n tokens share it. -sum of p ln p, from ln p = s - lse. */
  entropyOf({ keys, lse }: RowSteps): number {
    const visible = keys.filter(({ live }) => live);
    if (visible.length === 0) return NaN;
    const mean = this.engine.matmul(
      matrix(
        1,
        visible.length,
        visible.map((k) => k.weight),
      ),
      matrix(
        visible.length,
        1,
        visible.map((k) => k.score),
      ),
    ).data[0];
    return Math.max(0, lse - mean);
  }

  leadersOf({ keys }: RowSteps): number[] {
    const most = Math.max(...keys.map(({ weight }) => weight));
    return kTokens.filter((n) => keys[n].live && keys[n].weight > most - kTie);
  }

  lengthsOf(points: readonly Point[]): number[] {
    const m = fromRows(points);
    return Array.from(this.engine.rowDots(m, m), Math.sqrt);
  }

  get length(): number {
    return Math.hypot(this.q.value[0], this.q.value[1]);
  }
  get angle(): number {
    const [x, y] = this.q.value;
    if (x !== 0 || y !== 0) this.heading = degrees(Math.atan2(y, x));
    return this.heading;
  }
  turn(length: number, angle: number): void {
    const radians = (angle * Math.PI) / 180;
    this.q.set([length * Math.cos(radians), length * Math.sin(radians)]);
    this.heading = angle;
  }

  /** Ends a change, and says what came of it. */
  moved(key: string, joins = false): void {
    this.store.commit(key, joins);
    announce(() => this.tell(this.says()));
  }

  /** As one step of undo, with whatever was set since the last one. */
  setUp(exercise: number, which: number): void {
    const start = startOf(exercise, which);
    batch(() => {
      this.q.set(start.q);
      this.keys.set(start.keys);
      this.values.set(start.values);
      this.seen.set(start.seen);
      this.normalise.set(start.normalise);
      this.editKeys.set(start.editKeys);
      this.editValues.set(start.editValues);
      this.cones.set(start.cones);
      this.shadows.set(start.shadows);
      this.setUps.value = this.setUps.peek() + 1;
    });
    this.past.value = [];
    this.moved('');
  }

  /** To the start: that of the exercise, if one is open. */
  reset(): void {
    this.store.commit();
    batch(() => {
      this.trail.read(undefined);
      this.setUp(this.exercise.value, 0);
    });
  }

  /** As "Query length 2.0, 30 degrees. A 71 percent, B 20, C 6, D 3. Result x 0.8, y 0.3." */
  says(): string {
    const { keys, out } = this.steps.peek();
    const weights = keys.map(({ live, weight }, n) =>
      t(live ? (n === 0 ? 'figure.says-first' : 'figure.says-weight') : 'figure.says-masked', {
        token: kTokenNames[n],
        ...(live && { percent: fixed(100 * weight, 0) }),
      }),
    );
    return t('figure.says', {
      length: fixed(this.length, 1),
      angle: fixed(this.angle, 0),
      weights: weights.join(', '),
      x: fixed(out[0], 1),
      y: fixed(out[1], 1),
    });
  }

  private used(keys: readonly number[], normalise: boolean): readonly Point[] {
    const points = pairs(keys);
    if (!normalise) return points;
    return this.lengthsOf(points).map((length, n) =>
      length === 0 ? points[n] : [points[n][0] / length, points[n][1] / length],
    );
  }

  private leaveTrail(): void {
    const { out } = this.steps.value;
    if (!this.trail.value || this.leaders.value.length === 0) {
      if (!this.trail.value) this.past.value = [];
      return;
    }
    const past = this.past.peek();
    const last = past[past.length - 1];
    if (last && Math.hypot(out[0] - last[0], out[1] - last[1]) < kTrailGap) return;
    this.past.value = [...past.slice(1 - kTrail), [out[0], out[1]]];
  }
}
