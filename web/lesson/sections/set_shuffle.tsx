// Four tokens in two orders: their outputs beside each other, and how far they are apart.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { at, matrix, rowOf, type Engine, type Matrix } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Num, Switch, VectorNums } from '../../ui/controls.tsx';
import { flag, permutation } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import { Dot, kTokenNames, Mark, Plane, Segment, TokenBadge, type Point } from '../../ui/plane.tsx';
import { Predict } from '../../ui/predict.tsx';
import { fixed, power, t, vector } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import { kSet, kSetSize, kSetTokens } from '../start/set.ts';
import { largestGap, outputs, reordered } from './set_compute.ts';
import { OrderList } from './set_order.tsx';

const kNames = kTokenNames.slice(0, kSetTokens);
const kBadges = kNames.map((name, n) => <TokenBadge key={name} token={n} />);
const kInOrder = kNames.map((_, n) => n);
const kTokens = {
  x: matrix(kSetTokens, kSetSize, kSet.x),
  w: [kSet.wq, kSet.wk, kSet.wv].map((w) => matrix(2, kSetSize, w)),
};

/** A difference, which may be very small, and is 0 only if it is exactly. */
export const gapText = (gap: number) => (gap === 0 ? '0' : gap < 1e-3 ? power(gap) : fixed(gap, 2));
/** Below this it is rounding: the sums were added in another order. */
export const kRounding = 1e-5;
const pointOf = (m: Matrix, row: number): Point => [at(m, row, 0), at(m, row, 1)];

/** A random order other than this one. */
export function shuffled(engine: Engine, order: readonly number[]): readonly number[] {
  const rng = engine.generator(Math.floor(Math.random() * 2 ** 32));
  let next: readonly number[] = order;
  while (next.every((token, n) => token === order[n])) next = rng.permutation(order.length);
  rng.free();
  return next;
}

export function shuffleFigure({ engine, store }: Lesson) {
  const order = store.field('set.shuffle.order', permutation(kSetTokens), kSet.order);
  const positions = store.field('set.shuffle.positions', flag(), false);
  const causal = store.field('set.shuffle.causal', flag(), false);
  /** The outputs wait for the reader's guess. */
  const shown = signal(false);

  function compute() {
    const marks = { positions: positions.value, causal: causal.value };
    const base = outputs(engine, kTokens, kInOrder, marks);
    const mine = outputs(engine, kTokens, order.value, marks);
    return { base, mine, gap: largestGap(engine, mine, reordered(base, order.value)) };
  }

  function verdict(gap: number): string {
    if (gap === 0) return t('set.exact');
    if (gap < kRounding) return t('set.rounding');
    return t(
      causal.value && positions.value
        ? 'set.broken-both'
        : causal.value
          ? 'set.broken-causal'
          : 'set.broken-positions',
    );
  }
  const orderText = () => order.value.map((token) => kNames[token]).join(' ');
  function say() {
    announce(() => {
      const said = t('set.says-order', { order: orderText() });
      if (!shown.value) return said;
      const { gap } = compute();
      return `${said} ${t('set.says-gap', { gap: gapText(gap) })} ${verdict(gap)}`;
    });
  }
  const setOrder = (to: readonly number[], joins: boolean) => {
    order.set(to);
    store.commit(order.key, joins);
    say();
  };

  function Guess() {
    return (
      <Predict
        question={t('set.question')}
        answers={[
          { key: 'nothing', label: t('set.answer-nothing'), reason: t('set.reason-nothing') },
          {
            key: 'along',
            label: t('set.answer-along'),
            reason: t('set.reason-along'),
            right: true,
          },
          { key: 'all', label: t('set.answer-all'), reason: t('set.reason-all') },
          { key: 'ends', label: t('set.answer-ends'), reason: t('set.reason-ends') },
        ]}
        onShow={(value) => {
          shown.value = value;
        }}
      />
    );
  }

  function Outputs({
    caption,
    tokens,
    of,
  }: {
    caption: ComponentChildren;
    tokens: readonly number[];
    of: Matrix;
  }) {
    return (
      <table class="cells ordered">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{t('set.place')}</th>
            <th scope="col">{t('set.token')}</th>
            <th scope="col">{t('set.output')}</th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token, place) => (
            <tr key={place}>
              <td>{place + 1}</td>
              <th scope="row">{kBadges[token]}</th>
              <td>{shown.value ? <VectorNums values={rowOf(of, place)} /> : '?'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    );
  }

  /** A line from each token's row on the left to its row on the right. */
  function Ways() {
    const y = (place: number) => 20 + 40 * place;
    return (
      <svg class="ways" viewBox="0 0 60 160" preserveAspectRatio="none" aria-hidden="true">
        {order.value.map((token, place) => (
          <path
            key={token}
            class={`token-${token}`}
            d={`M0 ${y(token)}C30 ${y(token)} 30 ${y(place)} 60 ${y(place)}`}
            stroke-dasharray={['', '8 4', '2 4', '10 3 2 3'][token]}
          />
        ))}
      </svg>
    );
  }

  function Drawing({ base, mine }: { base: Matrix; mine: Matrix }) {
    const places = order.value;
    return (
      <Plane
        title={t('set.drawing')}
        label={t('set.drawing-label', {
          outputs: kInOrder
            .map((token) =>
              t('set.drawing-token', {
                token: kNames[token],
                first: vector(rowOf(base, token)),
                second: vector(rowOf(mine, places.indexOf(token))),
              }),
            )
            .join('; '),
        })}
        range={2.5}
      >
        {places.map((token, place) => (
          <g key={token} class={`token-${token}`}>
            <Segment from={pointOf(base, token)} to={pointOf(mine, place)} kind="helper" />
            <Dot at={pointOf(mine, place)} kind="ring" radius={12.5} />
          </g>
        ))}
        {kInOrder.map((token) => (
          <Mark key={token} at={pointOf(base, token)} token={token} />
        ))}
      </Plane>
    );
  }

  function Shuffle() {
    const { base, mine, gap } = compute();
    return (
      <>
        <Guess />
        <Figure
          store={store}
          section="set.shuffle"
          title={t('set.shuffle-figure')}
          waiting={shown.value ? undefined : t('set.waiting')}
          numbers={() => [
            ['token', 'place', 'output 1', 'output 2', 'place in A B C D', 'output 1', 'output 2'],
            ...order.value.map((token, place) => [
              kNames[token],
              place + 1,
              ...rowOf(mine, place),
              token + 1,
              ...rowOf(base, token),
            ]),
            ['largest difference', gap],
          ]}
        >
          <div class="whole set">
            <OrderList
              label={t('set.your-order')}
              order={order.value}
              names={kNames}
              badges={kBadges}
              onOrder={(to) => setOrder(to, true)}
            />
            <div class="order-tools">
              <button type="button" onClick={() => setOrder(shuffled(engine, order.value), false)}>
                {t('set.shuffle')}
              </button>
              <button type="button" onClick={() => setOrder(kInOrder, false)}>
                {t('set.in-order')}
              </button>
            </div>
            <div class="marks">
              <Switch
                label={t('set.add-positions')}
                value={positions.value}
                onValue={(value) => {
                  positions.set(value);
                  store.commit(positions.key);
                  say();
                }}
              />
              <Switch
                label={t('set.add-causal')}
                value={causal.value}
                onValue={(value) => {
                  causal.set(value);
                  store.commit(causal.key);
                  say();
                }}
              />
            </div>
            <div class="both">
              <div class="orders">
                <Outputs caption={t('set.first-order')} tokens={kInOrder} of={base} />
                <Ways />
                <Outputs caption={t('set.second-order')} tokens={order.value} of={mine} />
              </div>
              {shown.value ? (
                <Drawing base={base} mine={mine} />
              ) : (
                <p class="waiting">{t('set.waiting')}</p>
              )}
            </div>
            {shown.value && (
              <p class="gap">
                {t('set.gap')}{' '}
                <strong>
                  <Num value={gap} text={gapText(gap)} />
                </strong>
                . {verdict(gap)}
              </p>
            )}
            {positions.value && <Positions />}
          </div>
        </Figure>
      </>
    );
  }

  /** What is added at each place. */
  function Positions() {
    const features = engine.positions(0, kSetTokens, kSetSize);
    return (
      <div class="wide sideways" role="group" tabIndex={0} aria-label={t('set.positions-caption')}>
        <table class="cells features">
          <caption>{t('set.positions-caption')}</caption>
          <thead>
            <tr>
              <th scope="col">{t('set.place')}</th>
              {['sin p', 'cos p', 'sin p/100', 'cos p/100'].map((head) => (
                <th key={head} scope="col">
                  <code>{head}</code>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {kInOrder.map((place) => (
              <tr key={place}>
                <th scope="row">
                  {place + 1} (p = {place})
                </th>
                {Array.from(rowOf(features, place), (value, n) => (
                  <td key={n}>
                    <Num value={value} digits={n < 2 ? 2 : 4} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  return Shuffle;
}
