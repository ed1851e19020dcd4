// Several heads, in the browser: each exercise by mouse, touch, keyboard, and by names alone.
import { type Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, numbersOf, openLesson } from './browser.ts';

const kLook = '[data-figure="heads-look"]';
const kCost = '[data-figure="heads-cost"]';

/** The weights of a column: 1 one head, 2 head 1, 3 head 2. */
const weights = async (page: Page, column: number) => {
  const cells = page.locator(`${kLook} .heads-weights tbody tr td:nth-child(${column + 1})`);
  return (await cells.allInnerTexts()).map(Number);
};
const most = (values: readonly number[], count: number) =>
  [...'ABCDEF']
    .sort((a, b) => values['ABCDEF'.indexOf(b)] - values['ABCDEF'.indexOf(a)])
    .slice(0, count)
    .sort();

/** Which two tokens each head looks at. */
const looks = async (page: Page) => [
  most(await weights(page, 2), 2),
  most(await weights(page, 3), 2),
];

describe('one head or two', () => {
  test('A: head 1 looks at blue tokens, head 2 at circles, one head mixes', async () => {
    const page = await openLesson();
    expect(await looks(page)).toEqual([
      ['A', 'B'],
      ['A', 'C'],
    ]);
    const one = await weights(page, 1);
    expect(one[0]).toBeGreaterThan(0.7);
    expect(one[1]).toBe(one[2]);
    await page.context().close();
  });

  test('by mouse: a click into the drawing chooses a token', async () => {
    const page = await openLesson();
    const drawing = page.locator(`${kLook} svg[data-export="Head 1 of 2"]`);
    const box = (await drawing.boundingBox())!;
    // E, a green square, is in the middle of the last row.
    await drawing.click({ position: { x: (185 / 300) * box.width, y: (194 / 230) * box.height } });
    expect(await page.locator(kLook).getByRole('radio', { name: 'E' }).isChecked()).toBe(true);
    expect(await looks(page)).toEqual([
      ['E', 'F'],
      ['B', 'E'],
    ]);
    expect(await axeViolations(page, '#heads')).toEqual([]);
    await page.context().close();
  });

  test('by touch: two heads alike look in the same place', async () => {
    const page = await openLesson({ touch: true, width: 320, height: 600 });
    await page.locator(kLook).getByRole('button', { name: 'Both the same' }).tap();
    const [first, second] = await looks(page);
    expect(first).toEqual(second);
    await page.locator(kLook).getByRole('button', { name: 'Shape and colour' }).tap();
    expect(await looks(page)).toEqual([
      ['A', 'C'],
      ['A', 'B'],
    ]);
    await page.context().close();
  });

  test('by keyboard: arrow keys choose the token, and it is said', async () => {
    const page = await openLesson();
    await page.locator(kLook).getByRole('radio', { name: 'A' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await looks(page)).toEqual([
      ['C', 'D'],
      ['D', 'F'],
    ]);
    await page.waitForFunction(() =>
      document.getElementById('announcer')!.textContent!.startsWith('D, orange triangle looks:'),
    );
    await page.context().close();
  });

  test('by names alone: the matrices are edited, and undone', async () => {
    const page = await openLesson();
    const figure = page.getByRole('group', {
      name: 'One head of full size, and two of half the size',
    });
    await figure.getByText('Tokens and matrices in numbers').click();
    // Head 2 asks for nothing: all its scores are 0, its weights alike.
    for (const [row, column] of [
      [3, 3],
      [4, 4],
    ]) {
      await figure.getByRole('spinbutton', { name: `W Q, row ${row}, column ${column}` }).fill('0');
    }
    expect(await weights(page, 3)).toEqual(Array(6).fill(0.167));
    expect(await axeViolations(page, '#heads')).toEqual([]);
    await figure.getByRole('button', { name: 'Reset' }).click();
    expect(await looks(page)).toEqual([
      ['A', 'B'],
      ['A', 'C'],
    ]);
    await page.context().close();
  });

  test('both the same: what is 0 but for rounding is shown as 0', async () => {
    const page = await openLesson();
    await page.locator(kLook).getByRole('button', { name: 'Both the same' }).click();
    for (const text of await page.locator(`${kLook} .heads-results .num`).allInnerTexts())
      expect(text).toMatch(/^−?\d+\.\d\d$/);
    await page.context().close();
  });

  test('one looks before the answers are seen', async () => {
    const page = await openLesson();
    const answers = page.locator('#heads .heads-answer');
    expect(await answers.count()).toBe(6);
    for (const answer of await answers.all()) {
      expect(await answer.locator('p').isVisible()).toBe(false);
      await answer.locator('summary').press('Enter');
      expect(await answer.locator('p').isVisible()).toBe(true);
    }
    expect(await axeViolations(page, '#heads')).toEqual([]);
    await page.context().close();
  });

  test('W_O works on the joined results', async () => {
    const page = await openLesson();
    const row = async (name: string) =>
      await page.locator(`${kLook} .${name} .num`).allInnerTexts();
    const joined = await row('two-joined');
    expect(await row('two-out')).toEqual([2, 3, 0, 1].map((n) => joined[n]));
    await page.context().close();
  });

  test('random matrices: a new state that a link reopens', async () => {
    const page = await openLesson();
    await page.locator(kLook).getByRole('button', { name: 'Random' }).click();
    await page.waitForFunction(() => location.hash.includes('heads.look.q'));
    const numbers = await numbersOf(page, kLook);
    const again = await openLesson({ hash: new URL(page.url()).hash });
    expect(await numbersOf(again, kLook)).toEqual(numbers);
    await page.context().close();
    await again.context().close();
  });
});

describe('the cost', () => {
  test('as many numbers either way: 4 x 512 x 512', async () => {
    const page = await openLesson();
    const totals = page.locator(`${kCost} tr.heads-total`).first().locator('.num');
    expect(await totals.allInnerTexts()).toEqual(['1,048,576', '1,048,576']);
    for (const heads of ['2', '4', '16']) {
      await page.locator(kCost).getByRole('radio', { name: heads, exact: true }).check();
      expect(await totals.allInnerTexts()).toEqual(['1,048,576', '1,048,576']);
    }
    await page.context().close();
  });

  test('measured, while the page answers', async () => {
    const page = await openLesson();
    const button = page.locator(kCost).getByRole('button', { name: 'Measure both' });
    await button.press('Enter');
    const turns = await page.evaluate(async () => {
      let counted = 0;
      for (; !document.querySelector('.heads-ratio'); ++counted) {
        await new Promise((done) => setTimeout(done));
      }
      return counted;
    });
    expect(turns).toBeGreaterThan(10); // between slices of the measurement
    expect(await button.evaluate((it) => it === document.activeElement)).toBe(true);
    expect(await page.locator('.heads-ratio').innerText()).toMatch(/take \d+\.\d+ times/);
    await page.waitForFunction(() =>
      document.getElementById('announcer')!.textContent!.startsWith('Measured:'),
    );
    expect(await axeViolations(page, '#heads')).toEqual([]);
    await page.context().close();
  });
});
