// Several heads: the same matrices as one head of full size, or as two of half the size.
import { rowOf } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Choice, MatrixEditor, Num } from '../../ui/controls.tsx';
import { numbers, oneOf, type Range } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import { spoken, Symbols } from '../../ui/symbols.tsx';
import { fixed, percent, short, t } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import { kMatrices, kOriginal, kPresets, kThings, kTokens, type Matrices } from '../start/heads.ts';
import { multiHead, tokenMatrix } from './heads_compute.ts';
import { Costs, kHeadCounts } from './heads_cost.tsx';
import { Looks, ThingBadge, thingText } from './heads_drawing.tsx';
import { makeTrain } from './heads_train.tsx';
import './heads.css';

const kEntries: Range = { min: -9, max: 9, step: 0.01 };
const kNames = ['A', 'B', 'C', 'D', 'E', 'F'] as const;
const kKinds = ['q', 'k', 'v', 'o'] as const;

/** What rounding leaves of a 0 is shown as 0. */
const resultText = (value: number) => fixed(Math.abs(value) < 1e-6 ? 0 : value, 2);

export function headsSection({ engine, store }: Lesson) {
  const chosen = store.field('heads.look.token', oneOf(...kNames), 'A');
  const count = store.field(
    'heads.cost.count',
    oneOf(...kHeadCounts),
    String(kOriginal.heads) as '8',
  );
  const entries = numbers(16, kEntries);
  const matrices = {
    q: store.field('heads.look.q', entries, kMatrices.q),
    k: store.field('heads.look.k', entries, kMatrices.k),
    v: store.field('heads.look.v', entries, kMatrices.v),
    o: store.field('heads.look.o', entries, kMatrices.o),
  };
  const tokens = tokenMatrix();

  function compute() {
    const w = Object.fromEntries(
      kKinds.map((kind) => [kind, matrices[kind].value]),
    ) as unknown as Matrices;
    return { one: multiHead(engine, tokens, w, 1), two: multiHead(engine, tokens, w, 2) };
  }

  /** What a head looks at most, in words: for those who can't see its lines. */
  function looks(weights: Float32Array): string {
    const order = kThings.map((_, n) => n).sort((a, b) => weights[b] - weights[a]);
    return order
      .slice(0, 3)
      .map((n) => `${kThings[n].name} ${percent(weights[n])}`)
      .join(', ');
  }

  function choose(token: number): void {
    chosen.set(kNames[token]);
    store.commit(chosen.key, true);
    say();
  }
  function say(): void {
    announce(() => {
      const token = kNames.indexOf(chosen.value);
      const { one, two } = compute();
      return t('heads.says', {
        token: thingText(token),
        one: looks(rowOf(one.heads[0].weights, token)),
        first: looks(rowOf(two.heads[0].weights, token)),
        second: looks(rowOf(two.heads[1].weights, token)),
      });
    });
  }
  function setAll(preset: Matrices): void {
    for (const kind of kKinds) matrices[kind].set(preset[kind]);
    store.commit();
    say();
  }
  function random(): Matrices {
    const generator = engine.generator(Math.floor(Math.random() * 2 ** 32));
    const draw = () => Array.from(generator.normal(16), (x) => Math.round(10 * x) / 10);
    const drawn = { q: draw(), k: draw(), v: draw(), o: draw() };
    generator.free();
    return drawn;
  }

  function Look() {
    const token = kNames.indexOf(chosen.value);
    const { one, two } = compute();
    const all = [one.heads[0], ...two.heads];
    const names = [t('heads.one'), t('heads.first'), t('heads.second')];
    const weights = all.map((head) => rowOf(head.weights, token));
    const results = [
      ['one-joined', one.joined],
      ['one-out', one.out],
      ['two-joined', two.joined],
      ['two-out', two.out],
    ] as const;
    const meanings = ['colour-1', 'colour-2', 'shape-1', 'shape-2'].map((key) => t(`heads.${key}`));
    return (
      <Figure
        store={store}
        section="heads.look"
        title={t('heads.figure')}
        numbers={() => [
          [t('heads.weights-of', { token: kNames[token] }), ...names],
          ...kThings.map((_, n) => [thingText(n), ...weights.map((row) => row[n])]),
          ['', '1', '2', '3', '4'],
          ...results.map(([key, m]) => [t(`heads.${key}`), ...rowOf(m, token)]),
        ]}
      >
        <Choice
          legend={t('heads.token')}
          value={chosen.value}
          options={kNames.map((name, n) => [name, <ThingBadge key={name} token={n} />])}
          onValue={(name) => choose(kNames.indexOf(name))}
        />
        <div class="heads-panels">
          {names.map((name, n) => (
            <Looks
              key={name}
              title={name}
              label={t('heads.drawing', {
                head: name,
                token: thingText(token),
                weights: looks(weights[n]),
              })}
              chosen={token}
              weights={weights[n]}
              onChoose={choose}
            />
          ))}
        </div>
        <div class="heads-tables">
          <div
            class="heads-scroll sideways"
            role="group"
            aria-label={t('heads.weights-table')}
            tabIndex={0}
          >
            <table class="heads-table heads-weights">
              <caption>{t('heads.weights-of', { token: kNames[token] })}</caption>
              <thead>
                <tr>
                  <th scope="col">{t('heads.to')}</th>
                  {names.map((name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {kThings.map((_, n) => (
                  <tr key={n}>
                    <th scope="row">
                      <ThingBadge token={n} />
                    </th>
                    {weights.map((row, head) => (
                      <td key={head}>
                        <span
                          class="heads-bar"
                          style={{ inlineSize: `${50 * Math.min(1, Math.max(0, row[n]))}%` }}
                        />
                        <Num value={row[n]} digits={3} />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <div
            class="heads-scroll sideways"
            role="group"
            aria-label={t('heads.results-table')}
            tabIndex={0}
          >
            <table class="heads-table heads-results">
              <caption>{t('heads.results-of', { token: kNames[token] })}</caption>
              <thead>
                <tr>
                  <td />
                  {[1, 2, 3, 4].map((n) => (
                    <th key={n} scope="col">
                      {n}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {results.map(([key, m]) => (
                  <tr key={key} class={key}>
                    <th scope="row">
                      <Symbols text={t(`heads.${key}`)} />
                    </th>
                    {Array.from(rowOf(m, token), (value, n) => (
                      <td key={n} class={key === 'two-joined' && n === 2 ? 'heads-seam' : ''}>
                        <Num value={value} text={resultText(value)} />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
        <div class="heads-presets" role="group" aria-label={t('heads.presets')}>
          <span>{t('heads.presets')}</span>
          {(['own', 'swapped', 'same'] as const).map((name) => (
            <button key={name} type="button" onClick={() => setAll(kPresets[name])}>
              {t(`heads.preset-${name}`)}
            </button>
          ))}
          <button type="button" onClick={() => setAll(random())}>
            {t('heads.preset-random')}
          </button>
        </div>
        <details class="heads-matrices">
          <summary>{t('heads.edit')}</summary>
          <div class="heads-editors">
            <div
              class="heads-scroll sideways"
              role="group"
              aria-label={t('heads.tokens')}
              tabIndex={0}
            >
              <table class="heads-table">
                <caption>{t('heads.tokens')}</caption>
                <thead>
                  <tr>
                    <td />
                    {meanings.map((meaning) => (
                      <th key={meaning} scope="col">
                        {meaning}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {kTokens.map((values, n) => (
                    <tr key={n}>
                      <th scope="row">
                        <ThingBadge token={n} />
                      </th>
                      {values.map((value, c) => (
                        <td key={c}>{short(value)}</td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {kKinds.map((kind) => {
              const heads = [1, 1, 2, 2].map((head) => t('heads.head', { head }));
              return (
                <div
                  class="heads-scroll sideways"
                  key={kind}
                  role="group"
                  aria-label={spoken(t(`heads.matrix-${kind}`))}
                  tabIndex={0}
                >
                  <p class="heads-name">
                    <Symbols text={t(`heads.matrix-${kind}`)} />
                  </p>
                  <MatrixEditor
                    store={store}
                    field={matrices[kind]}
                    columns={4}
                    range={kEntries}
                    name={t(`heads.matrix-${kind}`)}
                    rowNames={kind === 'o' ? undefined : heads}
                    onCommit={(joins) => {
                      store.commit(matrices[kind].key, joins);
                      say();
                    }}
                  />
                </div>
              );
            })}
          </div>
        </details>
      </Figure>
    );
  }

  return {
    'heads-look': Look,
    'heads-cost': () => <Costs engine={engine} store={store} count={count} />,
    'heads-train': makeTrain(engine, store),
  };
}
