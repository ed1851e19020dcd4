// The two panels: keys and the query; values and the result.
import type { Point } from '../../ui/plane.tsx';
import {
  Arrow,
  Dot,
  Handle,
  kTokenNames,
  Mark,
  Plane,
  Polygon,
  Segment,
  usePlane,
} from '../../ui/plane.tsx';
import { clamp } from '../../ui/fields.ts';
import type { Field } from '../../ui/store.ts';
import { fixed, percent, t, vector } from '../../ui/text.ts';
import { kPlane } from '../context.ts';
import { kFigure, startOf } from '../start/figure.ts';
import { coneLabel, coneShape, edge, hull } from './figure_geometry.ts';
import { kTokens, type FigureModel } from './figure_model.ts';
import { Caption, WeightLine } from './marks.tsx';
import { pairs } from './pairs.ts';

const kRange = 3;
const kCentre: Point = [0, 0];
const kSnap = 0.15; // a tap so near to the centre means the centre

function place(field: Field<readonly number[]>, token: number) {
  return ([x, y]: Point) =>
    field.set(field.value.map((old, n) => (n === 2 * token ? x : n === 2 * token + 1 ? y : old)));
}

/** A handle for each key or each value. */
function TokenHandles({
  model,
  field,
  label,
  start,
}: {
  model: FigureModel;
  field: Field<readonly number[]>;
  label: string;
  start: readonly number[];
}) {
  return (
    <>
      {pairs(field.value).map((at, token) => (
        <Handle
          key={token}
          at={at}
          label={t(label, { token: kTokenNames[token] })}
          kind={`token-${token}`}
          range={kPlane}
          onMove={place(field, token)}
          onCommit={(joins) => model.moved(field.key, joins)}
          onReset={() => {
            place(field, token)(pairs(start)[token]);
            model.moved(field.key);
          }}
        />
      ))}
    </>
  );
}

/** Moves all keys by the same, as far as all of them stay in the plane. */
export function shiftKeys(model: FigureModel, dx: number, dy: number): void {
  const by = [dx, dy].map((d, axis) => {
    const all = pairs(model.keys.value).map((p) => p[axis]);
    return Math.min(kRange - Math.max(...all), Math.max(-kRange - Math.min(...all), d));
  });
  model.keys.set(model.keys.value.map((x, n) => x + by[n % 2]));
}

function centreOf(points: readonly Point[]): Point {
  return [0, 1].map((axis) =>
    clamp(points.reduce((sum, p) => sum + p[axis], 0) / points.length, kPlane),
  ) as unknown as Point;
}

export function KeyPlane({ model }: { model: FigureModel }) {
  const tip = model.q.value as unknown as Point;
  const used = model.keysUsed.value;
  const raw = pairs(model.keys.value);
  const seen = model.seen.value;
  const open = model.exercise.value;
  const editing = model.editKeys.value;
  const centre = centreOf(raw);
  const drawn = t(model.normalise.value ? 'figure.key-drawing-normalised' : 'figure.key-drawing', {
    keys: used.map((p, n) => `${kTokenNames[n]} ${vector(p)}`).join(', '),
    query: vector(tip),
  });
  const regions = [...new Set(model.regions.value.map((c) => kTokenNames[c.token]))]
    .sort()
    .join(', ');
  return (
    <Plane
      title={t('figure.key-plane')}
      label={
        model.cones.value ? `${drawn} ${t('figure.cone-drawing', { tokens: regions })}` : drawn
      }
      range={kRange}
      onTap={([x, y]) => {
        model.q.set(Math.hypot(x, y) < kSnap ? kCentre : [x, y]);
        model.moved(model.q.key);
      }}
      handles={
        <>
          {editing && (
            <TokenHandles
              model={model}
              field={model.keys}
              label="figure.key-handle"
              start={open > 0 ? startOf(open).keys : kFigure.keys}
            />
          )}
          {open === 6 && (
            <Handle
              at={centre}
              label={t('figure.all-keys')}
              kind="all-keys"
              range={kPlane}
              onMove={([x, y]) => shiftKeys(model, x - centre[0], y - centre[1])}
              onCommit={(joins) => model.moved(model.keys.key, joins)}
            />
          )}
          <Handle
            at={tip}
            label={t('figure.query')}
            kind="query"
            range={kPlane}
            onMove={(to) => model.q.set(to)}
            onCommit={(joins) => model.moved(model.q.key, joins)}
            onReset={() => {
              model.q.set(open > 0 ? startOf(open).q : kFigure.q);
              model.moved(model.q.key);
            }}
          />
        </>
      }
    >
      {model.cones.value && <Cones model={model} />}
      {model.normalise.value && <UnitCircle />}
      {used.map((p, n) => (
        <Segment key={n} from={kCentre} to={p} kind={`spoke token-${n}`} />
      ))}
      {model.normalise.value &&
        editing &&
        raw.map((p, n) => <Segment key={n} from={used[n]} to={p} kind="helper" />)}
      {model.shadows.value && <Shadows model={model} />}
      {used.map((p, n) => (
        <Mark key={n} at={p} token={n} hollow={!seen[n]} />
      ))}
      <Arrow to={tip} kind="query" />
      <Caption at={tip} dy={tip[1] > 2.4 ? 34 : -18} text={t('figure.q')} kind="query" />
    </Plane>
  );
}

function UnitCircle() {
  const { x, y } = usePlane();
  return <circle class="unit" cx={x(0)} cy={y(0)} r={x(1) - x(0)} />;
}

/** The regions of the plane in which a query gives each key the largest score. */
function Cones({ model }: { model: FigureModel }) {
  return (
    <>
      {model.regions.value.map((cone) => (
        <Polygon
          key={cone.from}
          points={coneShape(cone, kRange)}
          kind={`cone token-${cone.token}`}
        />
      ))}
      {model.regions.value.map((cone) => (
        <Caption
          key={cone.from}
          at={coneLabel(cone, kRange - 0.25, model.keysUsed.value)}
          dy={5}
          text={t('figure.wins', { token: kTokenNames[cone.token] })}
          kind={`token-${cone.token}`}
        />
      ))}
    </>
  );
}

/** Each visible key's shadow on the line of the query: its dot product with the query, over the query's length. */
function Shadows({ model }: { model: FigureModel }) {
  const { length } = model;
  if (length === 0) return null;
  const [x, y] = model.q.value;
  return (
    <>
      <Segment
        from={edge(Math.atan2(y, x), kRange)}
        to={edge(Math.atan2(-y, -x), kRange)}
        kind="helper"
      />
      {model.steps.value.keys
        .filter((k) => k.live)
        .map(({ key, dot }) => {
          const along = dot / (length * length);
          const foot: Point = [along * x, along * y];
          return (
            <g key={key}>
              <Segment from={model.keysUsed.value[key]} to={foot} kind={`foot token-${key}`} />
              <Dot at={foot} kind={`token-${key}`} radius={5} />
            </g>
          );
        })}
    </>
  );
}

const kTrailParts = 4; // of rising strength

/** Where the result was, the oldest faintest. */
function Trail({ points }: { points: readonly Point[] }) {
  const { x, y } = usePlane();
  const size = Math.ceil(points.length / kTrailParts);
  return (
    <>
      {Array.from({ length: kTrailParts }, (_, n) => (
        <path
          key={n}
          class="trail"
          opacity={0.25 + (0.5 * n) / (kTrailParts - 1)}
          d={points
            .slice(n * size, (n + 1) * size)
            .map((p) => `M${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}h0`)
            .join('')}
        />
      ))}
    </>
  );
}

export function ValuePlane({ model }: { model: FigureModel }) {
  const points = pairs(model.values.value);
  const seen = model.seen.value;
  const { keys, out } = model.steps.value;
  const result: Point = [out[0], out[1]];
  const any = kTokens.some((n) => seen[n]);
  const open = model.exercise.value;
  return (
    <Plane
      title={t('figure.value-plane')}
      label={t('figure.value-drawing', {
        values: points
          .map((p, n) => `${kTokenNames[n]} ${vector(p)}, ${percent(keys[n].weight)}`)
          .join('; '),
        x: fixed(result[0], 1),
        y: fixed(result[1], 1),
      })}
      range={kRange}
      handles={
        model.editValues.value && (
          <TokenHandles
            model={model}
            field={model.values}
            label="figure.value-handle"
            start={open > 0 ? startOf(open).values : kFigure.values}
          />
        )
      }
    >
      <Polygon points={hull(points.filter((_, n) => seen[n]))} kind="hull" />
      <Trail points={model.past.value} />
      {any &&
        points.map(
          (p, n) =>
            seen[n] && (
              <WeightLine key={n} from={result} to={p} token={n} weight={keys[n].weight} />
            ),
        )}
      {points.map((p, n) => (
        <Mark key={n} at={p} token={n} hollow={!seen[n]} />
      ))}
      <Dot at={result} kind="result" radius={8} />
      <Caption at={result} dy={result[1] > 2 ? 26 : -16} text={t('figure.result')} kind="result" />
    </Plane>
  );
}
