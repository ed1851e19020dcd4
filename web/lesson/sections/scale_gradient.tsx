// The gradient of the scores of some queries, by key size: with long keys it dies unless scores are divided.
import { computed } from '@preact/signals';

import { matrix, rowOf, type Engine, type Matrix } from '../../engine/engine.ts';
import { Num } from '../../ui/controls.tsx';
import { Figure } from '../../ui/figure.tsx';
import type { Field, Store } from '../../ui/store.ts';
import { Symbols } from '../../ui/symbols.tsx';
import { fixed, power, t } from '../../ui/text.ts';
import { kScale } from '../start/scale.ts';

const kShown = 4; // queries
const kKinds = ['undivided', 'divided'] as const;

interface Gradient {
  /** Of the scores of the first queries, one after the other. */
  readonly scores: Float32Array;
  /** The mean length of the rows of all queries. */
  readonly length: number;
}

export interface GradientRow {
  readonly size: number;
  readonly divided: Gradient;
  readonly undivided: Gradient;
}

function gradient(engine: Engine, q: Matrix, k: Matrix, v: Matrix, scale: number): Gradient {
  const rows = engine.scoreGradient(q, k, v, { scale });
  const lengths = engine.rowDots(rows, rows).map((square) => Math.sqrt(Math.abs(square)));
  const share = matrix(1, q.rows, new Float32Array(q.rows).fill(1 / q.rows));
  const [length] = engine.matmul(share, matrix(q.rows, 1, lengths)).data;
  return { scores: rows.data.slice(0, kShown * rows.columns), length };
}

export function gradients(engine: Engine, seed: number): GradientRow[] {
  const { queries, keys, sizes } = kScale.trend;
  const most = Math.max(...sizes);
  const generator = engine.generator(seed);
  const query = matrix(queries, most, generator.normal(queries * most));
  const key = matrix(keys, most, generator.normal(keys * most));
  const value = matrix(keys, 1, generator.normal(keys));
  generator.free();
  const first = (m: Matrix, size: number) => {
    const data = new Float32Array(m.rows * size);
    for (let r = 0; r < m.rows; ++r) data.set(rowOf(m, r).subarray(0, size), r * size);
    return matrix(m.rows, size, data);
  };
  return sizes.map((size) => {
    const [q, k] = [first(query, size), first(key, size)];
    return {
      size,
      divided: gradient(engine, q, k, value, 1 / Math.sqrt(size)),
      undivided: gradient(engine, q, k, value, 1),
    };
  });
}

/** From sizes of a tenth to a millionth. */
const lengthText = (length: number) => (length < 5e-4 ? power(length) : fixed(length, 3));

const [kWidth, kLine] = [400, 30];

/** A line of bars for each key size: a bar a score, up or down from the line. */
function Strips({
  kind,
  rows,
  top,
}: {
  kind: (typeof kKinds)[number];
  rows: readonly GradientRow[];
  top: number;
}) {
  const wide = (kWidth - 64) / rows[0][kind].scores.length;
  const height = 14 + kLine * rows.length;
  const y = (line: number) => 14 + kLine * (line + 0.5);
  const bars = (scores: Float32Array, from: number) =>
    Array.from(scores, (value, n) => {
      const tall = Math.round(9 * kLine * Math.min(1, Math.max(-1, value / top))) / 10;
      if (tall === 0) return '';
      return `M${(54 + wide * n).toFixed(1)} ${from}v${-tall}h${(wide - 1.25).toFixed(1)}v${tall}z`;
    }).join('');
  const title = t(`scale.${kind}`);
  const label = t('scale.gradient-drawing', {
    title,
    from: lengthText(rows[0][kind].length),
    to: lengthText(rows[rows.length - 1][kind].length),
  });
  return (
    <figure class="scale-histogram">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${kWidth} ${height}`} role="img" aria-label={label} data-export={title}>
        <text x="2" y="12">
          d
          <tspan dy="4" font-size="11">
            k
          </tspan>
        </text>
        {rows.map((row, line) => (
          <g key={row.size}>
            <text x="42" y={y(line) + 5} text-anchor="end">
              {row.size}
            </text>
            <path class="axis" d={`M52 ${y(line)}H${kWidth - 8}`} />
            <path class={`scale-gradient ${kind}`} d={bars(row[kind].scores, y(line))} />
          </g>
        ))}
      </svg>
    </figure>
  );
}

export function makeGradient(engine: Engine, store: Store, seed: Field<number>) {
  const rows = computed(() => gradients(engine, seed.value));
  return function GradientFigure() {
    const shown = rows.value;
    const scores = shown[0].divided.scores.length;
    // The largest bar is as tall as a line, whichever drawing it is in.
    const top = Math.max(
      ...shown.flatMap((row) => kKinds.flatMap((kind) => Array.from(row[kind].scores, Math.abs))),
    );
    const names = kKinds.map((kind) => t(`scale.${kind}`));
    return (
      <Figure
        store={store}
        section="scale.gradient"
        title={t('scale.gradient')}
        numbers={() => [
          ['d_k', t('scale.csv-what'), ...Array.from({ length: scores }, (_, n) => n + 1)],
          ...shown.flatMap((row) =>
            kKinds.map((kind) => [row.size, t(`scale.${kind}`), ...row[kind].scores]),
          ),
        ]}
      >
        {kKinds.map((kind) => (
          <Strips key={kind} kind={kind} rows={shown} top={top} />
        ))}
        <div
          class="scale-table sideways"
          role="group"
          aria-label={t('scale.gradient-table')}
          tabIndex={0}
        >
          <table>
            <caption>{t('scale.gradient-table')}</caption>
            <thead>
              <tr>
                <th scope="col">
                  <Symbols text="d_k" />
                </th>
                {names.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.size}>
                  <th scope="row">{row.size}</th>
                  {kKinds.map((kind) => (
                    <td key={kind}>
                      <Num value={row[kind].length} text={lengthText(row[kind].length)} />
                    </td>
                  ))}
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
