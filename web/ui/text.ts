// Texts and numbers as people read them, in the page's language.
import texts, { locale } from 'virtual:texts';

/** The text of the catalogue, with {name} replaced. */
export function t(name: string, values: Record<string, string | number> = {}): string {
  const text = texts[name];
  if (text === undefined) throw new Error(`the catalogue has no text ${name}`);
  return text.replace(/\{([a-zA-Z0-9]+)\}/g, (_, key: string) => {
    if (!(key in values)) throw new Error(`the text ${name} needs a value for ${key}`);
    return String(values[key]);
  });
}

const formats = new Map<string, Intl.NumberFormat>();

function format(least: number, most: number): Intl.NumberFormat {
  const key = `${least} ${most}`;
  let found = formats.get(key);
  if (!found) {
    found = new Intl.NumberFormat(locale, {
      minimumFractionDigits: least,
      maximumFractionDigits: most,
      useGrouping: 'min2',
    } as Intl.NumberFormatOptions);
    formats.set(key, found);
  }
  return found;
}

function readable(value: number, text: string): string {
  if (Number.isNaN(value)) return 'NaN';
  return text.replace('-', '\u2212');
}

/** With exactly `digits` digits after the point. Small ones that would show as 0 are given as powers. */
export function fixed(value: number, digits: number): string {
  if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits && Math.abs(value) < 1e-4)
    return power(value);
  const text = format(digits, digits).format(value);
  return readable(value, /^-0[.,]?0*$/.test(text) ? text.slice(1) : text);
}

/** With at most `digits` digits after the point. */
export function short(value: number, digits = 2): string {
  const text = format(0, digits).format(value);
  return readable(value, text === '-0' ? '0' : text);
}

export function percent(value: number, digits = 0): string {
  return `${fixed(100 * value, digits)}\u202f%`;
}

const kSuperscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** As 1.2 × 10⁻⁷. */
export function power(value: number): string {
  if (value === 0) return '0';
  const [mantissa, exponent] = value.toExponential(1).split('e');
  const raised = [...String(Math.abs(Number(exponent)))]
    .map((d) => kSuperscripts[Number(d)])
    .join('');
  return `${readable(value, format(1, 1).format(Number(mantissa)))} × 10${Number(exponent) < 0 ? '⁻' : ''}${raised}`;
}

/** A vector as [1, 2]. */
export function vector(values: ArrayLike<number>, digits = 2): string {
  return `[${Array.from(values, (x) => short(x, digits)).join(', ')}]`;
}
