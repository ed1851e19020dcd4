// The table of all turns: scores, scaled scores, weights, outputs; and one row of it as one token's turn.
import { at, fromRows, matrix, rowOf, transposed, type Matrix } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { ChosenCells, ShownCells } from '../../ui/cells.tsx';
import { Choice, Num, Switch, VectorNums } from '../../ui/controls.tsx';
import { Figure } from '../../ui/figure.tsx';
import { kTokenNames, TokenBadge } from '../../ui/plane.tsx';
import { fixed, percent, t } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import { kKeySize, kTokenCount } from '../start/tokens.ts';
import { project, type TokensState } from './tokens_state.ts';

const kNames = kTokenNames.slice(0, kTokenCount);
const kBadges = kNames.map((name, n) => <TokenBadge key={name} token={n} />);
const kTokens = kNames.map((_, n) => n);
const kOnes = matrix(
  kTokenCount,
  1,
  kTokens.map(() => 1),
);
const kScale = matrix(
  kTokenCount,
  kTokenCount,
  kTokens.flatMap((r) => kTokens.map((c) => (r === c ? 1 / Math.sqrt(kKeySize) : 0))),
);

export function turnsFigure({ engine, store }: Lesson, state: TokensState) {
  const { x, w, pair, causal } = state;

  /** Every turn at once. */
  function computeAll() {
    const [q, k, v] = [w.q, w.k, w.v].map((field) => project(engine, x.value, field.value));
    const scores = engine.matmul(q, transposed(k));
    const scaled = engine.matmul(scores, kScale);
    const { out, weights } = engine.attention(q, k, v, { causal: causal.value });
    return { q, k, v, scores, scaled, weights, out, sums: engine.matmul(weights, kOnes) };
  }
  type All = ReturnType<typeof computeAll>;

  /** One token's turn alone, as if no other had one. */
  function computeTurn({ q, k, v }: All, query: number) {
    const mask = kTokens.map((key) => sees(query, key));
    return engine.attention(fromRows([rowOf(q, query)]), k, v, { mask });
  }

  const sees = (query: number, key: number) => !causal.value || key <= query;

  function say() {
    announce(() => {
      const all = computeAll();
      const [query, key] = pair.value;
      const names = { query: kNames[query], key: kNames[key] };
      if (!sees(query, key)) return t('tokens.says-hidden', names);
      return t('tokens.says-pair', {
        ...names,
        score: fixed(at(all.scores, query, key), 2),
        weight: percent(at(all.weights, query, key)),
        output: Array.from(rowOf(all.out, query), (value) => fixed(value, 2)).join(', '),
      });
    });
  }
  const choose = (query: number, key: number) => {
    pair.set([query, key]);
    store.commit(pair.key, true);
    say();
  };

  function Table({
    of,
    caption,
    all,
    weights = false,
  }: {
    of: Matrix;
    caption: string;
    all: All;
    weights?: boolean;
  }) {
    const [query, key] = pair.value;
    return (
      <ChosenCells
        caption={caption}
        rows={kTokenCount}
        columns={kTokenCount}
        rowHeads={kBadges}
        columnHeads={kBadges}
        cell={(r, c) => (sees(r, c) ? <Num value={at(of, r, c)} /> : '–')}
        cellLabel={(r, c) =>
          t(sees(r, c) ? 'tokens.pair' : 'tokens.pair-hidden', {
            query: kNames[r],
            key: kNames[c],
            value: fixed(at(of, r, c), 2),
          })
        }
        cellClass={(r, c) => `${r === query ? 'lit' : ''} ${sees(r, c) ? '' : 'hidden-pair'}`}
        bar={weights ? (r, c) => at(of, r, c) : undefined}
        chosen={[query, key]}
        stop={[query, key]}
        onChoose={choose}
        extraHead={t('tokens.row-sum')}
        extra={weights ? (r) => <Num value={at(all.sums, r, 0)} /> : undefined}
      />
    );
  }

  function Turn({ all }: { all: All }) {
    const [query, key] = pair.value;
    const alone = computeTurn(all, query);
    // The table's row beside the turn's own: they differ by what the matrix [1, -1] leaves.
    const gaps = engine.matmul(
      matrix(1, 2, [1, -1]),
      fromRows([rowOf(all.out, query), alone.out.data]),
    ).data;
    const gap = Math.max(...Array.from(gaps, Math.abs));
    const products = engine.matmul(
      matrix(kKeySize, kKeySize, [at(all.q, query, 0), 0, 0, at(all.q, query, 1)]),
      matrix(kKeySize, 1, rowOf(all.k, key)),
    ).data;
    return (
      <div class="turn">
        <div class="wide sideways" role="group" tabIndex={0} aria-label={t('tokens.turn-region')}>
          <table class="cells turn-table">
            <caption>
              {t('tokens.turn-caption', { token: kNames[query] })}{' '}
              <VectorNums values={rowOf(all.q, query)} />
            </caption>
            <thead>
              <tr>
                {['token', 'key', 'dot', 'scaled', 'weight', 'value'].map((head) => (
                  <th key={head} scope="col">
                    {t(`tokens.head-${head}`)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {kTokens.map((n) => (
                <tr key={n} class={n === key ? 'lit' : ''}>
                  <th scope="row">
                    <button
                      type="button"
                      class="cell"
                      aria-pressed={n === key}
                      aria-label={t('tokens.look-at', { token: kNames[n] })}
                      onClick={() => choose(query, n)}
                    >
                      {kBadges[n]}
                    </button>
                  </th>
                  <td>
                    <VectorNums values={rowOf(all.k, n)} />
                  </td>
                  {sees(query, n) ? (
                    <>
                      <td>
                        <Num value={at(all.scores, query, n)} />
                      </td>
                      <td>
                        <Num value={at(all.scaled, query, n)} />
                      </td>
                      <td class="bar" style={{ '--part': alone.weights.data[n] }}>
                        <Num value={alone.weights.data[n]} digits={3} />
                      </td>
                    </>
                  ) : (
                    <td class="hidden-pair" colSpan={3}>
                      {t('tokens.hidden')}
                    </td>
                  )}
                  <td>
                    <VectorNums values={rowOf(all.v, n)} />
                  </td>
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row" colSpan={4}>
                  {t('tokens.turn-result')}
                </th>
                <td>
                  <Num value={at(all.sums, query, 0)} />
                </td>
                <td>
                  <strong>
                    <VectorNums values={alone.out.data} />
                  </strong>
                </td>
              </tr>
            </tfoot>
          </table>
        </div>
        <p class="sum">
          {sees(query, key) ? (
            <>
              {t('tokens.pair-sum', { query: kNames[query], key: kNames[key] })}{' '}
              <VectorNums values={rowOf(all.q, query)} /> ·{' '}
              <VectorNums values={rowOf(all.k, key)} /> = <Num value={products[0]} /> +{' '}
              <Num value={products[1]} /> ={' '}
              <strong>
                <Num value={at(all.scores, query, key)} />
              </strong>
            </>
          ) : (
            t('tokens.says-hidden', { query: kNames[query], key: kNames[key] })
          )}
        </p>
        <p>
          {t('tokens.alone', { token: kNames[query] })}{' '}
          <Num value={gap} text={gap === 0 ? '0' : undefined} digits={8} />
        </p>
      </div>
    );
  }

  return function Turns() {
    const all = computeAll();
    const [query, key] = pair.value;
    return (
      <Figure
        store={store}
        section="tokens.turns"
        title={t('tokens.turns')}
        drawn={false}
        numbers={() => [
          ['query', 'key', 'score', 'scaled', 'weight'],
          ...kTokens.flatMap((r) =>
            kTokens.map((c) => [
              kNames[r],
              kNames[c],
              ...(sees(r, c) ? [at(all.scores, r, c), at(all.scaled, r, c)] : ['', '']),
              at(all.weights, r, c),
            ]),
          ),
          ['token', 'output 1', 'output 2'],
          ...kTokens.map((n) => [kNames[n], ...rowOf(all.out, n)]),
        ]}
      >
        <div class="whole tokens">
          <div class="turn-controls">
            <Choice
              legend={t('tokens.whose')}
              value={String(query)}
              options={kTokens.map((n) => [String(n), kBadges[n]] as const)}
              onValue={(chosen) => choose(Number(chosen), key)}
            />
            <Switch
              label={t('tokens.causal')}
              value={causal.value}
              onValue={(value) => {
                causal.set(value);
                store.commit(causal.key);
                say();
              }}
            />
          </div>
          <div
            class="wide sideways"
            role="group"
            tabIndex={0}
            aria-label={t('tokens.turns-region')}
          >
            <div class="stages">
              <Table of={all.scores} caption={t('tokens.scores')} all={all} />
              <Table of={all.scaled} caption={t('tokens.scaled')} all={all} />
              <Table of={all.weights} caption={t('tokens.weights')} all={all} weights />
              <ShownCells
                caption={t('tokens.outputs')}
                rows={kTokenCount}
                columns={kKeySize}
                rowHeads={kBadges}
                columnHeads={['1', '2']}
                cell={(r, c) => <Num value={at(all.out, r, c)} />}
                cellClass={(r) => (r === query ? 'lit' : '')}
              />
            </div>
          </div>
          <Turn all={all} />
        </div>
      </Figure>
    );
  };
}
