// `virtual:engine`: the engine's module as text, gzipped and in base64, so that one file holds all.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

import type { Plugin } from 'vite';

const kVirtual = 'virtual:engine';

export function engineModule(path: string): Plugin {
  return {
    name: 'qkv-engine-module',
    resolveId: (id) => (id === kVirtual ? `\0${kVirtual}` : undefined),
    load(id) {
      if (id !== `\0${kVirtual}`) return undefined;
      this.addWatchFile(path);
      return `export default "${gzipSync(readFileSync(path), { level: 9 }).toString('base64')}";`;
    },
  };
}
