// Numbers as NumPy 2 and Python print them, for the listings.

/** To the nearest whole number; halves to the even one, as np.rint does. -0 stays. */
function rint(x: number): number {
  const below = Math.floor(x);
  if (x - below !== 0.5) return x < 0 && x >= -0.5 ? -0 : Math.round(x);
  const even = below % 2 === 0 ? below : below + 1;
  return even === 0 && x < 0 ? -0 : even;
}

/** np.round(x, digits). */
export function round(x: number, digits: number): number {
  const power = 10 ** digits;
  return rint(x * power) / power;
}

/** str(x) of a Python float that is not very large or small. */
export function floatText(x: number): string {
  if (Object.is(x, -0)) return '-0.0';
  const text = String(x);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function signed(x: number, text: string): string {
  return Object.is(x, -0) ? `-${text}` : text;
}

/** As in 12. or 0.25: the fewest digits that mean the number, and always a point. */
function positional(x: number): string {
  const text = signed(x, plain(x));
  return text.includes('.') ? text : `${text}.`;
}

// Without an exponent, whatever the size; at most 8 digits after the point, NumPy's precision.
function plain(x: number): string {
  const text = String(x);
  if (!text.includes('e')) {
    const [, fraction = ''] = text.split('.');
    return fraction.length <= 8 ? text : x.toFixed(8).replace(/0+$/, '');
  }
  return Math.abs(x) < 1 ? x.toFixed(8).replace(/0+$/, '') : BigInt(x).toString();
}

/** The parts of 1.25e+01: at most 8 digits after the point. */
function scientific(x: number): { head: string; fraction: string; exponent: string } {
  const shortest = x.toExponential();
  const text =
    (shortest.split('e')[0].split('.')[1] ?? '').length > 8 ? x.toExponential(8) : shortest;
  const [mantissa, power] = signed(x, text).split('e');
  const [head, fraction = ''] = mantissa.split('.');
  return { head, fraction: fraction.replace(/0+$/, ''), exponent: power };
}

/** print(np.array(rows)), for finite numbers and for rows that fit into a line of 75 characters. */
export function arrayText(rows: readonly ArrayLike<number>[]): string {
  const numbers = rows.map((row) => Array.from(row));
  const sizes = numbers
    .flat()
    .filter((x) => x !== 0)
    .map(Math.abs);
  const [most, least] = [Math.max(...sizes), Math.min(...sizes)];
  const powers = sizes.length > 0 && (most >= 1e8 || least < 1e-4 || most / least > 1000);
  const texts = powers ? withPowers(numbers) : withPoints(numbers);
  return `[${texts.map((row) => `[${row.join(' ')}]`).join('\n ')}]`;
}

// Every number is padded on both sides, to the longest whole part and the longest fraction.
function withPoints(numbers: readonly number[][]): string[][] {
  const texts = numbers.map((row) => row.map((x) => positional(x).split('.')));
  const whole = Math.max(...texts.flat().map(([head]) => head.length));
  const fraction = Math.max(...texts.flat().map(([, tail]) => tail.length));
  return texts.map((row) =>
    row.map(([head, tail]) => `${head.padStart(whole)}.${tail.padEnd(fraction)}`),
  );
}

// All mantissas get as many digits as the longest, and so do all exponents, two at least.
function withPowers(numbers: readonly number[][]): string[][] {
  const parts = numbers.map((row) => row.map(scientific));
  const whole = Math.max(...parts.flat().map(({ head }) => head.length));
  const fraction = Math.max(...parts.flat().map((part) => part.fraction.length));
  const power = Math.max(3, ...parts.flat().map(({ exponent }) => exponent.length)) - 1;
  return parts.map((row) =>
    row.map(({ head, fraction: tail, exponent }) => {
      const digits = exponent.slice(1).padStart(power, '0');
      return `${head.padStart(whole)}.${tail.padEnd(fraction, '0')}e${exponent[0]}${digits}`;
    }),
  );
}
