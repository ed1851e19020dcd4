import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

import { engineModule } from '../build_tools/engine_module.ts';
import { pageTexts } from '../build_tools/page_texts.ts';
import { staticFigures } from '../build_tools/static_figures.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const texts = pageTexts(root, process.env.QKV_LOCALE ?? 'en');
const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export default defineConfig({
  root,
  plugins: [
    texts,
    staticFigures(root, texts),
    engineModule(path('../../build/wasm/bindings/wasm/engine.wasm')),
    viteSingleFile({ removeViteModuleLoader: true }),
  ],
  build: {
    outDir: process.env.QKV_WEB_OUT ?? path('../../build/web/lesson'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 1 << 20,
    modulePreload: false,
    chunkSizeWarningLimit: 2000,
  },
});
