// The drawings as they start, against pictures that somebody has looked at.
//
//   QKV_UPDATE_GOLDEN=1 npx vitest run --project browser tests/golden.spec.ts    makes them anew: look!
//
// Letters are left out, since fonts differ between machines; lines and colours must be right to a small tolerance.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';

import { openLesson } from './browser.ts';

const kFolder = new URL('golden/', import.meta.url);
const kUpdate = process.env.QKV_UPDATE_GOLDEN === '1';
const kMostDiffering = 0.005; // of the pixels: edges are smoothed a little differently
const kFar = 40; // of 255, in a colour

/** The share of pixels that are far from those of the golden picture; 1 if the sizes differ. */
async function difference(page: Page, picture: Buffer, golden: Buffer): Promise<number> {
  return page.evaluate(
    async ([a, b, far]) => {
      const pixels = async (base64: string) => {
        const image = new Image();
        image.src = `data:image/png;base64,${base64}`;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext('2d')!;
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [x, y] = [await pixels(a as string), await pixels(b as string)];
      if (x.width !== y.width || x.height !== y.height) return 1;
      let differing = 0;
      for (let n = 0; n < x.data.length; n += 4) {
        const distance = Math.max(...[0, 1, 2].map((c) => Math.abs(x.data[n + c] - y.data[n + c])));
        if (distance > (far as number)) ++differing;
      }
      return differing / (x.data.length / 4);
    },
    [picture.toString('base64'), golden.toString('base64'), kFar],
  );
}

describe('drawings', () => {
  for (const scheme of ['light', 'dark'] as const) {
    for (const figure of [
      'dot-arrows',
      'figure',
      'scale-spread',
      'scale-gradient',
      'set-cloud',
      'heads-look',
      'heads-train',
      'machine-blocks',
    ]) {
      test(`${figure}, ${scheme}`, async () => {
        const page = await openLesson({ scheme });
        await page.addStyleTag({
          content: 'svg text { visibility: hidden !important } .handle { visibility: hidden }',
        });
        const drawing = page.locator(`[data-figure="${figure}"] svg[data-export]`).first();
        await drawing.scrollIntoViewIfNeeded();
        // A fixed size, whatever the fonts beside it make of the page.
        await drawing.evaluate((svg) => {
          const copy = svg.cloneNode(true) as SVGSVGElement;
          const box = copy.viewBox.baseVal;
          const place = document.createElement('div');
          place.id = 'golden';
          place.style.cssText = `position:fixed;inset:0 auto auto 0;z-index:9;background:var(--back);width:${box.width}px;height:${box.height}px`;
          copy.style.cssText = `width:${box.width}px;height:${box.height}px;min-inline-size:0`;
          place.append(copy);
          svg.closest('section')!.append(place); // for the section's styles
        });
        const picture = await page.locator('#golden').screenshot();
        const file = new URL(`${figure}-${scheme}.png`, kFolder);
        if (kUpdate) {
          mkdirSync(kFolder, { recursive: true });
          writeFileSync(file, picture);
        }
        expect(existsSync(file), 'there is no golden picture').toBe(true);
        expect(await difference(page, picture, readFileSync(file))).toBeLessThan(kMostDiffering);
        await page.context().close();
      });
    }
  }
});
