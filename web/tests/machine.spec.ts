// The engine block by block, in the browser: each exercise by mouse, touch, keyboard, and by names alone.
import { type Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, numbersOf, openLesson } from './browser.ts';

const kBlocks = '[data-figure="machine-blocks"]';
const kOverflow = '[data-figure="machine-overflow"]';
const kSame = 'The same in every bit.';

const verdict = (page: Page) => page.locator(`${kBlocks} .machine-verdict`).innerText();
const grew = (page: Page) => page.locator(`${kBlocks} .machine-grew`).count();
const read = (page: Page) => page.locator(`${kBlocks} .machine-block.seen`).count();

describe('block by block', () => {
  test('by mouse: at each block the result so far has the bits of attention', async () => {
    const page = await openLesson();
    const next = page.locator(kBlocks).getByRole('button', { name: 'Next block' });
    for (let blocks = 1; blocks <= 4; ++blocks) {
      expect(await read(page)).toBe(blocks);
      expect(await verdict(page)).toBe(kSame);
      expect(await axeViolations(page, '#machine')).toEqual([]);
      if (blocks < 4) await next.press('Enter');
    }
    expect(await next.getAttribute('aria-disabled')).toBe('true');
    expect(await next.evaluate((it) => it === document.activeElement)).toBe(true);
    await next.press('Enter');
    expect(await read(page)).toBe(4);
    expect(await grew(page)).toBe(2); // blocks 2 and 4
    await page.context().close();
  });

  test('the scores of the next block are there to predict from, seen and said', async () => {
    const page = await openLesson();
    const scores = page.locator(`${kBlocks} .machine-score`);
    expect(await scores.count()).toBe(4);
    const drawing = page.locator(kBlocks).getByRole('img');
    expect(await drawing.getAttribute('aria-label')).toMatch(
      /The largest score of the next block, not read yet, is −?\d+\.\d\d\.$/,
    );
    await page.getByRole('slider', { name: 'Blocks read' }).press('End');
    expect(await drawing.getAttribute('aria-label')).not.toContain('not read yet');
    await page.context().close();
  });

  test('on a phone the drawing and the state are seen whole', async () => {
    const page = await openLesson({ width: 390, hash: '#v=1&machine.blocks.read=4' });
    for (const name of [
      'The state after each block',
      'Softmax without subtracting the largest score',
    ])
      for (const shift of ['0', '1000', '−1000']) {
        await page.locator(kOverflow).getByRole('radio', { name: shift, exact: true }).check();
        const spare = await page
          .locator(`.sideways[aria-label="${name}"]`)
          .evaluate((box) => box.clientWidth - box.scrollWidth);
        expect(spare, `${name}, ${shift}`).toBeGreaterThanOrEqual(0);
      }
    await page.context().close();
  });

  test('by touch: rising scores rescale in every block, falling ones never', async () => {
    const page = await openLesson({ touch: true, width: 320, height: 600 });
    await page.locator(kBlocks).getByRole('button', { name: 'All' }).tap();
    await page.locator(kBlocks).getByText('rising scores').tap();
    expect(await grew(page)).toBe(3);
    expect(await verdict(page)).toBe(kSame);
    await page.locator(kBlocks).getByText('falling scores').tap();
    expect(await grew(page)).toBe(0);
    expect(await verdict(page)).toBe(kSame);
    await page.context().close();
  });

  test('by keyboard: the slider reads blocks and takes them back, and it is said', async () => {
    const page = await openLesson();
    await page.getByRole('slider', { name: 'Blocks read' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() =>
      document
        .getElementById('announcer')!
        .textContent!.startsWith('Block 2 raises the maximum to'),
    );
    await page.keyboard.press('Home');
    expect(await read(page)).toBe(0);
    expect(await page.locator(`${kBlocks} .machine-verdict`).count()).toBe(0);
    expect(await axeViolations(page, '#machine')).toEqual([]);
    await page.keyboard.press('End');
    expect(await read(page)).toBe(4);
    await page.context().close();
  });

  test('by names alone: other numbers, and the drawing says what is read', async () => {
    const page = await openLesson();
    const figure = page.getByRole('group', { name: 'One query reads 128 keys in blocks of 32' });
    await figure.getByRole('button', { name: 'All' }).press('Enter');
    const before = await numbersOf(page, kBlocks);
    await figure.getByRole('spinbutton', { name: 'Seed' }).fill('5');
    expect(await numbersOf(page, kBlocks)).not.toEqual(before);
    expect(await verdict(page)).toBe(kSame);
    expect(await figure.getByRole('img').getAttribute('aria-label')).toContain(
      '4 of 4 blocks are read.',
    );
    await page.context().close();
  });

  test('under reduced motion nothing moves, and the factor is marked all the same', async () => {
    const page = await openLesson({
      context: { reducedMotion: 'reduce' },
      hash: '#v=1&machine.blocks.read=2',
    });
    const style = await page.locator(`${kBlocks} .machine-grew`).evaluate((cell) => {
      const { animationName, boxShadow } = getComputedStyle(cell);
      return { animationName, marked: boxShadow !== 'none' };
    });
    expect(style).toEqual({ animationName: 'none', marked: true });
    await page.context().close();
  });
});

describe('without the maximum', () => {
  const cells = (page: Page, column: number) =>
    page.locator(`${kOverflow} tbody tr td:nth-child(${column + 1})`).allInnerTexts();

  test('by mouse: 1000 overflows, -1000 leaves nothing, the engine stays right', async () => {
    const page = await openLesson();
    const right = await cells(page, 3);
    expect(right).toEqual(['0.665', '0.245', '0.090']);
    for (const [shift, exps] of [
      ['1000', '∞: too large'],
      ['−1000', '0: too small'],
    ]) {
      await page.locator(kOverflow).getByRole('radio', { name: shift, exact: true }).click();
      expect(await cells(page, 1)).toEqual(Array(3).fill(exps));
      expect(await cells(page, 2)).toEqual(Array(3).fill('NaN: no number'));
      expect(await cells(page, 3)).toEqual(right);
      expect(await axeViolations(page, '#machine')).toEqual([]);
    }
    await page.context().close();
  });

  test('predicted first, and the truth is shown', async () => {
    const page = await openLesson();
    const question = page.locator(`${kOverflow} fieldset.predict`);
    await question.getByLabel('With 100 and 1000 only').check();
    await question.getByRole('button', { name: 'Show me' }).press('Enter');
    expect(await question.locator('.verdict').innerText()).toContain('Not this one.');
    expect(await cells(page, 1)).toEqual(Array(3).fill('0: too small'));
    expect(await axeViolations(page, '#machine')).toEqual([]);
    await question.getByRole('button', { name: 'Guess again' }).press('Enter');
    expect(await cells(page, 1)).toEqual(['7.389', '2.718', '1.000']);
    await page.context().close();
  });

  test('by touch', async () => {
    const page = await openLesson({ touch: true, width: 320, height: 600 });
    await page.locator(`${kOverflow} .choice label`).nth(2).tap(); // 50
    expect(await page.locator(`${kOverflow} .machine-verdict`).innerText()).toContain(
      'both ways work',
    );
    await page.context().close();
  });

  test('by keyboard, and it is said', async () => {
    const page = await openLesson();
    await page.locator(kOverflow).getByRole('radio', { name: '0', exact: true }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() =>
      document
        .getElementById('announcer')!
        .textContent!.startsWith('Without subtracting, there is no result.'),
    );
    await page.context().close();
  });
});
