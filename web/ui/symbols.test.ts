// How symbols in texts are read aloud.
import { expect, test } from 'vitest';

import { spoken } from './symbols.tsx';

test('symbols are said letter by letter, roots in words, and all else stays', () => {
  expect(spoken('Key size d_k')).toBe('Key size d k');
  expect(spoken('q · k / √d_k')).toBe('q · k / the square root of d k');
  expect(spoken('W_Q, W_K, W_V of all heads')).toBe('W Q, W K, W V of all heads');
  expect(spoken('Nothing to say')).toBe('Nothing to say');
});
