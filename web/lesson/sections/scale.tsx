// Dividing by the square root of d_k keeps the softmax from saturating.
import { number, numbers, oneOf } from '../../ui/fields.ts';
import type { Lesson } from '../context.ts';
import { kScale } from '../start/scale.ts';
import { makeGradient } from './scale_gradient.tsx';
import { kSeed, kSize, Spread } from './scale_histogram.tsx';
import { kNudge, kScores, kTokens, Nudge } from './scale_nudge.tsx';
import { Sampler } from './scale_sampler.ts';
import { makeTrend } from './scale_trend.tsx';
import './scale.css';

export function scaleSection({ engine, store }: Lesson) {
  const sampler = new Sampler(engine, kScale.dots);
  const size = store.field('scale.spread.size', number(kSize), kScale.size);
  const seed = store.field('scale.spread.seed', number(kSeed), kScale.seed);
  const large = store.field('scale.nudge.large', numbers(3, kScores), kScale.large);
  const small = store.field('scale.nudge.small', numbers(3, kScores), kScale.small);
  const nudge = store.field('scale.nudge.by', number(kNudge), 0);
  const which = store.field('scale.nudge.token', oneOf(...kTokens), 'B');
  const kDrawn = { min: 0, max: 999, step: 1 };
  const gradientSeed = store.field('scale.gradient.seed', number(kDrawn), 0);
  const trendSeed = store.field('scale.trend.seed', number(kDrawn), 0);

  return {
    'scale-spread': () => (
      <Spread engine={engine} store={store} size={size} seed={seed} sampler={sampler} />
    ),
    'scale-nudge': () => (
      <Nudge
        engine={engine}
        store={store}
        large={large}
        small={small}
        nudge={nudge}
        which={which}
      />
    ),
    'scale-trend': makeTrend(engine, store, trendSeed),
    'scale-gradient': makeGradient(engine, store, gradientSeed),
  };
}
