// Two kinds of tokens: points, whose order in a list means nothing, and words, whose order means a lot.
import { at, matrix, rowOf, type Matrix } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Num, Switch, VectorNums } from '../../ui/controls.tsx';
import { flag, permutation } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import { Dot, kTokenNames, Mark, Plane, Segment, TokenBadge, type Point } from '../../ui/plane.tsx';
import { t, vector } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import { kCloud, kCloudPoints, kWords, kWordSize } from '../start/set.ts';
import { largestGap, outputs, reordered } from './set_compute.ts';
import { OrderList } from './set_order.tsx';
import { gapText, kRounding, shuffled } from './set_shuffle.tsx';

const kPoints = kTokenNames.slice(0, kCloudPoints);
const kPointBadges = kPoints.map((name, n) => <TokenBadge key={name} token={n} />);
const kCloudTokens = { x: matrix(kCloudPoints, 2, kCloud.points) };
const kSentence = { x: matrix(kWords.names.length, kWordSize, kWords.vectors) };
const pointOf = (m: Matrix, row: number): Point => [at(m, row, 0), at(m, row, 1)];

export function cloudFigure({ engine, store }: Lesson) {
  const order = store.field<readonly number[]>(
    'set.cloud.order',
    permutation(kCloudPoints),
    kCloud.order,
  );

  /** Outputs by point, whatever the order of the list. */
  function compute() {
    const base = outputs(engine, kCloudTokens, kCloud.order);
    const places = kPoints.map((_, point) => order.value.indexOf(point));
    const mine = reordered(outputs(engine, kCloudTokens, order.value), places);
    return { mine, gap: largestGap(engine, mine, base) };
  }
  const setOrder = (to: readonly number[], joins: boolean) => {
    order.set(to);
    store.commit(order.key, joins);
    announce(() =>
      t('set.says-cloud', {
        order: order.value.map((n) => kPoints[n]).join(' '),
        gap: gapText(compute().gap),
      }),
    );
  };

  return function Cloud() {
    const { mine, gap } = compute();
    return (
      <Figure
        store={store}
        section="set.cloud"
        title={t('set.cloud-figure')}
        numbers={() => [
          ['point', 'x', 'y', 'output x', 'output y'],
          ...kPoints.map((name, n) => [name, ...rowOf(kCloudTokens.x, n), ...rowOf(mine, n)]),
        ]}
      >
        <Plane
          title={t('set.cloud-title')}
          label={t('set.cloud-label', {
            points: kPoints
              .map((name, n) =>
                t('set.cloud-point', {
                  name,
                  at: vector(rowOf(kCloudTokens.x, n)),
                  to: vector(rowOf(mine, n)),
                }),
              )
              .join('; '),
          })}
          range={3}
        >
          {kPoints.map((name, n) => (
            <g key={name} class={`token-${n}`}>
              <Segment from={pointOf(kCloudTokens.x, n)} to={pointOf(mine, n)} kind="pull" />
              <Dot at={pointOf(mine, n)} kind="ring" radius={7} />
            </g>
          ))}
          {kPoints.map((name, n) => (
            <Mark key={name} at={pointOf(kCloudTokens.x, n)} token={n} />
          ))}
        </Plane>
        <div class="beside set">
          <OrderList
            label={t('set.list')}
            order={order.value}
            names={kPoints}
            badges={kPointBadges}
            onOrder={(to) => setOrder(to, true)}
          />
          <button type="button" onClick={() => setOrder(shuffled(engine, order.value), false)}>
            {t('set.shuffle-points')}
          </button>
          <p class="gap">
            {t('set.cloud-gap')}{' '}
            <strong>
              <Num value={gap} text={gapText(gap)} />
            </strong>
          </p>
          <p>{t('set.cloud-says')}</p>
        </div>
      </Figure>
    );
  };
}

export function sentenceFigure({ engine, store }: Lesson) {
  const positions = store.field('set.sentence.positions', flag(), false);

  /** Each word's output in both sentences, by word. */
  function compute() {
    const [first, second] = kWords.sentences.map((order) => {
      const places = kWords.names.map((_, word) => order.indexOf(word as 0 | 1 | 2));
      return reordered(outputs(engine, kSentence, order, { positions: positions.value }), places);
    });
    return { first, second, gap: largestGap(engine, first, second) };
  }
  const word = (n: number) => t(`set.${kWords.names[n]}`);
  const sentence = (n: number) => kWords.sentences[n].map(word).join(' ');
  const verdict = (gap: number) => t(gap < kRounding ? 'set.words-same' : 'set.words-differ');

  return function Sentence() {
    const { first, second, gap } = compute();
    return (
      <Figure
        store={store}
        section="set.sentence"
        title={t('set.sentence-figure')}
        drawn={false}
        numbers={() => [
          ['word', 'x 1', 'x 2', 'first 1', 'first 2', 'second 1', 'second 2'],
          ...kWords.names.map((name, n) => [
            name,
            ...rowOf(kSentence.x, n),
            ...rowOf(first, n),
            ...rowOf(second, n),
          ]),
        ]}
      >
        <div class="whole set">
          <Switch
            label={t('set.word-positions')}
            value={positions.value}
            onValue={(value) => {
              positions.set(value);
              store.commit(positions.key);
              announce(() => verdict(compute().gap));
            }}
          />
          <div class="wide sideways" role="group" tabIndex={0} aria-label={t('set.words-caption')}>
            <table class="cells words">
              <caption>{t('set.words-caption')}</caption>
              <thead>
                <tr>
                  <th scope="col">{t('set.word')}</th>
                  <th scope="col">{t('set.vector')}</th>
                  <th scope="col">{t('set.output-in', { sentence: sentence(0) })}</th>
                  <th scope="col">{t('set.output-in', { sentence: sentence(1) })}</th>
                </tr>
              </thead>
              <tbody>
                {kWords.names.map((name, n) => (
                  <tr key={name}>
                    <th scope="row">{word(n)}</th>
                    <td>{vector(rowOf(kSentence.x, n))}</td>
                    <td>
                      <VectorNums values={rowOf(first, n)} />
                    </td>
                    <td>
                      <VectorNums values={rowOf(second, n)} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p class="gap">
            {t('set.words-gap')}{' '}
            <strong>
              <Num value={gap} text={gapText(gap)} />
            </strong>
            . {verdict(gap)}
          </p>
        </div>
      </Figure>
    );
  };
}
