// A square of the plane, drawn as SVG, with handles to drag.
//
// Drawings are children in SVG; handles are HTML above it, since a handle is two native sliders
// (one an axis), which screen readers and touch gestures know how to move.
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useRef } from 'preact/hooks';

import { clamp, type Range } from './fields.ts';
import { useUniqueId } from './id.ts';
import { short, t } from './text.ts';

export type Point = readonly [number, number];

/** Side of the drawing in its own units; it is scaled to the width there is. */
export const kSide = 400;

interface Scale {
  readonly from: number;
  readonly to: number;
  readonly x: (x: number) => number;
  readonly y: (y: number) => number;
}

function scaleOf(from: number, to: number): Scale {
  const unit = kSide / (to - from);
  return { from, to, x: (x) => unit * (x - from), y: (y) => unit * (to - y) };
}

const PlaneScale = createContext<Scale>(scaleOf(-1, 1));
export const usePlane = () => useContext(PlaneScale);

interface PlaneProps {
  /** What a reader who can't see it is told: what is drawn, and where. */
  readonly label: string;
  readonly title?: string;
  /** Both axes end here, */
  readonly range: number;
  /** and begin here; by default at -range. */
  readonly from?: number;
  /** From one line of the grid to the next. */
  readonly grid?: number;
  readonly children?: ComponentChildren;
  readonly handles?: ComponentChildren;
  /** A click or tap that is on no handle. */
  readonly onTap?: (at: Point) => void;
}

export function Plane({
  label,
  title,
  range,
  from = -range,
  grid = 1,
  children,
  handles,
  onTap,
}: PlaneProps) {
  const scale = scaleOf(from, range);
  const lines = [];
  for (let v = grid * Math.ceil(from / grid); v <= range; v += grid) {
    if (v !== 0) lines.push(v);
  }
  const tap = (event: MouseEvent) => {
    if (!onTap || (event.target as Element).closest('.handle')) return;
    onTap(pointAt(event, event.currentTarget as HTMLElement, scale));
  };
  return (
    <figure class="plane">
      {title && <figcaption>{title}</figcaption>}
      {/* The sliders and the handle's own keys do all that a click does. */}
      <div class="plane-area" onClick={tap}>
        <svg
          viewBox={`0 0 ${kSide} ${kSide}`}
          role="img"
          aria-label={label}
          data-export={title ?? label}
        >
          <rect class="plane-back" width={kSide} height={kSide} />
          {lines.map((v) => (
            <path key={v} class="grid" d={`M${scale.x(v)} 0V${kSide}M0 ${scale.y(v)}H${kSide}`} />
          ))}
          <path class="axis" d={`M${scale.x(0)} 0V${kSide}M0 ${scale.y(0)}H${kSide}`} />
          <PlaneScale.Provider value={scale}>{children}</PlaneScale.Provider>
        </svg>
        <PlaneScale.Provider value={scale}>{handles}</PlaneScale.Provider>
      </div>
    </figure>
  );
}

function pointAt(event: MouseEvent, area: HTMLElement, { from, to }: Scale): Point {
  const box = area.getBoundingClientRect();
  return [
    from + ((event.clientX - box.left) / box.width) * (to - from),
    to - ((event.clientY - box.top) / box.height) * (to - from),
  ];
}

// ---- Drawings -----------------------------------------------------------------------------------

/** An arrow from the origin, or from `from`. */
export function Arrow({
  to,
  from = [0, 0],
  kind,
  label,
}: {
  to: Point;
  from?: Point;
  kind: string;
  label?: string;
}) {
  const { x, y } = usePlane();
  const [x0, y0, x1, y1] = [x(from[0]), y(from[1]), x(to[0]), y(to[1])];
  const length = Math.hypot(x1 - x0, y1 - y0);
  const [ux, uy] = length > 0 ? [(x1 - x0) / length, (y1 - y0) / length] : [0, 0];
  const head = Math.min(12, length);
  const [bx, by] = [x1 - head * ux, y1 - head * uy];
  return (
    <g class={`arrow ${kind}`}>
      <line x1={x0} y1={y0} x2={x1 - 0.7 * head * ux} y2={y1 - 0.7 * head * uy} />
      {length > 1 && (
        <path d={`M${x1} ${y1}L${bx - 5 * uy} ${by + 5 * ux}L${bx + 5 * uy} ${by - 5 * ux}Z`} />
      )}
      {label && (
        <text x={x1 + 14 * ux} y={y1 + 14 * uy + 5} text-anchor="middle">
          {label}
        </text>
      )}
    </g>
  );
}

/** A token's letters and shapes; its colour is in the style sheet, class token-0, token-1, ... */
export const kTokenNames = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'];
const kShapes = [
  'M-8 0A8 8 0 1 0 8 0A8 8 0 1 0 -8 0Z', // circle
  'M-7.5 -7.5H7.5V7.5H-7.5Z', // square
  'M0 -9.5L9 6.5H-9Z', // triangle
  'M0 -10L10 0L0 10L-10 0Z', // diamond
  'M-3 -9H3V-3H9V3H3V9H-3V3H-9V-3H-3Z', // cross
  'M0 -9.5L9 -3L5.6 8H-5.6L-9 -3Z', // pentagon
  'M0 9.5L9 -6.5H-9Z', // triangle, point down
  'M-9 -4.5H9V4.5H-9Z', // bar
];

interface MarkProps {
  readonly at: Point;
  readonly token: number;
  /** Drawn hollow: a masked token. */
  readonly hollow?: boolean;
  readonly name?: string;
}

export function Mark({ at: [px, py], token, hollow, name = kTokenNames[token] }: MarkProps) {
  const { x, y } = usePlane();
  // The letter stands away from the centre, where the arrows are.
  const length = Math.hypot(px, py);
  const [dx, dy] = length > 0 ? [(18 * px) / length, (-18 * py) / length] : [18, 0];
  return (
    <g
      class={`mark token-${token} ${hollow ? 'hollow' : ''}`}
      transform={`translate(${x(px)} ${y(py)})`}
    >
      <path d={kShapes[token % kShapes.length]} />
      <text x={dx} y={dy + 5} text-anchor="middle">
        {name}
      </text>
    </g>
  );
}

/** The token's shape in a line of text, as a legend. */
export function TokenBadge({ token, name = kTokenNames[token] }: { token: number; name?: string }) {
  return (
    <span class={`badge token-${token}`}>
      <svg viewBox="-11 -11 22 22" aria-hidden="true">
        <path d={kShapes[token % kShapes.length]} />
      </svg>
      {name}
    </span>
  );
}

export function Segment({
  from,
  to,
  kind,
  width,
}: {
  from: Point;
  to: Point;
  kind: string;
  width?: number;
}) {
  const { x, y } = usePlane();
  return (
    <line
      class={`segment ${kind}`}
      x1={x(from[0])}
      y1={y(from[1])}
      x2={x(to[0])}
      y2={y(to[1])}
      style={width === undefined ? undefined : { strokeWidth: width }}
    />
  );
}

export function Polygon({ points, kind }: { points: readonly Point[]; kind: string }) {
  const { x, y } = usePlane();
  return (
    <polygon
      class={`polygon ${kind}`}
      points={points.map(([a, b]) => `${x(a)},${y(b)}`).join(' ')}
    />
  );
}

export function Dot({ at, kind, radius = 4 }: { at: Point; kind: string; radius?: number }) {
  const { x, y } = usePlane();
  return <circle class={`dot ${kind}`} cx={x(at[0])} cy={y(at[1])} r={radius} />;
}

// ---- Handles ------------------------------------------------------------------------------------

interface HandleProps {
  readonly at: Point;
  readonly label: string;
  readonly kind: string;
  readonly range: Range;
  readonly onMove: (to: Point) => void;
  /** The change is over. `joins`: a key press, which joins those before it to one step of undo. */
  readonly onCommit: (joins: boolean) => void;
  readonly onReset?: () => void;
}

const kTurn = Math.PI / 36; // 5 degrees

/** Where a key takes the point, or undefined if it is none of the keys. */
export function keyMove(event: KeyboardEvent, [x, y]: Point, range: Range): Point | undefined {
  const step = event.shiftKey ? 0.5 : event.altKey ? 0.01 : 0.1;
  const length = Math.hypot(x, y);
  const longer = (by: number): Point =>
    length === 0
      ? [Math.max(0, by), 0]
      : [x * Math.max(0, 1 + by / length), y * Math.max(0, 1 + by / length)];
  const turned = (by: number): Point => [
    x * Math.cos(by) - y * Math.sin(by),
    x * Math.sin(by) + y * Math.cos(by),
  ];
  switch (event.key) {
    case 'ArrowLeft':
      return [x - step, y];
    case 'ArrowRight':
      return [x + step, y];
    case 'ArrowUp':
      return [x, y + step];
    case 'ArrowDown':
      return [x, y - step];
    case 'Home':
      return [range.min, y];
    case 'End':
      return [range.max, y];
    case 'PageUp':
      return [x, y + 0.5];
    case 'PageDown':
      return [x, y - 0.5];
    case '[':
      return longer(-0.1);
    case ']':
      return longer(0.1);
    case '{':
      return turned(kTurn);
    case '}':
      return turned(-kTurn);
    default:
      return undefined;
  }
}

export function Handle({ at, label, kind, range, onMove, onCommit, onReset }: HandleProps) {
  const plane = usePlane();
  const id = useUniqueId();
  const first = useRef<HTMLInputElement>(null);
  const drag = useRef<{ pointer: number; start: Point; moved: boolean } | null>(null);
  const move = ([x, y]: Point) => onMove([clamp(x, range), clamp(y, range)]);

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const handle = event.currentTarget as HTMLElement;
    handle.setPointerCapture(event.pointerId);
    drag.current = { pointer: event.pointerId, start: at, moved: false };
    first.current?.focus({ preventScroll: true });
    event.preventDefault();
  };
  const follow = (event: PointerEvent) => {
    if (drag.current?.pointer !== event.pointerId) return;
    drag.current.moved = true;
    const area = (event.currentTarget as HTMLElement).parentElement as HTMLElement;
    move(pointAt(event, area, plane));
  };
  const up = (event: PointerEvent) => {
    if (drag.current?.pointer !== event.pointerId) return;
    const { moved } = drag.current;
    drag.current = null;
    if (moved) onCommit(false);
  };
  const cancel = () => {
    if (!drag.current) return;
    move(drag.current.start);
    drag.current = null;
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey) return;
    if (event.key === 'Escape' && drag.current) {
      cancel();
    } else if ((event.key === 'r' || event.key === 'R') && onReset) {
      onReset();
    } else {
      const to = keyMove(event, at, range);
      if (!to) return;
      move(to);
      onCommit(true);
    }
    event.preventDefault();
  };
  const slide = (axis: 0 | 1) => (event: Event) => {
    const value = Number((event.currentTarget as HTMLInputElement).value);
    move(axis === 0 ? [value, at[1]] : [at[0], value]);
    onCommit(true);
  };
  const slider = (axis: 0 | 1) => (
    <input
      ref={axis === 0 ? first : undefined}
      type="range"
      class="unseen"
      tabIndex={axis === 0 ? 0 : -1}
      aria-label={t(axis === 0 ? 'plane.x' : 'plane.y', { label })}
      aria-valuetext={t('plane.at', { x: short(at[0]), y: short(at[1]) })}
      aria-describedby={`${id}-help`}
      min={range.min}
      max={range.max}
      step={range.step}
      value={at[axis]}
      onInput={slide(axis)}
    />
  );
  return (
    <div
      class={`handle ${kind}`}
      role="group"
      aria-roledescription={t('plane.role')}
      aria-label={label}
      style={{
        left: `${(100 * plane.x(at[0])) / kSide}%`,
        top: `${(100 * plane.y(at[1])) / kSide}%`,
      }}
      onPointerDown={down}
      onPointerMove={follow}
      onPointerUp={up}
      onPointerCancel={cancel}
      onKeyDown={press}
    >
      {slider(0)}
      {slider(1)}
      <span id={`${id}-help`} hidden>
        {t('plane.keys')}
      </span>
    </div>
  );
}
