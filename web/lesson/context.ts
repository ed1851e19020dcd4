// What every section of the lesson works with.
import type { Engine } from '../engine/engine.ts';
import type { Range } from '../ui/fields.ts';
import type { Store } from '../ui/store.ts';

export interface Lesson {
  readonly engine: Engine;
  readonly store: Store;
}

/** Coordinates of the drawn vectors. */
export const kPlane: Range = { min: -3, max: 3, step: 0.01 };
