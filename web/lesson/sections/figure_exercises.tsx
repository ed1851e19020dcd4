// The exercises of the main figure: one is open at a time, above the figure that it works with. Their texts are in
// the page; what they ask the figure is in figure_lines.ts.
import { batch, computed, effect, signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';

import { Predict } from '../../ui/predict.tsx';
import { t } from '../../ui/text.ts';
import { kExercises, kSetUps } from '../start/figure.ts';
import { say, Told } from '../told.tsx';
import { LimitTable } from './figure_controls.tsx';
import { lineOf, type Line } from './figure_lines.ts';
import type { FigureModel } from './figure_model.ts';
import { shiftKeys } from './figure_planes.tsx';

const kAll = Array.from({ length: kExercises }, (_, n) => n + 1);
const kShift = 0.25;

/** Answers to the questions that are asked before an exercise. */
const kQuestions: Readonly<Record<number, readonly string[]>> = {
  2: ['twice', 'value', 'mean', 'stays'],
  5: ['points', 'long', 'never', 'short'],
};
const kRight: Readonly<Record<number, string>> = { 2: 'value', 5: 'never' };

export function exercises(model: FigureModel): Record<string, ComponentType> {
  /** Tokens that alone had the largest weight since exercise 3 was opened or set up. */
  const won = signal<ReadonlySet<number>>(new Set());
  /** What has been seen of an exercise of several parts since it was opened. */
  const parts = signal<ReadonlySet<string>>(new Set());
  /** Exercises whose statement has been seen to hold. */
  const solved = signal<ReadonlySet<number>>(new Set());
  const open = model.exercise;
  const line = computed<Line | undefined>(() =>
    open.value > 0 ? lineOf(open.value, model, won.value, parts.value) : undefined,
  );
  const saidOf = ({ lead, message, then }: Line) =>
    [lead ? t(lead) : '', say(message), then ? t(then) : '']
      .filter((part) => part !== '')
      .join(' ');
  /** The exercise that was opened just now and isn't announced yet. */
  let opened = 0;
  model.tell = (says) => {
    if (!line.value) return says;
    if (opened === 0 || opened !== open.value) return `${says} ${saidOf(line.value)}`;
    // The name and the task of an exercise come before its numbers.
    const task = document.querySelector(`#figure-exercise-${opened} > p`)!.textContent!;
    const title = t('figure.opened', { n: opened, title: titleOf(opened), task });
    opened = 0;
    return `${title} ${saidOf(line.value)} ${says}`;
  };

  effect(() => {
    const leaders = model.leaders.value;
    if (open.value !== 3 || leaders.length === 0) won.value = new Set();
    else if (leaders.length === 1 && !won.peek().has(leaders[0]))
      won.value = new Set([...won.peek(), leaders[0]]);
  });
  let partsOf = 0;
  effect(() => {
    const part = line.value?.part;
    if (open.value !== partsOf) parts.value = new Set();
    partsOf = open.value;
    if (part && !parts.peek().has(part)) parts.value = new Set([...parts.peek(), part]);
  });
  effect(() => {
    if (line.value?.done && !solved.peek().has(open.value))
      solved.value = new Set([...solved.peek(), open.value]);
  });
  // The texts are in the page, so that they can be read without scripts; all but one are hidden.
  effect(() => {
    if (typeof document === 'undefined') return; // drawn while the page is built
    for (const n of kAll) {
      const section = document.getElementById(`figure-exercise-${n}`)!;
      section.hidden = n !== open.value;
      section.dataset.known = '';
    }
  });

  const titleOf = (n: number) => t(`figure.${n}-title`);

  /** Opens an exercise where it starts, as one step of undo. Without one the figure stays as it is. */
  const show = (n: number) => {
    model.store.commit();
    opened = n;
    // All at once: no exercise is to be judged by what the one before it left.
    batch(() => {
      open.set(n);
      parts.value = new Set();
      if (n > 0) setUp(n, 0);
      else model.moved(open.key);
    });
    if (n > 0) document.getElementById(`figure-exercise-${n}-title`)!.focus();
  };
  const setUp = (n: number, which: number) =>
    batch(() => {
      model.setUp(n, which);
      const leaders = model.leaders.value;
      won.value = new Set(leaders.length === 1 ? leaders : []);
    });

  function Chooser() {
    return (
      <nav class="chooser" aria-label={t('figure.exercises')}>
        <ul>
          <li>
            <button
              type="button"
              aria-current={open.value === 0 ? 'true' : undefined}
              onClick={() => show(0)}
            >
              {t('figure.free')}
            </button>
          </li>
          {kAll.map((n) => {
            const ticked = solved.value.has(n);
            return (
              <li key={n}>
                <button
                  type="button"
                  aria-current={open.value === n ? 'true' : undefined}
                  aria-label={t(ticked ? 'figure.exercise-done' : 'figure.exercise', {
                    n,
                    title: titleOf(n),
                  })}
                  onClick={() => show(n)}
                >
                  {n}
                  {ticked && <span class="tick"> ✓</span>}
                </button>
              </li>
            );
          })}
        </ul>
      </nav>
    );
  }

  /** What an exercise puts under its text. */
  function Try({ n, extra }: { n: number; extra?: ComponentChildren }) {
    if (open.value !== n) return null;
    return (
      <>
        {n in kQuestions && (
          <Predict
            question={t(`figure.${n}-question`)}
            answers={kQuestions[n].map((key) => ({
              key,
              label: t(`figure.${n}-${key}`),
              reason: t(`figure.${n}-${key}-reason`),
              right: key === kRight[n],
            }))}
          />
        )}
        <div class="try">
          {kSetUps[n].map((_, which) => (
            <button key={which} type="button" onClick={() => setUp(n, which)}>
              {t(which === 0 ? 'figure.set-up' : `figure.${n}-set-up`)}
            </button>
          ))}
          {extra}
        </div>
        <LiveLine n={n} />
      </>
    );
  }

  function LiveLine({ n }: { n: number }) {
    if (!line.value) return null;
    const { done, lead, message, then } = line.value;
    return (
      <p class={done ? 'live done' : 'live'}>
        {lead && (
          <strong>
            {done && <span aria-hidden="true">✓ </span>}
            {t(lead)}{' '}
          </strong>
        )}
        <Told message={message} />
        {then && <> {t(then)}</>}
        {done && n < kExercises && (
          <>
            {' '}
            <button type="button" onClick={() => show(n + 1)}>
              {t('figure.next')}
            </button>
          </>
        )}
      </p>
    );
  }

  /** All keys a step to one side: what the handle in their middle does by dragging. */
  function Shifts() {
    const button = (label: string, sign: string, dx: number, dy: number) => (
      <button
        type="button"
        class="step"
        aria-label={t(label)}
        onClick={() => {
          shiftKeys(model, dx, dy);
          model.moved(model.keys.key, true);
        }}
      >
        {sign}
      </button>
    );
    return (
      <span class="shifts" role="group" aria-label={t('figure.all-keys')}>
        {t('figure.all-keys')} {button('figure.to-left', '←', -kShift, 0)}
        {button('figure.to-right', '→', kShift, 0)}
        {button('figure.to-top', '↑', 0, kShift)}
        {button('figure.to-bottom', '↓', 0, -kShift)}
      </span>
    );
  }

  const all: Record<string, ComponentType> = {
    'figure-chooser': Chooser,
    'figure-limit': () => (open.value === 2 ? <LimitTable model={model} /> : null),
  };
  for (const n of kAll) all[`figure-try-${n}`] = () => <Try n={n} extra={n === 6 && <Shifts />} />;
  return all;
}
