// The weighted sum of the worked example.
import { Fragment } from 'preact';

import { fromRows, matrix, rowOf, type Engine, type RowSteps } from '../../engine/engine.ts';
import { Num } from '../../ui/controls.tsx';
import { Dot, kTokenNames, Mark, Plane, type Point } from '../../ui/plane.tsx';
import { short, t, vector } from '../../ui/text.ts';
import { Caption, WeightLine } from './marks.tsx';

const kTokens = [0, 1, 2];

interface WeightedSumProps {
  readonly engine: Engine;
  readonly values: readonly Point[];
  readonly steps: RowSteps;
}

/** The last step in full: each coordinate of the result as a sum, and a drawing. */
export function WeightedSum({ engine, values: points, steps }: WeightedSumProps) {
  const weights = steps.keys.map((k) => k.weight);
  const diagonal = matrix(
    3,
    3,
    kTokens.flatMap((r) => kTokens.map((c) => (r === c ? weights[r] : 0))),
  );
  const shares = engine.matmul(diagonal, fromRows(points));
  const result: Point = [steps.out[0], steps.out[1]];
  // Values go from -12 to 12; beyond is room for their letters.
  const from = points.flat().some((x) => x < 0) ? -14 : -2;
  return (
    <>
      <Plane
        title={t('turn.plane')}
        label={t('turn.drawing', {
          values: points.map((p, n) => `${kTokenNames[n]} ${vector(p)}`).join(', '),
          result: vector(result),
        })}
        from={from}
        range={14}
        grid={2}
      >
        {points.map((p, n) => (
          <WeightLine key={n} from={result} to={p} token={n} weight={weights[n]} />
        ))}
        {points.map((p, n) => (
          <Mark key={n} at={p} token={n} />
        ))}
        <Dot at={result} kind="result" radius={8} />
        <Caption at={result} dy={-16} text={t('turn.result-label')} kind="result" />
      </Plane>
      <div class="beside">
        <p>{t('turn.terms')}</p>
        {[0, 1].map((axis) => (
          <p key={axis} class="sum">
            {t(axis === 0 ? 'turn.across' : 'turn.up')}:{' '}
            {kTokens.map((n) => (
              <Fragment key={n}>
                {n > 0 && ' + '}
                <span class="term">
                  <Num value={weights[n]} digits={3} /> × {short(points[n][axis])}
                </span>
              </Fragment>
            ))}
            {' = '}
            {kTokens.map((n) => (
              <Fragment key={n}>
                {n > 0 && ' + '}
                <Num value={rowOf(shares, n)[axis]} />
              </Fragment>
            ))}
            {' = '}
            <strong>
              <Num value={steps.out[axis]} />
            </strong>
          </p>
        ))}
      </div>
    </>
  );
}
