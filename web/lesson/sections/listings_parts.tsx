// Parts of the figures that run a listing.
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { announce } from '../../ui/announce.ts';
import { Num, NumberInput } from '../../ui/controls.tsx';
import type { Range } from '../../ui/fields.ts';
import { useUniqueId } from '../../ui/id.ts';
import type { Field, Store } from '../../ui/store.ts';
import { spoken, Symbols } from '../../ui/symbols.tsx';
import { percent, t } from '../../ui/text.ts';
import { breath } from './slices.ts';

/** A whole number with its name above. */
export function NamedNumber({
  store,
  field,
  range,
  label,
}: {
  store: Store;
  field: Field<number>;
  range: Range;
  label: string;
}) {
  return (
    <span class="named">
      <span aria-hidden="true">
        <Symbols text={label} />
      </span>
      <NumberInput
        value={field.value}
        range={range}
        label={spoken(label)}
        onValue={(value) => field.set(value)}
        onCommit={(joins) => store.commit(field.key, joins)}
      />
    </span>
  );
}

interface OrderInputProps {
  readonly order: readonly number[];
  readonly label: string;
  readonly onOrder: (order: readonly number[]) => void;
}

/** A permutation as text. What is typed is taken once it is one, and the reason is given while it isn't. */
export function OrderInput({ order, label, onOrder }: OrderInputProps) {
  const id = useUniqueId();
  const shown = order.join(', ');
  const [typed, setTyped] = useState<string | undefined>();
  const parse = (text: string) => {
    const numbers = (text.match(/[^\s,;[\]]+/g) ?? []).map((part) =>
      /^\d+$/.test(part) ? Number(part) : NaN,
    );
    const sorted = [...numbers].sort((a, b) => a - b);
    return numbers.length === order.length && sorted.every((x, n) => x === n) ? numbers : undefined;
  };
  const wrong = typed !== undefined && !parse(typed);
  // Another order, by another control or a reset, replaces what was typed here.
  const last = useRef(shown);
  if (last.current !== shown) {
    last.current = shown;
    const own = typed === undefined ? undefined : parse(typed)?.join(', ');
    if (own !== shown) setTyped(undefined);
  }
  return (
    <span class="named">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="order"
        type="text"
        autocomplete="off"
        spellcheck={false}
        value={typed ?? shown}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          const numbers = parse(event.currentTarget.value);
          if (numbers) onOrder(numbers);
        }}
        onBlur={() => {
          if (!wrong) setTyped(undefined);
        }}
      />
      {wrong && (
        <span class="wrong" id={`${id}-wrong`} role="alert">
          {t('listings.perm-wrong', {
            last: order.length - 1,
            example: order.map((_, n) => order.length - 1 - n).join(', '),
          })}
        </span>
      )}
    </span>
  );
}

/** What a run printed, and for which numbers. */
export interface Printed {
  readonly lines: readonly string[];
  readonly inputs: string;
}

interface RunnerProps {
  readonly name: string;
  /** Where what it prints is kept; the figure saves it. */
  readonly output: Signal<Printed | undefined>;
  /** What the run depends on, to tell whether what is printed is of these numbers. */
  readonly inputs: string;
  /** Gives the lines, or undefined if `pause` said to stop. */
  readonly run: (pause: (done: number) => Promise<boolean>) => Promise<string[] | undefined>;
}

/** The button and what was printed. */
export function Runner({ name, output, inputs, run }: RunnerProps) {
  const printed = output.value;
  const [done, setDone] = useState<number | undefined>();
  const current = useRef(0); // each run has a number; only the last goes on
  useEffect(() => () => void ++current.current, []);

  const start = async () => {
    const own = ++current.current;
    let last = performance.now();
    setDone(0);
    const pause = async (part: number) => {
      if (performance.now() - last > 12) {
        setDone(part);
        await breath();
        last = performance.now();
      }
      return own === current.current;
    };
    const lines = await run(pause);
    if (own !== current.current || !lines) return;
    output.value = { lines, inputs };
    setDone(undefined);
    announce(t('listings.says', { lines: lines.join('; ') }));
  };
  const stale = printed !== undefined && printed.inputs !== inputs;
  return (
    <>
      <div class="output">
        <button
          type="button"
          class="primary run"
          aria-label={t('listings.run-name', { name })}
          onClick={() => void start()}
        >
          {t('listings.run')}
        </button>
        <pre
          class={stale ? 'sideways code stale' : 'sideways code'}
          role="group"
          tabIndex={0}
          aria-label={t('listings.printed-by', { name })}
          translate={false}
        >
          {done !== undefined
            ? t('listings.running', { done: percent(done) })
            : printed === undefined
              ? t('listings.not-run')
              : printed.lines.map((line, n) => <Line key={n} text={line} />)}
        </pre>
      </div>
      {stale && <p>{t('listings.stale')}</p>}
    </>
  );
}

function Line({ text }: { text: string }) {
  return (
    <>
      {/\d/.test(text) ? <Num value={0} text={text} /> : text}
      {'\n'}
    </>
  );
}

/** The listing's text with the reader's numbers, to be tried elsewhere. */
export function Code({
  name,
  text,
  children,
}: {
  name: string;
  text: () => string;
  children?: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      announce(t('listings.copied'));
    } catch {
      announce(t('listings.copy-failed'));
    }
  };
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('listings.code')}</summary>
      {open && (
        <>
          <pre
            class="sideways code"
            translate={false}
            tabIndex={0}
            role="group"
            aria-label={t('listings.code-label', { name })}
          >
            <code>{text()}</code>
          </pre>
          <button type="button" onClick={() => void copy()}>
            {t('listings.copy')}
          </button>
          {children}
        </>
      )}
    </details>
  );
}
