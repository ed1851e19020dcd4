// The page as a whole: what holds for every section.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, kPage, numbersOf, openLesson } from './browser.ts';
import { kChangedEngine } from './changed_engine.ts';

test('one file, under 400 kB gzipped, that loads nothing', () => {
  const bytes = readFileSync(kPage);
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThan(400_000);
  expect(bytes.toString()).not.toMatch(/(src|href)="(?!data:|#)/);
  const engine = new URL('../../build/wasm/bindings/wasm/engine.wasm', import.meta.url);
  expect(gzipSync(readFileSync(engine), { level: 9 }).length).toBeLessThan(150_000);
});

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
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true;
      });
      const wide = await page.evaluate(
        (width) => document.documentElement.scrollWidth - width,
        'width' in options ? options.width! : 1000,
      );
      expect(wide).toBeLessThanOrEqual(0);
      await page.context().close();
    });
  }
});

test('with scripts off the text and the figures as they start can be read', async () => {
  const page = await openLesson({ script: false });
  expect(await page.locator('main').innerText()).toContain(
    'multiply the two vectors entry by entry',
  );
  expect(await page.locator('[data-figure="dot-arrows"] .num').allInnerTexts()).toContain('3.00');
  expect(await page.locator('[data-figure="dot-arrows"] svg .arrow').count()).toBe(2);
  expect(await page.locator('noscript').innerText()).not.toBe('');
  await page.context().close();
});

test('a page in another language has no English left', async () => {
  const page = await openLesson({
    page: new URL('../../build/web/pseudo/index.html', import.meta.url),
  });
  const english = await page.evaluate(() => {
    const found: string[] = [];
    const words = /[a-z]{3}/i;
    const allowed = /^(SVG|PNG|CSV|NaN)$/;
    const check = (text: string | null) => {
      if (text && words.test(text) && !text.includes('⟦') && !allowed.test(text.trim()))
        found.push(text.trim());
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement!;
      if (parent.closest('script, style, noscript, code, pre, math, output, .num')) continue;
      // Markup splits a text: the brackets are in some part of the same paragraph.
      const whole =
        parent.closest(
          'p, li, h1, h2, h3, td, th, dt, dd, label, legend, summary, figcaption, caption',
        ) ?? parent;
      if (!whole.textContent!.includes('⟦')) check(node.textContent);
    }
    for (const element of document.querySelectorAll(
      '[aria-label], [title], [placeholder], [aria-valuetext]',
    )) {
      for (const name of ['aria-label', 'title', 'placeholder']) check(element.getAttribute(name));
    }
    return found;
  });
  expect(english).toEqual([]);
  await page.context().close();
});

test('a link reopens the same state, to the pixel', async () => {
  const page = await openLesson();
  await page.getByRole('slider', { name: 'Arrow a, across' }).focus();
  for (let n = 0; n < 7; ++n) await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Shift+ArrowUp');
  await page.waitForFunction(() => location.hash.includes('dot.a'));
  const [hash, numbers] = [new URL(page.url()).hash, await numbersOf(page)];
  // Drawn anew at the same place of the window: what is painted bit by bit differs at the edges of the bits.
  const picture = async (of: Page) => {
    await of.evaluate(() => {
      (document.activeElement as HTMLElement).blur();
      document.body.hidden = true;
      document.body.getBoundingClientRect();
      document.body.hidden = false;
      scrollTo(0, 300);
    });
    return of.locator('[data-figure="dot-arrows"] svg').first().screenshot();
  };
  const again = await openLesson({ hash });
  expect(await numbersOf(again)).toEqual(numbers);
  expect(new URL(again.url()).hash).toBe(hash);
  expect((await picture(again)).equals(await picture(page))).toBe(true);
  await page.context().close();
  await again.context().close();
});

test('bad links open the start', async () => {
  const start = await openLesson();
  const numbers = await numbersOf(start);
  for (const hash of ['#v=1&dot.a=1e999_2', '#v=9&dot.a=2_2', '#v=1&nobody=1&dot.a=%%', '#dot']) {
    const page = await openLesson({ hash });
    expect(await numbersOf(page)).toEqual(numbers);
    await page.context().close();
  }
  await start.context().close();
});

test('undo, redo and reset', async () => {
  const page = await openLesson();
  const start = await numbersOf(page);
  await page.getByRole('button', { name: 'Make b twice as long' }).click();
  const changed = await numbersOf(page);
  expect(changed).not.toEqual(start);
  await page.getByRole('button', { name: 'Undo' }).click();
  expect(await numbersOf(page)).toEqual(start);
  await page.getByRole('button', { name: 'Redo' }).click();
  expect(await numbersOf(page)).toEqual(changed);
  await page.keyboard.press('Control+z');
  expect(await numbersOf(page)).toEqual(start);
  await page.keyboard.press('Control+Shift+z');
  await page.getByRole('button', { name: 'Reset all' }).click();
  expect(await numbersOf(page)).toEqual(start);
  await page.context().close();
});

test('?embed=1 shows one figure alone', async () => {
  const page = await openLesson({ query: '?embed=1&figure=dot-rows', hash: '#v=1&dot.a=2_2' });
  expect(await page.locator('[data-figure="dot-rows"]').isVisible()).toBe(true);
  expect(await page.locator('[data-figure="dot-arrows"]').isVisible()).toBe(false);
  // The headings are for screen readers alone.
  expect((await page.locator('#dot > h2').boundingBox())!.width).toBeLessThanOrEqual(1);
  expect(await axeViolations(page)).toEqual([]);
  await page.context().close();
});

test('each box that scrolls sideways shows that it does', async () => {
  const page = await openLesson({ width: 320 });
  const bare = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('main *')]
      .filter((box) => /auto|scroll/.test(getComputedStyle(box).overflowX))
      .filter((box) => !getComputedStyle(box).backgroundAttachment.startsWith('local'))
      .map((box) => `${box.closest('section')!.id}: ${box.className}`),
  );
  expect(bare).toEqual([]);
  await page.context().close();
});

test('undo and redo keep the focus when there is nothing left to do', async () => {
  const page = await openLesson();
  await page.getByRole('button', { name: 'Make b twice as long' }).click();
  for (const name of ['Undo', 'Redo']) {
    const button = page.getByRole('button', { name });
    await button.press('Enter');
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    expect(await button.evaluate((it) => it === document.activeElement)).toBe(true);
  }
  await page.context().close();
});

test('each prediction passes the focus on, and back', async () => {
  const page = await openLesson();
  const questions = page.locator('fieldset.predict');
  const count = await questions.count();
  expect(count).toBeGreaterThan(1);
  for (let n = 0; n < count; ++n) {
    const inside = () =>
      questions
        .nth(n)
        .evaluate((it) => it.contains(document.activeElement) && document.activeElement!.tagName);
    await questions.nth(n).getByRole('button', { name: 'Skip' }).press('Enter');
    expect(await inside()).toBe('BUTTON');
    await questions.nth(n).getByRole('button', { name: 'Guess again' }).press('Enter');
    expect(await inside()).toBe('INPUT');
  }
  await page.context().close();
});

test('what a slider says is said once, and no label shows a raw symbol', async () => {
  const page = await openLesson();
  expect(await page.locator('main output').count()).toBe(0);
  const raw = await page.evaluate(() => {
    const shown = document.createTreeWalker(document.querySelector('main')!, NodeFilter.SHOW_TEXT);
    const found: string[] = [];
    for (let node = shown.nextNode(); node; node = shown.nextNode()) {
      if (node.parentElement!.closest('pre, code, script, style')) continue;
      if (/[A-Za-z]_[A-Za-z]/.test(node.textContent!)) found.push(node.textContent!);
    }
    for (const element of document.querySelectorAll('main [aria-label]')) {
      const label = element.getAttribute('aria-label')!;
      if (/[A-Za-z]_[A-Za-z]|√/.test(label)) found.push(label);
    }
    return found;
  });
  expect(raw).toEqual([]);
  await page.context().close();
});

test('headings with mathematics have names that say it', async () => {
  const page = await openLesson();
  const said = 'Dividing by the square root of d k keeps the softmax from saturating';
  expect(await page.getByRole('heading', { name: said }).count()).toBe(1);
  expect(await page.getByRole('region', { name: said }).count()).toBe(1);
  expect(await page.getByRole('link', { name: said }).count()).toBe(1);
  const unsaid = page.locator(
    'main :is(h2, h3):has(math):not([aria-label]), nav a:not(:has(.unseen)) > math',
  );
  expect(await unsaid.count()).toBe(0);
  await page.context().close();
});

test('colours follow the system or the choice', async () => {
  const page = await openLesson({ scheme: 'dark' });
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await back();
  await page.getByLabel('Colours').selectOption('light');
  expect(await back()).toBe('rgb(255, 255, 255)');
  await page.getByLabel('Colours').selectOption('dark');
  expect(await back()).toBe(dark);
  await page.context().close();
});

test('a figure is saved as SVG, PNG and CSV', async () => {
  const page = await openLesson();
  const figure = page.locator('[data-figure="dot-arrows"]');
  await figure.getByText('Save').click();
  const saved = async (name: string) => {
    const download = page.waitForEvent('download');
    await figure.getByRole('button', { name, exact: true }).click();
    return readFileSync((await (await download).path())!);
  };
  const svg = (await saved('SVG')).toString();
  expect(svg).toContain('<svg');
  expect(svg).not.toContain('var(--');
  const png = await saved('PNG');
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  const csv = (await saved('CSV')).toString().split('\r\n');
  expect(csv[0]).toBe('vector,x,y,length');
  expect(csv[3]).toBe('dot,3,,');
  await page.context().close();
});

test('sections out of sight can be reached, by keyboard and by screen reader', async () => {
  const page = await openLesson({ lazy: true });
  expect(await page.locator('main').ariaSnapshot()).toContain('Number of heads');
  await page.getByRole('link', { name: 'Several heads' }).press('Enter');
  await page.keyboard.press('Tab');
  const inside = await page.evaluate(() => document.activeElement!.closest('section')!.id);
  expect(inside).toBe('heads');
  await page.context().close();
});

test('nothing is cut at the edge of a section, at any width', async () => {
  for (const width of [320, 390, 700, 1000, 1280, 1600]) {
    const page = await openLesson({ width, touch: width < 600, lazy: true });
    const cut = await page.evaluate(async () => {
      const found: string[] = [];
      for (const section of document.querySelectorAll('main > section')) {
        section.scrollIntoView();
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        for (const details of section.querySelectorAll('details')) details.open = true;
        await new Promise(requestAnimationFrame);
        const edge = section.getBoundingClientRect();
        for (const element of section.querySelectorAll(
          'p, table, pre, svg, button, input, h2, h3',
        )) {
          const box = element.getBoundingClientRect();
          if (box.width === 0 || element.closest('.unseen')) continue;
          // What lies in a box that scrolls can be reached.
          let scrolls = false;
          for (let up = element.parentElement; up && up !== section; up = up.parentElement) {
            scrolls ||= /auto|scroll/.test(getComputedStyle(up).overflowX);
          }
          if (!scrolls && (box.left < edge.left - 1 || box.right > edge.right + 1)) {
            found.push(`${section.id}: ${element.outerHTML.slice(0, 80)}`);
          }
        }
      }
      return found;
    });
    expect(cut, `${width} px`).toEqual([]);
    await page.context().close();
  }
});

test('a minus typed before a fraction stays', async () => {
  const page = await openLesson();
  const box = page.getByRole('spinbutton', { name: 'a, across' });
  await box.fill('2');
  await box.press('Control+a');
  await box.pressSequentially('-0.5');
  expect(await box.inputValue()).toBe('-0.5');
  await box.press('Enter');
  await page.waitForFunction(() => location.hash.includes('dot.a=-0.5_2'));
  await page.context().close();
});

test('links within the page keep the state, and Back brings states back', async () => {
  const page = await openLesson();
  const hash = () => page.evaluate(() => location.hash);
  await page.getByRole('spinbutton', { name: 'a, across' }).fill('-2');
  await page.waitForFunction(() => location.hash.includes('dot.a=-2_2'));
  await page.getByRole('link', { name: 'A longer query' }).click();
  expect(await hash()).toBe('#v=1&dot.a=-2_2&at=figure');
  await page.getByRole('button', { name: 'Reset all' }).click();
  await page.waitForFunction(() => location.hash === '#v=1');
  await page.goBack();
  expect(await page.getByRole('spinbutton', { name: 'a, across' }).inputValue()).toBe('-2');
  await page.getByRole('button', { name: 'Undo' }).click();
  expect(await page.getByRole('spinbutton', { name: 'a, across' }).inputValue()).toBe('1');
  await page.context().close();
});

test('a copied link opens at its figure', async () => {
  const page = await openLesson({ hash: '#v=1&heads.look.token=2&at=heads-look', lazy: true });
  await page.waitForTimeout(300);
  const top = await page
    .locator('[data-figure="heads-look"]')
    .evaluate((place) => place.getBoundingClientRect().top);
  expect(Math.abs(top)).toBeLessThan(150);
  await page.context().close();
});
