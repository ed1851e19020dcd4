// What is beside the panels: the weights as a table, and all that can be set without dragging.
import { MatrixEditor, Num, Slider, Switch } from '../../ui/controls.tsx';
import { kTokenNames, TokenBadge } from '../../ui/plane.tsx';
import type { Field } from '../../ui/store.ts';
import { fixed, percent, t } from '../../ui/text.ts';
import { kPlane } from '../context.ts';
import { kLongest } from '../start/figure.ts';
import { Told } from '../told.tsx';
import type { FigureModel } from './figure_model.ts';
import { Bar } from './marks.tsx';

export function WeightTable({ model }: { model: FigureModel }) {
  const { keys, max, sum } = model.steps.value;
  const seen = model.seen.value;
  const any = seen.includes(true);
  return (
    <div class="scroll sideways" role="group" aria-label={t('figure.table')} tabIndex={0}>
      <table class="numbers">
        <caption class="unseen">{t('figure.table')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('figure.visible')}</th>
            <th scope="col">{t('figure.score')}</th>
            <th scope="col">{t('turn.exp')}</th>
            <th scope="col" colSpan={2}>
              {t('turn.weight')}
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((k) => (
            <tr key={k.key}>
              <th scope="row">
                <label class="switch">
                  <input
                    type="checkbox"
                    checked={seen[k.key]}
                    aria-label={t('figure.see', { token: kTokenNames[k.key] })}
                    onChange={(event) => {
                      const { checked } = event.currentTarget;
                      model.seen.set(seen.map((old, n) => (n === k.key ? checked : old)));
                      model.moved(model.seen.key);
                    }}
                  />
                  <TokenBadge token={k.key} />
                </label>
              </th>
              <td>{k.live ? <Num value={k.score} digits={3} /> : t('figure.masked')}</td>
              <td>{k.live ? <Num value={k.exp} digits={3} /> : '–'}</td>
              <td>
                <Num value={k.weight} digits={3} />
              </td>
              <td class="wide">
                <Bar token={k.key} weight={k.weight} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t('turn.foot')}</th>
            <td>
              {any && <Told message={{ text: 'turn.max', numbers: { max: fixed(max, 3) } }} />}
            </td>
            <td>
              {any && <Told message={{ text: 'turn.sum', numbers: { sum: fixed(sum, 3) } }} />}
            </td>
            <td colSpan={2} />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

export function Controls({ model }: { model: FigureModel }) {
  return (
    <div class="figure-controls">
      <QueryControls model={model} />
      <Readings model={model} />
      <fieldset class="choice">
        <legend>{t('figure.show')}</legend>
        <FlagSwitch model={model} field={model.cones} label="figure.cones" />
        <FlagSwitch model={model} field={model.shadows} label="figure.shadows" />
        <FlagSwitch model={model} field={model.trail} label="figure.trail" />
      </fieldset>
      <fieldset class="choice">
        <legend>{t('figure.change')}</legend>
        <FlagSwitch model={model} field={model.editKeys} label="figure.edit-keys" />
        <FlagSwitch model={model} field={model.editValues} label="figure.edit-values" />
        <FlagSwitch model={model} field={model.normalise} label="figure.normalise" />
      </fieldset>
    </div>
  );
}

function FlagSwitch({
  model,
  field,
  label,
}: {
  model: FigureModel;
  field: Field<boolean>;
  label: string;
}) {
  return (
    <Switch
      label={t(label)}
      value={field.value}
      onValue={(on) => {
        field.set(on);
        model.moved(field.key);
      }}
    />
  );
}

/** Length and angle of the query, by slider and by steps. */
function QueryControls({ model }: { model: FigureModel }) {
  const { length, angle } = model;
  const turn = (to: number, by: number) => {
    model.turn(to, ((((angle + by + 180) % 360) + 360) % 360) - 180);
    model.moved(model.q.key, true);
  };
  const step = (label: string, sign: string, run: () => void) => (
    <button type="button" class="step" aria-label={t(label)} onClick={run}>
      {sign}
    </button>
  );
  const clampLength = (x: number) => Math.min(kLongest, Math.max(0, Math.round(10 * x) / 10));
  return (
    <fieldset class="polar">
      <legend>{t('figure.query')}</legend>
      <div class="stepped">
        <Slider
          label={t('figure.length')}
          value={Number(length.toFixed(2))}
          range={{ min: 0, max: kLongest, step: 0.01 }}
          text={fixed(length, 2)}
          onValue={(to) => model.turn(to, angle)}
          onCommit={() => model.moved(model.q.key, true)}
        />
        {step('figure.shorter', '−', () => turn(clampLength(length - 0.1), 0))}
        {step('figure.longer', '+', () => turn(clampLength(length + 0.1), 0))}
      </div>
      <div class="stepped">
        <Slider
          label={t('figure.angle')}
          value={Math.round(angle)}
          range={{ min: -180, max: 180, step: 1 }}
          text={t('figure.degrees', { angle: fixed(angle, 0) })}
          onValue={(to) => model.turn(length, to)}
          onCommit={() => model.moved(model.q.key, true)}
        />
        {step('figure.turn-right', '↻', () => turn(length, -5))}
        {step('figure.turn-left', '↺', () => turn(length, 5))}
      </div>
    </fieldset>
  );
}

function Readings({ model }: { model: FigureModel }) {
  const { out } = model.steps.value;
  const entropy = model.entropyOf(model.steps.value);
  return (
    <dl class="readings">
      <dt>{t('figure.result')}</dt>
      <dd>
        [<Num value={out[0]} />, <Num value={out[1]} />]
      </dd>
      <dt>{t('figure.entropy')}</dt>
      <dd>
        {Number.isNaN(entropy) ? '–' : <Num value={entropy} />}{' '}
        <span class="why">{t('figure.entropy-words', { most: fixed(Math.log(4), 2) })}</span>
      </dd>
    </dl>
  );
}

/** Keys and values as numbers, while they may be edited. */
export function Editors({ model }: { model: FigureModel }) {
  const editor = (field: Field<readonly number[]>, label: string) => (
    <div>
      <p aria-hidden="true">{t(label)}</p>
      <MatrixEditor
        store={model.store}
        field={field}
        columns={2}
        range={kPlane}
        name={t(label)}
        rowNames={kTokenNames.slice(0, 4).map((_, n) => (
          <TokenBadge key={n} token={n} />
        ))}
        rowLabels={kTokenNames}
        onCommit={(joins) => model.moved(field.key, joins)}
      />
    </div>
  );
  const keys = model.editKeys.value;
  const values = model.editValues.value;
  if (!keys && !values) return null;
  return (
    <div class="editors sideways">
      {keys && editor(model.keys, 'figure.keys')}
      {values && editor(model.values, 'figure.values')}
    </div>
  );
}

/** A weight in percent; one that would be shown as 0 but isn't is said to be less than what can be shown. */
function share(weight: number): string {
  return weight > 0 && weight < 5e-4
    ? t('figure.tiny', { least: percent(1e-3, 1) })
    : percent(weight, 1);
}

const kTimes = [1, 2, 4, 8, 32];

/** The same query, many times as long as the plane has room for: where all of this goes. */
export function LimitTable({ model }: { model: FigureModel }) {
  const rows = kTimes.map((times) => model.stepsOf(model.state, times * Math.SQRT1_2));
  return (
    <div class="scroll sideways" role="group" aria-label={t('figure.limit')} tabIndex={0}>
      <table class="numbers">
        <caption>{t('figure.limit')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('figure.times')}</th>
            {kTokenNames.slice(0, 4).map((_, n) => (
              <th key={n} scope="col">
                <TokenBadge token={n} />
              </th>
            ))}
            <th scope="col">{t('figure.entropy')}</th>
            <th scope="col">{t('figure.result')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((steps, n) => (
            <tr key={n}>
              <th scope="row">× {kTimes[n]}</th>
              {steps.keys.map((k) => (
                <td key={k.key}>
                  <Num value={k.weight} text={share(k.weight)} />
                </td>
              ))}
              <td>
                <Num value={model.entropyOf(steps)} digits={3} />
              </td>
              <td>
                [<Num value={steps.out[0]} />, <Num value={steps.out[1]} />]
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
