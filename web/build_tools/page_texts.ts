// Puts a page together when it is built: {{> name}} in its HTML is sections/name.html, {{code path}} is a
// file of code, {{name}} is a text of the catalogue, and `virtual:texts` has the texts for its scripts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Plugin } from 'vite';

import { catalogueFiles, readCatalogue } from './catalogue.ts';
import { codeHtml, html } from './markup.ts';

const kVirtual = 'virtual:texts';

export function pageTexts(root: string, locale: string): Plugin {
  const folder = join(root, 'texts');
  const language = locale === 'pseudo' ? 'en' : locale; // for screen readers and number formats
  return {
    name: 'qkv-page-texts',
    resolveId: (id) => (id === kVirtual ? `\0${kVirtual}` : undefined),
    load(id) {
      if (id !== `\0${kVirtual}`) return undefined;
      for (const file of catalogueFiles(folder, 'en')) this.addWatchFile(file);
      const texts = Object.entries(readCatalogue(folder, locale));
      const forScripts = Object.fromEntries(texts.filter(([name]) => !name.startsWith('page.')));
      return `export default ${JSON.stringify(forScripts)}; export const locale = ${JSON.stringify(language)};`;
    },
    transformIndexHtml: {
      order: 'pre',
      handler(page) {
        const texts = readCatalogue(folder, locale);
        const inLanguage = page.replace('<html lang="en"', `<html lang="${language}"`);
        const whole = inLanguage.replace(/\{\{> ([a-z0-9_]+)\}\}/g, (_, name: string) =>
          readFileSync(join(root, 'sections', `${name}.html`), 'utf8'),
        );
        const withTexts = whole.replace(/\{\{([a-z0-9.-]+)\}\}/g, (_, name: string) => {
          const text = texts[name];
          if (text === undefined)
            throw new Error(`the page asks for the text ${name}, which is not in the catalogue`);
          return html(text);
        });
        return withTexts.replace(/\{\{code ([\w./]+)\}\}/g, (_, path: string) =>
          codeHtml(readFileSync(join(root, path), 'utf8')),
        );
      },
    },
  };
}
