// Histograms of dot products, before and after dividing, with the curve that is expected.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { matrix, type Engine } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Num, NumberInput, Slider } from '../../ui/controls.tsx';
import { Figure } from '../../ui/figure.tsx';
import type { Field, Store } from '../../ui/store.ts';
import { spoken, Symbols } from '../../ui/symbols.tsx';
import { fixed, short, t } from '../../ui/text.ts';
import { kScale } from '../start/scale.ts';
import { Sampler, type Sample } from './scale_sampler.ts';

export const kSize = { min: 1, max: 512, step: 1 };
export const kSeed = { min: 0, max: 2 ** 32 - 1, step: 1 };

const kBars = 90;
const [kWidth, kHeight, kFoot] = [400, 190, 26];

/** How many values fall in each of the bars from -reach to reach; those beyond are in none. */
export function counts(values: Float32Array, reach: number): number[] {
  const found = new Array<number>(kBars).fill(0);
  for (const value of values) {
    const bar = Math.floor(((value + reach) / (2 * reach)) * kBars);
    if (bar >= 0 && bar < kBars) ++found[bar];
  }
  return found;
}

const bell = (x: number, spread: number) =>
  Math.exp(-0.5 * (x / spread) ** 2) / (spread * Math.sqrt(2 * Math.PI));

interface HistogramProps {
  readonly title: string;
  readonly values: Float32Array;
  readonly reach: number;
  readonly ticks: number;
  readonly spread: number;
  readonly expected: number;
  readonly size: number;
}

function Histogram({ title, values, reach, ticks, spread, expected, size }: HistogramProps) {
  const wide = (2 * reach) / kBars;
  const heights = counts(values, reach).map((count) => count / (values.length * wide));
  const top = 1.08 * Math.max(bell(0, expected), ...heights);
  const x = (value: number) => (kWidth * (value + reach)) / (2 * reach);
  const y = (height: number) => (kHeight - kFoot) * (1 - height / top);
  const bars = heights.map(
    (height, bar) => `V${y(height).toFixed(1)}H${x(-reach + (bar + 1) * wide).toFixed(1)}`,
  );
  // More points where a narrow curve bends.
  const curve = Array.from({ length: 121 }, (_, n) => {
    const value = Math.max(-1, Math.min(1, n / 60 - 1)) * Math.min(reach, 5 * expected);
    return `${x(value).toFixed(1)} ${y(bell(value, expected)).toFixed(1)}`;
  });
  const marks = [];
  for (let value = -ticks * Math.floor(reach / ticks); value <= reach; value += ticks)
    marks.push(value);
  const label = t('scale.histogram', {
    count: short(values.length),
    size,
    title: spoken(title),
    spread: fixed(spread, 2),
    expected: short(expected),
  });
  return (
    <figure class="scale-histogram">
      <figcaption>
        <Symbols text={title} />
      </figcaption>
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} role="img" aria-label={label} data-export={title}>
        <rect class="plane-back" width={kWidth} height={kHeight - kFoot} />
        <path class="scale-bars" d={`M0 ${y(0)}${bars.join('')}V${y(0)}Z`} />
        {[-spread, spread].map((at) => (
          <path key={Math.sign(at)} class="scale-mark" d={`M${x(at)} 0V${y(0)}`} />
        ))}
        <path class="scale-curve" d={`M${curve.join('L')}`} />
        {marks.map((value) => (
          <text key={value} x={x(value)} y={kHeight - 6} text-anchor="middle">
            {short(value)}
          </text>
        ))}
      </svg>
      <p class="scale-spread">
        {t('scale.spread-is')}{' '}
        <strong>
          <Num value={spread} />
        </strong>
        , {t('scale.expected')} <Num value={expected} />
      </p>
    </figure>
  );
}

interface SpreadProps {
  readonly engine: Engine;
  readonly store: Store;
  readonly size: Field<number>;
  readonly seed: Field<number>;
  readonly sampler: Sampler;
}

export function Spread({ engine, store, size, seed, sampler }: SpreadProps) {
  const sample = useSignal<Sample>(undefined as unknown as Sample);
  if (!sample.value) sample.value = sampler.first(size.value, seed.value);
  const [d, from] = [size.value, seed.value];
  useEffect(() => {
    const { whole, size: made, seed: drawn } = sample.value;
    if (whole && made === d && drawn === from) return;
    void sampler.request(d, from, (made) => {
      sample.value = made;
      if (made.whole && document.activeElement?.closest('.scale-figure')) {
        const words = { before: fixed(made.spreadBefore, 2), after: fixed(made.spreadAfter, 2) };
        announce(spoken(t('scale.says', { size: made.size, ...words })));
      }
    });
  }, [d, from]);

  const shown = sample.value;
  // q . q of a vector of ones is d_k: what the squares of the spreads should be, before and after.
  const ones = matrix(1, shown.size, new Float32Array(shown.size).fill(1));
  const square = engine.rowDots(ones, ones)[0];
  const one = engine.matmul(matrix(1, 1, [square]), matrix(1, 1, [1 / shown.size])).data[0];
  const prepare = () => void sampler.prepare(kSize.max, seed.value);
  const table = () => [
    [t('scale.csv-what'), t('scale.csv-from'), t('scale.csv-to'), t('scale.csv-count')],
    ...(
      [
        ['before', shown.before, 90],
        ['after', shown.after, 4.5],
      ] as const
    ).flatMap(([what, values, reach]) =>
      counts(values, reach).map((count, bar) => [
        t(`scale.${what}-title`),
        -reach + (bar * 2 * reach) / kBars,
        -reach + ((bar + 1) * 2 * reach) / kBars,
        count,
      ]),
    ),
  ];
  return (
    <Figure store={store} section="scale.spread" title={t('scale.spread')} numbers={table}>
      {/* Whoever comes to the figure may soon change the size: the numbers for it are drawn meanwhile. */}
      <div class="scale-figure" onPointerEnter={prepare} onFocusCapture={prepare}>
        <Slider
          label={t('scale.size')}
          value={d}
          range={kSize}
          onValue={size.set.bind(size)}
          onCommit={(joins) => store.commit(size.key, joins)}
        />
        <div class="scale-sizes" role="group" aria-label={t('scale.sizes')}>
          {kScale.sizes.map((value) => (
            <button
              key={value}
              type="button"
              aria-pressed={value === d}
              aria-label={spoken(t('scale.set-size', { size: value }))}
              onClick={() => {
                size.set(value);
                store.commit(size.key);
              }}
            >
              {value}
            </button>
          ))}
        </div>
        <div
          class="scale-histograms"
          data-count={shown.count}
          data-size={shown.size}
          data-seed={shown.seed}
        >
          <Histogram
            title={t('scale.before-title')}
            values={shown.before}
            reach={90}
            ticks={40}
            spread={shown.spreadBefore}
            expected={Math.sqrt(square)}
            size={shown.size}
          />
          <Histogram
            title={t('scale.after-title')}
            values={shown.after}
            reach={4.5}
            ticks={2}
            spread={shown.spreadAfter}
            expected={Math.sqrt(one)}
            size={shown.size}
          />
        </div>
        <p class="scale-legend">
          <span class="scale-swatch bars" aria-hidden="true" />{' '}
          {t('scale.bars', { count: short(shown.count) })}
          <span class="scale-swatch curve" aria-hidden="true" /> {t('scale.curve')}
        </p>
        <div class="scale-seed">
          <span>{t('scale.seed')}</span>
          <NumberInput
            label={t('scale.seed')}
            value={from}
            range={kSeed}
            onValue={(value) => seed.set(value)}
            onCommit={(joins) => store.commit(seed.key, joins)}
          />
          <button
            type="button"
            onClick={() => {
              seed.set((from + 1) % (kSeed.max + 1));
              store.commit(seed.key, true);
            }}
          >
            {t('scale.next-seed')}
          </button>
        </div>
      </div>
    </Figure>
  );
}
