// Takes the pictures of the documents: node bench/screenshots.mjs
import { pathToFileURL } from 'node:url';

import { chromium, devices } from 'playwright-core';

const path = (relative) => new URL(relative, import.meta.url).pathname;
const address = pathToFileURL(path('../../build/web/lesson.html')).href;
const browser = await chromium.launch({
  executablePath: process.env.QKV_CHROMIUM ?? '/usr/bin/chromium',
});

async function take(name, figure, hash, options, prepare = async () => {}) {
  const context = await browser.newContext({ offline: true, ...options });
  const page = await context.newPage();
  await page.goto(`${address}#v=1${hash}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes');
  const place = page.locator(`[data-figure="${figure}"]`);
  await place.scrollIntoViewIfNeeded();
  // A tall picture shows sections that are out of sight, which are else not laid out.
  await page.addStyleTag({
    content:
      '.tools { position: static !important } main > section { content-visibility: visible !important }',
  });
  await page.waitForTimeout(1000);
  await prepare(place, page);
  await place.screenshot({ path: path(`../../docs/images/${name}.png`) });
  await context.close();
}

const desk = { viewport: { width: 1000, height: 1000 } };
await take('lesson-light', 'figure', '', { ...desk, colorScheme: 'light' });
await take('lesson-dark', 'scale-spread', '', { ...desk, colorScheme: 'dark' });
await take(
  'lesson-train',
  'heads-train',
  '',
  { ...desk, colorScheme: 'light' },
  async (place, page) => {
    await place.getByRole('button', { name: 'Train' }).click();
    await page.waitForFunction(
      () => document.querySelector('.train-all').dataset.step >= 500,
      null,
      {
        timeout: 120_000,
      },
    );
    await place.getByRole('button', { name: 'Pause' }).click();
  },
);
const phone = { ...devices['Pixel 7'], deviceScaleFactor: 1.5 };
await take('lesson-phone', 'figure', '', { ...phone, colorScheme: 'light' });
await browser.close();
