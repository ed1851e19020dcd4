// A set of tokens: shuffled by mouse, touch, keyboard, and through the accessibility tree.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, openLesson } from './browser.ts';

const figure = (page: Page, name: string) => page.locator(`[data-figure="set-${name}"]`);
const orderOf = (page: Page, name: string) =>
  figure(page, name).locator('.order-list .badge').allInnerTexts();
const gap = (page: Page, name: string) => figure(page, name).locator('.gap .num').innerText();
const skip = (page: Page) => figure(page, 'shuffle').getByRole('button', { name: 'Skip' }).click();

describe('predict first', () => {
  test('the outputs are hidden until the reader has guessed', async () => {
    const page = await openLesson();
    const shuffle = figure(page, 'shuffle');
    expect(await shuffle.locator('.num').count()).toBe(0);
    await shuffle.getByText('Save', { exact: true }).click();
    expect(await shuffle.getByRole('button', { name: 'CSV' }).count()).toBe(0);
    expect(await axeViolations(page, '#set')).toEqual([]);
    await shuffle.getByRole('radio', { name: /Every output changes/ }).check();
    await shuffle.getByRole('button', { name: 'Show me' }).click();
    expect(await shuffle.locator('.verdict').innerText()).toContain(
      'Not this one. The formula knows no neighbours.',
    );
    expect(await shuffle.locator('.ordered').nth(1).innerText()).not.toContain('?');
    expect(await shuffle.getByRole('button', { name: 'CSV' }).count()).toBe(1);
    expect(await gap(page, 'shuffle')).toBe('6.0 × 10⁻⁸');
    expect(await axeViolations(page, '#set')).toEqual([]);
    await page.context().close();
  });

  test('by keyboard', async () => {
    const page = await openLesson();
    await figure(page, 'shuffle').getByRole('radio').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await figure(page, 'shuffle').locator('.verdict').innerText()).toContain('Yes.');
    await page.context().close();
  });
});

describe('another order', () => {
  test('by mouse: shuffled outputs are the outputs shuffled', async () => {
    const page = await openLesson();
    await skip(page);
    const rows = async (n: number) => {
      const texts = await figure(page, 'shuffle')
        .locator('.ordered')
        .nth(n)
        .locator('tbody tr')
        .allInnerTexts();
      return Object.fromEntries(
        texts.map((text) => [/[A-D]/.exec(text)![0], text.replace(/^\d\s*/, '')]),
      );
    };
    for (let n = 0; n < 3; ++n) {
      const before = await orderOf(page, 'shuffle');
      await figure(page, 'shuffle').getByRole('button', { name: 'Shuffle' }).click();
      expect(await orderOf(page, 'shuffle')).not.toEqual(before);
      expect(await rows(1)).toEqual(await rows(0));
    }
    await figure(page, 'shuffle').getByRole('button', { name: 'Back to A B C D' }).click();
    expect(await orderOf(page, 'shuffle')).toEqual(['A', 'B', 'C', 'D']);
    expect(await gap(page, 'shuffle')).toBe('0');
    expect(await figure(page, 'shuffle').innerText()).toContain('not even the last bit differs');
    await page.context().close();
  });

  test('by keyboard: the focus goes along with the token', async () => {
    const page = await openLesson();
    await skip(page);
    await figure(page, 'shuffle')
      .getByRole('button', { name: 'C, place 1: move to a later place' })
      .focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    expect(await orderOf(page, 'shuffle')).toEqual(['A', 'D', 'C', 'B']);
    expect(await page.evaluate(() => document.activeElement!.getAttribute('aria-label'))).toBe(
      'C, place 3: move to a later place',
    );
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight'); // already last
    expect(await orderOf(page, 'shuffle')).toEqual(['A', 'D', 'B', 'C']);
    await page.keyboard.press('ArrowLeft');
    expect(await orderOf(page, 'shuffle')).toEqual(['A', 'D', 'C', 'B']);
    expect(await page.evaluate(() => document.activeElement!.getAttribute('aria-label'))).toBe(
      'C, place 3: move to a later place',
    );
    await page.context().close();
  });

  test('by touch', async () => {
    const page = await openLesson({ width: 320, height: 600, touch: true });
    await figure(page, 'shuffle').getByRole('button', { name: 'Skip' }).tap();
    await figure(page, 'shuffle')
      .getByRole('button', { name: 'B, place 4: move to an earlier place' })
      .tap();
    expect(await orderOf(page, 'shuffle')).toEqual(['C', 'A', 'B', 'D']);
    expect(await axeViolations(page, '#set')).toEqual([]);
    await page.context().close();
  });

  test('what changed is said', async () => {
    const page = await openLesson();
    await skip(page);
    await figure(page, 'shuffle').getByRole('button', { name: 'Back to A B C D' }).press('Enter');
    await page.waitForFunction(() => document.getElementById('announcer')!.textContent);
    expect(await page.locator('#announcer').innerText()).toBe(
      'The order is A B C D. Largest difference: 0. Here not even the last bit differs.',
    );
    await page.context().close();
  });
});

describe('what ends the symmetry', () => {
  test('a causal mask, by keyboard', async () => {
    const page = await openLesson();
    await skip(page);
    await figure(page, 'shuffle').getByLabel('Causal mask').press('Space');
    expect(Number(await gap(page, 'shuffle'))).toBeGreaterThan(0.1);
    expect(await figure(page, 'shuffle').innerText()).toContain('a token sees other tokens');
    await page.context().close();
  });

  test('positions, by mouse; the link reopens it', async () => {
    const page = await openLesson();
    await skip(page);
    await figure(page, 'shuffle').getByLabel('Add positions to the tokens').check();
    const broken = await gap(page, 'shuffle');
    expect(Number(broken)).toBeGreaterThan(0.1);
    expect(await axeViolations(page, '#set')).toEqual([]);
    await page.waitForFunction(() => location.hash.includes('set.shuffle.positions'));
    const again = await openLesson({ hash: new URL(page.url()).hash });
    await skip(again);
    expect(await gap(again, 'shuffle')).toBe(broken);
    await page.context().close();
    await again.context().close();
  });
});

describe('a cloud and a sentence', () => {
  test('the drawing of the cloud does not change with its list', async () => {
    const page = await openLesson();
    const drawing = figure(page, 'cloud').locator('svg[data-export]');
    const before = await drawing.getAttribute('aria-label');
    await figure(page, 'cloud').getByRole('button', { name: 'Shuffle the list' }).click();
    await figure(page, 'cloud')
      .getByRole('button', { name: /^E, place \d: move to a.* place$/ })
      .first()
      .press('ArrowLeft');
    expect(await drawing.getAttribute('aria-label')).toBe(before);
    expect(await gap(page, 'cloud')).toMatch(/^0$|10⁻[⁷⁸]$/);
    await page.context().close();
  });

  test('dog bites man is man bites dog until positions are added', async () => {
    const page = await openLesson();
    const words = figure(page, 'sentence');
    const row = (name: string) =>
      words.getByRole('row', { name }).getByRole('cell').allInnerTexts();
    for (const name of ['dog', 'bites', 'man']) {
      const [, first, second] = await row(name);
      expect(first).toBe(second);
    }
    await words.getByLabel('Add positions to the words').check();
    for (const name of ['dog', 'bites', 'man']) {
      const [, first, second] = await row(name);
      expect(first).not.toBe(second);
    }
    expect(await words.innerText()).toContain('Now the sentences differ');
    expect(await axeViolations(page, '#set')).toEqual([]);
    await page.context().close();
  });
});
