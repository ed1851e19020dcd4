// The training behind the panel "Watch two heads learn": it runs in slices of a frame, and only in sight.
import { signal } from '@preact/signals';

import type { Engine, Evaluation, Look, Scene, Training } from '../../engine/engine.ts';
import { kTrain } from '../start/heads.ts';
import { Slice } from './slices.ts';

export const kSpeeds = ['slow', 'fast'] as const;
export type Speed = (typeof kSpeeds)[number];

const kSlice = 12; // ms of a frame; a step is at least one slice
const kSlow = 200; // ms from step to step
const kCalm = 500; // ms from drawing to drawing where motion is not wanted

/** An evaluation, and after how many steps. */
export interface Measured extends Evaluation {
  readonly step: number;
}

/** What the heads look at, by the held-out scenes. */
export type Kind = 'near' | 'alike' | 'neither';
export function kindOf({ near, alike }: Evaluation, head: number): Kind {
  const { much, little } = kTrain;
  if (near[head] >= much && alike[head] <= little) return 'near';
  if (alike[head] >= much && near[head] <= little) return 'alike';
  return 'neither';
}

export class Trainer {
  /** Changes with whatever is drawn. */
  readonly drawn = signal(0);
  readonly running = signal(false);
  readonly scene: Scene;
  losses: number[] = [];
  measured: Measured[] = [];
  speed: Speed = 'fast';
  /** Out of sight nothing runs. */
  inSight = true;
  private training: Training | undefined;
  private seed = -1;
  private frame = 0;
  private lastStep = 0;
  private lastDrawn = 0;

  constructor(
    private readonly engine: Engine,
    private readonly onStop: () => void,
  ) {
    this.scene = engine.scene(kTrain.scene);
  }

  /** Begins anew if the seed is another one. */
  follow(seed: number): void {
    if (seed !== this.seed) this.restart(seed);
  }

  restart(seed: number): void {
    this.training?.free();
    this.training = this.engine.training(seed, kTrain.steps);
    this.seed = seed;
    this.losses = [];
    this.measured = [];
    this.measure();
  }

  get step(): number {
    return this.losses.length;
  }
  get over(): boolean {
    return this.step >= kTrain.steps;
  }
  get last(): Measured {
    return this.measured[this.measured.length - 1];
  }
  look(): Look {
    return this.training!.look(this.scene);
  }

  run(): void {
    if (this.running.value || this.over) return;
    this.running.value = true;
    this.lastStep = 0;
    this.frame = requestAnimationFrame(this.advance);
  }
  stop(): void {
    if (!this.running.value) return;
    this.running.value = false;
    cancelAnimationFrame(this.frame);
    this.measure();
    this.draw();
    this.onStop();
  }
  /** One step, by hand. */
  one(): void {
    if (this.over) return;
    this.learn();
    this.measure();
    this.draw();
  }
  draw(): void {
    this.lastDrawn = performance.now();
    this.drawn.value++;
  }

  private readonly advance = (): void => {
    if (!this.running.value) return;
    this.frame = requestAnimationFrame(this.advance);
    const now = performance.now();
    if (!this.inSight || (this.speed === 'slow' && now - this.lastStep < kSlow)) return;
    this.lastStep = now;
    const slice = new Slice(kSlice);
    do this.learn();
    while (this.speed === 'fast' && !slice.over && !this.over);
    if (this.over) this.stop();
    else if (now - this.lastDrawn >= (calm() ? kCalm : 0)) this.draw();
  };

  private learn(): void {
    this.training!.step(1);
    this.losses.push(this.training!.loss());
    if (this.step % kTrain.every === 0) this.measure();
  }

  private measure(): void {
    if (this.measured.length > 0 && this.last.step === this.step) return;
    const { heldOut, scenes } = kTrain;
    this.measured.push({ step: this.step, ...this.training!.evaluate(heldOut, scenes) });
  }
}

function calm(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
