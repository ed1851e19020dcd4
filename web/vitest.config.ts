import { defineConfig } from 'vitest/config';
import { fileURLToPath } from 'node:url';

import { pageTexts } from './build_tools/page_texts.ts';

const lesson = fileURLToPath(new URL('lesson/', import.meta.url));

// Two kinds: `unit` needs engine.wasm, `browser` also the built page and Chromium.
export default defineConfig({
  test: {
    projects: [
      {
        plugins: [pageTexts(lesson, 'en')],
        test: { name: 'unit', include: ['**/*.test.ts'], exclude: ['node_modules/**'] },
      },
      {
        test: {
          name: 'browser',
          include: ['tests/**/*.spec.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false, // one Chromium at a time, so that timing is not a matter of luck
        },
      },
    ],
  },
});
