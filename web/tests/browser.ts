// The built page in Debian's Chromium, offline.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll } from 'vitest';

/** The page under test; QKV_LESSON names another file. */
export const kPage = new URL(
  process.env.QKV_LESSON ? `file://${process.env.QKV_LESSON}` : '../../build/web/lesson.html',
  import.meta.url,
);
const kChromium = process.env.QKV_CHROMIUM ?? '/usr/bin/chromium';

let browser: Promise<Browser> | undefined;

afterAll(async () => {
  await (await browser)?.close();
  browser = undefined;
});

export interface PageOptions {
  /** The state, from # on. */
  readonly hash?: string;
  readonly query?: string;
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  readonly touch?: boolean;
  readonly context?: BrowserContextOptions;
  readonly script?: boolean;
  /** As readers have it: sections are laid out when they come into sight. */
  readonly lazy?: boolean;
  /** Another build of the page. */
  readonly page?: URL;
  /** Runs in the page before its scripts. */
  readonly before?: string;
}

/** Opens the lesson and waits until its figures run. An error of the page fails the test. */
export async function openLesson(options: PageOptions = {}): Promise<Page> {
  browser ??= chromium.launch({ executablePath: kChromium });
  const { width = 1000, height = 900, scheme = 'light', touch = false, script = true } = options;
  const context = await (
    await browser
  ).newContext({
    offline: true,
    viewport: { width, height },
    colorScheme: scheme,
    hasTouch: touch,
    isMobile: touch,
    javaScriptEnabled: script,
    ...options.context,
  });
  context.setDefaultTimeout(20_000); // less than a test's, so that what isn't found is named
  const page = await context.newPage();
  page.on('pageerror', (error) => {
    throw error;
  });
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url()))
      throw new Error(`the page asked for ${request.url()}`);
  });
  if (options.before) await page.addInitScript(options.before);
  const address = new URL(options.page ?? kPage);
  address.search = options.query ?? '';
  await page.goto(address.href + (options.hash ?? ''));
  // Sections out of sight are not laid out, and what is not laid out has no text, colour or size to test.
  if (script && !options.lazy) {
    await page.addStyleTag({
      content: 'main > section { content-visibility: visible !important }',
    });
  }
  if (script) {
    await page.waitForFunction(() => document.documentElement.dataset.ready);
    const ready = await page.evaluate(() => document.documentElement.dataset.ready);
    if (ready !== 'yes') throw new Error(await page.locator('#trouble').innerText());
  }
  return page;
}

const kAxe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds wrong, one line a violation. */
export async function axeViolations(page: Page, selector?: string): Promise<string[]> {
  await page.evaluate(kAxe);
  return page.evaluate(async (within) => {
    const axe = (
      window as unknown as {
        axe: { run: (where: unknown) => Promise<{ violations: Violation[] }> };
      }
    ).axe;
    interface Violation {
      id: string;
      help: string;
      nodes: { target: string[] }[];
    }
    const { violations } = await axe.run(within ? document.querySelector(within) : document);
    return violations.map(
      (v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(' ')).join('; ')}`,
    );
  }, selector);
}

/** All computed numbers that are shown, in their order in the page. */
export async function numbersOf(page: Page, selector = 'main'): Promise<string[]> {
  return page.locator(`${selector} .num`).allInnerTexts();
}
