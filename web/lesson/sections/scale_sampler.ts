// Dot products of random vectors by the ten thousand, in slices; the newest request wins.
import { matrix, type Engine, type Generator } from '../../engine/engine.ts';
import { Slice } from './slices.ts';

/** Some of the dot products asked for: the first `count`. */
export interface Sample {
  readonly size: number; // d_k
  readonly seed: number;
  readonly count: number;
  readonly whole: boolean;
  readonly before: Float32Array;
  readonly after: Float32Array; // divided by sqrt(size)
  readonly spreadBefore: number;
  readonly spreadAfter: number;
}

const kSlice = 3; // ms
const kDrawn = 1 << 15; // normal numbers drawn at a time, about 0.5 ms
const kWork = 1 << 15; // products summed at a time, about 0.7 ms
const kFirst = 1000; // dots that already show the shape
const kShowAgain = 60; // ms
const kSoon = 128; // up to this size all dots take less than 0.1 s

/** The standard deviation, as NumPy's std(). */
export function spread(engine: Engine, values: Float32Array): number {
  const n = values.length;
  const pairs = new Float32Array(2 * n);
  for (let i = 0; i < n; ++i) {
    pairs[2 * i] = values[i];
    pairs[2 * i + 1] = 1;
  }
  const [squares, sum] = engine.matmul(matrix(1, n, values), {
    rows: n,
    columns: 2,
    data: pairs,
  }).data;
  return Math.sqrt(squares / n - (sum / n) ** 2);
}

/** NumPy's default_rng(seed).normal(): the stream, as far as it was needed. */
class Stream {
  private readonly generator: Generator;
  private numbers = new Float32Array(0);
  private drawn = 0;

  constructor(
    engine: Engine,
    readonly seed: number,
  ) {
    this.generator = engine.generator(seed);
  }
  free(): void {
    this.generator.free();
  }
  reserve(count: number): void {
    if (this.numbers.length >= count) return;
    const more = new Float32Array(count);
    more.set(this.numbers.subarray(0, this.drawn));
    this.numbers = more;
  }
  /** Draws some of what lacks to `count` numbers, which were reserved. True if nothing lacks. */
  draw(count: number): boolean {
    if (this.drawn >= count) return true;
    const some = Math.min(kDrawn, count - this.drawn);
    this.numbers.set(this.generator.normal(some), this.drawn);
    this.drawn += some;
    return this.drawn >= count;
  }
  part(begin: number, end: number): Float32Array {
    return this.numbers.subarray(begin, end);
  }
}

/**
 * As scaling.py: q = rng.normal(size=(dots, size)), then k alike, then (q * k).sum(axis=1). The numbers of a seed
 * are kept, since another size takes its q and k from the same stream.
 */
export class Sampler {
  private stream: Stream | undefined;
  private newest = 0;

  constructor(
    private readonly engine: Engine,
    private readonly dots: number,
  ) {}

  /** All dots at once, for a page that has nothing to show yet; only the first if all would take long. */
  first(size: number, seed: number): Sample {
    const count = size <= kSoon ? this.dots : kFirst;
    const stream = this.streamOf(seed, size);
    while (!stream.draw((this.dots + count) * size));
    const before = new Float32Array(this.dots);
    this.fill(stream, size, before, 0, count);
    return this.sampleOf(size, seed, before, count);
  }

  /** Calls `show` with a part of the dots as soon as it shows something, and with all in the end. */
  async request(size: number, seed: number, show: (sample: Sample) => void): Promise<void> {
    const mine = ++this.newest;
    const stream = this.streamOf(seed, size);
    const slice = new Slice(kSlice);
    const before = new Float32Array(this.dots);
    const rows = Math.max(4, Math.floor(kWork / (size + 24)));
    const work = this.dots * size;
    let shown = 0;
    await slice.rest();
    for (let row = 0; row < this.dots && mine === this.newest;) {
      const end = Math.min(this.dots, row + rows);
      if (stream.draw(work + end * size)) {
        this.fill(stream, size, before, row, end);
        row = end;
      }
      const now = performance.now();
      if (row === this.dots || (row >= kFirst && now - shown > kShowAgain)) {
        shown = now;
        show(this.sampleOf(size, seed, before, row));
      }
      if (slice.over) await slice.rest();
    }
  }

  /** Draws the numbers for the largest size while nothing else is to be done. */
  async prepare(size: number, seed: number): Promise<void> {
    const mine = this.newest;
    const stream = this.streamOf(seed, size);
    const slice = new Slice(kSlice);
    while (mine === this.newest && !stream.draw(2 * this.dots * size)) {
      if (slice.over) await slice.rest();
    }
  }

  private streamOf(seed: number, size: number): Stream {
    if (this.stream?.seed !== seed) {
      this.stream?.free();
      this.stream = new Stream(this.engine, seed);
    }
    this.stream.reserve(2 * this.dots * size);
    return this.stream;
  }

  private fill(stream: Stream, size: number, dots: Float32Array, row: number, end: number): void {
    const part = (first: number) => ({
      rows: end - row,
      columns: size,
      data: stream.part((first + row) * size, (first + end) * size),
    });
    dots.set(this.engine.rowDots(part(0), part(this.dots)), row);
  }

  private sampleOf(size: number, seed: number, dots: Float32Array, count: number): Sample {
    const before = dots.slice(0, count);
    const divide = matrix(1, 1, [1 / Math.sqrt(size)]);
    const after = this.engine.matmul({ rows: count, columns: 1, data: before }, divide).data;
    return {
      size,
      seed,
      count,
      whole: count === this.dots,
      before,
      after,
      spreadBefore: spread(this.engine, before),
      spreadAfter: spread(this.engine, after),
    };
  }
}
