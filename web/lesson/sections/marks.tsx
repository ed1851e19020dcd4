// Small drawings that the planes of this lesson's first figures share.
import { usePlane, type Point } from '../../ui/plane.tsx';
import './marks.css';

/** A circle drawn with dashes. */
export function Ring({ at, kind, radius = 12 }: { at: Point; kind: string; radius?: number }) {
  const { x, y } = usePlane();
  return <circle class={`ring ${kind}`} cx={x(at[0])} cy={y(at[1])} r={radius} />;
}

/** Words under a point, or above it if `dy` is negative. They are kept inside the drawing at its sides. */
export function Caption({
  at,
  dy,
  text,
  kind,
}: {
  at: Point;
  dy: number;
  text: string;
  kind: string;
}) {
  const plane = usePlane();
  const side = (at[0] - plane.from) / (plane.to - plane.from);
  const anchor = side < 0.12 ? 'start' : side > 0.88 ? 'end' : 'middle';
  return (
    <text class={`caption ${kind}`} x={plane.x(at[0])} y={plane.y(at[1]) + dy} text-anchor={anchor}>
      {text}
    </text>
  );
}

/** A line from the result to a token's value, as wide as the token's weight. */
export function WeightLine({
  from,
  to,
  token,
  weight,
}: {
  from: Point;
  to: Point;
  token: number;
  weight: number;
}) {
  const { x, y } = usePlane();
  return (
    <line
      class={`weight-line token-${token}`}
      x1={x(from[0])}
      y1={y(from[1])}
      x2={x(to[0])}
      y2={y(to[1])}
      stroke-width={14 * weight}
    />
  );
}

/** A weight as a bar of a table's row. */
export function Bar({ token, weight }: { token: number; weight: number }) {
  return (
    <span class={`bar token-${token}`} aria-hidden="true">
      <span style={{ inlineSize: `${100 * weight}%` }} />
    </span>
  );
}
