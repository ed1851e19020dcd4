// Two heads that learn while the reader watches: what does each come to look at?
import { useEffect, useRef } from 'preact/hooks';

import { kScenePoints, rowOf, type Engine } from '../../engine/engine.ts';
import { announce } from '../../ui/announce.ts';
import { Choice, Num, NumberInput, Slider } from '../../ui/controls.tsx';
import { number, oneOf } from '../../ui/fields.ts';
import { Figure } from '../../ui/figure.tsx';
import type { Store } from '../../ui/store.ts';
import { fixed, percent, short, t } from '../../ui/text.ts';
import { kTrain } from '../start/heads.ts';
import { Curve, lookText, rounded, SceneDrawing } from './heads_train_drawing.tsx';
import { kindOf, kSpeeds, Trainer, type Measured } from './heads_trainer.ts';
import './heads_train.css';

const kSeed = { min: 0, max: 9999, step: 1 };
const kColumns = ['step', 'loss', 'accuracy', 'near-1', 'alike-1', 'near-2', 'alike-2'];
const kPoint = { min: 1, max: kScenePoints, step: 1 };

/** What is to be seen now. */
function finding(step: number, measured: Measured): string {
  if (step === 0) return t('heads.train-says-start');
  const kinds = [0, 1].map((head) => kindOf(measured, head));
  const heads = { near: kinds.indexOf('near') + 1, alike: kinds.indexOf('alike') + 1 };
  if (heads.near > 0 && heads.alike > 0) return t('heads.train-says-both', heads);
  if (kinds[0] !== 'neither' && kinds[0] === kinds[1]) return t(`heads.train-says-two-${kinds[0]}`);
  if (heads.near > 0) return t('heads.train-says-near', { head: heads.near });
  if (heads.alike > 0) return t('heads.train-says-alike', { head: heads.alike });
  return t('heads.train-says-neither');
}

export function makeTrain(engine: Engine, store: Store) {
  const seed = store.field('heads.train.seed', number(kSeed), kTrain.seed);
  const speed = store.field('heads.train.speed', oneOf(...kSpeeds), 'fast');
  const point = store.field('heads.train.point', number(kPoint), kTrain.point);

  const say = () =>
    announce(() =>
      t('heads.train-says', {
        step: short(trainer.step, 0),
        accuracy: percent(trainer.last.accuracy),
        finding: finding(trainer.step, trainer.last),
      }),
    );
  const trainer = new Trainer(engine, say);

  function begin(from: number, running: boolean): void {
    trainer.stop();
    seed.set(from);
    store.commit(seed.key, true);
    trainer.restart(seed.value);
    trainer.draw();
    if (running) trainer.run();
    else say();
  }
  function choose(chosen: number): void {
    point.set(chosen);
    store.commit(point.key, true);
  }

  function Controls() {
    const running = trainer.running.value;
    const { over } = trainer;
    return (
      <div class="train-controls">
        <div class="heads-presets">
          <button
            type="button"
            class="primary train-run"
            aria-disabled={over}
            onClick={() => {
              if (running) trainer.stop();
              else trainer.run();
            }}
          >
            {t(running ? 'heads.train-pause' : 'heads.train-run')}
          </button>
          <button
            type="button"
            aria-disabled={running || over}
            onClick={() => {
              if (running || over) return;
              trainer.one();
              say();
            }}
          >
            {t('heads.train-one')}
          </button>
          <button type="button" onClick={() => begin(seed.value, false)}>
            {t('heads.train-restart')}
          </button>
          <label class="train-seed">
            {t('heads.train-seed')}
            <NumberInput
              value={seed.value}
              label={t('heads.train-seed')}
              range={kSeed}
              onValue={(value) => seed.set(value)}
              onCommit={(joins) => store.commit(seed.key, joins)}
            />
          </label>
          <button type="button" onClick={() => begin((seed.value + 1) % (kSeed.max + 1), running)}>
            {t('heads.train-new-seed')}
          </button>
          <button type="button" onClick={() => begin(kTrain.stuck, true)}>
            {t('heads.train-stuck', { seed: kTrain.stuck })}
          </button>
        </div>
        <Choice
          legend={t('heads.train-speed')}
          value={speed.value}
          options={kSpeeds.map((name) => [name, t(`heads.train-${name}`)])}
          onValue={(value) => {
            speed.set(value);
            store.commit(speed.key);
          }}
        />
      </div>
    );
  }

  function Meters({ measured }: { measured: Measured }) {
    const columns = [
      [t('heads.train-near'), measured.near],
      [t('heads.train-alike'), measured.alike],
    ] as const;
    return (
      <div
        class="heads-scroll sideways"
        role="group"
        aria-label={t('heads.train-meters')}
        tabIndex={0}
      >
        <table class="heads-table train-meters">
          <caption>{t('heads.train-meters')}</caption>
          <thead>
            <tr>
              <td />
              {columns.map(([name]) => (
                <th key={name} scope="col">
                  {t('heads.train-to', { name })}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {[0, 1].map((head) => (
              <tr key={head}>
                <th scope="row">{t('heads.train-head', { head: head + 1 })}</th>
                {columns.map(([name, weights]) => (
                  <td key={name}>
                    <span
                      class="train-bar"
                      style={{ inlineSize: `${65 * Math.min(1, Math.max(0, weights[head]))}%` }}
                    />
                    <Num value={weights[head]} text={rounded(weights[head])} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  return function Train() {
    const place = useRef<HTMLDivElement>(null);
    useEffect(() => {
      const watch = new IntersectionObserver((entries) => {
        trainer.inSight = entries[entries.length - 1].isIntersecting;
      });
      watch.observe(place.current!);
      return () => watch.disconnect();
    }, []);
    // Undo and links change the seed too.
    trainer.follow(seed.value);
    trainer.speed = speed.value;
    void trainer.drawn.value;
    const { step, losses, measured, last, scene } = trainer;
    const chosen = point.value - 1;
    const { weights } = trainer.look();
    const loss = losses[step - 1];
    const steps = short(kTrain.steps, 0);
    return (
      <Figure
        store={store}
        section="heads.train"
        title={t('heads.train')}
        numbers={() => [
          kColumns.map((name) => t(`heads.train-csv-${name}`)),
          ...measured.map((m) => [
            m.step,
            losses[m.step - 1] ?? '',
            m.accuracy,
            m.near[0],
            m.alike[0],
            m.near[1],
            m.alike[1],
          ]),
        ]}
        onReset={() => {
          trainer.stop();
          store.reset('heads.train');
          trainer.restart(seed.value);
          trainer.draw();
        }}
      >
        <div class="train-all" ref={place} data-step={step} data-seed={seed.value}>
          <Controls />
          <p class="train-words">
            <strong>{t('heads.train-step', { step: short(step, 0), steps })}</strong>{' '}
            {t('heads.train-right')} <Num value={last.accuracy} text={percent(last.accuracy)} />.{' '}
            <span class="train-finding">{finding(step, last)}</span>
            {trainer.over && ` ${t('heads.train-over')}`}
          </p>
          <Meters measured={last} />
          <div class="heads-panels">
            {weights.map((ofHead, head) => {
              const name = t('heads.train-head', { head: head + 1 });
              return (
                <SceneDrawing
                  key={head}
                  title={t('heads.train-scene', { name, point: point.value })}
                  label={t('heads.train-drawing', {
                    name,
                    point: point.value,
                    look: lookText(scene, rowOf(ofHead, chosen), chosen),
                  })}
                  scene={scene}
                  weights={ofHead}
                  chosen={chosen}
                  onChoose={(n) => choose(n + 1)}
                />
              );
            })}
          </div>
          <Slider
            label={t('heads.train-point')}
            value={point.value}
            range={kPoint}
            onValue={(value) => point.set(value)}
            onCommit={(joins) => store.commit(point.key, joins)}
          />
          <div class="train-curves">
            <Curve
              title={t('heads.train-loss')}
              label={t('heads.train-loss-drawing', {
                step: short(step, 0),
                loss: loss === undefined ? '–' : fixed(loss, 2),
              })}
              top={1.8}
              points={losses.map((value, n) => [n + 1, value] as const)}
              marks={[0, 0.5, 1, 1.5].map((value) => [value, short(value, 1)] as const)}
            />
            <Curve
              title={t('heads.train-accuracy')}
              label={t('heads.train-accuracy-drawing', {
                step: short(step, 0),
                accuracy: percent(last.accuracy),
              })}
              top={1}
              points={measured.map(({ step: n, accuracy }) => [n, accuracy] as const)}
              marks={[0.25, 0.5, 1].map((value) => [value, percent(value)] as const)}
            />
          </div>
        </div>
      </Figure>
    );
  };
}
