// "Check": the engine's numbers beside those of plain TypeScript, and how far apart they are.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { Num } from '../ui/controls.tsx';
import { TokenBadge } from '../ui/plane.tsx';
import { fixed, power, t } from '../ui/text.ts';
import type { PlainResult } from './plain.ts';

interface CheckProps {
  readonly weights: ArrayLike<number>;
  readonly out: ArrayLike<number>;
  /** Called while the check is open. */
  readonly plain: () => PlainResult;
}

const kDigits = 9; // float32 has 7 or so, so that the difference can be seen

export function Check(props: CheckProps) {
  const [open, setOpen] = useState(false);
  return (
    <details class="check" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('check.title')}</summary>
      {open && <Comparison {...props} />}
    </details>
  );
}

function Comparison({ weights, out, plain }: CheckProps) {
  const theirs = plain();
  return (
    <>
      <p>{t('check.words')}</p>
      <div class="scroll sideways" role="group" aria-label={t('check.table')} tabIndex={0}>
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
            {theirs.weights.map((weight, n) => (
              <Row key={n} ours={weights[n]} theirs={weight}>
                {t('check.weight')} <TokenBadge token={n} />
              </Row>
            ))}
            {theirs.out.map((x, n) => (
              <Row key={n} ours={out[n]} theirs={x}>
                {t(n === 0 ? 'check.across' : 'check.up')}
              </Row>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Row({
  ours,
  theirs,
  children,
}: {
  ours: number;
  theirs: number;
  children: ComponentChildren;
}) {
  return (
    <tr>
      <th scope="row">{children}</th>
      <td>
        <Num value={ours} digits={kDigits} />
      </td>
      <td>{fixed(theirs, kDigits)}</td>
      <td>
        <Num value={ours - theirs} text={power(ours - theirs)} />
      </td>
    </tr>
  );
}
