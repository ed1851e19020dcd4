// Why scores are divided, in the browser: each exercise by mouse, touch, keyboard, and by names alone.
import { type Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, numbersOf, openLesson } from './browser.ts';

const kSpread = '[data-figure="scale-spread"]';
const kNudge = '[data-figure="scale-nudge"]';
const kTrend = '[data-figure="scale-trend"]';
const kGradient = '[data-figure="scale-gradient"]';

/** Until all dots of this size and seed are drawn. */
async function whole(page: Page, size: number, seed = 0): Promise<void> {
  await page
    .locator(`${kSpread} [data-count="10000"][data-size="${size}"][data-seed="${seed}"]`)
    .waitFor({ timeout: 10_000 });
}

const spreads = (page: Page) => numbersOf(page, kSpread); // before, expected, after, expected

describe('ten thousand dot products', () => {
  test('at the start the spreads are 8.08 and 1.01, also with scripts off', async () => {
    const page = await openLesson();
    expect(await spreads(page)).toEqual(['8.08', '8.00', '1.01', '1.00']);
    await page.context().close();
    const still = await openLesson({ script: false });
    expect(await spreads(still)).toEqual(['8.08', '8.00', '1.01', '1.00']);
    await still.context().close();
  });

  test('by mouse: a larger key widens one drawing and not the other', async () => {
    const page = await openLesson();
    await page.getByRole('button', { name: 'd k = 512' }).click();
    await whole(page, 512);
    const [before, expected, after] = (await spreads(page)).map(Number);
    expect(expected).toBe(22.63);
    expect(Math.abs(before / 22.63 - 1)).toBeLessThan(0.04);
    expect(Math.abs(after - 1)).toBeLessThan(0.04);
    await page.context().close();
  });

  test('by touch', async () => {
    const page = await openLesson({ touch: true, width: 390, height: 800 });
    await page.getByRole('button', { name: 'd k = 2', exact: true }).tap();
    await whole(page, 2);
    expect((await spreads(page))[1]).toBe('1.41');
    await page.context().close();
  });

  test('by keyboard, and it is said', async () => {
    const page = await openLesson();
    await page.getByRole('slider', { name: 'Key size d k' }).focus();
    await page.keyboard.press('Home');
    await whole(page, 1);
    await page.keyboard.press('ArrowRight');
    await whole(page, 2);
    await page.waitForFunction(() =>
      /^d k 2: spread/.test(document.getElementById('announcer')!.textContent!),
    );
    await page.context().close();
  });

  test('by names alone: another seed, and back by undo', async () => {
    const page = await openLesson();
    const figure = page.getByRole('group', { name: 'Dot products before and after dividing' });
    await figure.getByRole('spinbutton', { name: 'Seed of the random numbers' }).fill('7');
    await whole(page, 64, 7);
    const label = await figure
      .getByRole('img', { name: /^Histogram of 10,000 dot products.*Before dividing/ })
      .getAttribute('aria-label');
    expect(label).toContain(`a spread of ${(await spreads(page))[0]}`);
    expect(
      await figure
        .getByRole('img', { name: /After dividing: q · k \/ the square root of d k/ })
        .count(),
    ).toBe(1);
    await figure.getByRole('spinbutton').press('Enter');
    await page.getByRole('button', { name: 'Undo' }).click();
    await whole(page, 64, 0);
    expect((await spreads(page))[0]).toBe('8.08');
    await page.context().close();
  });

  test('a drag: the newest size wins', async () => {
    const page = await openLesson();
    await page.locator(kSpread).scrollIntoViewIfNeeded();
    await page.evaluate(async (figure) => {
      const slider = document.querySelector<HTMLInputElement>(`${figure} input[type=range]`)!;
      for (let size = 500; size > 200; size -= 5) {
        slider.value = String(size);
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        await new Promise(requestAnimationFrame);
      }
    }, kSpread);
    await whole(page, 205, 0);
    await page.context().close();
  });
});

describe('the nudge', () => {
  const moved = (page: Page, row: number) =>
    page.locator(`${kNudge} table`).nth(row).locator('tbody tr td:last-child').allInnerTexts();

  test('the weights are those of the text', async () => {
    const page = await openLesson();
    const weights = (row: number) =>
      page.locator(`${kNudge} table`).nth(row).locator('tbody tr td:nth-child(3)').allInnerTexts();
    expect(await weights(0)).toEqual(['0.99966', '0.00034', '0.0000001']);
    expect(await weights(1)).toEqual(['0.665', '0.245', '0.090']);
    expect(await moved(page, 0)).toEqual(['–', '–', '–']);
    await page.context().close();
  });

  test('by mouse: predict, see, explain', async () => {
    const page = await openLesson();
    await page.getByLabel('With the large scores').click();
    await page.locator(kNudge).getByRole('button', { name: 'Show me' }).click();
    expect(await page.locator(`${kNudge} .verdict`).innerText()).toContain('Not this one.');
    expect((await moved(page, 1))[1]).toBe('+0.0189516');
    expect((await moved(page, 0))[1]).toBe('+0.0000353');
    expect(await axeViolations(page, '#scale')).toEqual([]);
    await page.locator(kNudge).getByRole('button', { name: 'Guess again' }).click();
    expect(await moved(page, 1)).toEqual(['–', '–', '–']);
    await page.context().close();
  });

  test('by touch: nudge another token, and take it back', async () => {
    const page = await openLesson({ touch: true, width: 320, height: 600 });
    const figure = page.locator(kNudge);
    await figure.locator('.scale-nudging label').nth(2).tap();
    await figure.getByRole('button', { name: 'Nudge up by 0.1' }).tap();
    await figure.getByRole('button', { name: 'Nudge up by 0.1' }).tap();
    expect(await figure.locator('.scale-buttons span').innerText()).toBe(
      'Score of token C nudged by +0.2.',
    );
    expect(Number((await moved(page, 1))[2])).toBeGreaterThan(0.01);
    await figure.getByRole('button', { name: 'Take nudges back' }).tap();
    expect(await moved(page, 1)).toEqual(['–', '–', '–']);
    await page.context().close();
  });

  test('by keyboard: predict and show', async () => {
    const page = await openLesson();
    const answers = page.locator(kNudge).getByRole('radio', { name: /^With the|^The same/ });
    await answers.first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.locator(`${kNudge} .verdict`).innerText()).toContain('Yes.');
    await page.context().close();
  });

  test('the moves are seen whole, with as many digits in both rows', async () => {
    for (const width of [1600, 1000, 390]) {
      const page = await openLesson({ width, hash: '#v=1&scale.nudge.by=0.1' });
      const spare = await page
        .locator('#scale .sideways')
        .evaluateAll((boxes) => boxes.map((box) => box.clientWidth - box.scrollWidth));
      expect(spare.length).toBe(4);
      expect(Math.min(...spare), `at ${width}`).toBeGreaterThanOrEqual(0);
      for (const row of [0, 1])
        for (const text of await moved(page, row)) expect(text).toMatch(/^[+−]?0\.\d{7}$/);
      await page.context().close();
    }
  });

  test('taking nudges back keeps the focus', async () => {
    const page = await openLesson({ hash: '#v=1&scale.nudge.by=0.1' });
    const back = page.locator(kNudge).getByRole('button', { name: 'Take nudges back' });
    await back.press('Enter');
    expect(await moved(page, 0)).toEqual(['–', '–', '–']);
    expect(await back.evaluate((it) => it === document.activeElement)).toBe(true);
    await page.context().close();
  });

  test('by names alone: scores are edited, the weights follow, and it is said', async () => {
    const page = await openLesson();
    const figure = page.getByRole('group', { name: 'Two rows of scores and their weights' });
    await figure.getByRole('spinbutton', { name: 'Large scores, score of A' }).fill('1');
    await figure.getByRole('spinbutton', { name: 'Large scores, score of C' }).fill('-1');
    await figure.getByRole('spinbutton', { name: 'Large scores, score of C' }).press('Enter');
    const rows = figure.getByRole('table', { name: 'Large scores' }).locator('tbody tr');
    expect(await rows.locator('td:nth-child(3)').allInnerTexts()).toEqual([
      '0.665',
      '0.245',
      '0.090',
    ]);
    await figure.getByRole('button', { name: 'Nudge up by 0.1' }).press('Enter');
    await page.waitForFunction(() =>
      document
        .getElementById('announcer')!
        .textContent!.startsWith('Score of token B nudged by 0.1.'),
    );
    await page.context().close();
  });
});

test('entropy and Jacobian fall without dividing, and stay with it', async () => {
  const page = await openLesson();
  const rows = await page.locator(`${kTrend} tbody tr`).allInnerTexts();
  const last = rows[rows.length - 1].split(/\s+/).map(Number);
  expect(last[0]).toBe(512);
  expect(last[1]).toBeLessThan(0.5);
  expect(last[2]).toBeGreaterThan(2);
  expect(last[3]).toBeLessThan(last[4]);
  const before = await numbersOf(page, kTrend);
  await page.locator(kTrend).getByRole('button', { name: 'Draw others' }).click();
  expect(await numbersOf(page, kTrend)).not.toEqual(before);
  await page.context().close();
});

test('a link reopens size, seed and nudges', async () => {
  const page = await openLesson({
    hash: '#v=1&scale.spread.size=8&scale.spread.seed=3&scale.nudge.by=0.3',
  });
  await whole(page, 8, 3);
  expect((await spreads(page))[1]).toBe('2.83');
  expect(await page.locator(`${kNudge} .scale-buttons span`).innerText()).toBe(
    'Score of token B nudged by +0.3.',
  );
  await page.context().close();
});

describe('the gradient of the scores', () => {
  test('dies without dividing, and stays with it', async () => {
    const page = await openLesson();
    const lengths = (await numbersOf(page, kGradient)).map(Number);
    const undivided = lengths.filter((_, n) => n % 2 === 0);
    const divided = lengths.filter((_, n) => n % 2 === 1);
    expect(undivided).toHaveLength(10);
    expect(undivided[0]).toBe(divided[0]); // keys of one number
    expect(undivided[9]).toBeLessThan(0.4 * undivided[0]);
    for (const length of divided) expect(Math.abs(length / divided[0] - 1)).toBeLessThan(0.3);
    // Bars that are too small to be seen aren't drawn.
    const bars = async (kind: string) =>
      ((await page.locator(`${kGradient} path.${kind}`).last().getAttribute('d')) ?? '').split('M')
        .length;
    expect(await bars('undivided')).toBeLessThan(0.4 * (await bars('divided')));
    await page.context().close();
  });

  test('by keyboard: others are drawn, and a link holds them', async () => {
    const page = await openLesson();
    const before = await numbersOf(page, kGradient);
    await page.locator(kGradient).getByRole('button', { name: 'Draw others' }).press('Enter');
    const after = await numbersOf(page, kGradient);
    expect(after).not.toEqual(before);
    await page.waitForFunction(() => location.hash.includes('scale.gradient.seed=1'));
    const again = await openLesson({ hash: await page.evaluate(() => location.hash) });
    expect(await numbersOf(again, kGradient)).toEqual(after);
    await page.context().close();
    await again.context().close();
  });
});
