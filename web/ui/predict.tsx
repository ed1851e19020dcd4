// "Predict first": a question, answers to choose from, and after that the truth with the reason why a
// wrong answer is wrong. Nothing is scored, sent or kept off the page.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

import { announce } from './announce.ts';
import { useFocusAfter } from './focus.ts';
import { useUniqueId } from './id.ts';
import { t } from './text.ts';

export interface Answer {
  readonly key: string;
  readonly label: ComponentChildren;
  /** Said after this answer: why it is right or wrong. */
  readonly reason: string;
  readonly right?: boolean;
}

interface ShowButtonsProps {
  /** Why nothing was shown. */
  readonly note: string;
  /** With false: skipped, without a guess. */
  readonly onShow: (guessed: boolean) => void;
}

export function ShowButtons({ note, onShow }: ShowButtonsProps) {
  return (
    <div class="predict-buttons">
      <button type="button" class="primary" onClick={() => onShow(true)}>
        {t('predict.show')}
      </button>
      <button type="button" onClick={() => onShow(false)}>
        {t('predict.skip')}
      </button>
      {note && <span role="alert">{note}</span>}
    </div>
  );
}

/** What a guess was worth, and why. */
export function Verdict({ right, reason }: { right: boolean; reason: string }) {
  return (
    <p class={right ? 'verdict right' : 'verdict wrong'}>
      <strong>{t(right ? 'predict.right' : 'predict.wrong')}</strong> {reason}
    </p>
  );
}

interface PredictProps {
  readonly question: string;
  readonly answers: readonly Answer[];
  /** Called when the truth may be shown, and with false when it is hidden again. */
  readonly onShow?: (shown: boolean) => void;
}

export function Predict({ question, answers, onShow }: PredictProps) {
  const name = useUniqueId();
  const [chosen, setChosen] = useState<string | undefined>();
  const [shown, setShown] = useState(false);
  const [note, setNote] = useState('');
  const first = useRef<HTMLInputElement>(null);
  const repeat = useRef<HTMLButtonElement>(null);
  useFocusAfter(shown, repeat, first);
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
    <fieldset class="predict">
      <legend>{t('predict.legend')}</legend>
      <p>{question}</p>
      {answers.map(({ key, label }, n) => (
        <label key={key} class={shown && key === chosen ? 'chosen' : ''}>
          <input
            ref={n === 0 ? first : undefined}
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
          {answer && <Verdict right={answer.right === true} reason={answer.reason} />}
          <button type="button" ref={repeat} onClick={again}>
            {t('predict.again')}
          </button>
        </>
      ) : (
        <ShowButtons note={note} onShow={show} />
      )}
    </fieldset>
  );
}
