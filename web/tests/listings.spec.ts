// The listings, run with numbers of the reader's.
import { readFileSync } from 'node:fs';

import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { axeViolations, openLesson } from './browser.ts';
import prints from './numpy_prints.json' with { type: 'json' };

const attention = (page: Page) => page.locator('[data-figure="listings-attention"]');
const scaling = (page: Page) => page.locator('[data-figure="listings-scaling"]');
const printed = async (page: Page, name: string, wanted: readonly string[]) => {
  const region = page.getByRole('group', { name: `Printed by ${name}` });
  await expect.poll(() => region.innerText(), { timeout: 10_000 }).toBe(`${wanted.join('\n')}\n`);
};

test('the listings stand on the page whole, with scripts off too', async () => {
  const page = await openLesson({ script: false });
  const text = await page.locator('#listings').innerText();
  expect(text).toContain('print(np.allclose(self_attention(X)[perm], self_attention(X[perm])))');
  expect(text).toContain('#include "qkv/attention.h"');
  expect(text).toContain('qkv::random::Generator rng(0);');
  expect(text).toContain('[[0.14  0.284 0.576]] [[4.28 5.72]]');
  expect(text).toContain('is not interpreted');
  await page.context().close();
});

describe('Run prints the lines of NumPy', () => {
  test('by mouse, with the numbers of the lesson', async () => {
    const page = await openLesson();
    await attention(page).getByRole('button', { name: 'Run attention.py', exact: true }).click();
    await printed(page, 'attention.py', ['[[0.14  0.284 0.576]] [[4.28 5.72]]', 'True']);
    await scaling(page).getByRole('button', { name: 'Run scaling.py', exact: true }).click();
    await printed(page, 'scaling.py', ['8.08 1.01']);
    await scaling(page).getByText('Save', { exact: true }).click();
    const download = page.waitForEvent('download');
    await scaling(page).getByRole('button', { name: 'CSV' }).click();
    const csv = readFileSync((await (await download).path())!, 'utf8');
    expect(csv).toBe('seed,pairs,d_k,line\r\n0,10000,64,8.08 1.01\r\n');
    expect(await axeViolations(page, '#listings')).toEqual([]);
    await page.context().close();
  });

  test('by keyboard alone, with other numbers', async () => {
    const page = await openLesson();
    const { inputs, printed: wanted } = prints.attention[3];
    const fill = async (label: string, value: string) => {
      await attention(page).getByLabel(label, { exact: true }).focus();
      await page.keyboard.press('Control+a');
      await page.keyboard.type(value);
      await page.keyboard.press('Tab');
    };
    for (const [name, values] of [
      ['Q', inputs.q],
      ['K', inputs.k],
      ['V', inputs.v],
    ] as const) {
      for (const [n, value] of values.entries()) {
        await fill(`${name}, row ${Math.floor(n / 2) + 1}, column ${(n % 2) + 1}`, String(value));
      }
    }
    await fill('Seed', String(inputs.seed));
    await fill('Tokens', String(inputs.perm.length));
    await fill('Numbers of a token', String(inputs.d));
    await fill('New order (perm)', inputs.perm.join(' '));
    await attention(page).getByRole('button', { name: 'Run attention.py', exact: true }).focus();
    await page.keyboard.press('Enter');
    await printed(page, 'attention.py', wanted);
    await page.keyboard.press('Tab'); // the printed lines, which may scroll
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(
      await page
        .getByRole('group', { name: 'attention.py with your numbers', exact: true })
        .innerText(),
    ).toBe(prints.attention[3].code);
    expect(await axeViolations(page, '#listings')).toEqual([]);
    await page.context().close();
  });

  test('by touch, on a small phone', async () => {
    const page = await openLesson({ width: 320, height: 600, touch: true });
    const { inputs, printed: wanted } = prints.scaling[5];
    await scaling(page).getByLabel('Seed').fill(String(inputs.seed));
    await scaling(page).getByLabel('Pairs of vectors').fill(String(inputs.pairs));
    await scaling(page).getByLabel('Numbers of a vector, d k').fill(String(inputs.d));
    await scaling(page).getByRole('button', { name: 'Run scaling.py', exact: true }).tap();
    await printed(page, 'scaling.py', wanted);
    await page.context().close();
  });

  test.each(prints.attention.slice(4, 9))(
    'from a link: seed $inputs.seed',
    async ({ inputs, printed: wanted }) => {
      const { q, k, v, seed, d, perm } = inputs;
      const hash = `#v=1&listings.attention.q=${q.join('_')}&listings.attention.k=${k.join('_')}&listings.attention.v=${v.join('_')}&listings.attention.seed=${seed}&listings.attention.d=${d}&listings.attention.perm=${perm.join('_')}`;
      const page = await openLesson({ hash });
      await attention(page).getByRole('button', { name: 'Run attention.py', exact: true }).click();
      await printed(page, 'attention.py', wanted);
      await page.context().close();
    },
  );
});

test('a wrong order is not taken, and the reason is given', async () => {
  const page = await openLesson();
  const order = attention(page).getByLabel('New order (perm)');
  await order.fill('1, 1, 2');
  expect(await attention(page).getByRole('alert').innerText()).toContain(
    'Each place from 0 to 4 once',
  );
  expect(await order.getAttribute('aria-invalid')).toBe('true');
  expect(await axeViolations(page, '#listings')).toEqual([]);
  await order.fill('[4, 3, 2, 1, 0]');
  expect(await attention(page).getByRole('alert').count()).toBe(0);
  await attention(page).getByLabel('Tokens').fill('3');
  expect(await order.inputValue()).toBe('2, 1, 0');
  await page.context().close();
});

test('what was printed for other numbers is marked as such', async () => {
  const page = await openLesson();
  await scaling(page).getByRole('button', { name: 'Run scaling.py', exact: true }).click();
  await printed(page, 'scaling.py', ['8.08 1.01']);
  await scaling(page).getByLabel('Seed').fill('5');
  expect(await scaling(page).innerText()).toContain('run again');
  await scaling(page).getByLabel('Seed').fill('0');
  expect(await scaling(page).innerText()).not.toContain('run again');
  await page.context().close();
});

test('a long run leaves the page to its reader', async () => {
  const page = await openLesson({
    hash: '#v=1&listings.scaling.pairs=20000&listings.scaling.dk=128',
  });
  const turns = await page.evaluate(async () => {
    document.querySelector<HTMLElement>('[data-figure="listings-scaling"] .run')!.click();
    const out = document.querySelector('[data-figure="listings-scaling"] .output pre')!;
    let counted = 0;
    for (; !/^\d+\.\d+ \d/.test(out.textContent!); ++counted) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    return counted;
  });
  // Between slices of the run, of which a fast machine has fewer; 0 if it runs in one go.
  expect(turns).toBeGreaterThan(3);
  await page.context().close();
});
