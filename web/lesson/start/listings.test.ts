import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

import type { Engine } from '../../engine/engine.ts';
import { engine as load } from '../../engine/node.ts';
import prints from '../../tests/numpy_prints.json' with { type: 'json' };
import { attentionListing, runAttention, runScaling, scalingListing } from '../listings/run.ts';
import { arrayText, floatText, round } from '../numpy_print.ts';
import { kListings } from './listings.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

const listing = (name: string) =>
  readFileSync(new URL(`../listings/${name}`, import.meta.url), 'utf8');
const go = async () => true;

describe('what the text says of the start', () => {
  test('the listings print the lines of the lesson', async () => {
    const { q, k, v, seed, d, perm, scalingSeed, pairs, dk } = kListings;
    expect(runAttention(engine, { q, k, v, seed, d, perm })).toEqual([
      '[[0.14  0.284 0.576]] [[4.28 5.72]]',
      'True',
    ]);
    expect(await runScaling(engine, { seed: scalingSeed, pairs, d: dk }, go)).toEqual([
      '8.08 1.01',
    ]);
  });
});

describe('other numbers print what NumPy prints', () => {
  test.each(prints.attention)('attention.py, seed $inputs.seed', ({ inputs, code, printed }) => {
    expect(attentionListing(listing('attention.py'), inputs)).toBe(code);
    expect(runAttention(engine, inputs)).toEqual(printed);
  });

  test.each(prints.scaling)('scaling.py, seed $inputs.seed', async ({ inputs, code, printed }) => {
    expect(scalingListing(listing('scaling.py'), inputs)).toBe(code);
    expect(await runScaling(engine, inputs, go)).toEqual(printed);
  });

  test('whatever the seed, the size and the order, the last line is True', () => {
    const inputs = fc.record({
      q: fc.constant(kListings.q),
      k: fc.constant(kListings.k),
      v: fc.constant(kListings.v),
      seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      d: fc.integer({ min: 1, max: 8 }),
      perm: fc
        .integer({ min: 2, max: 8 })
        .chain((n) => fc.shuffledSubarray([...Array(n).keys()], { minLength: n })),
    });
    fc.assert(
      fc.property(inputs, (given) => {
        expect(runAttention(engine, given)[1]).toBe('True');
      }),
      { numRuns: 500 },
    );
  });

  test('a run that is called off ends', async () => {
    expect(
      await runScaling(engine, { seed: 0, pairs: 10_000, d: 64 }, async (done) => done < 0.3),
    ).toBe(undefined);
  });
});

describe('printing', () => {
  test.each(prints.arrays)('$rows', ({ rows, text }) => {
    expect(arrayText(rows.map((row) => row.map(Number)))).toBe(text);
  });
  test.each(prints.floats)('$value', ({ value, text }) => {
    expect(floatText(Number(value))).toBe(text);
  });
  test.each(prints.rounded)('round($value, $digits)', ({ value, digits, text }) => {
    expect(floatText(round(Number(value), digits))).toBe(text);
  });
});
