// The scores of all keys in blocks, and exp(score - m) of those that were read, on the running maximum of now.
import type { RowSteps } from '../../engine/engine.ts';
import { fixed, t } from '../../ui/text.ts';

// Room for the words at their size on a narrow screen too.
const [kWidth, kTop, kScores, kGap, kExps] = [720, 38, 160, 46, 110];
const kHeight = kTop + kScores + kGap + kExps + 32;

interface BarsProps {
  readonly steps: RowSteps;
  readonly read: number; // blocks
}

export function BlockBars({ steps, read }: BarsProps) {
  const { keys, blocks } = steps;
  const wide = kWidth / keys.length;
  const values = keys.map(({ score }) => score);
  const reach = 1.12 * Math.max(1e-3, ...values.map(Math.abs));
  const y = (score: number) =>
    kTop + kScores / 2 - (kScores / 2) * Math.max(-1, Math.min(1, score / reach));
  const upper = kTop + kScores;
  const lower = upper + kGap;
  const bottom = lower + kExps;
  const max = read > 0 ? blocks[read - 1].max : -Infinity;

  /** Bars of one block as one path, from their foot. */
  const path = (first: number, end: number, foot: number, top: (key: number) => number) => {
    let d = '';
    for (let key = first; key < end; ++key) {
      d += `M${(key * wide + 0.6).toFixed(1)} ${foot}V${top(key).toFixed(1)}h${(wide - 1.2).toFixed(1)}V${foot}Z`;
    }
    return d;
  };
  // The largest score of the next block: what one sees of it before it is read.
  const next = () =>
    fixed(Math.max(...values.slice(blocks[read].firstKey, blocks[read].endKey)), 2);
  // What block b was multiplied by since it was read.
  const shrunk = (b: number) =>
    blocks.slice(b + 1, read).reduce((product, { rescale }) => product * rescale, 1);
  const label =
    read === 0
      ? t('machine.drawing-none', { keys: keys.length, blocks: blocks.length, next: next() })
      : [
          t('machine.drawing', { read, blocks: blocks.length, max: fixed(max, 2) }),
          ...(read < blocks.length ? [t('machine.drawing-next', { next: next() })] : []),
        ].join(' ');
  return (
    <svg
      class="machine-bars"
      viewBox={`0 0 ${kWidth} ${kHeight}`}
      role="img"
      aria-label={label}
      data-export={t('machine.figure')}
    >
      <rect class="plane-back" y={kTop} width={kWidth} height={kScores} />
      <rect class="plane-back" y={lower} width={kWidth} height={kExps} />
      {blocks.map(({ firstKey, endKey }, b) => {
        const [left, right] = [firstKey * wide, endKey * wide];
        const seen = b < read;
        return (
          <g
            key={b}
            class={`machine-block ${seen ? 'seen' : ''} ${b === read - 1 ? 'newest' : ''}`}
          >
            <path class="machine-score" d={path(firstKey, endKey, y(0), (key) => y(values[key]))} />
            {seen ? (
              <g transform={`translate(0 ${bottom})`}>
                <g class="machine-shrunk" transform={`scale(1 ${shrunk(b)})`}>
                  <path
                    class="machine-exp"
                    d={path(
                      firstKey,
                      endKey,
                      0,
                      (key) => -(kExps - 6) * Math.min(1, keys[key].exp),
                    )}
                  />
                </g>
              </g>
            ) : (
              <text
                x={(left + right) / 2}
                y={(lower + bottom) / 2}
                text-anchor="middle"
                class="machine-unread"
              >
                {t('machine.unread')}
              </text>
            )}
            {b > 0 && (
              <path
                class="machine-seam"
                d={`M${left} ${kTop}V${upper}M${left} ${lower}V${bottom}`}
              />
            )}
            {seen && <path class="machine-max" d={`M${left} ${y(blocks[b].max)}H${right}`} />}
            <text x={(left + right) / 2} y={kHeight - 6} text-anchor="middle" class="machine-name">
              {t('machine.keys-of', { first: firstKey + 1, end: endKey })}
            </text>
          </g>
        );
      })}
      <path class="axis" d={`M0 ${y(0)}H${kWidth}M0 ${bottom}H${kWidth}`} />
      <text x="2" y={kTop - 10} class="machine-title">
        {t('machine.scores')}
      </text>
      <text x="2" y={lower - 10} class="machine-title">
        {t('machine.exps')}
      </text>
    </svg>
  );
}
