// What both figures of the section share: the tokens, the learned matrices, and their products.
import { matrix, transposed, type Engine, type Matrix } from '../../engine/engine.ts';
import { flag, indices, numbers, oneOf, type Range } from '../../ui/fields.ts';
import type { Lesson } from '../context.ts';
import { kKeySize, kTokenCount, kTokens, kTokenSize } from '../start/tokens.ts';

export const kEntry: Range = { min: -9, max: 9, step: 0.01 };

export type Projection = 'q' | 'k' | 'v';
export const kProjections: readonly Projection[] = ['q', 'k', 'v'];

/** X W^T: row i is W x for token i. `w` has a row for each entry of the result. */
export function project(engine: Engine, x: readonly number[], w: readonly number[]): Matrix {
  return engine.matmul(
    matrix(kTokenCount, kTokenSize, x),
    transposed(matrix(kKeySize, kTokenSize, w)),
  );
}

export function tokensState({ store }: Lesson) {
  const w = (name: Projection) =>
    store.field(
      `tokens.products.w${name}`,
      numbers(kKeySize * kTokenSize, kEntry),
      kTokens[`w${name}`],
    );
  return {
    x: store.field('tokens.products.x', numbers(kTokenCount * kTokenSize, kEntry), kTokens.x),
    w: { q: w('q'), k: w('k'), v: w('v') },
    notation: store.field('tokens.products.notation', oneOf('rows', 'columns'), 'rows'),
    entry: store.field('tokens.products.entry', indices(3, kTokenCount, kKeySize), kTokens.entry),
    pair: store.field('tokens.turns.pair', indices(kTokenCount, kTokenCount), kTokens.pair),
    causal: store.field('tokens.turns.causal', flag(), false),
  };
}
export type TokensState = ReturnType<typeof tokensState>;
