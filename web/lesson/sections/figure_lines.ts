// For each exercise: does the figure show now what it is to show, and in which numbers?
import { kTokenNames, type Point } from '../../ui/plane.tsx';
import { fixed, percent, power, t } from '../../ui/text.ts';
import { startOf } from '../start/figure.ts';
import type { Message } from '../told.tsx';
import { argmax, hull, inside } from './figure_geometry.ts';
import { kScale, kTokens, type FigureModel } from './figure_model.ts';
import { pairs } from './pairs.ts';

export interface Line {
  readonly done: boolean;
  readonly message: Message;
  /** What stands before the message; its name in the catalogue. */
  readonly lead?: string;
  /** Which part of the exercise this shows, if there are several. */
  readonly part?: string;
  /** What is left to do, if other parts are; its name in the catalogue. */
  readonly then?: string;
}

/** Exercises that are done when each of these has been seen; after each, what to do about the other. */
const kParts: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  4: { 'figure.4-done': 'figure.4-then-normalise', 'figure.4-cosine': 'figure.4-then-drag' },
  9: { 'figure.9-done': 'figure.9-then-all', 'figure.9-none': 'figure.9-then-one' },
};

const name = (token: number) => kTokenNames[token];
const kD = 3;
const kC = 2;

/** Names as "A, B and C". */
export function listed(tokens: readonly number[]): string {
  const names = tokens.map(name);
  return names.length < 2
    ? names.join('')
    : t('figure.list', { first: names.slice(0, -1).join(', '), last: names[names.length - 1] });
}

/** How many tokens must be visible for an exercise to say anything: with fewer there is nothing to compare. */
const kVisible: readonly number[] = [2, 2, 2, 4, 4, 1, 1, 1, 0];

const visible = (model: FigureModel) => kTokens.filter((n) => model.seen.value[n]);
const weights = (model: FigureModel) => model.steps.value.keys.map((k) => k.weight);
const todo = (text: string, rest: Omit<Message, 'text'> = {}): Line => ({
  done: false,
  message: { text, ...rest },
});
const done = (text: string, rest: Omit<Message, 'text'> = {}): Line => ({
  done: true,
  lead: 'figure.done',
  message: { text, ...rest },
});
const place = (out: ArrayLike<number>) => ({ x: fixed(out[0], 2), y: fixed(out[1], 2) });

function zeroQuery(model: FigureModel): Line {
  const tokens = visible(model);
  const shares = tokens.map((n) => weights(model)[n]);
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  if (most - least >= 0.01) {
    return todo('figure.1-todo', { numbers: { least: percent(least), most: percent(most) } });
  }
  return done('figure.1-done', {
    words: { tokens: listed(tokens) },
    numbers: { weight: percent(most), ...place(model.steps.value.out) },
  });
}

function longerQuery(model: FigureModel): Line {
  const { state, length } = model;
  const short = Math.hypot(...startOf(2).q);
  if (length < 1.9 * short) {
    return todo('figure.2-todo', {
      numbers: { entropy: fixed(model.entropyOf(model.steps.value), 2) },
    });
  }
  const before = model.stepsOf(state, (kScale * short) / length);
  const now = model.steps.value;
  const tied = model.leaders.value;
  const winner = tied[0];
  const numbers = {
    before: fixed(model.entropyOf(before), 2),
    after: fixed(model.entropyOf(now), 2),
    weightBefore: percent(before.keys[winner].weight),
    weightAfter: percent(now.keys[winner].weight),
  };
  const words = { short: fixed(short, 1), long: fixed(length, 1), tokens: listed(tied) };
  if (tied.length === 1) return done('figure.2-done', { words, numbers });
  return done('figure.2-tied', { words, numbers: { ...numbers, share: percent(1 / tied.length) } });
}

/** `won`: the tokens that had the largest weight since the exercise was opened. */
function directionChooses(model: FigureModel, won: ReadonlySet<number>): Line {
  const winners = [...new Set(model.regions.value.map((c) => c.token))].sort();
  const leaders = model.leaders.value;
  const winner = leaders[0];
  const had = [...won].sort();
  if (winners.length < 2) return todo('figure.3-same');
  if (leaders.length > 1 || winners.some((n) => !won.has(n))) {
    return todo(leaders.length > 1 ? 'figure.3-tied' : 'figure.3-todo', {
      words: {
        angle: fixed(model.angle, 0),
        winner: listed(leaders),
        had: had.length > 0 ? listed(had) : '–',
      },
      numbers: { weight: percent(weights(model)[winner]) },
    });
  }
  return done('figure.3-done', {
    words: { winners: listed(winners), winner: name(winner) },
    numbers: { weight: percent(weights(model)[winner]) },
  });
}

function longestShadow(model: FigureModel): Line {
  const { keys } = model.steps.value;
  const leaders = model.leaders.value;
  // Of tokens that tie with D, the other one is told.
  const winner = leaders.find((n) => n !== kD) ?? kD;
  if (model.length === 0) return todo('figure.4-zero');
  const shadows = keys.map((k) => k.dot / model.length);
  const to: Point = [model.q.value[0], model.q.value[1]];
  const away = model.lengthsOf(pairs(model.keys.value).map(([x, y]) => [x - to[0], y - to[1]]));
  const nearest = argmax(away.map((distance) => -distance));
  const numbers = {
    d: fixed(shadows[kD], 2),
    other: fixed(shadows[winner], 2),
    weight: percent(keys[winner].weight),
  };
  const words = { winner: name(winner), nearest: name(nearest) };
  if (winner !== kD && leaders.includes(kD)) return todo('figure.4-tied', { words, numbers });
  if (winner === kD)
    return done(model.normalise.value ? 'figure.4-cosine' : 'figure.4-done', { words, numbers });
  return todo('figure.4-todo', { words, numbers: { ...numbers, near: fixed(away[nearest], 2) } });
}

function innerKey(model: FigureModel): Line {
  const region = model.regions.value.some((c) => c.token === kD);
  const leaders = model.leaders.value;
  const numbers = { weight: percent(weights(model)[leaders[0]]), d: percent(weights(model)[kD]) };
  if (leaders[0] === kD && leaders.length === 1 && region)
    return done(model.normalise.value ? 'figure.5-circle' : 'figure.5-done', { numbers });
  return todo(region ? 'figure.5-outside' : 'figure.5-inside', { numbers });
}

function movedTogether(model: FigureModel): Line {
  const old = startOf(6);
  const shifts = model.keys.value.map((x, n) => x - old.keys[n]);
  const by = [shifts[0], shifts[1]];
  const together = shifts.every((x, n) => Math.abs(x - by[n % 2]) < 1e-6);
  if (model.normalise.value) return todo('figure.6-normalised');
  if (!together) return todo('figure.6-apart');
  if (by.every((x) => Math.abs(x) < 1e-6)) return todo('figure.6-todo');
  const before = model.stepsOf({ ...model.state, keys: old.keys }).keys;
  const now = model.steps.value.keys;
  const change = Math.max(...now.map((k, n) => Math.abs(k.weight - before[n].weight)));
  const first = visible(model)[0];
  const words = { x: fixed(by[0], 2), y: fixed(by[1], 2) };
  const score = fixed(now[first].score - before[first].score, 2);
  return change === 0
    ? done('figure.6-exact', { words, numbers: { score } })
    : done('figure.6-done', { words, numbers: { score, change: power(change) } });
}

function insideShape(model: FigureModel): Line {
  const { out } = model.steps.value;
  const shape = hull(pairs(model.values.value).filter((_, n) => model.seen.value[n]));
  if (shape.length < 3) return todo('figure.7-flat');
  const distance = inside([out[0], out[1]], shape);
  const numbers = { distance: fixed(Math.max(0, distance), 2) };
  return distance > 0.3 ? todo('figure.7-todo', { numbers }) : done('figure.7-done', { numbers });
}

function valuesOnly(model: FigureModel): Line {
  const old = startOf(8).values;
  const moved = kTokens.filter((n) =>
    [0, 1].some((axis) => model.values.value[2 * n + axis] !== old[2 * n + axis]),
  );
  if (moved.length === 0) return todo('figure.8-todo');
  if (!moved.some((n) => model.seen.value[n])) return todo('figure.8-masked');
  const before = model.stepsOf({ ...model.state, values: old });
  const same = before.keys.every((k, n) => k.weight === weights(model)[n]);
  return done(same ? 'figure.8-done' : 'figure.8-changed', {
    words: { tokens: listed(moved) },
    numbers: {
      x0: fixed(before.out[0], 2),
      y0: fixed(before.out[1], 2),
      ...place(model.steps.value.out),
    },
  });
}

function masked(model: FigureModel): Line {
  const tokens = visible(model);
  const all = model.stepsOf({ ...model.state, seen: [true, true, true, true] }).keys;
  if (tokens.length === 0) return done('figure.9-none', { numbers: place(model.steps.value.out) });
  const now = weights(model);
  if (model.seen.value[kC] || tokens.length < 2) {
    return todo(tokens.length < 2 ? 'figure.9-few' : 'figure.9-todo', {
      numbers: { c: percent(now[kC]) },
    });
  }
  const [a, b] = [...tokens].sort((x, y) => now[y] - now[x]);
  return done('figure.9-done', {
    words: { a: name(a), b: name(b) },
    numbers: {
      c: percent(all[kC].weight),
      now: fixed(now[a] / now[b], 2),
      before: fixed(all[a].weight / all[b].weight, 2),
    },
  });
}

type Judge = (model: FigureModel, won: ReadonlySet<number>) => Line;
const kJudges: readonly Judge[] = [
  zeroQuery,
  longerQuery,
  directionChooses,
  longestShadow,
  innerKey,
  movedTogether,
  insideShape,
  valuesOnly,
  masked,
];

/** `parts`: those that were seen before, of an exercise of several. */
export function lineOf(
  exercise: number,
  model: FigureModel,
  won: ReadonlySet<number>,
  parts: ReadonlySet<string> = new Set(),
): Line {
  const tokens = visible(model);
  if (tokens.length < kVisible[exercise - 1]) {
    if (tokens.length === 0) return todo('figure.none');
    return todo(kVisible[exercise - 1] > 2 ? 'figure.need-all' : 'figure.only-one', {
      words: { tokens: listed(tokens) },
    });
  }
  const line = kJudges[exercise - 1](model, won);
  // What a link or a set-up shows is nobody's solution.
  if (line.done && !model.touched.value)
    return { ...line, done: false, lead: 'figure.as-left', then: 'figure.then-set-up' };
  if (!line.done || !(exercise in kParts)) return line;
  const part = line.message.text;
  const seen = Object.keys(kParts[exercise]).every((one) => one === part || parts.has(one));
  if (seen) return { ...line, part };
  return { ...line, part, done: false, lead: 'figure.half', then: kParts[exercise][part] };
}
