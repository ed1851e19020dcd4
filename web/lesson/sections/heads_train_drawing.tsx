// The drawings of the training: curves, and a scene with what one point looks at in each head.
import { at, rowOf, type Matrix, type Scene } from '../../engine/engine.ts';
import { percent, short, t } from '../../ui/text.ts';
import { kTrain } from '../start/heads.ts';

const [kWidth, kHeight, kLeft] = [400, 170, 56];

/** Of weights that may be tiny: 0 % and not 10 to a power. */
export const rounded = (share: number) => percent(Math.round(100 * share) / 100);

interface CurveProps {
  readonly title: string;
  readonly label: string;
  readonly top: number;
  readonly points: readonly (readonly [number, number])[]; // step, value
  /** Values at the left edge, and what they are. */
  readonly marks: readonly (readonly [number, string])[];
}

/** A curve over the steps of the training. */
export function Curve({ title, label, top, points, marks }: CurveProps) {
  const x = (step: number) => kLeft + ((kWidth - kLeft - 12) * step) / kTrain.steps;
  const y = (value: number) => 12 + (kHeight - 44) * (1 - Math.min(value, top) / top);
  const path = points.map(([step, value]) => `${x(step).toFixed(1)} ${y(value).toFixed(1)}`);
  return (
    <figure class="train-curve">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} role="img" aria-label={label} data-export={title}>
        {marks.map(([value, text]) => (
          <g key={text}>
            <path class="grid" d={`M${kLeft} ${y(value)}H${kWidth - 12}`} />
            <text x={kLeft - 6} y={y(value) + 5} text-anchor="end">
              {text}
            </text>
          </g>
        ))}
        <path class="axis train-axis" d={`M${kLeft} 8V${y(0)}H${kWidth - 12}`} />
        {[0, kTrain.steps / 2, kTrain.steps].map((step) => (
          <text
            key={step}
            x={x(step)}
            y={kHeight - 8}
            text-anchor={step === kTrain.steps ? 'end' : 'middle'}
          >
            {short(step, 0)}
          </text>
        ))}
        {path.length > 0 && <path class="train-line" d={`M${path.join('L')}`} />}
        {points.length > 0 && (
          <circle
            class="train-now"
            cx={x(points[points.length - 1][0])}
            cy={y(points[points.length - 1][1])}
            r="4"
          />
        )}
      </svg>
    </figure>
  );
}

const kSide = 320;
const kEdge = 14;
const place = (share: number) => kEdge + (kSide - 2 * kEdge) * share;

interface SceneProps {
  readonly title: string;
  readonly label: string;
  readonly scene: Scene;
  readonly weights: Matrix;
  readonly chosen: number;
  readonly onChoose: (point: number) => void;
}

/** The scene, with lines from the chosen point as wide as its weights. */
export function SceneDrawing({ title, label, scene, weights, chosen, onChoose }: SceneProps) {
  const points = scene.labels.map((_, n) => ({
    x: place(at(scene.tokens, n, 0)),
    y: place(1 - at(scene.tokens, n, 1)),
    bit: at(scene.tokens, n, scene.tokens.columns - 1) > 0,
  }));
  const from = points[chosen];
  const row = rowOf(weights, chosen);
  const share = (weight: number) => Math.min(1, Math.max(0, weight));
  const tap = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const scale = kSide / box.width;
    const [x, y] = [scale * (event.clientX - box.left), scale * (event.clientY - box.top)];
    const far = points.map((point) => Math.hypot(point.x - x, point.y - y));
    onChoose(far.indexOf(Math.min(...far)));
  };
  const partners = [
    [scene.nearOf[chosen], t('heads.train-near')],
    [scene.alikeOf[chosen], t('heads.train-alike')],
  ] as const;
  return (
    <figure class="train-scene">
      <figcaption>{title}</figcaption>
      {/* The slider chooses a point too. */}
      <svg
        viewBox={`0 0 ${kSide} ${kSide}`}
        role="img"
        aria-label={label}
        data-export={title}
        onClick={tap}
      >
        <rect class="plane-back" width={kSide} height={kSide} />
        {points.map(
          ({ x, y }, n) =>
            n !== chosen && (
              <line
                key={n}
                class="heads-weight"
                x1={from.x}
                y1={from.y}
                x2={x}
                y2={y}
                stroke-width={14 * share(row[n])}
              />
            ),
        )}
        {/* Of near points the lines are too short to be seen. */}
        {points.map(({ x, y }, n) => (
          <circle key={n} class="train-weight" cx={x} cy={y} r={16 * Math.sqrt(share(row[n]))} />
        ))}
        {points.map(({ x, y, bit }, n) => (
          <circle key={n} class={`train-point ${bit ? 'one' : 'zero'}`} cx={x} cy={y} r="4.5" />
        ))}
        <circle class="train-chosen" cx={from.x} cy={from.y} r="9" />
        {partners.map(([n, name]) => {
          // Away from the chosen point, and within the drawing.
          const { x, y } = points[n];
          const left = x < from.x ? x > 110 : x > kSide - 110;
          return (
            <g key={name} class="train-partner">
              <circle cx={x} cy={y} r="9" />
              <text
                x={x + (left ? -13 : 13)}
                y={y + (y < from.y ? -4 : 14)}
                text-anchor={left ? 'end' : 'start'}
              >
                {name} {rounded(row[n])}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

/** What a point looks at most, in words: for those who can't see its lines. */
export function lookText(scene: Scene, row: Float32Array, chosen: number): string {
  return t('heads.train-look', {
    near: rounded(row[scene.nearOf[chosen]]),
    alike: rounded(row[scene.alikeOf[chosen]]),
    self: rounded(row[chosen]),
  });
}
