// All tokens at once: queries, keys and values from X, then every turn as one line of matrix algebra.
import type { Lesson } from '../context.ts';
import './tokens.css';
import { productsFigure } from './tokens_products.tsx';
import { tokensState } from './tokens_state.ts';
import { turnsFigure } from './tokens_turns.tsx';

export function tokensSection(lesson: Lesson) {
  const state = tokensState(lesson);
  return {
    'tokens-products': productsFigure(lesson, state),
    'tokens-turns': turnsFigure(lesson, state),
  };
}
