import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { clamp, flags, indices, number, numbers, oneOf, permutation } from './fields.ts';
import { Store } from './store.ts';

const kRange = { min: -4, max: 4, step: 0.01 };

function page() {
  const store = new Store();
  return {
    store,
    query: store.field('figure.q', numbers(2, kRange), [1, 0.5]),
    seed: store.field('scale.seed', number({ min: 0, max: 2 ** 32 - 1, step: 1 }), 0),
    mode: store.field('figure.mode', oneOf('free', 'hull'), 'free'),
    mask: store.field('figure.mask', flags(4), [true, true, true, true]),
    order: store.field('set.order', permutation(4), [0, 1, 2, 3]),
  };
}

describe('links', () => {
  test('the start is the version alone', () => {
    expect(page().store.link()).toBe('v=1');
  });

  test('whatever is set reopens the same', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true }),
        fc.double({ min: -9, max: 9, noNaN: true }),
        fc.nat(),
        fc.boolean(),
        fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
        (x, y, seed, shown, order) => {
          const a = page();
          a.query.set([x, y]);
          a.seed.set(seed);
          a.mode.set('hull');
          a.mask.set([shown, true, !shown, true]);
          a.order.set(order);
          const b = page();
          b.store.open('#' + a.store.link());
          expect(b.store.link()).toBe(a.store.link());
          expect(b.query.value).toEqual(a.query.value);
          expect(b.order.value).toEqual(a.order.value);
        },
      ),
    );
  });

  test('any text opens something valid', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, more) => {
        const { store, query } = page();
        store.open(`#v=1&figure.q=${text}&${more}`);
        expect(query.value.every((v) => v >= -4 && v <= 4)).toBe(true);
      }),
    );
  });

  test('values out of range are clamped, unknown names and versions ignored', () => {
    const { store, query } = page();
    store.open('#v=1&figure.q=99_-99&nobody=1');
    expect(query.value).toEqual([4, -4]);
    store.open('#v=2&figure.q=2_2');
    expect(query.value).toEqual([1, 0.5]);
    store.open('#v=1&figure.q=NaN_2');
    expect(query.value).toEqual([1, 0.5]);
    store.open('#v=1&figure.q=%');
    expect(query.value).toEqual([1, 0.5]);
  });
});

describe('undo', () => {
  test('steps back and forth', () => {
    const { store, query, seed } = page();
    query.set([2, 2]);
    store.commit('figure.q');
    seed.set(7);
    store.commit('scale.seed');
    store.undo();
    expect([query.value, seed.value]).toEqual([[2, 2], 0]);
    store.undo();
    expect(query.value).toEqual([1, 0.5]);
    expect([store.canUndo.value, store.canRedo.value]).toEqual([false, true]);
    store.redo();
    store.redo();
    expect([query.value, seed.value]).toEqual([[2, 2], 7]);
  });

  test('key presses on one field are one step', () => {
    const { store, query } = page();
    for (const x of [1.1, 1.2, 1.3]) {
      query.set([x, 0.5]);
      store.commit('figure.q', true);
    }
    store.undo();
    expect(query.value).toEqual([1, 0.5]);
  });

  test('a reset of one section leaves the others, and can be undone', () => {
    const { store, query, seed } = page();
    query.set([2, 2]);
    seed.set(7);
    store.commit();
    store.reset('figure');
    expect([query.value, seed.value]).toEqual([[1, 0.5], 7]);
    store.undo();
    expect(query.value).toEqual([2, 2]);
  });
});

test('clamped numbers are multiples of the step, without binary rests', () => {
  expect(clamp(0.1 + 0.2, kRange)).toBe(0.3);
  expect(Object.is(clamp(-0.001, kRange), 0)).toBe(true);
});

test('indices stay below their counts', () => {
  const codec = indices(3, 4);
  expect(codec.parse(codec.format([2, 3]))).toEqual([2, 3]);
  for (const text of ['3_0', '0_4', '1', '1_1_1', '-1_0', '_', '1.5_0', ''])
    expect(codec.parse(text)).toBe(undefined);
});
