// The page as a whole: what holds for every section.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { axeViolations, kPage, numbersOf, openLesson } from './browser.ts';

test('one file, under 400 kB gzipped, that loads nothing', () => {
  const bytes = readFileSync(kPage);
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThan(400_000);
  expect(bytes.toString()).not.toMatch(/(src|href)="(?!data:|#)/);
});

// Each result of the engine is changed by a number that grows from call to call, so that differences of
// results change too.
const kChangedEngine = `
  let calls = 0;
  const moved = (values) => values.map((x) => x + 1000 * ++calls);
  const change = (result) => {
    if (typeof result === 'number') return result + 1000 * ++calls;
    if (ArrayBuffer.isView(result)) return moved(result);
    if (Array.isArray(result)) return result.map(change);
    if (result && typeof result === 'object') {
      const kept = ['rows', 'columns', 'key', 'live', 'firstKey', 'endKey'];
      return Object.fromEntries(Object.entries(result).map(([k, v]) =>
        [k, kept.includes(k) || typeof v === 'boolean' ? v : change(v)]));
    }
    return result;
  };
  window.qkvTestEngine = (engine) => new Proxy(engine, {
    get(target, name) {
      const member = target[name];
      if (typeof member !== 'function' || name === 'generator') return typeof member === 'function' ? member.bind(target) : member;
      return (...args) => change(member.apply(target, args));
    },
  });
`;

test('every number shown comes from the engine', async () => {
  const real = await openLesson();
  const other = await openLesson({ before: kChangedEngine });
  const before = await numbersOf(real);
  const after = await numbersOf(other);
  expect(before.length).toBeGreaterThan(10);
  expect(after.length).toBe(before.length);
  const same = before.filter((text, n) => text === after[n]);
  expect(same).toEqual([]);
  await real.context().close();
  await other.context().close();
});

describe('at any size and colours', () => {
  for (const [name, options] of Object.entries({
    light: {},
    dark: { scheme: 'dark' },
    'a small phone': { width: 320, height: 600, touch: true },
    'forced colours': { context: { forcedColors: 'active' } },
    'reduced motion': { context: { reducedMotion: 'reduce' } },
  } as const)) {
    test(`${name}: nothing for axe-core to find, nothing wider than the page`, async () => {
      const page = await openLesson(options);
      expect(await axeViolations(page)).toEqual([]);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide).toBeLessThanOrEqual(0);
      await page.context().close();
    });
  }
});
