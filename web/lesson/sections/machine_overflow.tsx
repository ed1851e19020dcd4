// What would go wrong without subtracting the largest score.
import type { Engine } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Choice, Num } from '../../ui/controls.tsx';
import { Figure } from '../../ui/figure.tsx';
import { Predict } from '../../ui/predict.tsx';
import type { Field, Store } from '../../ui/store.ts';
import { fixed, power, short, t } from '../../ui/text.ts';
import { kMachine } from '../start/machine.ts';
import { naiveSoftmax } from './machine_compute.ts';

export const kShifts = kMachine.shifts.map(String);

/** A number that float32 holds; what it doesn't hold is said in words. */
function Held({ value }: { value: number }) {
  if (Number.isNaN(value)) return <em class="machine-broken">{t('machine.nan')}</em>;
  if (value === Infinity) return <em class="machine-broken">{t('machine.overflow')}</em>;
  if (value === 0) return <em class="machine-broken">{t('machine.underflow')}</em>;
  return (
    <Num
      value={value}
      text={Math.abs(value) >= 1e4 || Math.abs(value) < 1e-3 ? power(value) : fixed(value, 3)}
    />
  );
}

export function Overflow({
  engine,
  store,
  shift,
}: {
  engine: Engine;
  store: Store;
  shift: Field<string>;
}) {
  const compute = () =>
    naiveSoftmax(
      engine,
      kMachine.scores.map((score) => score + Number(shift.value)),
    );
  const rows = compute();
  const broken = rows.some(({ weight }) => Number.isNaN(weight));
  return (
    <>
      <Predict
        question={t('machine.predict')}
        answers={(['large', 'both', 'none'] as const).map((key) => ({
          key,
          label: t(`machine.predict-${key}`),
          reason: t(`machine.predict-${key}-why`),
          right: key === 'both',
        }))}
        onShow={(shown) => {
          // The case that fewest think of.
          shift.set(shown ? '-1000' : String(kMachine.shift));
          store.commit(shift.key);
        }}
      />
      <Figure
        store={store}
        section="machine.overflow"
        title={t('machine.overflow-figure')}
        drawn={false}
        numbers={() => [
          [
            t('machine.score'),
            t('machine.exp'),
            t('machine.naive-weight'),
            t('machine.right-weight'),
          ],
          ...rows.map(({ score, exp, weight, right }) => [score, exp, weight, right]),
        ]}
      >
        <div class="machine-overflow">
          <Choice
            legend={t('machine.shift')}
            value={shift.value}
            options={kShifts.map((value) => [value, short(Number(value))])}
            onValue={(value) => {
              shift.set(value);
              store.commit(shift.key);
              announce(() =>
                t(
                  compute().some(({ weight }) => Number.isNaN(weight))
                    ? 'machine.broken'
                    : 'machine.sound',
                ),
              );
            }}
          />
          <div
            class="machine-scroll sideways"
            role="group"
            aria-label={t('machine.overflow-figure')}
            tabIndex={0}
          >
            <table class="machine-table machine-held">
              <caption>{t('machine.overflow-figure')}</caption>
              <thead>
                <tr>
                  <th scope="col">{t('machine.score')}</th>
                  <th scope="col">{t('machine.exp')}</th>
                  <th scope="col">{t('machine.naive-weight')}</th>
                  <th scope="col">{t('machine.right-weight')}</th>
                </tr>
              </thead>
              <tbody>
                {rows.map(({ score, exp, weight, right }) => (
                  <tr key={score}>
                    <th scope="row">{short(score)}</th>
                    <td>
                      <Held value={exp} />
                    </td>
                    <td>
                      <Held value={weight} />
                    </td>
                    <td>
                      <Num value={right} digits={3} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p class={`machine-verdict ${broken ? 'bad' : 'good'}`}>
            {t(broken ? 'machine.broken' : 'machine.sound')}
          </p>
        </div>
      </Figure>
    </>
  );
}
