// Shapes that the main figure draws: the hull of the values, and the regions of the query in which each key wins.
import { at, fromRows, transposed, type Engine } from '../../engine/engine.ts';
import type { Point } from '../../ui/plane.tsx';

const cross = (o: Point, a: Point, b: Point) =>
  (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);

/** The convex hull, counterclockwise from its leftmost point. */
export function hull(points: readonly Point[]): Point[] {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const chain = (all: readonly Point[]) => {
    const out: Point[] = [];
    for (const p of all) {
      while (out.length >= 2 && cross(out[out.length - 2], out[out.length - 1], p) <= 0) out.pop();
      out.push(p);
    }
    out.pop();
    return out;
  };
  return sorted.length < 2 ? sorted : [...chain(sorted), ...chain(sorted.reverse())];
}

/** How far inside a convex shape a point is: to its nearest edge, negative outside. */
export function inside(point: Point, shape: readonly Point[]): number {
  if (shape.length < 3) return 0;
  return Math.min(
    ...shape.map((a, n) => {
      const b = shape[(n + 1) % shape.length];
      return cross(a, b, point) / Math.hypot(b[0] - a[0], b[1] - a[1]);
    }),
  );
}

/** A range of directions, in radians, in which a token's key has the largest score. */
export interface Cone {
  readonly token: number;
  readonly from: number;
  readonly to: number;
}

const kTurn = 2 * Math.PI;

/**
 * Which key wins in which direction. The winner can only change where two keys tie, which is at a right angle to
 * their difference; between two such directions the engine's scores of one query tell the winner.
 */
export function cones(engine: Engine, keys: readonly Point[], seen: readonly boolean[]): Cone[] {
  const tokens = keys.map((_, n) => n).filter((n) => seen[n]);
  if (tokens.length === 0) return [];
  const ties: number[] = [];
  for (const a of tokens) {
    for (const b of tokens) {
      const [dx, dy] = [keys[a][0] - keys[b][0], keys[a][1] - keys[b][1]];
      if (dx !== 0 || dy !== 0) ties.push((Math.atan2(dx, -dy) + kTurn) % kTurn);
    }
  }
  if (ties.length === 0) return [{ token: tokens[0], from: 0, to: kTurn }];
  ties.sort((a, b) => a - b);
  const ends = ties.map((from, n) => ({ from, to: ties[n + 1] ?? ties[0] + kTurn }));
  const open = ends.filter(({ from, to }) => to - from > 1e-6);
  const middles = open.map(({ from, to }) => (from + to) / 2);
  const scores = engine.matmul(
    fromRows(middles.map((angle) => [Math.cos(angle), Math.sin(angle)])),
    transposed(fromRows(tokens.map((n) => keys[n]))),
  );
  const all: Cone[] = [];
  open.forEach(({ from, to }, row) => {
    const token = tokens[argmax(tokens.map((_, column) => at(scores, row, column)))];
    const last = all[all.length - 1];
    if (last?.token === token) all[all.length - 1] = { ...last, to };
    else all.push({ token, from, to });
  });
  // The first and the last may be one region.
  const [first, last] = [all[0], all[all.length - 1]];
  if (all.length > 1 && first.token === last.token) {
    all[0] = { ...first, from: last.from - kTurn };
    all.pop();
  }
  return all;
}

/** Where a ray from the centre leaves the square from -side to side. */
export function edge(angle: number, side: number): Point {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const length = side / Math.max(Math.abs(c), Math.abs(s));
  return [length * c, length * s];
}

/** A place for a cone's name: in its middle near the edge, or to one side of that if a point is in the way. */
export function coneLabel({ from, to }: Cone, side: number, points: readonly Point[]): Point {
  const places = [0.5, 0.3, 0.7].map((share) => edge(from + share * (to - from), side));
  const free = ([x, y]: Point) =>
    points.every(([a, b]) => Math.abs(a - x) > 0.75 || Math.abs(b - y) > 0.5);
  return places.find(free) ?? places[0];
}

/** The part of the square from -side to side that a cone covers. */
export function coneShape({ from, to }: Cone, side: number): Point[] {
  const quarter = Math.PI / 2;
  const corners: Point[] = [];
  for (let n = Math.ceil((from - quarter / 2) / quarter); quarter * (n + 0.5) < to; ++n) {
    if (quarter * (n + 0.5) > from) corners.push(edge(quarter * (n + 0.5), side));
  }
  const whole = to - from >= kTurn - 1e-9;
  return whole ? corners : [[0, 0], edge(from, side), ...corners, edge(to, side)];
}

/** The place of the largest; the first of equal ones. -1 for none. */
export function argmax(values: readonly number[]): number {
  return values.reduce((best, x, n) => (best < 0 || x > values[best] ? n : best), -1);
}
