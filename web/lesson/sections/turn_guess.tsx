// Where will the result be? The reader places a ring in the value plane, then sees the result beside it.
import { useId, useRef, useState } from 'preact/hooks';

import { fromRows } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { clamp, type Range } from '../../ui/fields.ts';
import { useFocusAfter } from '../../ui/focus.ts';
import { Dot, Handle, Mark, Plane, Segment, type Point } from '../../ui/plane.tsx';
import { ShowButtons, Verdict } from '../../ui/predict.tsx';
import { fixed, t, vector } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import { Told, say } from '../told.tsx';
import { judge, kGuesses, kTurn } from '../start/turn.ts';
import { Caption, Ring } from './marks.tsx';
import { pairs } from './pairs.ts';

const kFrom = -1;
const kTo = 11;
const kMargin = 1; // so that marks on the edge are drawn whole
const kRange: Range = { min: kFrom, max: kTo, step: 0.1 };
const kUnplaced: Point = [1.5, 1.5];
const kChoices = Object.keys(kGuesses) as (keyof typeof kGuesses)[];

export function Guess({ engine }: Lesson) {
  const [guess, setGuess] = useState<Point>(kUnplaced);
  const [placed, setPlaced] = useState(false);
  const [shown, setShown] = useState(false);
  const [note, setNote] = useState('');
  const name = useId();
  const first = useRef<HTMLInputElement>(null);
  const repeat = useRef<HTMLButtonElement>(null);
  useFocusAfter(shown, repeat, first);

  // The question is about the numbers of the text, whatever else the reader has set below.
  const values = pairs(kTurn.values);
  const result = engine.attention(
    fromRows([kTurn.q]),
    fromRows(pairs(kTurn.keys)),
    fromRows(values),
  ).out.data;
  const truth: Point = [result[0], result[1]];
  const reason = judge(guess, result);
  const said = {
    text: 'turn.place-truth',
    numbers: { x: fixed(truth[0], 2), y: fixed(truth[1], 2) },
  };
  const gap = Math.hypot(guess[0] - truth[0], guess[1] - truth[1]);
  const distance = { text: 'turn.place-gap', numbers: { gap: fixed(gap, 2) } };

  const place = ([x, y]: Point) => {
    if (shown) return;
    setGuess([clamp(x, kRange), clamp(y, kRange)]);
    setPlaced(true);
    setNote('');
  };
  const show = (guessed: boolean) => {
    if (guessed && !placed) {
      setNote(t('turn.place-none'));
      return;
    }
    if (!guessed) setPlaced(false);
    setNote('');
    setShown(true);
    const verdict = t(reason === 'right' ? 'predict.right' : 'predict.wrong');
    announce(
      guessed ? [say(said), say(distance), verdict, t(`turn.why-${reason}`)].join(' ') : say(said),
    );
  };
  const again = () => {
    setShown(false);
    setPlaced(false);
    setGuess(kUnplaced);
  };

  return (
    <fieldset class="predict">
      <legend>{t('predict.legend')}</legend>
      <p>{t('turn.place-question')}</p>
      <div class="figure-body">
        <Plane
          title={t('turn.place-plane')}
          label={t(shown ? 'turn.place-shown' : 'turn.place-drawing', {
            guess: vector(guess, 1),
            ...(shown && { result: vector(truth) }),
          })}
          from={kFrom - kMargin}
          range={kTo + kMargin}
          grid={2}
          onTap={place}
          handles={
            shown || (
              <Handle
                at={guess}
                kind="guess"
                label={t('turn.ring')}
                range={kRange}
                onMove={place}
                onCommit={() => undefined}
                onReset={() => place(kUnplaced)}
              />
            )
          }
        >
          {values.map((at, n) => (
            <Mark key={n} at={at} token={n} />
          ))}
          {shown && placed && <Segment from={guess} to={truth} kind="gap" />}
          {shown && placed && <Ring at={guess} kind="guess" />}
          {(placed || !shown) && (
            <Caption
              at={guess}
              dy={shown && truth[1] < guess[1] ? -22 : 32}
              text={t('turn.ring-label')}
              kind="guess"
            />
          )}
          {shown && <Dot at={truth} kind="result" radius={8} />}
          {shown && (
            <Caption
              at={truth}
              dy={placed && truth[1] >= guess[1] ? -18 : 28}
              text={t('turn.result-label')}
              kind="result"
            />
          )}
        </Plane>
        <div class="beside">
          <fieldset class="places">
            <legend>{t('turn.place-choose')}</legend>
            {kChoices.map((choice, n) => (
              <label key={choice}>
                <input
                  ref={n === 0 ? first : undefined}
                  type="radio"
                  name={name}
                  disabled={shown}
                  checked={placed && kGuesses[choice].every((x, axis) => x === guess[axis])}
                  onChange={() => place(kGuesses[choice])}
                />
                {t(`turn.place-${choice}`)}
              </label>
            ))}
          </fieldset>
          {shown ? (
            <>
              <p>
                <Told message={said} /> {placed && <Told message={distance} />}
              </p>
              {placed && <Verdict right={reason === 'right'} reason={t(`turn.why-${reason}`)} />}
              <button type="button" ref={repeat} onClick={again}>
                {t('predict.again')}
              </button>
            </>
          ) : (
            <ShowButtons note={note} onShow={show} />
          )}
        </div>
      </div>
    </fieldset>
  );
}
