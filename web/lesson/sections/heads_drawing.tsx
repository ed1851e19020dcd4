// Six tokens in a grid of colours and shapes, with lines from one token as wide as its weights.
import { t } from '../../ui/text.ts';
import { kColours, kShapeNames, kThings } from '../start/heads.ts';

const kPaths = [
  'M-10 0A10 10 0 1 0 10 0A10 10 0 1 0 -10 0Z',
  'M-9.5 -9.5H9.5V9.5H-9.5Z',
  'M0 -12L11.5 8.5H-11.5Z',
];
const [kWidth, kHeight] = [300, 230];
const x = (shape: number) => 110 + 75 * shape;
const y = (colour: number) => 62 + 66 * colour;

/** Colour and shape in words. */
export const thingText = (token: number) =>
  t('heads.thing', {
    name: kThings[token].name,
    colour: t(`heads.${kColours[kThings[token].colour]}`),
    shape: t(`heads.${kShapeNames[kThings[token].shape]}`),
  });

/** A token in a line of text. */
export function ThingBadge({ token }: { token: number }) {
  const { name, colour, shape } = kThings[token];
  return (
    <span class={`badge token-${colour}`}>
      <svg viewBox="-13 -13 26 26" aria-hidden="true">
        <path d={kPaths[shape]} />
      </svg>
      {name}
    </span>
  );
}

interface LooksProps {
  readonly title: string;
  readonly label: string;
  readonly chosen: number;
  readonly weights: Float32Array;
  readonly onChoose: (token: number) => void;
}

export function Looks({ title, label, chosen, weights, onChoose }: LooksProps) {
  const from = kThings[chosen];
  const tap = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = [
      (kWidth * (event.clientX - box.left)) / box.width,
      (kHeight * (event.clientY - box.top)) / box.height,
    ];
    const far = kThings.map(({ colour, shape }) => Math.hypot(at[0] - x(shape), at[1] - y(colour)));
    const nearest = far.indexOf(Math.min(...far));
    if (far[nearest] < 34) onChoose(nearest);
  };
  const wide = (weight: number) => 18 * Math.min(1, Math.max(0, weight));
  return (
    <figure class="heads-looks">
      <figcaption>{title}</figcaption>
      {/* The radio buttons choose a token too. */}
      <svg
        viewBox={`0 0 ${kWidth} ${kHeight}`}
        role="img"
        aria-label={label}
        data-export={title}
        onClick={tap}
      >
        <rect class="plane-back" width={kWidth} height={kHeight} />
        {kColours.map((name, n) => (
          <text key={name} class="heads-kind" x="10" y={y(n) + 5}>
            {t(`heads.${name}`)}
          </text>
        ))}
        {kShapeNames.map((name, n) => (
          <text key={name} class="heads-kind" x={x(n)} y="24" text-anchor="middle">
            {t(`heads.${name}`)}
          </text>
        ))}
        {kThings.map(({ name, colour, shape }, n) =>
          n === chosen ? (
            <circle
              key={name}
              class="heads-weight"
              cx={x(shape)}
              cy={y(colour)}
              r={17 + wide(weights[n]) / 2}
              stroke-width={wide(weights[n])}
            />
          ) : (
            <line
              key={name}
              class="heads-weight"
              x1={x(from.shape)}
              y1={y(from.colour)}
              x2={x(shape)}
              y2={y(colour)}
              stroke-width={wide(weights[n])}
            />
          ),
        )}
        {kThings.map(({ name, colour, shape }, n) => (
          <g
            key={name}
            class={`heads-thing token-${colour}`}
            transform={`translate(${x(shape)} ${y(colour)})`}
          >
            {n === chosen && <circle class="heads-chosen" r="17" />}
            <path d={kPaths[shape]} />
            <text x="18" y="-12">
              {name}
            </text>
          </g>
        ))}
      </svg>
    </figure>
  );
}
