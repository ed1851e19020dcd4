// A longer query picks more sharply: the main figure, and the exercises that it is for.
import { Figure } from '../../ui/figure.tsx';
import { kTokenNames } from '../../ui/plane.tsx';
import { t } from '../../ui/text.ts';
import { Check } from '../check.tsx';
import type { Lesson } from '../context.ts';
import { plainAttention } from '../plain.ts';
import { Controls, Editors, WeightTable } from './figure_controls.tsx';
import { exercises } from './figure_exercises.tsx';
import { FigureModel, kScale, kTokens } from './figure_model.ts';
import { KeyPlane, ValuePlane } from './figure_planes.tsx';
import { pairs } from './pairs.ts';
import './figure.css';

export function figureSection(lesson: Lesson) {
  const model = new FigureModel(lesson);

  function Main() {
    return (
      <Figure
        store={model.store}
        section="figure"
        title={t('figure.title')}
        numbers={rows}
        onReset={() => model.reset()}
      >
        <KeyPlane model={model} />
        <ValuePlane model={model} />
        <div class="weights">
          <WeightTable model={model} />
          <Editors model={model} />
        </div>
        <Controls model={model} />
        <Checked />
      </Figure>
    );
  }

  function Checked() {
    const { keys, out } = model.steps.value;
    const plain = () =>
      plainAttention(
        model.q.value,
        model.keysUsed.value,
        pairs(model.values.value),
        kScale,
        model.seen.value,
      );
    return <Check weights={keys.map((k) => k.weight)} out={out} plain={plain} />;
  }

  function rows() {
    const { keys, out } = model.steps.value;
    const values = pairs(model.values.value);
    const used = model.keysUsed.value;
    return [
      ['', 'x', 'y', 'value x', 'value y', 'visible', 'q.k', 's', 'exp(s - max)', 'weight'],
      ['query', ...model.q.value, '', '', '', '', '', '', ''],
      ...kTokens.map((n) => {
        const k = keys[n];
        const shown = k.live ? [k.dot, k.score, k.exp] : ['', '', ''];
        return [
          `key ${kTokenNames[n]}`,
          ...used[n],
          ...values[n],
          Number(k.live),
          ...shown,
          k.weight,
        ];
      }),
      ['result', '', '', ...out, '', '', '', '', ''],
    ];
  }

  return { figure: Main, ...exercises(model) };
}
