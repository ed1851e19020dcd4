// Sentences with computed numbers in them, to be shown and to be said.
import { t } from '../ui/text.ts';

export interface Message {
  /** Its name in the catalogue. */
  readonly text: string;
  /** Numbers that the engine computed, as text. */
  readonly numbers?: Readonly<Record<string, string>>;
  readonly words?: Readonly<Record<string, string>>;
}

export function say({ text, numbers, words }: Message): string {
  return t(text, { ...words, ...numbers });
}

const kMark = '\u0001'; // stands before and after a number

export function Told({ message: { text, numbers = {}, words } }: { message: Message }) {
  const marked = Object.entries(numbers).map(([name, number]) => [name, kMark + number + kMark]);
  const parts = t(text, { ...words, ...Object.fromEntries(marked) }).split(kMark);
  return (
    <>
      {parts.map((part, n) =>
        n % 2 === 1 ? (
          <span key={n} class="num">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}
