// Symbols in the texts of figures: d_k and W_O are shown with their small letters below the line, and read as "d k".
import { t } from './text.ts';

const kSymbol = /[A-Za-z]_[A-Za-z0-9]+/g;

/** A text with symbols as it is said: for labels, and for announcements. */
export function spoken(text: string): string {
  return text
    .replaceAll('√', `${t('symbols.root')} `)
    .replace(kSymbol, (symbol) => symbol.replace('_', ' '));
}

/** A text with symbols as it is seen; screen readers read it as it is said. */
export function Symbols({ text }: { text: string }) {
  return (
    <>
      {text.split(/(√?[A-Za-z]_[A-Za-z0-9]+|√[0-9]+)/).map((part, n) => {
        if (n % 2 === 0) return part;
        const [letter, below] = part.split('_');
        return (
          <span key={n}>
            <span class="symbol" aria-hidden="true">
              {letter}
              {below && <sub>{below}</sub>}
            </span>
            <span class="unseen">{spoken(part)}</span>
          </span>
        );
      })}
    </>
  );
}
