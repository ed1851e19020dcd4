// Entropy of the weights and size of the softmax's Jacobian, with and without dividing, by key size.
import { computed } from '@preact/signals';

import { matrix, rowOf, transposed, type Engine, type Matrix } from '../../engine/engine.ts';
import { Num } from '../../ui/controls.tsx';
import { Figure } from '../../ui/figure.tsx';
import type { Field, Store } from '../../ui/store.ts';
import { Symbols } from '../../ui/symbols.tsx';
import { fixed, t } from '../../ui/text.ts';
import { kScale } from '../start/scale.ts';

export interface Saturation {
  readonly entropy: number;
  readonly jacobian: number;
}

/** Means over the queries. Entropy is log sum exp(s) less the weighted mean of the scores s. */
export function saturation(engine: Engine, query: Matrix, key: Matrix, scale: number): Saturation {
  const value = matrix(key.rows, 1, new Float32Array(key.rows));
  const { weights, lse } = engine.attention(query, key, value, { scale });
  const means = engine.rowDots(weights, engine.matmul(query, transposed(key)));
  const rows = Array.from(means, (mean, row) => [
    lse[row] - scale * mean,
    engine.jacobianNorm(rowOf(weights, row)),
  ]);
  const share = new Float32Array(query.rows).fill(1 / query.rows);
  const [entropy, jacobian] = engine.matmul(
    matrix(1, query.rows, share),
    matrix(query.rows, 2, rows.flat()),
  ).data;
  return { entropy, jacobian };
}

export interface TrendRow {
  readonly size: number;
  readonly divided: Saturation;
  readonly undivided: Saturation;
}

export function trend(engine: Engine, seed: number): TrendRow[] {
  const { queries, keys, sizes } = kScale.trend;
  const most = Math.max(...sizes);
  const generator = engine.generator(seed);
  const query = matrix(queries, most, generator.normal(queries * most));
  const key = matrix(keys, most, generator.normal(keys * most));
  generator.free();
  const first = (m: Matrix, size: number) =>
    matrix(
      m.rows,
      size,
      Array.from({ length: m.rows }, (_, row) => [...rowOf(m, row).subarray(0, size)]).flat(),
    );
  return sizes.map((size) => {
    const [q, k] = [first(query, size), first(key, size)];
    return {
      size,
      divided: saturation(engine, q, k, 1 / Math.sqrt(size)),
      undivided: saturation(engine, q, k, 1),
    };
  });
}

const [kWidth, kHeight] = [400, 200];

function Chart({
  what,
  rows,
  top,
}: {
  what: keyof Saturation;
  rows: readonly TrendRow[];
  top: number;
}) {
  const x = (n: number) => 40 + ((kWidth - 60) * n) / (rows.length - 1);
  const y = (value: number) => 12 + (kHeight - 44) * (1 - value / top);
  const last = rows.length - 1;
  const digits = 2;
  const title = t(`scale.${what}`);
  const label = t('scale.trend-drawing', {
    what: title,
    from: fixed(rows[0].undivided[what], digits),
    to: fixed(rows[last].undivided[what], digits),
    dividedFrom: fixed(rows[0].divided[what], digits),
    dividedTo: fixed(rows[last].divided[what], digits),
  });
  return (
    <figure class="scale-histogram">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} role="img" aria-label={label} data-export={title}>
        <path class="axis" d={`M40 12V${y(0)}H${kWidth - 10}`} />
        {[0, top].map((value) => (
          <text key={value} x="34" y={y(value) + 5} text-anchor="end">
            {value}
          </text>
        ))}
        {(['divided', 'undivided'] as const).map((kind) => (
          <g key={kind} class={`scale-line ${kind}`}>
            <path d={`M${rows.map((row, n) => `${x(n)} ${y(row[kind][what])}`).join('L')}`} />
            {rows.map((row, n) =>
              kind === 'divided' ? (
                <circle key={n} cx={x(n)} cy={y(row.divided[what])} r="4" />
              ) : (
                <rect key={n} x={x(n) - 4} y={y(row.undivided[what]) - 4} width="8" height="8" />
              ),
            )}
          </g>
        ))}
        {rows.map(({ size }, n) =>
          (n % 2 === 0 && n < last - 1) || n === last ? (
            <text key={size} x={x(n)} y={kHeight - 8} text-anchor="middle">
              {size}
            </text>
          ) : null,
        )}
      </svg>
    </figure>
  );
}

export function makeTrend(engine: Engine, store: Store, seed: Field<number>) {
  const rows = computed(() => trend(engine, seed.value));
  return function Trend() {
    const shown = rows.value;
    return (
      <Figure
        store={store}
        section="scale.trend"
        title={t('scale.trend')}
        numbers={() => [
          [
            'd_k',
            `${t('scale.entropy')}, ${t('scale.undivided')}`,
            `${t('scale.entropy')}, ${t('scale.divided')}`,
            `${t('scale.jacobian')}, ${t('scale.undivided')}`,
            `${t('scale.jacobian')}, ${t('scale.divided')}`,
          ],
          ...shown.map(({ size, divided, undivided }) => [
            size,
            undivided.entropy,
            divided.entropy,
            undivided.jacobian,
            divided.jacobian,
          ]),
        ]}
      >
        <Chart what="entropy" rows={shown} top={3} />
        <Chart what="jacobian" rows={shown} top={0.5} />
        <p class="scale-legend wide">
          <span class="scale-swatch undivided" aria-hidden="true" /> {t('scale.undivided')}
          <span class="scale-swatch divided" aria-hidden="true" /> {t('scale.divided')}
        </p>
        <div
          class="scale-table sideways"
          role="group"
          aria-label={t('scale.trend-table')}
          tabIndex={0}
        >
          <table>
            <caption>{t('scale.trend-table')}</caption>
            <thead>
              <tr>
                <th scope="col" rowSpan={2}>
                  <Symbols text="d_k" />
                </th>
                <th scope="colgroup" colSpan={2}>
                  {t('scale.entropy')}
                </th>
                <th scope="colgroup" colSpan={2}>
                  {t('scale.jacobian')}
                </th>
              </tr>
              <tr>
                {[0, 1].map((n) => (
                  <>
                    <th key={`u${n}`} scope="col">
                      {t('scale.undivided')}
                    </th>
                    <th key={`d${n}`} scope="col">
                      {t('scale.divided')}
                    </th>
                  </>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ size, divided, undivided }) => (
                <tr key={size}>
                  <th scope="row">{size}</th>
                  {[undivided.entropy, divided.entropy, undivided.jacobian, divided.jacobian].map(
                    (value, n) => (
                      <td key={n}>
                        <Num value={value} digits={n < 2 ? 2 : 3} />
                      </td>
                    ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <button
          type="button"
          onClick={() => {
            seed.set(seed.value + 1);
            store.commit(seed.key, true);
          }}
        >
          {t('scale.next-seed')}
        </button>
      </Figure>
    );
  };
}
