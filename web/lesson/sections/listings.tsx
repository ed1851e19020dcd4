// The two listings, run through the engine with the reader's numbers.
import { signal } from '@preact/signals';

import { EditedCells } from '../../ui/cells.tsx';
import { number, numbers, type Codec, type Range } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import type { Field } from '../../ui/store.ts';
import { t } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import attentionPy from '../listings/attention.py?raw';
import { attentionListing, runAttention, runScaling, scalingListing } from '../listings/run.ts';
import scalingPy from '../listings/scaling.py?raw';
import { kListings } from '../start/listings.ts';
import './listings.css';
import { Code, NamedNumber, OrderInput, Runner, type Printed } from './listings_parts.tsx';

const kEntry: Range = { min: -20, max: 20, step: 0.01 };
const kSeed: Range = { min: 0, max: 2 ** 32 - 1, step: 1 };
const kSize: Range = { min: 1, max: 8, step: 1 };
const kTokens: Range = { min: 2, max: 8, step: 1 };
const kPairs: Range = { min: 10, max: 20_000, step: 1 };
const kKeySize: Range = { min: 1, max: 128, step: 1 };

/** An order of 0, 1, ...: of as many as there are. */
const order: Codec<readonly number[]> = {
  format: (values) => values.join('_'),
  parse: (text) => {
    const values = text.split('_').map((part) => (/^\d$/.test(part) ? Number(part) : NaN));
    const sorted = [...values].sort((a, b) => a - b);
    const fits =
      values.length >= kTokens.min &&
      values.length <= kTokens.max &&
      sorted.every((v, n) => v === n);
    return fits ? values : undefined;
  },
};

/** The order for another number of tokens: those there are stay in order, new ones come last. */
function resized(perm: readonly number[], count: number): readonly number[] {
  const kept = perm.filter((place) => place < count);
  return [...kept, ...Array.from({ length: count - kept.length }, (_, n) => kept.length + n)];
}

export function listingsSection({ engine, store }: Lesson) {
  const field = <T,>(name: string, codec: Codec<T>, initial: T) =>
    store.field(`listings.${name}`, codec, initial);
  const q = field('attention.q', numbers(2, kEntry), kListings.q);
  const k = field('attention.k', numbers(6, kEntry), kListings.k);
  const v = field('attention.v', numbers(6, kEntry), kListings.v);
  const seed = field<number>('attention.seed', number(kSeed), kListings.seed);
  const d = field<number>('attention.d', number(kSize), kListings.d);
  const perm = field<readonly number[]>('attention.perm', order, kListings.perm);
  const scalingSeed = field<number>('scaling.seed', number(kSeed), kListings.scalingSeed);
  const pairs = field<number>('scaling.pairs', number(kPairs), kListings.pairs);
  const dk = field<number>('scaling.dk', number(kKeySize), kListings.dk);

  const attentionPrinted = signal<Printed | undefined>(undefined);
  const scalingPrinted = signal<Printed | undefined>(undefined);
  const notRun = (output: Printed | undefined, inputs: object) =>
    output?.inputs === JSON.stringify(inputs) ? undefined : t('listings.save-after');

  const attentionInputs = () => ({
    q: q.value,
    k: k.value,
    v: v.value,
    seed: seed.value,
    d: d.value,
    perm: perm.value,
  });
  const scalingInputs = () => ({ seed: scalingSeed.value, pairs: pairs.value, d: dk.value });

  function Rows({ of, name }: { of: Field<readonly number[]>; name: 'q' | 'k' | 'v' }) {
    const label = t(`listings.${name}`);
    return (
      <EditedCells
        caption={label}
        rows={of.value.length / 2}
        columns={2}
        range={kEntry}
        value={(r, c) => of.value[2 * r + c]}
        cellLabel={(r, c) =>
          t('matrix.entry', { name: name.toUpperCase(), row: r + 1, column: c + 1 })
        }
        onValue={(r, c, value) => of.set(of.value.map((old, n) => (n === 2 * r + c ? value : old)))}
        onCommit={(joins) => store.commit(of.key, joins)}
      />
    );
  }

  function shuffle() {
    const rng = engine.generator(Math.floor(Math.random() * 2 ** 32));
    perm.set(rng.permutation(perm.value.length));
    rng.free();
    store.commit(perm.key);
  }

  function Attention() {
    const inputs = attentionInputs();
    return (
      <Figure
        store={store}
        section="listings.attention"
        title={t('listings.attention')}
        drawn={false}
        waiting={notRun(attentionPrinted.value, inputs)}
        numbers={() => [['line'], ...attentionPrinted.value!.lines.map((line) => [line])]}
      >
        <div class="listing">
          <div class="inputs">
            <Rows of={q} name="q" />
            <Rows of={k} name="k" />
            <Rows of={v} name="v" />
          </div>
          <fieldset>
            <legend>{t('listings.random')}</legend>
            <NamedNumber store={store} field={seed} range={kSeed} label={t('listings.seed')} />
            <TokenCount />
            <NamedNumber store={store} field={d} range={kSize} label={t('listings.size')} />
            <OrderInput
              order={inputs.perm}
              label={t('listings.perm')}
              onOrder={(chosen) => {
                perm.set(chosen);
                store.commit(perm.key, true);
              }}
            />
            <button type="button" onClick={shuffle}>
              {t('listings.shuffle')}
            </button>
          </fieldset>
          <Runner
            name="attention.py"
            output={attentionPrinted}
            inputs={JSON.stringify(inputs)}
            run={async () => runAttention(engine, attentionInputs())}
          />
          <Code name="attention.py" text={() => attentionListing(attentionPy, attentionInputs())} />
        </div>
      </Figure>
    );
  }

  /** As many tokens as the order has places: the order is the state. */
  function TokenCount() {
    const count = {
      key: perm.key,
      get value() {
        return perm.value.length;
      },
      set: (value: number) => perm.set(resized(perm.value, value)),
    } as Field<number>;
    return <NamedNumber store={store} field={count} range={kTokens} label={t('listings.tokens')} />;
  }

  function Scaling() {
    const inputs = scalingInputs();
    return (
      <Figure
        store={store}
        section="listings.scaling"
        title={t('listings.scaling')}
        drawn={false}
        waiting={notRun(scalingPrinted.value, inputs)}
        numbers={() => [
          ['seed', 'pairs', 'd_k', 'line'],
          ...scalingPrinted.value!.lines.map((line) => [inputs.seed, inputs.pairs, inputs.d, line]),
        ]}
      >
        <div class="listing">
          <div class="inputs">
            <NamedNumber
              store={store}
              field={scalingSeed}
              range={kSeed}
              label={t('listings.seed')}
            />
            <NamedNumber store={store} field={pairs} range={kPairs} label={t('listings.pairs')} />
            <NamedNumber store={store} field={dk} range={kKeySize} label={t('listings.dk')} />
          </div>
          <Runner
            name="scaling.py"
            output={scalingPrinted}
            inputs={JSON.stringify(inputs)}
            run={(pause) => runScaling(engine, scalingInputs(), pause)}
          />
          <Code name="scaling.py" text={() => scalingListing(scalingPy, scalingInputs())} />
        </div>
      </Figure>
    );
  }

  return { 'listings-attention': Attention, 'listings-scaling': Scaling };
}
