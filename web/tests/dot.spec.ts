// A dot product: what its matrix says.
import { expect, test } from 'vitest';

import { openLesson } from './browser.ts';

test('a changed entry of the matrix says which entry of the product follows', async () => {
  const page = await openLesson();
  const box = page.getByRole('spinbutton', { name: 'Matrix, row 2, column 2' });
  await box.fill('4');
  await box.press('Tab');
  await expect
    .poll(() => page.locator('#announcer').textContent(), { timeout: 3000 })
    .toBe('Entry 2 of the product is now 8.00.');
  await page.context().close();
});
