// The catalogue of texts: texts/LOCALE/*.json, a file a section, from names to texts. Names that begin with
// "page." are put into the HTML when the page is built; the others travel to the browser.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Catalogue = Record<string, string>;

export function catalogueFiles(folder: string, locale: string): string[] {
  const files = readdirSync(join(folder, locale)).filter((name) => name.endsWith('.json'));
  return files.sort().map((name) => join(folder, locale, name));
}

function readFiles(folder: string, locale: string): Catalogue {
  const all: Catalogue = {};
  for (const file of catalogueFiles(folder, locale)) {
    for (const [name, text] of Object.entries(
      JSON.parse(readFileSync(file, 'utf8')) as Catalogue,
    )) {
      if (name in all) throw new Error(`${file}: the text ${name} is there already`);
      all[name] = text;
    }
  }
  return all;
}

export function readCatalogue(folder: string, locale: string): Catalogue {
  const english = readFiles(folder, 'en');
  if (locale === 'en') return english;
  if (locale === 'pseudo') {
    return Object.fromEntries(Object.entries(english).map(([name, text]) => [name, pseudo(text)]));
  }
  const translated = readFiles(folder, locale);
  const missing = Object.keys(english).filter((name) => !(name in translated));
  if (missing.length > 0) throw new Error(`texts/${locale} lacks ${missing.join(', ')}`);
  return translated;
}

const kAccents: Record<string, string> = {
  a: 'á',
  e: 'é',
  i: 'í',
  o: 'ó',
  u: 'ú',
  y: 'ý',
  c: 'ç',
  n: 'ñ',
  s: 'š',
  z: 'ž',
  A: 'Á',
  E: 'É',
  I: 'Í',
  O: 'Ó',
  U: 'Ú',
  Y: 'Ý',
  C: 'Ç',
  N: 'Ñ',
  S: 'Š',
  Z: 'Ž',
};

/**
 * A made-up language: every word accented and a third longer, so that a text that is not in the
 * catalogue stands out, and so does a place that is too narrow. {placeholders}, math, code and link
 * targets stay.
 */
export function pseudo(text: string): string {
  const kept = /(\{[^}]+\}|`[^`]+`|\$\$[^$]+\$\$|\$[^$]+\$|\]\(#[a-z-]+\))/;
  const accented = text
    .split(kept)
    .map((part, n) => (n % 2 === 1 ? part : part.replace(/[a-z]/gi, (c) => kAccents[c] ?? c)))
    .join('');
  const words = text.split(/\s+/).filter((word) => /[a-z]{3}/i.test(word)).length;
  return `⟦${accented}${'·'.repeat(Math.ceil(words * 1.5))}⟧`;
}
