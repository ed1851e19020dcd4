import type { Point } from '../../ui/plane.tsx';

/** A field's list of numbers as points of the plane. */
export function pairs(values: readonly number[]): Point[] {
  return Array.from({ length: values.length / 2 }, (_, n) => [values[2 * n], values[2 * n + 1]]);
}
