// Puts the engine's module into the page, gzipped and in base64, as a script that starts to unpack and
// compile it while the rest of the page is still read: `window.qkvModule` is a promise of the module.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

import type { Plugin } from 'vite';

const kUnpack = `async (text) => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}`;

export function engineModule(path: string): Plugin {
  return {
    name: 'qkv-engine-module',
    transformIndexHtml() {
      const text = gzipSync(readFileSync(path), { level: 9 }).toString('base64');
      // Whoever waits for it hears of a failure.
      const code = `window.qkvModule = (${kUnpack})("${text}"); window.qkvModule.catch(() => {});`;
      return [{ tag: 'script', children: code, injectTo: 'head' }];
    },
  };
}
