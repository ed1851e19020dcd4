// How the engine does it: the softmax of a row, block by block, with a running maximum and a running sum.
import { computed } from '@preact/signals';

import { rowOf } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Choice, Num, NumberInput, Slider } from '../../ui/controls.tsx';
import { number, oneOf } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import { fixed, short, t } from '../../ui/text.ts';
import type { Lesson } from '../context.ts';
import { kMachine } from '../start/machine.ts';
import { BlockBars } from './machine_bars.tsx';
import { attentionOver, bits, kOrders, problem, quotient, stepsOf } from './machine_compute.ts';
import { kShifts, Overflow } from './machine_overflow.tsx';
import './machine.css';

export function machineSection({ engine, store }: Lesson) {
  const blockCount = Math.ceil(kMachine.keys / engine.info.block);
  const kRead = { min: 0, max: blockCount, step: 1 };
  const kSeed = { min: 0, max: 9999, step: 1 };
  const order = store.field('machine.blocks.order', oneOf(...kOrders), 'drawn');
  const seed = store.field('machine.blocks.seed', number(kSeed), kMachine.seed);
  const read = store.field('machine.blocks.read', number(kRead), 1);
  const shift = store.field('machine.overflow.shift', oneOf(...kShifts), String(kMachine.shift));

  const made = computed(() => {
    const asked = problem(engine, seed.value, order.value);
    return { asked, steps: stepsOf(engine, asked) };
  });

  function say(): void {
    announce(() => {
      const blocks = made.value.steps.blocks;
      const n = read.value;
      if (n === 0) return t('machine.says-none');
      const { maxBefore, max, rescale, sum } = blocks[n - 1];
      const key =
        n === 1
          ? 'machine.says-first'
          : max > maxBefore
            ? 'machine.says-grew'
            : 'machine.says-same';
      return t(key, {
        block: n,
        max: fixed(max, 2),
        rescale: fixed(rescale, 3),
        sum: fixed(sum, 2),
      });
    });
  }
  /** Buttons at an end keep the focus, but do nothing. */
  function go(to: number): void {
    if (to < 0 || to > blockCount || to === read.value) return;
    read.set(to);
    store.commit(read.key, true);
    say();
  }

  function Blocks() {
    const { asked, steps } = made.value;
    const { blocks } = steps;
    const n = read.value;
    return (
      <Figure
        store={store}
        section="machine.blocks"
        title={t('machine.figure')}
        numbers={() => [
          [t('machine.keys'), 'm', t('machine.rescale'), 'L', 'l', 'O 1', 'O 2'],
          ...blocks
            .slice(0, n)
            .map(({ firstKey, endKey, max, rescale, blockSum, sum, accumulator }) => [
              `${firstKey + 1}-${endKey}`,
              max,
              rescale,
              blockSum,
              sum,
              ...accumulator,
            ]),
        ]}
      >
        <div class="machine-controls">
          <Choice
            legend={t('machine.order')}
            value={order.value}
            options={kOrders.map((name) => [name, t(`machine.order-${name}`)])}
            onValue={(name) => {
              order.set(name);
              store.commit(order.key);
              say();
            }}
          />
          <div class="machine-buttons">
            <button type="button" aria-disabled={n === 0} onClick={() => go(n - 1)}>
              {t('machine.back')}
            </button>
            <button
              type="button"
              class="primary"
              aria-disabled={n === blockCount}
              onClick={() => go(n + 1)}
            >
              {t('machine.next')}
            </button>
            <button type="button" aria-disabled={n === blockCount} onClick={() => go(blockCount)}>
              {t('machine.all')}
            </button>
            <span class="machine-seed">
              <span>{t('machine.seed')}</span>
              <NumberInput
                label={t('machine.seed')}
                value={seed.value}
                range={kSeed}
                onValue={(value) => seed.set(value)}
                onCommit={(joins) => {
                  store.commit(seed.key, joins);
                  say();
                }}
              />
            </span>
          </div>
          <Slider
            label={t('machine.read')}
            value={n}
            range={kRead}
            text={t('machine.read-of', { read: n, blocks: blockCount })}
            onValue={(value) => read.set(value)}
            onCommit={(joins) => {
              store.commit(read.key, joins);
              say();
            }}
          />
        </div>
        <div class="machine-drawing">
          <BlockBars steps={steps} read={n} />
        </div>
        <div
          class="machine-scroll sideways"
          role="group"
          aria-label={t('machine.state')}
          tabIndex={0}
        >
          <table class="machine-table">
            <caption>{t('machine.state')}</caption>
            <thead>
              <tr>
                <th scope="col">{t('machine.keys')}</th>
                <th scope="col">{t('machine.max')}</th>
                <th scope="col">{t('machine.rescale')}</th>
                <th scope="col">{t('machine.block-sum')}</th>
                <th scope="col">{t('machine.sum')}</th>
                <th scope="col">{t('machine.accumulator')}</th>
              </tr>
            </thead>
            <tbody>
              {blocks.map((block, b) => (
                <tr key={b} class={b === n - 1 ? 'newest' : ''}>
                  <th scope="row">
                    {t('machine.keys-of', { first: block.firstKey + 1, end: block.endKey })}
                  </th>
                  {b < n ? (
                    <>
                      <td>
                        <Num value={block.max} digits={3} />
                      </td>
                      <td
                        class={b > 0 && block.max > block.maxBefore ? 'machine-grew' : ''}
                        key={`${b} ${b === n - 1}`}
                      >
                        {b === 0 ? (
                          '–'
                        ) : (
                          <>
                            × <Num value={block.rescale} digits={4} />
                          </>
                        )}
                      </td>
                      <td>
                        <Num value={block.blockSum} digits={3} />
                      </td>
                      <td>
                        <Num value={block.sum} digits={3} />
                      </td>
                      <td>
                        {Array.from(block.accumulator, (o, c) => [
                          c > 0 && ' ',
                          <span key={c} class="machine-entry">
                            <Num value={o} digits={3} />
                            {c < block.accumulator.length - 1 && ','}
                          </span>,
                        ])}
                      </td>
                    </>
                  ) : (
                    <td colSpan={5} class="machine-later">
                      {t('machine.not-yet')}
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {n > 0 && <Check n={n} asked={asked} />}
      </Figure>
    );
  }

  /** O / l of what was read beside attention over the same keys: the same in every bit. */
  function Check({ n, asked }: { n: number; asked: ReturnType<typeof problem> }) {
    const { steps } = made.value;
    const { endKey, sum, accumulator } = steps.blocks[n - 1];
    const divided = quotient(accumulator, sum);
    const whole = rowOf(attentionOver(engine, asked, endKey).out, 0);
    const same = Array.from(divided, bits).join() === Array.from(whole, bits).join();
    const lines = [
      ['machine.divided', divided],
      ['machine.attention', whole],
    ] as const;
    return (
      <div class="machine-check">
        <div
          class="machine-scroll sideways"
          role="group"
          aria-label={t('machine.check')}
          tabIndex={0}
        >
          <table class="machine-table">
            <caption>{t('machine.check')}</caption>
            <thead>
              <tr>
                <td />
                {Array.from(divided, (_, c) => (
                  <th key={c} scope="col">
                    {t('machine.entry', { entry: c + 1 })}
                  </th>
                ))}
                <th scope="col">{t('machine.bits')}</th>
              </tr>
            </thead>
            <tbody>
              {lines.map(([key, values]) => (
                <tr key={key}>
                  <th scope="row">{t(key, { keys: short(endKey) })}</th>
                  {Array.from(values, (value, c) => (
                    <td key={c}>
                      <Num value={value} digits={8} />
                    </td>
                  ))}
                  <td>
                    {Array.from(values, (value, c) => (
                      <code key={c} class="num">
                        {bits(value)}{' '}
                      </code>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class={`machine-verdict ${same ? 'good' : 'bad'}`}>
          {t(same ? 'machine.same' : 'machine.differs')}
        </p>
      </div>
    );
  }

  return {
    'machine-blocks': Blocks,
    'machine-overflow': () => <Overflow engine={engine} store={store} shift={shift} />,
  };
}
