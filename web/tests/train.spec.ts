// The training in the browser: it learns, answers meanwhile, and can be used by mouse, touch and keyboard.
import { type Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, numbersOf, openLesson } from './browser.ts';

const kTrain = '[data-figure="heads-train"]';

const figure = (page: Page) => page.locator(kTrain);
const button = (page: Page, name: string) =>
  figure(page).getByRole('button', { name, exact: true });
const stepOf = async (page: Page) =>
  Number(await figure(page).locator('.train-all').getAttribute('data-step'));
const finding = (page: Page) => figure(page).locator('.train-finding').innerText();

async function until(page: Page, step: number): Promise<void> {
  await page.waitForFunction(
    ([at, least]) =>
      Number(document.querySelector<HTMLElement>(`${at} .train-all`)!.dataset.step) >=
      (least as number),
    [kTrain, step] as const,
    { timeout: 100_000 },
  );
}

test('at the start every point gets the same weight, also with scripts off', async () => {
  for (const script of [true, false]) {
    const page = await openLesson({ script });
    const [accuracy, ...weights] = (await numbersOf(page, kTrain)).map((x) => parseInt(x));
    expect(accuracy).toBeGreaterThan(15);
    expect(accuracy).toBeLessThan(35); // chance is 25 %
    expect(weights).toHaveLength(4);
    for (const weight of weights) expect(Math.abs(weight - 4)).toBeLessThanOrEqual(2);
    expect(await figure(page).locator('.train-line').count()).toBe(1); // of one point
    await page.context().close();
  }
});

describe('a training', () => {
  test('heads specialise, in sight of the reader', { timeout: 120_000 }, async () => {
    const page = await openLesson();
    await figure(page).scrollIntoViewIfNeeded();
    await button(page, 'Train').click();
    await until(page, 30);
    const from = await stepOf(page);
    const start = Date.now();
    const turns = await page.evaluate(async () => {
      let counted = 0;
      for (const begun = performance.now(); performance.now() - begun < 3000; ++counted) {
        await new Promise((done) => setTimeout(done));
      }
      return counted;
    });
    const rate = ((await stepOf(page)) - from) / ((Date.now() - start) / 1000);
    console.log(`${rate.toFixed(1)} steps a second`);
    expect(rate).toBeGreaterThan(5);
    expect(turns).toBeGreaterThan(20); // the page answers between steps
    await until(page, 330);
    await button(page, 'Pause').click();
    expect(await finding(page)).toBe(
      'Head 2 looks at the neighbour, head 1 at the point that is alike: the heads have specialised.',
    );
    const [accuracy, near1, alike1, near2, alike2] = (await numbersOf(page, kTrain)).map((x) =>
      parseInt(x),
    );
    expect(accuracy).toBeGreaterThan(85);
    expect(Math.min(alike1, near2)).toBeGreaterThan(40);
    expect(Math.max(near1, alike2)).toBeLessThan(10);
    await page.waitForFunction(() =>
      /^Step \d+: right in/.test(document.getElementById('announcer')!.textContent!),
    );
    const paused = await stepOf(page);
    await page.waitForTimeout(300);
    expect(await stepOf(page)).toBe(paused);
    expect(await axeViolations(page, '#heads')).toEqual([]);
    await page.context().close();
  });

  test(
    'of the seed that fails: both heads look at what is alike',
    { timeout: 120_000 },
    async () => {
      const page = await openLesson();
      await figure(page).scrollIntoViewIfNeeded();
      await button(page, 'A run that fails (seed 4)').click();
      await until(page, 250);
      await button(page, 'Pause').click();
      expect(await finding(page)).toContain('Both heads look at the point that is alike');
      const [accuracy] = (await numbersOf(page, kTrain)).map((x) => parseInt(x));
      expect(Math.abs(accuracy - 50)).toBeLessThan(8);
      await page.waitForFunction(() => location.hash.includes('heads.train.seed=4'));
      await page.context().close();
    },
  );

  test('rests out of sight', async () => {
    const page = await openLesson();
    await figure(page).scrollIntoViewIfNeeded();
    await button(page, 'Train').click();
    await until(page, 5);
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForTimeout(500);
    const resting = await stepOf(page);
    await page.waitForTimeout(500);
    expect(await stepOf(page)).toBe(resting);
    await figure(page).scrollIntoViewIfNeeded();
    await until(page, resting + 5);
    await page.context().close();
  });

  test('slowly: five steps a second', async () => {
    const page = await openLesson({ hash: '#v=1&heads.train.speed=slow' });
    await figure(page).scrollIntoViewIfNeeded();
    await button(page, 'Train').click();
    await until(page, 1);
    const from = await stepOf(page);
    await page.waitForTimeout(2000);
    expect((await stepOf(page)) - from).toBeLessThanOrEqual(11);
    await page.context().close();
  });
});

test('by keyboard: steps, points, and the seed by undo', async () => {
  const page = await openLesson();
  await button(page, 'One step').focus();
  for (let n = 0; n < 3; ++n) await page.keyboard.press('Enter');
  expect(await stepOf(page)).toBe(3);
  const slider = figure(page).getByRole('slider', { name: 'Point that looks' });
  await slider.focus();
  await page.keyboard.press('Home');
  expect(
    await figure(page)
      .getByRole('img', { name: /^Head 1, a scene of 24 points: where point 1 looks/ })
      .count(),
  ).toBe(1);
  await button(page, 'Next seed').press('Enter');
  expect(await figure(page).locator('.train-all').getAttribute('data-seed')).toBe('2');
  expect(await stepOf(page)).toBe(0);
  await page.getByRole('button', { name: 'Undo' }).click();
  expect(await figure(page).locator('.train-all').getAttribute('data-seed')).toBe('1');
  await page.context().close();
});

test('after the last seed comes the first', async () => {
  const page = await openLesson({ hash: '#v=1&heads.train.seed=9999' });
  await button(page, 'Next seed').press('Enter');
  expect(await figure(page).locator('.train-all').getAttribute('data-seed')).toBe('0');
  await page.context().close();
});

test('by touch: a tap chooses a point, and a link holds it', async () => {
  const page = await openLesson({ touch: true, width: 390, height: 800 });
  const drawing = figure(page).getByRole('img', { name: /^Head 1/ });
  await drawing.scrollIntoViewIfNeeded();
  const box = (await drawing.boundingBox())!;
  await page.touchscreen.tap(box.x + 0.2 * box.width, box.y + 0.2 * box.height);
  await page.waitForFunction(() => /heads\.train\.point=\d+/.test(location.hash));
  const hash = await page.evaluate(() => location.hash);
  const again = await openLesson({ hash });
  expect(await figure(again).getByRole('slider').inputValue()).toBe(/point=(\d+)/.exec(hash)![1]);
  await page.context().close();
  await again.context().close();
});

test('the same seed learns the same, and starting again is the same training', async () => {
  const page = await openLesson();
  const after = async () => {
    for (let n = 0; n < 2; ++n) await button(page, 'One step').press('Enter');
    return figure(page).locator('.train-curve svg').first().getAttribute('aria-label');
  };
  const first = await after();
  expect(first).toMatch(/After 2 steps: 1\.\d\d/);
  await button(page, 'Start again').press('Enter');
  expect(await after()).toBe(first);
  await page.context().close();
});

test('without motion it is drawn twice a second', async () => {
  const page = await openLesson({ context: { reducedMotion: 'reduce' } });
  await figure(page).scrollIntoViewIfNeeded();
  await button(page, 'Train').click();
  const drawn = await page.evaluate(async (at) => {
    const all = document.querySelector<HTMLElement>(`${at} .train-all`)!;
    const seen = new Set<string>();
    for (const begun = performance.now(); performance.now() - begun < 2000;) {
      await new Promise(requestAnimationFrame);
      seen.add(all.dataset.step!);
    }
    return seen.size;
  }, kTrain);
  expect(drawn).toBeGreaterThan(1);
  expect(drawn).toBeLessThanOrEqual(6);
  await page.context().close();
});
