// What one large head and several small ones cost: counted, and measured in this browser.
import { useState } from 'preact/hooks';

import { matrix, type Engine, type Matrix } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Choice, Num } from '../../ui/controls.tsx';
import { Figure } from '../../ui/figure.tsx';
import type { Field, Store } from '../../ui/store.ts';
import { Symbols } from '../../ui/symbols.tsx';
import { fixed, short, t } from '../../ui/text.ts';
import { kOriginal } from '../start/heads.ts';
import { columns, cost } from './heads_compute.ts';
import { breath } from './slices.ts';

export const kHeadCounts = ['2', '4', '8', '16'] as const;
const kRuns = 7;

/** The calls of the engine for one layer, in their order: the results are not needed, their times are. */
function calls(engine: Engine, x: Matrix, w: Matrix, heads: number): (() => unknown)[] {
  const size = w.rows / heads;
  const projection = columns(w, 0, size);
  const rows = columns(x, 0, size);
  const head = [
    ...[0, 1, 2].map(() => () => engine.matmul(x, projection)),
    () => engine.attention(rows, rows, rows),
  ];
  return [...Array.from({ length: heads }, () => head).flat(), () => engine.matmul(x, w)];
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Medians of the milliseconds that one head and `heads` heads take, run in turn. */
export async function measure(
  engine: Engine,
  heads: number,
  onProgress: (share: number) => void,
): Promise<readonly [number, number]> {
  const { size, tokens } = kOriginal;
  const generator = engine.generator(0);
  const x = matrix(tokens, size, generator.normal(tokens * size));
  const w = matrix(size, size, generator.normal(size * size, 0, 1 / Math.sqrt(size)));
  generator.free();
  const layers = [calls(engine, x, w, 1), calls(engine, x, w, heads)];
  const times: [number[], number[]] = [[], []];
  // The first run is to warm up.
  for (let run = 0; run <= kRuns; ++run) {
    for (const [n, layer] of layers.entries()) {
      let spent = 0;
      for (const call of layer) {
        await breath();
        const start = performance.now();
        call();
        spent += performance.now() - start;
      }
      if (run > 0) times[n].push(spent);
    }
    onProgress((run + 1) / (kRuns + 1));
  }
  return [median(times[0]), median(times[1])];
}

interface CostProps {
  readonly engine: Engine;
  readonly store: Store;
  readonly count: Field<(typeof kHeadCounts)[number]>;
}

export function Costs({ engine, store, count }: CostProps) {
  const [progress, setProgress] = useState<number | undefined>();
  const [measured, setMeasured] = useState<
    { heads: number; times: readonly [number, number] } | undefined
  >();
  const heads = Number(count.value);
  const { size, tokens } = kOriginal;
  const costs = [1, heads].map((h) => cost(engine, size, h, tokens));
  const names = [t('heads.one-of', { size }), t('heads.many-of', { heads, size: size / heads })];
  const lines = [
    ['per-head', costs.map(({ perHead }) => perHead)],
    ['all-heads', costs.map(({ allHeads }) => allHeads)],
    ['joining', costs.map(({ joining }) => joining)],
    ['parameters', costs.map(({ parameters }) => parameters)],
    ['multiplications', costs.map(({ multiplications }) => multiplications)],
    ['exponentials', costs.map(({ exponentials }) => exponentials)],
  ] as const;
  const now = measured?.heads === heads ? measured.times : undefined;
  const milliseconds = (time: number) => t('heads.ms', { time: fixed(time, 1) });

  const run = async () => {
    setProgress(0);
    const times = await measure(engine, heads, setProgress);
    setMeasured({ heads, times });
    setProgress(undefined);
    announce(
      t('heads.measured-says', {
        one: milliseconds(times[0]),
        heads,
        many: milliseconds(times[1]),
        ratio: fixed(times[1] / times[0], 2),
      }),
    );
  };
  return (
    <Figure
      store={store}
      section="heads.cost"
      title={t('heads.cost')}
      drawn={false}
      numbers={() => [
        ['', ...names],
        ...lines.map(([key, values]) => [t(`heads.${key}`, { size, tokens }), ...values]),
        ...(now ? [[t('heads.time'), ...now]] : []),
      ]}
    >
      <div class="heads-cost">
        <Choice
          legend={t('heads.count')}
          value={count.value}
          options={kHeadCounts.map((value) => [value, value])}
          onValue={(value) => {
            count.set(value);
            store.commit(count.key);
          }}
        />
        <div class="heads-scroll sideways" role="group" aria-label={t('heads.cost')} tabIndex={0}>
          <table class="heads-table">
            <caption>{t('heads.cost-caption', { size })}</caption>
            <thead>
              <tr>
                <td />
                {names.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {lines.map(([key, values]) => (
                <tr
                  key={key}
                  class={key === 'parameters' || key === 'multiplications' ? 'heads-total' : ''}
                >
                  <th scope="row">
                    <Symbols text={t(`heads.${key}`, { size, tokens })} />
                  </th>
                  {values.map((value, n) => (
                    <td key={n}>
                      <Num value={value} text={short(value, 0)} />
                    </td>
                  ))}
                </tr>
              ))}
              <tr class="heads-total">
                <th scope="row">{t('heads.time')}</th>
                {[0, 1].map((n) => (
                  <td key={n}>{now ? milliseconds(now[n]) : '–'}</td>
                ))}
              </tr>
            </tbody>
          </table>
        </div>
        <div class="heads-measure">
          <button
            type="button"
            class="primary"
            aria-disabled={progress !== undefined}
            onClick={() => progress === undefined && void run()}
          >
            {t('heads.measure')}
          </button>
          {progress !== undefined && (
            <progress value={progress} max={1} aria-label={t('heads.progress')} />
          )}
          {now && progress === undefined && (
            <span class="heads-ratio">
              {t('heads.ratio', { heads, ratio: fixed(now[1] / now[0], 2) })}
            </span>
          )}
        </div>
      </div>
    </Figure>
  );
}
