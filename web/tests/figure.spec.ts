// The main figure: every exercise can be solved by mouse, by touch, by keyboard alone, and through the
// accessibility tree alone.
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, numbersOf, openLesson } from './browser.ts';

type At = readonly [number, number];
const kKeys = 0;
const kValues = 1;
const kSides = 3; // the planes go from -3 to 3

/** Where a point of a plane is on the screen, once the plane is in sight. */
async function onScreen(page: Page, plane: number, [x, y]: At): Promise<{ x: number; y: number }> {
  const area = page.locator('#figure .plane-area').nth(plane);
  await area.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  const box = (await area.boundingBox())!;
  return {
    x: box.x + (box.width * (x + kSides)) / (2 * kSides),
    y: box.y + (box.height * (kSides - y)) / (2 * kSides),
  };
}

const figure = (page: Page) => page.locator('#figure');
const handle = (page: Page, name: string) =>
  figure(page).getByRole('group', { name, exact: true }).and(page.locator('.handle'));

async function middle(of: Locator): Promise<{ x: number; y: number }> {
  const box = (await of.boundingBox())!;
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function drag(page: Page, name: string, plane: number, ...path: At[]): Promise<void> {
  await onScreen(page, plane, [0, 0]);
  const from = await middle(handle(page, name));
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  for (const at of path) {
    const to = await onScreen(page, plane, at);
    await page.mouse.move(to.x, to.y, { steps: 3 });
  }
  await page.mouse.up();
}

async function touchDrag(page: Page, name: string, plane: number, at: At): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const to = await onScreen(page, plane, at);
  const from = await middle(handle(page, name));
  const send = (
    type: 'touchStart' | 'touchMove' | 'touchEnd',
    points: { x: number; y: number }[],
  ) => session.send('Input.dispatchTouchEvent', { type, touchPoints: points });
  await send('touchStart', [from]);
  for (const part of [0.3, 0.6, 1]) {
    await send('touchMove', [
      { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) },
    ]);
  }
  await page.waitForTimeout(250); // else it is a fling to Chromium, and the next tap only stops that
  await send('touchEnd', []);
}

async function tap(page: Page, plane: number, at: At): Promise<void> {
  const { x, y } = await onScreen(page, plane, at);
  await page.touchscreen.tap(x, y);
}

/** Goes on by Tab until the control of this name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let n = 0; n < 120; ++n) {
    const found = await page.evaluate(() => {
      const e = document.activeElement as HTMLInputElement | null;
      return e?.getAttribute('aria-label') ?? (e?.labels?.[0] ?? e)?.textContent ?? '';
    });
    if (name.test(found)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab leads to nothing called ${name}`);
}

async function press(page: Page, key: string, times: number): Promise<void> {
  for (let n = 0; n < times; ++n) await page.keyboard.press(key);
}

const circle: At[] = Array.from({ length: 25 }, (_, n) => [
  2 * Math.cos((n * Math.PI) / 12),
  2 * Math.sin((n * Math.PI) / 12),
]);
const slider = (page: Page, name: string) =>
  figure(page).getByRole('slider', { name, exact: true });
const entry = (page: Page, name: string) => figure(page).getByRole('spinbutton', { name });
const dOut: At = [2.7, 1.5];

type Solution = (page: Page) => Promise<unknown>;

/** Exercises of two parts: one, set up again, and the other. */
const setUp = (page: Page) =>
  page.locator('#figure .exercise:not([hidden])').getByRole('button', { name: 'Set up' });
const half = (page: Page) =>
  page.locator('#figure .live', { hasText: 'One half of it:' }).waitFor();
const tokens = ['A', 'B', 'D'];
const seeing = (page: Page, token: string) => figure(page).getByLabel(`${token} is visible`);

const byMouse: Solution[] = [
  (page) => drag(page, 'Query', kKeys, [0, 0]),
  (page) => drag(page, 'Query', kKeys, [1.6, 0.7]),
  (page) => drag(page, 'Query', kKeys, ...circle),
  async (page) => {
    await drag(page, 'Key of D', kKeys, dOut);
    await half(page);
    await setUp(page).click();
    await figure(page).getByLabel('normalise keys').click();
  },
  (page) => drag(page, 'Key of D', kKeys, dOut),
  (page) => drag(page, 'All keys together', kKeys, [0.5, 0.4]),
  (page) => drag(page, 'Query', kKeys, [-2, -2]),
  (page) => drag(page, 'Value of A', kValues, [0, 0]),
  async (page) => {
    await seeing(page, 'C').click();
    await half(page);
    for (const token of tokens) await seeing(page, token).click();
  },
];

const byTouch: Solution[] = [
  (page) => tap(page, kKeys, [0.05, 0]),
  (page) => tap(page, kKeys, [1.6, 0.7]),
  async (page) => {
    for (const at of [
      [2, -1],
      [-0.5, 2],
      [-1, -2],
    ] as const)
      await tap(page, kKeys, at);
  },
  async (page) => {
    await figure(page).getByLabel('normalise keys').tap();
    await half(page);
    await setUp(page).tap();
    await touchDrag(page, 'Key of D', kKeys, dOut);
  },
  (page) => touchDrag(page, 'Key of D', kKeys, dOut),
  (page) => figure(page).getByRole('button', { name: 'All keys up' }).tap(),
  (page) => tap(page, kKeys, [-2, -2]),
  (page) => touchDrag(page, 'Value of A', kValues, [0, 0]),
  async (page) => {
    for (const token of [...tokens, 'C']) await seeing(page, token).tap();
    await half(page);
    for (const token of tokens) await seeing(page, token).tap();
  },
];

const byKeyboard: Solution[] = [
  (page) => tabTo(page, /^Query, across/).then(() => press(page, '[', 18)),
  (page) => tabTo(page, /^Query, across/).then(() => press(page, ']', 10)),
  (page) => tabTo(page, /^Query, across/).then(() => press(page, '{', 72)),
  async (page) => {
    await tabTo(page, /^Key of D, across/);
    await press(page, ']', 20);
    await half(page);
    await setUp(page).focus();
    await press(page, 'Enter', 1);
    await tabTo(page, /^normalise keys/);
    await press(page, 'Space', 1);
  },
  (page) => tabTo(page, /^Key of D, across/).then(() => press(page, ']', 20)),
  (page) => tabTo(page, /^All keys together, across/).then(() => press(page, 'ArrowRight', 3)),
  (page) =>
    tabTo(page, /^Query, across/)
      .then(() => press(page, 'Home', 1))
      .then(() => press(page, 'PageDown', 4)),
  (page) => tabTo(page, /^Value of A, across/).then(() => press(page, 'ArrowRight', 1)),
  async (page) => {
    await tabTo(page, /^C is visible/);
    await press(page, 'Space', 1);
    await half(page);
    for (const token of ['D', 'B', 'A']) {
      await figure(page).getByRole('heading', { name: 'A mask hides a token' }).focus();
      await tabTo(page, new RegExp(`^${token} is visible`));
      await press(page, 'Space', 1);
    }
  },
];

const fillD = async (page: Page) => {
  await entry(page, 'Keys, row D, column 1').fill(String(dOut[0]));
  await entry(page, 'Keys, row D, column 2').fill(String(dOut[1]));
};
const byTree: Solution[] = [
  (page) => slider(page, 'Length').fill('0'),
  (page) => slider(page, 'Length').fill('1.75'),
  async (page) => {
    for (const angle of ['0', '100', '-120']) await slider(page, 'Angle').fill(angle);
  },
  async (page) => {
    await fillD(page);
    await half(page);
    await setUp(page).press('Enter');
    await figure(page).getByRole('checkbox', { name: 'normalise keys' }).check();
  },
  fillD,
  (page) => figure(page).getByRole('button', { name: 'All keys to the left' }).press('Enter'),
  async (page) => {
    await slider(page, 'Length').fill('3');
    await slider(page, 'Angle').fill('-135');
  },
  (page) => entry(page, 'Values, row A, column 1').fill('0'),
  async (page) => {
    const see = (token: string) =>
      figure(page).getByRole('checkbox', { name: `${token} is visible` });
    await see('C').uncheck();
    await half(page);
    for (const token of tokens) await see(token).uncheck();
  },
];

const solved = (page: Page) => page.locator('#figure .live.done').waitFor({ timeout: 5000 });
const unsolved = async (page: Page) =>
  expect(await page.locator('#figure .live.done').count()).toBe(0);
const numberButton = (page: Page, n: number) =>
  figure(page).getByRole('button', { name: new RegExp(`^${n}: `) });

for (const [way, solutions, options] of [
  ['mouse', byMouse, {}],
  ['touch, on a small phone', byTouch, { touch: true, width: 320, height: 640 }],
  ['keyboard alone', byKeyboard, {}],
  ['the accessibility tree alone', byTree, {}],
] as const) {
  test(`by ${way}, each exercise can be solved`, async () => {
    const page = await openLesson(options);
    for (const [index, solve] of solutions.entries()) {
      const n = index + 1;
      if (way === 'keyboard alone') {
        // Back to where the section begins, as its heading's place in a list of headings would take one.
        await page.locator('#figure-title').evaluate((title) => {
          title.tabIndex = -1;
          title.focus();
        });
        await tabTo(page, new RegExp(`^${n}: `));
        await press(page, 'Enter', 1);
      } else if ('touch' in options) {
        await numberButton(page, n).tap();
      } else {
        await numberButton(page, n).click();
      }
      await page.locator(`#figure-exercise-${n}`).waitFor();
      await unsolved(page);
      await solve(page);
      await solved(page);
    }
    expect(await page.locator('#figure .chooser .tick').count()).toBe(9);
    await page.context().close();
  });
}

test('to open an exercise solves nothing, says its task first, and goes to its heading', async () => {
  const page = await openLesson();
  for (let n = 1; n <= 9; ++n) {
    await numberButton(page, n).click();
    const title = page.locator(`#figure-exercise-${n}-title`);
    await title.waitFor();
    expect(await title.evaluate((heading) => heading === document.activeElement)).toBe(true);
    expect(await page.locator('#figure .chooser .tick').count()).toBe(0);
    const task = (await page.locator(`#figure-exercise-${n} > p`).first().textContent())!;
    const words = `Exercise ${n}: ${await title.innerText()}. ${task} `;
    await expect
      .poll(() => page.locator('#announcer').textContent(), { timeout: 3000 })
      .toContain(words);
    expect((await page.locator('#announcer').textContent())!.indexOf(words)).toBe(0);
  }
  await page.context().close();
});

test('neither a link nor Reset solves an exercise', async () => {
  const page = await openLesson({ hash: '#v=1&figure-exercise.open=2' });
  await unsolved(page);
  expect(await page.locator('#figure-exercise-2 .live').innerText()).toContain('Press Set up');
  await setUp(page).first().click();
  await slider(page, 'Length').fill('1.75');
  await solved(page);
  await page
    .locator('[data-figure=figure]')
    .getByRole('button', { name: /^Reset:/ })
    .click();
  await unsolved(page);
  expect(await slider(page, 'Length').inputValue()).toBe('0.87');
  await page.context().close();
});

test('what changed is said, and that the exercise is solved', async () => {
  const page = await openLesson();
  await numberButton(page, 1).click();
  await slider(page, 'Length').fill('0');
  const said = page.locator('#announcer');
  await expect
    .poll(() => said.textContent(), { timeout: 3000 })
    .toContain('You have it: the query asks for nothing');
  expect(await said.textContent()).toContain(
    'Query length 0.0, 24 degrees. A 25 percent, B 25, C 25, D 25. Result 0.2 across, 0.0 up.',
  );
  await page.context().close();
});

describe('state', () => {
  test('opening an exercise is one step of undo', async () => {
    const page = await openLesson();
    const before = await numbersOf(page, '#figure');
    await numberButton(page, 9).click();
    expect(await numbersOf(page, '#figure')).not.toEqual(before);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('#figure-exercise-9').waitFor({ state: 'hidden' });
    expect(await numbersOf(page, '#figure')).toEqual(before);
    await page.context().close();
  });

  test('a link reopens the same numbers and the same pictures', async () => {
    const page = await openLesson();
    await numberButton(page, 5).click();
    await fillD(page);
    await slider(page, 'Angle').fill('40');
    await slider(page, 'Angle').blur();
    await page.getByLabel('B is visible').uncheck();
    await page.getByLabel('trail of the result').uncheck();
    await expect.poll(() => page.evaluate(() => location.hash)).toContain('figure.trail=0');
    const hash = await page.evaluate(() => location.hash);
    const other = await openLesson({ hash });
    const pictures = (p: Page) =>
      p.locator('#figure svg[data-export]').evaluateAll((all) => all.map((e) => e.outerHTML));
    expect(await numbersOf(other, '#figure')).toEqual(await numbersOf(page, '#figure'));
    expect(await pictures(other)).toEqual(await pictures(page));
    await page.context().close();
    await other.context().close();
  });

  test('the query stays where the plane has room for it', async () => {
    const page = await openLesson({ hash: '#v=1&figure.q=3_3' });
    expect(await slider(page, 'Length').inputValue()).toBe('3');
    await page.context().close();
  });
});

for (const scheme of ['light', 'dark'] as const) {
  test(`${scheme}: nothing for axe-core to find in any exercise, before and after it is solved`, async () => {
    const page = await openLesson({ scheme });
    for (const [index, solve] of byTree.entries()) {
      await numberButton(page, index + 1).click();
      await page
        .locator(`#figure-exercise-${index + 1} > details`)
        .evaluate((details: HTMLDetailsElement) => {
          details.open = true;
        });
      expect(await axeViolations(page, '#figure')).toEqual([]);
      await solve(page);
      await solved(page);
      expect(await axeViolations(page, '#figure')).toEqual([]);
    }
    for (const name of [
      'winner regions',
      'shadows on the query',
      'edit keys',
      'edit values',
      'normalise keys',
    ]) {
      await page.getByLabel(name, { exact: true }).check();
    }
    await page.locator('#figure .check summary').click();
    for (const token of ['A', 'B', 'C', 'D'])
      await page.getByLabel(`${token} is visible`).setChecked(false);
    expect(await axeViolations(page, '#figure')).toEqual([]);
    await page.context().close();
  });
}

test('no drawing has more than 60 elements, in any state', async () => {
  const page = await openLesson();
  for (const name of [
    'winner regions',
    'shadows on the query',
    'edit keys',
    'edit values',
    'normalise keys',
  ]) {
    await page.getByLabel(name, { exact: true }).check();
  }
  await drag(page, 'Query', kKeys, ...circle);
  const counts = await page
    .locator('#figure svg[data-export]')
    .evaluateAll((all) => all.map((e) => e.querySelectorAll('*').length));
  expect(counts.length).toBe(2);
  for (const count of counts) expect(count).toBeLessThanOrEqual(60);
  await page.context().close();
});

test('without scripts all exercises can be read', async () => {
  const page = await openLesson({ script: false });
  for (let n = 1; n <= 9; ++n)
    expect(await page.locator(`#figure-exercise-${n} h3`).isVisible()).toBe(true);
  await page.context().close();
});
