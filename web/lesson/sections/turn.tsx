// One token's turn: score, scale, softmax, weighted sum.
import { fromRows, matrix, type RowSteps } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { MatrixEditor, Num, Switch } from '../../ui/controls.tsx';
import { flag, number, numbers, type Range } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import { kTokenNames, TokenBadge } from '../../ui/plane.tsx';
import { Predict } from '../../ui/predict.tsx';
import { fixed, short, t, vector } from '../../ui/text.ts';
import { Check } from '../check.tsx';
import type { Lesson } from '../context.ts';
import { plainAttention } from '../plain.ts';
import { kTurn } from '../start/turn.ts';
import { say, Told, type Message } from '../told.tsx';
import { Bar } from './marks.tsx';
import { pairs } from './pairs.ts';
import { Guess } from './turn_guess.tsx';
import { WeightedSum } from './turn_sum.tsx';
import './turn.css';

const kEntries: Range = { min: -9, max: 9, step: 0.01 };
const kValues: Range = { min: -12, max: 12, step: 0.01 };
const kSteps = 4;
const kTokens = [0, 1, 2];

export function turnSection(lesson: Lesson) {
  const { engine, store } = lesson;
  const q = store.field('turn.q', numbers(2, kEntries), kTurn.q);
  const keys = store.field('turn.keys', numbers(6, kEntries), kTurn.keys);
  const values = store.field('turn.values', numbers(6, kValues), kTurn.values);
  const scaled = store.field('turn.scaled', flag(), true);
  /** How many of the steps are shown. */
  const step = store.field('turn.step', number({ min: 0, max: kSteps, step: 1 }), 0);

  const scale = () => (scaled.value ? 1 / Math.sqrt(2) : 1);

  function compute(): RowSteps {
    return engine.steps(
      fromRows([q.value]),
      fromRows(pairs(keys.value)),
      fromRows(pairs(values.value)),
      0,
      {
        scale: scale(),
      },
    );
  }

  /** What the step number n did, in words. */
  function told(n: number, steps: RowSteps): Message {
    if (n === 1) {
      const best = steps.keys.reduce((a, b) => (b.dot > a.dot ? b : a));
      return {
        text: 'turn.say-1',
        words: { best: kTokenNames[best.key] },
        numbers: { score: short(best.dot) },
      };
    }
    if (n === 2) {
      return scaled.value
        ? { text: 'turn.say-2', words: { root: fixed(Math.SQRT2, 3) } }
        : { text: 'turn.say-2-off' };
    }
    if (n === 3)
      return {
        text: 'turn.say-3',
        numbers: { max: fixed(steps.max, 3), sum: fixed(steps.sum, 3) },
      };
    return {
      text: 'turn.say-4',
      numbers: { x: fixed(steps.out[0], 2), y: fixed(steps.out[1], 2) },
    };
  }

  function go(to: number) {
    step.set(to);
    store.commit(step.key, true);
    announce(() => {
      const place = t(`turn.at-${step.value}`);
      return step.value === 0 ? place : `${place}. ${say(told(step.value, compute()))}`;
    });
  }

  /** Ends a change of a number, and says what became of the step that is shown. */
  function edited(key: string, joins: boolean) {
    store.commit(key, joins);
    announce(() => {
      const then = step.value === 0 ? t('turn.say-0') : say(told(step.value, compute()));
      return `${changed(key)} ${then}`;
    });
  }

  /** What the field holds now, in words. */
  function changed(key: string): string {
    if (key === scaled.key) return t(scaled.value ? 'turn.say-scaled' : 'turn.say-unscaled');
    const [name, rows] =
      key === q.key
        ? ['turn.query', [vector(q.value)]]
        : [
            key === keys.key ? 'turn.keys' : 'turn.values',
            pairs(key === keys.key ? keys.value : values.value).map(
              (row, n) => `${kTokenNames[n]} ${vector(row)}`,
            ),
          ];
    return t('turn.say-changed', { name: t(name), values: rows.join(', ') });
  }

  function KeyQuestion() {
    return (
      <Predict
        question={t('turn.key-question')}
        answers={(['a', 'b', 'c', 'same'] as const).map((key) => ({
          key,
          label: t(`turn.key-${key}`),
          reason: t(`turn.key-${key}-reason`),
          right: key === 'c',
        }))}
      />
    );
  }

  function Steps() {
    const now = step.value;
    const steps = compute();
    return (
      <Figure
        store={store}
        section="turn"
        title={t('turn.figure')}
        drawn={now === kSteps}
        numbers={() => [
          ['token', 'q.k', 's', 'exp(s - max)', 'weight'],
          ...steps.keys.map((k) => [kTokenNames[k.key], k.dot, k.score, k.exp, k.weight]),
          ['result', ...steps.out, '', ''],
        ]}
      >
        <Inputs />
        <div class="turn-walk">
          <p class="turn-place">{t(`turn.at-${now}`)}</p>
          <Step to={now - 1} label="turn.back" />
          <Step to={now + 1} label="turn.next" primary />
          <Step to={now < kSteps ? kSteps : kSteps + 1} label="turn.all" />
        </div>
        <div class="whole">
          {now > 0 && (
            <ol class="turn-told">
              {Array.from({ length: now }, (_, n) => (
                <li key={n} class={n + 1 === now ? 'present' : ''}>
                  <Told message={told(n + 1, steps)} />
                </li>
              ))}
            </ol>
          )}
          <div class="scroll sideways" role="group" aria-label={t('turn.table')} tabIndex={0}>
            <StepTable steps={steps} now={now} />
          </div>
        </div>
        {now === kSteps && (
          <WeightedSum engine={engine} values={pairs(values.value)} steps={steps} />
        )}
        <Check
          weights={steps.keys.map((k) => k.weight)}
          out={steps.out}
          plain={() => plainAttention(q.value, pairs(keys.value), pairs(values.value), scale())}
        />
      </Figure>
    );
  }

  /** Goes to a step. At an end it stays in reach of the keyboard, but does nothing. */
  function Step({ to, label, primary }: { to: number; label: string; primary?: boolean }) {
    const possible = to >= 0 && to <= kSteps;
    return (
      <button
        type="button"
        class={primary ? 'primary' : ''}
        aria-disabled={possible ? undefined : 'true'}
        onClick={() => possible && go(to)}
      >
        {t(label)}
      </button>
    );
  }

  function Inputs() {
    const badges = kTokens.map((n) => <TokenBadge key={n} token={n} />);
    return (
      <div class="turn-inputs sideways">
        <div>
          <p aria-hidden="true">{t('turn.query')}</p>
          <MatrixEditor
            store={store}
            field={q}
            columns={2}
            range={kEntries}
            name={t('turn.query')}
            onCommit={(joins) => edited(q.key, joins)}
          />
          <Switch
            label={t('turn.scaled')}
            value={scaled.value}
            onValue={(on) => {
              scaled.set(on);
              edited(scaled.key, false);
            }}
          />
        </div>
        {([keys, values] as const).map((field) => {
          const name = t(field === keys ? 'turn.keys' : 'turn.values');
          return (
            <div key={field.key}>
              <p aria-hidden="true">{name}</p>
              <MatrixEditor
                store={store}
                field={field}
                columns={2}
                range={field === keys ? kEntries : kValues}
                name={name}
                rowNames={badges}
                rowLabels={kTokenNames}
                onCommit={(joins) => edited(field.key, joins)}
              />
            </div>
          );
        })}
      </div>
    );
  }

  /** As many columns as there are steps done. */
  function StepTable({ steps, now }: { steps: RowSteps; now: number }) {
    return (
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">{t('turn.token')}</th>
            <th scope="col" class="given">
              {t('turn.key')}
            </th>
            {now >= 1 && <th scope="col">{t('turn.score')}</th>}
            {now >= 2 && (
              <th scope="col">{t(scaled.value ? 'turn.scaled-score' : 'turn.unscaled-score')}</th>
            )}
            {now >= 3 && <th scope="col">{t('turn.exp')}</th>}
            {now >= 3 && (
              <th scope="col" colSpan={2}>
                {t('turn.weight')}
              </th>
            )}
            <th scope="col" class="given">
              {t('turn.value')}
            </th>
          </tr>
        </thead>
        <tbody>
          {steps.keys.map((k) => (
            <tr key={k.key}>
              <th scope="row">
                <TokenBadge token={k.key} />
              </th>
              <td class="given">{vector(pairs(keys.value)[k.key])}</td>
              {now >= 1 && (
                <td>
                  <span class="why">{product(q.value, pairs(keys.value)[k.key])} = </span>
                  <Num value={k.dot} text={short(k.dot)} />
                </td>
              )}
              {now >= 2 && (
                <td>
                  <Num value={k.score} digits={3} />
                </td>
              )}
              {now >= 3 && (
                <td>
                  <Num value={k.exp} digits={3} />
                </td>
              )}
              {now >= 3 && (
                <td>
                  <Num value={k.weight} digits={3} />
                </td>
              )}
              {now >= 3 && (
                <td class="wide">
                  <Bar token={k.key} weight={k.weight} />
                </td>
              )}
              <td class="given">{vector(pairs(values.value)[k.key])}</td>
            </tr>
          ))}
        </tbody>
        {now >= 3 && <Totals steps={steps} />}
      </table>
    );
  }

  function Totals({ steps }: { steps: RowSteps }) {
    const weights = matrix(
      1,
      3,
      steps.keys.map((k) => k.weight),
    );
    const whole = engine.matmul(weights, matrix(3, 1, [1, 1, 1])).data[0];
    return (
      <tfoot>
        <tr>
          <th scope="row">{t('turn.foot')}</th>
          <td class="given" />
          <td />
          <td>
            <Told message={{ text: 'turn.max', numbers: { max: fixed(steps.max, 3) } }} />
          </td>
          <td>
            <Told message={{ text: 'turn.sum', numbers: { sum: fixed(steps.sum, 3) } }} />
          </td>
          <td>
            <Num value={whole} digits={3} />
          </td>
          <td />
          <td class="given" />
        </tr>
      </tfoot>
    );
  }

  return {
    'turn-key': KeyQuestion,
    'turn-place': () => <Guess {...lesson} />,
    'turn-steps': Steps,
  };
}

/** As 1 × 1 + 2 × 0. */
function product(a: readonly number[], b: readonly number[]): string {
  return a.map((x, n) => `${short(x)} × ${short(b[n])}`).join(' + ');
}
