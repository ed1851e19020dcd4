// A dot product scores how well a query matches a key.
import { at, fromRows, matrix } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { MatrixEditor, Num, NumberInput } from '../../ui/controls.tsx';
import { numbers, type Range } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import { Arrow, Handle, Plane, Segment, type Point } from '../../ui/plane.tsx';
import { fixed, short, t, vector } from '../../ui/text.ts';
import { kPlane, type Lesson } from '../context.ts';
import { kDot } from '../start/dot.ts';

const kEntries: Range = { min: -9, max: 9, step: 0.01 };

export function dotSection({ engine, store }: Lesson) {
  const a = store.field('dot.a', numbers(2, kPlane), kDot.a);
  const b = store.field('dot.b', numbers(2, kPlane), kDot.b);
  const rows = store.field('dot.rows', numbers(6, kEntries), kDot.matrix);

  /** The products of the entries, their sum, the lengths, and the angle between. */
  function compute() {
    const [u, v] = [a.value, b.value];
    const products = engine.matmul(matrix(2, 2, [u[0], 0, 0, u[1]]), matrix(2, 1, v)).data;
    const dots = engine.matmul(fromRows([u, v]), matrix(2, 2, [u[0], v[0], u[1], v[1]]));
    const dot = at(dots, 0, 1);
    const lengths = [Math.sqrt(at(dots, 0, 0)), Math.sqrt(at(dots, 1, 1))];
    const cosine = lengths[0] * lengths[1] === 0 ? NaN : dot / (lengths[0] * lengths[1]);
    const angle = (Math.acos(Math.min(1, Math.max(-1, cosine))) * 180) / Math.PI;
    return { products, dot, lengths, angle };
  }

  function relation(dot: number, angle: number): string {
    if (Number.isNaN(angle)) return t('dot.none');
    if (Math.abs(dot) < 5e-3) return t('dot.right-angle');
    if (dot < 0) return t('dot.apart');
    return angle < 1 ? t('dot.same-way') : t('dot.together');
  }

  function Arrows() {
    const [u, v] = [a.value as unknown as Point, b.value as unknown as Point];
    const { products, dot, lengths, angle } = compute();
    const moved = (joins: boolean, key: string) => {
      store.commit(key, joins);
      announce(() => {
        const now = compute();
        return `${t('dot.says', { dot: fixed(now.dot, 2) })} ${relation(now.dot, now.angle)}`;
      });
    };
    // The shadow of b on a: its signed length times the length of a is the dot product.
    const along = lengths[0] === 0 ? 0 : dot / (lengths[0] * lengths[0]);
    const shadow: Point = [along * u[0], along * u[1]];
    return (
      <Figure
        store={store}
        section="dot"
        title={t('dot.figure')}
        numbers={() => [
          ['vector', 'x', 'y', 'length'],
          ['a', ...u, lengths[0]],
          ['b', ...v, lengths[1]],
          ['dot', dot, '', ''],
        ]}
      >
        <Plane
          label={t('dot.drawing', { a: vector(u), b: vector(v) })}
          title={t('dot.figure')}
          range={3}
          handles={
            <>
              {(['a', 'b'] as const).map((name) => {
                const field = name === 'a' ? a : b;
                return (
                  <Handle
                    key={name}
                    at={field.value as unknown as Point}
                    label={t(`dot.arrow-${name}`)}
                    kind={name === 'a' ? 'query' : 'key'}
                    range={kPlane}
                    onMove={(to) => field.set(to)}
                    onCommit={(joins) => moved(joins, field.key)}
                    onReset={() => {
                      field.read(undefined);
                      moved(false, field.key);
                    }}
                  />
                );
              })}
            </>
          }
        >
          <Segment from={v} to={shadow} kind="helper" />
          <Segment from={[0, 0]} to={shadow} kind="shadow" width={6} />
          <Arrow to={u} kind="query" label="a" />
          <Arrow to={v} kind="key" label="b" />
        </Plane>
        <div class="beside">
          <p class="sum">
            {'a · b = '}
            {short(u[0])} × {short(v[0])} + {short(u[1])} × {short(v[1])} ={' '}
            <Num value={products[0]} /> + <Num value={products[1]} /> ={' '}
            <strong>
              <Num value={dot} />
            </strong>
          </p>
          <p class="relation">{relation(dot, angle)}</p>
          <dl>
            <dt>{t('dot.length-a')}</dt>
            <dd>
              <Num value={lengths[0]} />
            </dd>
            <dt>{t('dot.length-b')}</dt>
            <dd>
              <Num value={lengths[1]} />
            </dd>
            <dt>{t('dot.angle')}</dt>
            <dd>
              {Number.isNaN(angle) ? '–' : <Num value={angle} text={`${fixed(angle, 0)}°`} />}
            </dd>
          </dl>
          <div class="pair">
            {[a, b].map((field, n) => (
              <fieldset key={field.key} class="vector">
                <legend>{n === 0 ? 'a' : 'b'}</legend>
                {[0, 1].map((axis) => (
                  <NumberInput
                    key={axis}
                    value={field.value[axis]}
                    range={kPlane}
                    label={t(axis === 0 ? 'plane.x' : 'plane.y', { label: n === 0 ? 'a' : 'b' })}
                    onValue={(value) =>
                      field.set(axis === 0 ? [value, field.value[1]] : [field.value[0], value])
                    }
                    onCommit={(joins) => moved(joins, field.key)}
                  />
                ))}
              </fieldset>
            ))}
          </div>
          <button
            type="button"
            onClick={() => {
              b.set([2 * v[0], 2 * v[1]]);
              moved(false, b.key);
            }}
          >
            {t('dot.twice')}
          </button>
        </div>
      </Figure>
    );
  }

  const multiply = () => [...engine.matmul(matrix(3, 2, rows.value), matrix(2, 1, a.value)).data];
  /** A matrix times a vector: one dot product a row. */
  function Rows() {
    const u = a.value;
    const product = multiply();
    const edited = (joins: boolean, entry: number) => {
      store.commit(rows.key, joins);
      const row = Math.floor(entry / 2);
      announce(() => t('dot.says-entry', { entry: row + 1, value: fixed(multiply()[row], 2) }));
    };
    return (
      <div class="product sideways">
        <MatrixEditor
          store={store}
          field={rows}
          columns={2}
          range={kEntries}
          name={t('dot.matrix')}
          onCommit={edited}
        />
        <span aria-hidden="true">×</span>
        <table class="matrix" aria-label="a">
          <tbody>
            {u.map((x, n) => (
              <tr key={n}>
                <td>{short(x)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <span aria-hidden="true">=</span>
        <table class="matrix" aria-label={t('dot.product')}>
          <tbody>
            {Array.from(product, (x, n) => (
              <tr key={n}>
                <td>
                  <Num value={x} />
                </td>
                <td class="why">
                  {vector(rows.value.slice(2 * n, 2 * n + 2))} · {vector(u)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  return { 'dot-arrows': Arrows, 'dot-rows': Rows };
}
