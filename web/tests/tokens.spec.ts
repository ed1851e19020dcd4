// All tokens at once: by mouse, by touch, by keyboard alone, and by what a screen reader is told.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, openLesson } from './browser.ts';

const products = (page: Page) => page.locator('[data-figure="tokens-products"]');
const turns = (page: Page) => page.locator('[data-figure="tokens-turns"]');
const sum = (page: Page) => products(page).locator('p.sum').innerText();
const pressed = (page: Page) =>
  turns(page)
    .locator('.cell[data-cell][aria-pressed="true"]')
    .evaluateAll((cells) => cells.map((c) => c.getAttribute('aria-label')));

describe('an entry of a product and what made it', () => {
  test('by mouse: its row of X and its column of W light up', async () => {
    const page = await openLesson();
    await products(page).getByRole('button', { name: 'value of D, entry 2: −1.00' }).click();
    expect(await sum(page)).toBe(
      'Entry 2 of the value of D is row D of X times column 2 of Wv: 2 × 0.5 + -1 × 1 + 1 × -1 = 1.00 + −1.00 + −1.00 = −1.00'.replaceAll(
        '-',
        '−',
      ),
    );
    const lit = await products(page)
      .locator('td.lit input')
      .evaluateAll((inputs) => inputs.map((i) => i.getAttribute('aria-label')));
    expect(lit.sort()).toEqual([
      'Token D, entry 1',
      'Token D, entry 2',
      'Token D, entry 3',
      'Wv, row 1, column 2',
      'Wv, row 2, column 2',
      'Wv, row 3, column 2',
    ]);
    await page.context().close();
  });

  test('by keyboard: Tab to the entry, arrows to its neighbours, numbers in the boxes', async () => {
    const page = await openLesson();
    await products(page).getByLabel('Wv, row 3, column 2').focus();
    await page.keyboard.press('Tab'); // from the last box to the chosen entry
    expect(await page.evaluate(() => document.activeElement!.getAttribute('aria-label'))).toBe(
      'query of B, entry 1: 1.50',
    );
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    expect(await sum(page)).toContain('Entry 2 of the query of C is row C of X');
    expect(await page.evaluate(() => document.activeElement!.getAttribute('aria-label'))).toBe(
      'query of C, entry 2: 2.00',
    );
    await products(page).getByLabel('Token C, entry 2').focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('3');
    await page.keyboard.press('Tab');
    expect(await sum(page)).toMatch(/= 4\.00$/); // −1 × −0.5 + 3 × 1 + 0.5 × 1
    await page.keyboard.press('Shift+Tab');
    await page.context().close();
  });

  test('by touch on a small phone', async () => {
    const page = await openLesson({ width: 320, height: 600, touch: true });
    await products(page).getByRole('button', { name: 'key of A, entry 1: 1.50' }).tap();
    expect(await sum(page)).toContain('Entry 1 of the key of A is row A of X times column 1 of Wk');
    await products(page)
      .getByRole('radio', { name: 'As in the formula: one token, a column' })
      .tap();
    await products(page).getByRole('radio', { name: 'C', exact: true }).tap();
    expect(await sum(page)).toContain('Entry 1 of the key of C is row 1 of W_K times x');
    await page.context().close();
  });

  test('both notations show the same numbers', async () => {
    const page = await openLesson();
    const before = await products(page)
      .getByRole('button', { name: /of B, entry/ })
      .allInnerTexts();
    await products(page)
      .getByRole('radio', { name: /As in the formula/ })
      .check();
    const after = await products(page)
      .getByRole('button', { name: /of B, entry/ })
      .allInnerTexts();
    expect(after).toEqual(before);
    expect(after).toEqual(['1.50', '2.75', '1.75', '1.00', '2.00', '1.25']);
    await products(page).getByLabel('W Q, row 1, column 2').fill('1');
    expect(
      await products(page).getByRole('button', { name: 'query of B, entry 1: 2.50' }).count(),
    ).toBe(1);
    expect(await axeViolations(page, '#tokens')).toEqual([]);
    await page.context().close();
  });
});

describe("a cell of the table and its token's turn", () => {
  test('by mouse: the cell lights up in every table, and the turn is that of its row', async () => {
    const page = await openLesson();
    await turns(page).getByRole('button', { name: 'query C, key D: 0.92' }).click();
    expect(await pressed(page)).toEqual([
      'query C, key D: 5.25',
      'query C, key D: 3.71',
      'query C, key D: 0.92',
    ]);
    const turn = turns(page).getByRole('table', { name: /The turn of C/ });
    expect(await turn.locator('tr.lit').innerText()).toContain('0.917');
    expect(await turn.locator('tfoot').innerText()).toContain('1.00');
    // And back: a token of the turn chooses the cell.
    await turn.getByRole('button', { name: 'Look at A' }).click();
    expect(await pressed(page)).toEqual([
      'query C, key A: 0.25',
      'query C, key A: 0.18',
      'query C, key A: 0.03',
    ]);
    await page.context().close();
  });

  test('by keyboard alone', async () => {
    const page = await openLesson();
    await turns(page).getByRole('radio', { name: 'B' }).focus();
    await page.keyboard.press('ArrowRight'); // the turn of C
    expect(
      await turns(page)
        .getByRole('table', { name: /The turn of C/ })
        .count(),
    ).toBe(1);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space'); // the causal mask
    expect(await turns(page).getByRole('button', { name: 'query C, key D: hidden' }).count()).toBe(
      3,
    );
    await page.keyboard.press('Tab'); // the scrolling box
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowLeft');
    expect((await pressed(page))[0]).toBe('query C, key C: −1.63');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect((await pressed(page))[2]).toBe('query A, key A: 1.00');
    await page.context().close();
  });

  test('by touch', async () => {
    const page = await openLesson({ width: 320, height: 600, touch: true });
    await turns(page).getByRole('button', { name: 'query A, key B: 1.19' }).tap();
    expect(
      await turns(page)
        .getByRole('table', { name: /The turn of A/ })
        .count(),
    ).toBe(1);
    await turns(page).getByLabel('Causal mask').tap();
    expect(await turns(page).innerText()).toContain('A does not see B, which comes later.');
    expect(await axeViolations(page, '#tokens')).toEqual([]);
    await page.context().close();
  });

  test('what changed is said', async () => {
    const page = await openLesson();
    await turns(page).getByRole('radio', { name: 'D' }).check();
    await page.waitForFunction(() => document.getElementById('announcer')!.textContent);
    expect(await page.locator('#announcer').innerText()).toMatch(
      /^D looks at D: score −3\.25, weight 1.%\. Output of D: 0\.78, 1\.20\.$/,
    );
    await page.context().close();
  });

  test('rows of weights add up to 1, with and without the mask, and a turn alone is the row', async () => {
    for (const hash of [
      '',
      '#v=1&tokens.turns.causal=1',
      '#v=1&tokens.products.x=9_9_9_-9_9_9_0_0_0_1_2_3',
    ]) {
      const page = await openLesson({ hash });
      const sums = await turns(page).locator('td.extra .num').allInnerTexts();
      expect(sums).toEqual(['1.00', '1.00', '1.00', '1.00']);
      expect(await turns(page).locator('p').last().innerText()).toMatch(/: 0$/);
      await page.context().close();
    }
  });
});

test('an edit of a token or of a matrix says what follows', async () => {
  const page = await openLesson();
  const said = page.locator('#announcer');
  for (const [name, text, words] of [
    ['Token A, entry 1', '3', 'Entry 1 of the query of A: 3 × 1 + 0.5 × 0.5 + −1 × 0 = 3.25.'],
    ['Wk, row 2, column 2', '1', 'Entry 2 of the key of B: 0.5 × 1 + 2 × 1 + 1 × 0.5 = 3.00.'],
  ]) {
    const box = page.locator('#tokens').getByRole('spinbutton', { name });
    await box.fill(text);
    await box.press('Tab');
    await expect.poll(() => said.textContent(), { timeout: 3000 }).toBe(words);
  }
  await page.context().close();
});
