// What a link can hold: values that are written as short text, and read back checked and clamped.

/** How values of one kind are written. `parse` gives undefined for text that means nothing. */
export interface Codec<T> {
  format(value: T): string;
  parse(text: string): T | undefined;
}

export interface Range {
  readonly min: number;
  readonly max: number;
  /** Values are multiples of it. */
  readonly step: number;
}

/** The nearest value of the range. */
export function clamp(value: number, { min, max, step }: Range): number {
  const bounded = Math.min(max, Math.max(min, value));
  // Rounded as decimals, so that 0.1 steps don't pile up binary rests.
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const result = Number((Math.round(bounded / step) * step).toFixed(digits));
  return result === 0 ? 0 : result; // never -0
}

export function number(range: Range): Codec<number> {
  return {
    format: (value) => String(clamp(value, range)),
    parse: (text) => {
      const value = text.trim() === '' ? NaN : Number(text);
      return Number.isFinite(value) ? clamp(value, range) : undefined;
    },
  };
}

/** A list of numbers of fixed length, as of a vector or a matrix row by row. */
export function numbers(length: number, range: Range): Codec<readonly number[]> {
  const one = number(range);
  return {
    format: (values) => values.map(one.format).join('_'),
    parse: (text) => {
      const values = text.split('_').map(one.parse);
      return values.length === length && values.every((v) => v !== undefined)
        ? (values as number[])
        : undefined;
    },
  };
}

export function flags(length: number): Codec<readonly boolean[]> {
  return {
    format: (values) => values.map(Number).join(''),
    parse: (text) =>
      new RegExp(`^[01]{${length}}$`).test(text) ? [...text].map((c) => c === '1') : undefined,
  };
}

export function flag(): Codec<boolean> {
  return {
    format: (value) => (value ? '1' : '0'),
    parse: (text) => (text === '1' ? true : text === '0' ? false : undefined),
  };
}

export function oneOf<const T extends string>(...names: readonly T[]): Codec<T> {
  return {
    format: (value) => value,
    parse: (text) => names.find((name) => name === text),
  };
}

/** An order of the numbers 0 to length - 1. */
export function permutation(length: number): Codec<readonly number[]> {
  return {
    format: (values) => values.join('_'),
    parse: (text) => {
      const values = text.split('_').map(Number);
      const sorted = [...values].sort((a, b) => a - b);
      return values.length === length && sorted.every((v, n) => v === n) ? values : undefined;
    },
  };
}

/** Places in lists: one number for each count, from 0 to below it. */
export function indices(...counts: readonly number[]): Codec<readonly number[]> {
  return {
    format: (values) => values.join('_'),
    parse: (text) => {
      const values = text.split('_').map((part) => (/^\d+$/.test(part) ? Number(part) : NaN));
      return values.length === counts.length && values.every((v, n) => v < counts[n])
        ? values
        : undefined;
    },
  };
}
