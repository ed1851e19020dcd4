// One token's turn: the guesses and the four steps, by mouse, touch, keyboard, and the accessibility tree.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, numbersOf, openLesson } from './browser.ts';
import { kChangedEngine } from './changed_engine.ts';

const place = (page: Page) => page.locator('[data-figure=turn-place]');
const steps = (page: Page) => page.locator('[data-figure=turn-steps]');
const show = (page: Page) => place(page).getByRole('button', { name: 'Show me' });
const verdict = (page: Page) => place(page).locator('.verdict').innerText();

/** Where a point of the guess's plane, from -2 to 12, is on the screen. */
async function onScreen(page: Page, x: number, y: number): Promise<{ x: number; y: number }> {
  const area = place(page).locator('.plane-area');
  await area.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  const box = (await area.boundingBox())!;
  return { x: box.x + (box.width * (x + 2)) / 14, y: box.y + (box.height * (12 - y)) / 14 };
}

test('which key fits best: each answer has its reason', async () => {
  const page = await openLesson();
  const question = page.locator('[data-figure=turn-key]');
  for (const [answer, said] of [
    ['A, [1, 0]', 'Not this one. A’s'],
    ['B, [0, 1]', 'Not this one. B’s'],
    ['C, [1, 1]', 'Yes. C’s'],
    ['All the same', 'Not this one. The query'],
  ]) {
    await question.getByLabel(answer).check();
    await question.getByRole('button', { name: 'Show me' }).click();
    expect((await question.locator('.verdict').innerText()).replaceAll("'", '’')).toContain(said);
    await question.getByRole('button', { name: 'Guess again' }).click();
  }
  await page.context().close();
});

test('after the truth is shown or hidden again the focus is on what comes next', async () => {
  const page = await openLesson();
  const named = () =>
    page.evaluate(() => {
      const on = document.activeElement!;
      return (on.closest('label') ?? on).textContent!.trim();
    });
  for (const [question, first, answer] of [
    ['turn-key', 'A, [1, 0]', 'C, [1, 1]'],
    ['turn-place', 'On the value of C', 'On the value of B'],
  ]) {
    const part = page.locator(`[data-figure=${question}]`);
    await part.getByRole('button', { name: 'Skip' }).focus();
    await page.keyboard.press('Enter');
    expect(await named()).toBe('Guess again');
    await page.keyboard.press('Enter');
    expect(await named()).toBe(first);
    await part.getByLabel(answer).check();
    await part.getByRole('button', { name: 'Show me' }).focus();
    await page.keyboard.press('Enter');
    expect(await named()).toBe('Guess again');
    await page.keyboard.press('Enter');
    expect(await named()).toBe(first);
  }
  await page.context().close();
});

describe('the guess can be placed', () => {
  test('by mouse', async () => {
    const page = await openLesson();
    const to = await onScreen(page, 4.3, 5.7);
    const ring = (await place(page).locator('.handle').boundingBox())!;
    await page.mouse.move(ring.x + ring.width / 2, ring.y + ring.height / 2);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
    await show(page).click();
    expect(await verdict(page)).toContain('Yes. C has the largest weight');
    expect(await place(page).innerText()).toContain('The result is [4.28, 5.72].');
    await page.context().close();
  });

  test('by touch, and a wrong guess gets its own reason', async () => {
    const page = await openLesson({ touch: true, width: 320, height: 640 });
    const at = await onScreen(page, 9, 9);
    await page.touchscreen.tap(at.x, at.y);
    await show(page).tap();
    expect(await verdict(page)).toContain('The weights add up to 1');
    expect(await place(page).innerText()).toMatch(/Your ring is 5\.\d\d away/);
    await page.context().close();
  });

  test('by keyboard alone', async () => {
    const page = await openLesson();
    await page.getByRole('slider', { name: 'My guess, across' }).focus();
    for (let n = 0; n < 5; ++n) await page.keyboard.press('Shift+ArrowRight'); // 1.5 to 4
    for (let n = 0; n < 9; ++n) await page.keyboard.press('PageUp'); // 1.5 to 6
    while (!(await show(page).evaluate((button) => button === document.activeElement)))
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await verdict(page)).toContain('Yes.');
    await page.context().close();
  });

  test('through the accessibility tree alone: by choice, and by the two sliders', async () => {
    const page = await openLesson();
    for (const [choice, said] of [
      ['On the value of C', 'A and B get some too'],
      ['From C a little toward B', 'Yes.'],
      ['From C a little toward A', 'The lean is to the other side'],
      ['On the value of B', 'too far'],
      ['Off the line, where values add up', 'stays on the line'],
    ]) {
      await place(page).getByRole('radio', { name: choice }).check();
      await show(page).press('Enter');
      expect(await verdict(page)).toContain(said);
      await place(page).getByRole('button', { name: 'Guess again' }).press('Enter');
    }
    await page.getByRole('slider', { name: 'My guess, across' }).fill('4');
    await page.getByRole('slider', { name: 'My guess, up' }).fill('6');
    await show(page).press('Enter');
    expect(await verdict(page)).toContain('Yes.');
    await page.context().close();
  });

  test('or not at all', async () => {
    const page = await openLesson();
    await show(page).click();
    expect(await place(page).getByRole('alert').innerText()).toContain('Place your ring first');
    await place(page).getByRole('button', { name: 'Skip' }).click();
    expect(await place(page).innerText()).toContain('The result is [4.28, 5.72].');
    expect(await place(page).locator('.verdict').count()).toBe(0);
    expect(page.url()).not.toContain('#'); // nothing is kept
    await page.context().close();
  });
});

test('the steps come one by one, and go back', async () => {
  const page = await openLesson();
  const next = steps(page).getByRole('button', { name: 'Next step' });
  const columns = () => steps(page).locator('.numbers thead th').count();
  const counts = [await columns()];
  for (let n = 0; n < 4; ++n) {
    await next.click();
    counts.push(await columns());
  }
  expect(counts).toEqual([3, 4, 5, 7, 7]);
  expect(await next.getAttribute('aria-disabled')).toBe('true');
  const numbers = await numbersOf(page, '[data-figure=turn-steps] tbody');
  for (const shown of ['0.140', '0.284', '0.576', '0.707', '1.414', '2.121'])
    expect(numbers).toContain(shown);
  expect(await steps(page).innerText()).toContain('[4.28, 5.72]');
  await steps(page).getByRole('button', { name: 'Previous step' }).click();
  expect(await steps(page).innerText()).not.toContain('[4.28, 5.72]');
  await page.context().close();
});

test('every number follows an edit, and the scale can be left out', async () => {
  const page = await openLesson({ hash: '#v=1&turn.step=4' });
  await page.getByRole('checkbox', { name: 'Divide by √2' }).uncheck();
  expect(await steps(page).innerText()).toContain('0.665');
  await page.getByRole('spinbutton', { name: 'Query q, row 1, column 2' }).fill('0');
  expect(await numbersOf(page, '[data-figure=turn-steps] tbody')).toContain('0.155');
  await page.getByRole('spinbutton', { name: 'Values V, row A, column 1' }).fill('-10');
  expect(await steps(page).innerText()).toContain('× −10');
  await page.context().close();
});

test('an edit is said before any step is computed, and after', async () => {
  const page = await openLesson();
  expect(await steps(page).locator('ol').count()).toBe(0); // no empty list is read
  const says = (words: string) =>
    expect.poll(() => page.locator('#announcer').textContent(), { timeout: 3000 }).toBe(words);
  const edit = async (name: string, text: string) => {
    const box = page.getByRole('spinbutton', { name });
    await box.fill(text);
    await box.press('Tab');
  };
  await edit('Query q, row 1, column 2', '3');
  await says('Query q: now [1, 3]. No step is computed yet.');
  await page.getByRole('checkbox', { name: 'Divide by √2' }).uncheck();
  await says('The scores are not divided. No step is computed yet.');
  await steps(page).getByRole('button', { name: 'Next step' }).click();
  await edit('Values V, row A, column 1', '9');
  await says(
    'Values V: now A [9, 0], B [0, 10], C [5, 5]. Take the dot product of the query with each key. C scores the most: 4.',
  );
  await page.context().close();
});

test('the whole table is in sight, on screens of any width', async () => {
  for (const width of [390, 600, 770, 800, 930, 1200]) {
    const page = await openLesson({ width, hash: '#v=1&turn.step=4' });
    const box = steps(page).locator('.scroll');
    const over = await box.evaluate((e) => e.scrollWidth - e.clientWidth);
    expect([width, Math.max(0, over)]).toEqual([width, 0]);
    await page.context().close();
  }
});

test('on a phone both planes are in sight, with all that is drawn in them', async () => {
  const page = await openLesson({ width: 390, height: 844, touch: true, hash: '#v=1&turn.step=4' });
  for (const plane of await page.locator('#turn .plane-area').all()) {
    const { x, width } = (await plane.boundingBox())!;
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(390);
    const outside = await plane.evaluate((area) => {
      const { left, right, top, bottom } = area.getBoundingClientRect();
      return [...area.querySelectorAll('svg .mark, svg text, svg .dot')].filter((e) => {
        const at = e.getBoundingClientRect();
        return at.left < left || at.right > right || at.top < top || at.bottom > bottom;
      }).length;
    });
    expect(outside).toBe(0);
  }
  await page.context().close();
});

test('the check shows differences of rounding', async () => {
  const page = await openLesson();
  await steps(page).locator('.check summary').click();
  const rows = steps(page).locator('.check tbody tr');
  await rows.first().waitFor();
  expect(await rows.count()).toBe(5);
  for (const row of await rows.all())
    expect(await row.locator('td').last().innerText()).toMatch(/^(0|−?\d\.\d × 10⁻([⁶⁷⁸⁹]|¹.))$/);
  await page.context().close();
});

test('nothing for axe-core to find, whatever is shown', async () => {
  for (const scheme of ['light', 'dark'] as const) {
    const page = await openLesson({ scheme });
    expect(await axeViolations(page, '#turn')).toEqual([]);
    await place(page).getByRole('radio').first().check();
    await show(page).click();
    for (let n = 0; n < 4; ++n) {
      await steps(page).getByRole('button', { name: 'Next step' }).click();
      expect(await axeViolations(page, '#turn')).toEqual([]);
    }
    await page
      .locator('#turn details')
      .evaluateAll((all) => all.forEach((d) => ((d as HTMLDetailsElement).open = true)));
    expect(await axeViolations(page, '#turn')).toEqual([]);
    await page.context().close();
  }
});

test('every number of the open steps comes from the engine', async () => {
  const hash = '#v=1&turn.step=4';
  const [real, other] = [
    await openLesson({ hash }),
    await openLesson({ hash, before: kChangedEngine }),
  ];
  const [before, after] = [await numbersOf(real, '#turn'), await numbersOf(other, '#turn')];
  expect(before.length).toBeGreaterThan(30);
  expect(before.filter((text, n) => text === after[n])).toEqual([]);
  await real.context().close();
  await other.context().close();
});
