// Queries, keys and values: the tokens times three learned matrices, in the notation of the formula or of code.
import { at, matrix, rowOf } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { ChosenCells, EditedCells, ShownCells } from '../../ui/cells.tsx';
import { Choice, Num } from '../../ui/controls.tsx';
import { Figure } from '../../ui/figure.tsx';
import { kTokenNames, TokenBadge } from '../../ui/plane.tsx';
import { fixed, short, t } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import { kKeySize, kTokenCount, kTokenSize } from '../start/tokens.ts';
import {
  kEntry,
  kProjections,
  project,
  type Projection,
  type TokensState,
} from './tokens_state.ts';

const kNames = kTokenNames.slice(0, kTokenCount);
const kBadges = kNames.map((name, n) => <TokenBadge key={name} token={n} />);

/** A name of a matrix or vector: letter and index, as W with q below. */
function Symbol({ letter, below }: { letter: string; below?: string }) {
  return (
    <i class="symbol">
      {letter}
      {below && <sub>{below}</sub>}
    </i>
  );
}

export function productsFigure({ engine, store }: Lesson, state: TokensState) {
  const { x, w, notation, entry } = state;

  function compute([part, token, column] = entry.value) {
    const name = kProjections[part];
    const row = x.value.slice(kTokenSize * token, kTokenSize * (token + 1));
    const factors = w[name].value.slice(kTokenSize * column, kTokenSize * (column + 1));
    // Each product of two entries: a diagonal matrix times a vector.
    const diagonal = row.flatMap((value, n) => row.map((_, m) => (m === n ? value : 0)));
    const products = engine.matmul(
      matrix(kTokenSize, kTokenSize, diagonal),
      matrix(kTokenSize, 1, factors),
    );
    const all = {
      q: project(engine, x.value, w.q.value),
      k: project(engine, x.value, w.k.value),
      v: project(engine, x.value, w.v.value),
    };
    return { name, token, column, row, factors, products: products.data, all };
  }

  const choose = (part: number, token: number, column: number) => {
    entry.set([part, token, column]);
    store.commit(entry.key, true);
    say();
  };
  /** The entry of a result, as the sum that it is. */
  const say = (which?: readonly number[]) =>
    announce(() => {
      const now = compute(which);
      const { token, column } = now;
      return t('tokens.says-entry', {
        entry: column + 1,
        what: t(`tokens.${now.name}-of`, { token: kNames[token] }),
        sum: now.row.map((value, n) => `${short(value)} × ${short(now.factors[n])}`).join(' + '),
        result: fixed(at(now.all[now.name], token, column), 2),
      });
    });
  /** An entry of a result that the last edit changes: of the token or matrix edited, else as lit. */
  let changed: readonly number[] = entry.value;
  const edited = (key: string, joins: boolean) => {
    store.commit(key, joins);
    say(changed);
  };
  const setX = (row: number, column: number, value: number) => {
    changed = [entry.value[0], row, entry.value[2]];
    x.set(x.value.map((old, n) => (n === row * kTokenSize + column ? value : old)));
  };
  const setW = (name: Projection, row: number, column: number, value: number) => {
    changed = [kProjections.indexOf(name), entry.value[1], row];
    w[name].set(w[name].value.map((old, n) => (n === row * kTokenSize + column ? value : old)));
  };
  const valueLabel = (name: Projection, token: number, column: number, value: number) =>
    t('tokens.entry', {
      what: t(`tokens.${name}-of`, { token: kNames[token] }),
      entry: column + 1,
      value: fixed(value, 2),
    });

  type Shown = ReturnType<typeof compute>;

  /** X on the left, the matrices above, and each product where a row of X meets a column of a matrix. */
  function Rows({ now }: { now: Shown }) {
    return (
      <div class="wide sideways" role="group" tabIndex={0} aria-label={t('tokens.region')}>
        <div class="meeting">
          <EditedCells
            caption={
              <>
                <Symbol letter="X" /> {t('tokens.x-caption')}
              </>
            }
            class="left"
            rows={kTokenCount}
            columns={kTokenSize}
            rowHeads={kBadges}
            range={kEntry}
            value={(r, c) => x.value[r * kTokenSize + c]}
            cellLabel={(r, c) => t('tokens.x-entry', { token: kNames[r], entry: c + 1 })}
            cellClass={(r) => (r === now.token ? 'lit' : '')}
            onValue={setX}
            onCommit={(joins) => edited(x.key, joins)}
          />
          {kProjections.map((name) => (
            <EditedCells
              key={name}
              caption={
                <>
                  <Symbol letter="W" below={name} />
                </>
              }
              class={`above ${name}`}
              rows={kTokenSize}
              columns={kKeySize}
              rowNames={[1, 2, 3].map((n) => t('tokens.row', { n }))}
              range={kEntry}
              value={(r, c) => w[name].value[c * kTokenSize + r]}
              cellLabel={(r, c) =>
                t('tokens.w-entry', { name: `W${name}`, row: r + 1, column: c + 1 })
              }
              cellClass={(_, c) => (name === now.name && c === now.column ? 'lit' : '')}
              onValue={(r, c, value) => setW(name, c, r, value)}
              onCommit={(joins) => edited(w[name].key, joins)}
            />
          ))}
          {kProjections.map((name, part) => (
            <ChosenCells
              key={name}
              caption={
                <>
                  <Symbol letter={name.toUpperCase()} /> = <Symbol letter="X" />{' '}
                  <Symbol letter="W" below={name} />
                </>
              }
              class={name}
              rows={kTokenCount}
              columns={kKeySize}
              rowNames={kNames}
              cell={(r, c) => <Num value={at(now.all[name], r, c)} />}
              cellLabel={(r, c) => valueLabel(name, r, c, at(now.all[name], r, c))}
              chosen={name === now.name ? [now.token, now.column] : undefined}
              stop={[now.token, now.column]}
              onChoose={(r, c) => choose(part, r, c)}
            />
          ))}
        </div>
      </div>
    );
  }

  /** One token's x as a column, and a matrix times it. */
  function Columns({ now }: { now: Shown }) {
    const { token, row } = now;
    return (
      <div class="one-token">
        <Choice
          legend={t('tokens.which')}
          value={String(token)}
          options={kNames.map((_, n) => [String(n), kBadges[n]] as const)}
          onValue={(chosen) => choose(entry.value[0], Number(chosen), now.column)}
        />
        {kProjections.map((name, part) => (
          <div
            key={name}
            class="product sideways"
            role="group"
            aria-label={t(`tokens.${name}-of`, { token: kNames[token] })}
          >
            <EditedCells
              caption={<Symbol letter="W" below={name.toUpperCase()} />}
              class="brackets"
              rows={kKeySize}
              columns={kTokenSize}
              range={kEntry}
              value={(r, c) => w[name].value[r * kTokenSize + c]}
              cellLabel={(r, c) =>
                t('tokens.w-entry', { name: `W ${name.toUpperCase()}`, row: r + 1, column: c + 1 })
              }
              cellClass={(r) => (name === now.name && r === now.column ? 'lit' : '')}
              onValue={(r, c, value) => setW(name, r, c, value)}
              onCommit={(joins) => edited(w[name].key, joins)}
            />
            {part === 0 ? (
              <EditedCells
                caption={<Symbol letter="x" />}
                class="brackets"
                rows={kTokenSize}
                columns={1}
                range={kEntry}
                value={(r) => row[r]}
                cellLabel={(r) => t('tokens.x-entry', { token: kNames[token], entry: r + 1 })}
                cellClass={() => (name === now.name ? 'lit' : '')}
                onValue={(r, _, value) => setX(token, r, value)}
                onCommit={(joins) => edited(x.key, joins)}
              />
            ) : (
              <ShownCells
                caption={<Symbol letter="x" />}
                class="brackets"
                rows={kTokenSize}
                columns={1}
                cell={(r) => short(row[r])}
                cellClass={() => (name === now.name ? 'lit' : '')}
              />
            )}
            <span aria-hidden="true">=</span>
            <ChosenCells
              caption={<Symbol letter={name} />}
              class="brackets"
              rows={kKeySize}
              columns={1}
              cell={(r) => <Num value={at(now.all[name], token, r)} />}
              cellLabel={(r) => valueLabel(name, token, r, at(now.all[name], token, r))}
              chosen={name === now.name ? [now.column, 0] : undefined}
              stop={[now.column, 0]}
              onChoose={(r) => choose(part, token, r)}
            />
          </div>
        ))}
      </div>
    );
  }

  return function Products() {
    const now = compute();
    const { name, token, column, row, factors, products } = now;
    const columns = notation.value === 'columns';
    return (
      <Figure
        store={store}
        section="tokens.products"
        title={t('tokens.products')}
        drawn={false}
        numbers={() => [
          [
            'token',
            ...[1, 2, 3].map((n) => `x${n}`),
            ...kProjections.flatMap((p) => [`${p}1`, `${p}2`]),
          ],
          ...kNames.map((letter, n) => [
            letter,
            ...x.value.slice(kTokenSize * n, kTokenSize * (n + 1)),
            ...kProjections.flatMap((p) => [...rowOf(now.all[p], n)]),
          ]),
        ]}
      >
        <div class="whole tokens">
          <Choice
            legend={t('tokens.notation')}
            value={notation.value}
            options={[
              ['rows', t('tokens.as-rows')],
              ['columns', t('tokens.as-columns')],
            ]}
            onValue={(chosen) => {
              notation.set(chosen);
              store.commit(notation.key);
              announce(t(`tokens.says-${chosen}`));
            }}
          />
          {columns ? <Columns now={now} /> : <Rows now={now} />}
          <p class="sum">
            {t(columns ? 'tokens.sum-columns' : 'tokens.sum-rows', {
              entry: column + 1,
              what: t(`tokens.${name}-of`, { token: kNames[token] }),
              token: kNames[token],
              w: columns ? `W_${name.toUpperCase()}` : `W${name}`,
            })}{' '}
            {row.map((value, n) => `${short(value)} × ${short(factors[n])}`).join(' + ')} ={' '}
            {Array.from(products, (product, n) => (
              <>
                {n > 0 && ' + '}
                <Num value={product} />
              </>
            ))}{' '}
            ={' '}
            <strong>
              <Num value={at(now.all[name], token, column)} />
            </strong>
          </p>
        </div>
      </Figure>
    );
  };
}
