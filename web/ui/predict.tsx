// "Predict first": a question, answers to choose from, and after that the truth with the reason why a
// wrong answer is wrong. Nothing is scored, sent or kept off the page.
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { announce } from './announce.ts';
import { useUniqueId } from './id.ts';
import { t } from './text.ts';

export interface Answer {
  readonly key: string;
  readonly label: ComponentChildren;
  /** Said after this answer: why it is right or wrong. */
  readonly reason: string;
  readonly right?: boolean;
}

interface PredictProps {
  readonly question: string;
  readonly answers: readonly Answer[];
  /** Called when the truth may be shown, and with false when it is hidden again. */
  readonly onShow?: (shown: boolean) => void;
}

/** The button that was pressed goes away: the focus goes on to what can be done next, and does not get lost. */
export function usePassedFocus(shown: boolean): RefObject<HTMLFieldSetElement | null> {
  const frame = useRef<HTMLFieldSetElement>(null);
  const before = useRef(shown);
  useLayoutEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    frame.current
      ?.querySelector<HTMLElement>(shown ? '.predict-again' : 'input')
      ?.focus({ preventScroll: true });
  }, [shown]);
  return frame;
}

export function Predict({ question, answers, onShow }: PredictProps) {
  const name = useUniqueId();
  const [chosen, setChosen] = useState<string | undefined>();
  const [shown, setShown] = useState(false);
  const [note, setNote] = useState('');
  const frame = usePassedFocus(shown);
  const answer = answers.find(({ key }) => key === chosen);

  const show = (guessed: boolean) => {
    if (guessed && !answer) {
      setNote(t('predict.choose'));
      return;
    }
    setNote('');
    setShown(true);
    onShow?.(true);
    if (answer) announce(`${t(answer.right ? 'predict.right' : 'predict.wrong')} ${answer.reason}`);
  };
  const again = () => {
    setShown(false);
    setChosen(undefined);
    onShow?.(false);
  };
  return (
    <fieldset class="predict" ref={frame}>
      <legend>{t('predict.legend')}</legend>
      <p>{question}</p>
      {answers.map(({ key, label }) => (
        <label key={key} class={shown && key === chosen ? 'chosen' : ''}>
          <input
            type="radio"
            name={name}
            checked={key === chosen}
            disabled={shown}
            onChange={() => setChosen(key)}
          />
          {label}
        </label>
      ))}
      {shown ? (
        <>
          {answer && (
            <p class={answer.right ? 'verdict right' : 'verdict wrong'}>
              <strong>{t(answer.right ? 'predict.right' : 'predict.wrong')}</strong> {answer.reason}
            </p>
          )}
          <button type="button" class="predict-again" onClick={again}>
            {t('predict.again')}
          </button>
        </>
      ) : (
        <div class="predict-buttons">
          <button type="button" class="primary" onClick={() => show(true)}>
            {t('predict.show')}
          </button>
          <button type="button" onClick={() => show(false)}>
            {t('predict.skip')}
          </button>
          {note && <span role="alert">{note}</span>}
        </div>
      )}
    </fieldset>
  );
}
