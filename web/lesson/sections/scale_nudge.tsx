// Large and small scores beside each other, and how far a nudge moves their weights.
import { softmax, type Engine } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Choice, Num, NumberInput } from '../../ui/controls.tsx';
import { clamp, type Range } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import { kTokenNames, TokenBadge } from '../../ui/plane.tsx';
import { Predict } from '../../ui/predict.tsx';
import type { Field, Store } from '../../ui/store.ts';
import { fixed, power, short, t } from '../../ui/text.ts';
import { kScale } from '../start/scale.ts';

export const kScores: Range = { min: -99, max: 99, step: 0.01 };
export const kNudge: Range = { min: -5, max: 5, step: 0.1 };
export const kTokens = ['A', 'B', 'C'] as const;

/** Weights from almost 1 to almost 0, with the digits that tell them from 1 and 0. */
function weightText(weight: number): string {
  if (weight >= 0.0005 && weight < 0.9995) return fixed(weight, 3);
  if (Math.abs(weight) >= 5e-6) return fixed(weight, 5);
  return weight === 0 || Math.abs(weight) >= 5e-8 ? fixed(weight, 7) : power(weight);
}

/** Always the same digits, so that one move is seen to be larger than another. */
function moveText(move: number): string {
  if (Math.abs(move) < 5e-8) return fixed(0, 7);
  return (move > 0 ? '+' : '') + fixed(move, 7);
}

interface NudgeProps {
  readonly engine: Engine;
  readonly store: Store;
  readonly large: Field<readonly number[]>;
  readonly small: Field<readonly number[]>;
  readonly nudge: Field<number>;
  readonly which: Field<(typeof kTokens)[number]>;
}

export function Nudge({ engine, store, large, small, nudge, which }: NudgeProps) {
  const token = kTokens.indexOf(which.value);
  const by = nudge.value;

  function compute(field: Field<readonly number[]>) {
    const scores = field.value;
    const nudged = scores.map((score, n) =>
      n === kTokens.indexOf(which.value) ? score + nudge.value : score,
    );
    const before = softmax(engine, scores);
    const after = softmax(engine, nudged);
    const moves = Array.from(after, (weight, n) => weight - before[n]);
    return { scores, nudged, before, after, moves, norm: engine.jacobianNorm(before) };
  }
  const farthest = (moves: readonly number[]) =>
    moveText(Math.max(...moves.map(Math.abs))).replace('+', '');
  const say = () =>
    announce(() =>
      t('scale.nudge-says', {
        token: which.value,
        by: short(nudge.value, 1),
        large: farthest(compute(large).moves),
        small: farthest(compute(small).moves),
      }),
    );
  const step = (change: number) => {
    nudge.set(clamp(nudge.value + change, kNudge));
    store.commit(nudge.key, true);
    say();
  };

  const rows = [
    { name: t('scale.large'), field: large, ...compute(large) },
    { name: t('scale.small'), field: small, ...compute(small) },
  ];
  return (
    <>
      <Predict
        question={t('scale.predict')}
        answers={(['large', 'same', 'small'] as const).map((key) => ({
          key,
          label: t(`scale.predict-${key}`),
          reason: t(`scale.predict-${key}-why`),
          right: key === 'small',
        }))}
        onShow={(shown) => {
          // The figure does what the question is about.
          for (const field of [large, small, which]) if (shown) field.read(undefined);
          nudge.set(shown ? kScale.nudge : 0);
          store.commit();
        }}
      />
      <Figure
        store={store}
        section="scale.nudge"
        title={t('scale.nudge')}
        numbers={() => [
          [
            '',
            t('scale.token'),
            t('scale.score'),
            t('scale.weight'),
            t('scale.weight-after'),
            t('scale.moved'),
          ],
          ...rows.flatMap(({ name, scores, before, after, moves }) =>
            scores.map((score, n) => [name, kTokens[n], score, before[n], after[n], moves[n]]),
          ),
        ]}
      >
        {rows.map(({ name, field, ...numbers }) => (
          <div class="scale-row" key={field.key}>
            <h4>{name}</h4>
            <Bars name={name} before={numbers.before} after={numbers.after} moved={by !== 0} />
            <div class="scale-table sideways" role="group" aria-label={name} tabIndex={0}>
              <table aria-label={name}>
                <thead>
                  <tr>
                    <th scope="col">{t('scale.token')}</th>
                    <th scope="col">{t('scale.score')}</th>
                    <th scope="col">{t('scale.weight')}</th>
                    <th scope="col">{t('scale.weight-after')}</th>
                    <th scope="col">{t('scale.moved')}</th>
                  </tr>
                </thead>
                <tbody>
                  {numbers.scores.map((score, n) => (
                    <tr key={n} class={n === token && by !== 0 ? 'nudged' : ''}>
                      <th scope="row">
                        <TokenBadge token={n} />
                      </th>
                      <td>
                        <NumberInput
                          value={score}
                          range={kScores}
                          label={t('scale.score-of', { row: name, token: kTokenNames[n] })}
                          onValue={(value) =>
                            field.set(field.value.map((old, m) => (m === n ? value : old)))
                          }
                          onCommit={(joins) => {
                            store.commit(field.key, joins);
                            say();
                          }}
                        />
                      </td>
                      <td>
                        <Num value={numbers.before[n]} text={weightText(numbers.before[n])} />
                      </td>
                      <td>
                        {by === 0 ? (
                          '–'
                        ) : (
                          <Num value={numbers.after[n]} text={weightText(numbers.after[n])} />
                        )}
                      </td>
                      <td>
                        {by === 0 ? (
                          '–'
                        ) : (
                          <Num value={numbers.moves[n]} text={moveText(numbers.moves[n])} />
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <p class="scale-norm">
              {t('scale.norm')}:{' '}
              <strong>
                <Num value={numbers.norm} digits={numbers.norm < 0.01 ? 5 : 3} />
              </strong>
              <br />
              <small>{t('scale.norm-note')}</small>
            </p>
          </div>
        ))}
        <div class="scale-nudging">
          <Choice
            legend={t('scale.which')}
            value={which.value}
            options={kTokens.map((name, n) => [name, <TokenBadge key={name} token={n} />])}
            onValue={(name) => {
              which.set(name);
              store.commit(which.key);
              say();
            }}
          />
          <div class="scale-buttons">
            <button type="button" class="primary" onClick={() => step(kScale.nudge)}>
              {t('scale.up', { step: short(kScale.nudge, 1) })}
            </button>
            <button type="button" onClick={() => step(-kScale.nudge)}>
              {t('scale.down', { step: short(kScale.nudge, 1) })}
            </button>
            <button type="button" aria-disabled={by === 0} onClick={() => by !== 0 && step(-by)}>
              {t('scale.back')}
            </button>
            <span>
              {by === 0
                ? t('scale.not-nudged')
                : t('scale.nudged-by', {
                    token: which.value,
                    by: (by > 0 ? '+' : '') + short(by, 1),
                  })}
            </span>
          </div>
        </div>
      </Figure>
    </>
  );
}

interface BarsProps {
  readonly name: string;
  readonly before: Float32Array;
  readonly after: Float32Array;
  readonly moved: boolean;
}

function Bars({ name, before, after, moved }: BarsProps) {
  const [width, height, wide] = [300, 150, 64];
  const top = (weight: number) => 128 - 112 * Math.min(1, Math.max(0, weight));
  const left = (n: number) => 18 + 100 * n;
  const weights = Array.from(after, weightText).join(', ');
  return (
    <svg
      class="scale-weights"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={t(moved ? 'scale.weights-drawing-nudged' : 'scale.weights-drawing', {
        row: name,
        weights,
      })}
      data-export={name}
    >
      <path class="axis" d={`M0 128H${width}`} />
      {Array.from(after, (weight, n) => (
        <g key={n} class={`token-${n}`}>
          <rect
            class="scale-weight"
            x={left(n)}
            y={top(weight)}
            width={wide}
            height={128 - top(weight)}
          />
          {moved && (
            <path class="scale-ghost" d={`M${left(n) - 8} ${top(before[n])}h${wide + 16}`} />
          )}
          <text x={left(n) + wide / 2} y="145" text-anchor="middle">
            {kTokenNames[n]}
          </text>
        </g>
      ))}
    </svg>
  );
}
