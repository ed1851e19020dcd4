// "Check": the engine's numbers beside those of plain TypeScript, and how far apart they are.
import { TokenBadge } from '../ui/plane.tsx';
import { Num } from '../ui/controls.tsx';
import { fixed, power, t } from '../ui/text.ts';
import type { PlainResult } from './plain.ts';

interface CheckProps {
  readonly weights: ArrayLike<number>;
  readonly out: ArrayLike<number>;
  readonly plain: PlainResult;
}

const kDigits = 9; // float32 has 7 or so, so that the difference can be seen

export function Check({ weights, out, plain }: CheckProps) {
  const row = (name: preact.ComponentChildren, ours: number, theirs: number) => (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <Num value={ours} digits={kDigits} />
      </td>
      <td>{fixed(theirs, kDigits)}</td>
      <td>
        <Num value={ours - theirs} text={power(ours - theirs)} />
      </td>
    </tr>
  );
  return (
    <details class="check">
      <summary>{t('check.title')}</summary>
      <p>{t('check.words')}</p>
      <div class="scroll" role="region" aria-label={t('check.table')} tabIndex={0}>
        <table class="numbers">
          <thead>
            <tr>
              <td />
              <th scope="col">{t('check.engine')}</th>
              <th scope="col">{t('check.plain')}</th>
              <th scope="col">{t('check.difference')}</th>
            </tr>
          </thead>
          <tbody>
            {plain.weights.map((weight, n) => row(<WeightOf token={n} />, weights[n], weight))}
            {plain.out.map((x, n) => row(t(n === 0 ? 'check.across' : 'check.up'), out[n], x))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function WeightOf({ token }: { token: number }) {
  return (
    <>
      {t('check.weight')} <TokenBadge token={token} />
    </>
  );
}
