import { beforeAll, describe, expect, test } from 'vitest';

import {
  at,
  EngineError,
  fromRows,
  matrix,
  rowOf,
  softmax,
  transposed,
  type Engine,
} from './engine.ts';
import { engine as load, engineModule } from './node.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});

const rounded = (values: ArrayLike<number>, digits: number) =>
  Array.from(values, (x) => Number(x.toFixed(digits)));

describe('the worked example of the lesson', () => {
  const query = fromRows([[1, 2]]);
  const key = fromRows([
    [1, 0],
    [0, 1],
    [1, 1],
  ]);
  const value = fromRows([
    [10, 0],
    [0, 10],
    [5, 5],
  ]);

  test('weights 0.140, 0.284, 0.576 and the result 4.28, 5.72', () => {
    const { out, weights } = engine.attention(query, key, value);
    expect(rounded(weights.data, 3)).toEqual([0.14, 0.284, 0.576]);
    expect(rounded(out.data, 2)).toEqual([4.28, 5.72]);
  });

  test('a masked key has weight 0 and the others keep their ratios', () => {
    const all = engine.attention(query, key, value).weights.data;
    const some = engine.attention(query, key, value, { mask: [true, true, false] }).weights.data;
    expect(some[2]).toBe(0);
    expect(some[1] / some[0]).toBeCloseTo(all[1] / all[0], 5);
  });

  test('all keys masked: zeros', () => {
    const { out, weights } = engine.attention(query, key, value, { mask: [false, false, false] });
    expect([...out.data, ...weights.data]).toEqual([0, 0, 0, 0, 0]);
  });
});

test('the steps of a row are those of the worked example', () => {
  const [q, k, v] = [
    [[1, 2]],
    [
      [1, 0],
      [0, 1],
      [1, 1],
    ],
    [
      [10, 0],
      [0, 10],
      [5, 5],
    ],
  ].map((rows) => fromRows(rows));
  const steps = engine.steps(q, k, v, 0);
  expect(steps.keys.map((key) => key.dot)).toEqual([1, 2, 3]);
  expect(
    rounded(
      steps.keys.map((key) => key.score),
      3,
    ),
  ).toEqual([0.707, 1.414, 2.121]);
  expect(
    rounded(
      steps.keys.map((key) => key.exp),
      3,
    ),
  ).toEqual([0.243, 0.493, 1]); // exp(s - 2.121)
  expect(
    rounded(
      steps.keys.map((key) => key.weight),
      3,
    ),
  ).toEqual([0.14, 0.284, 0.576]);
  expect(rounded(steps.out, 2)).toEqual([4.28, 5.72]);
  expect(steps.sum).toBeCloseTo(1.7362, 4);
  expect(steps.blocks).toHaveLength(1);
});

test('the steps of a long row end in what attention gives, in every bit', () => {
  const generator = engine.generator(3);
  const draw = (rows: number, columns: number) =>
    matrix(rows, columns, generator.normal(rows * columns));
  const [q, k, v] = [draw(2, 8), draw(100, 8), draw(100, 3)];
  generator.free();
  const mask = Array.from({ length: 200 }, (_, n) => n % 7 !== 0);
  const steps = engine.steps(q, k, v, 1, { mask });
  const whole = engine.attention(q, k, v, { mask });
  expect(steps.out).toEqual(rowOf(whole.out, 1).slice());
  expect(steps.keys.map((key) => key.weight)).toEqual([...rowOf(whole.weights, 1)]);
  expect(steps.lse).toBe(whole.lse[1]);
  expect(steps.blocks.map((block) => block.endKey)).toEqual([32, 64, 96, 100]);
  expect(steps.keys.filter((key) => !key.live).map((key) => key.key)).toContain(5); // entry 105
});

test('the norm of the softmax Jacobian', () => {
  expect(engine.jacobianNorm(Float32Array.from([0.25, 0.25, 0.25, 0.25]))).toBeCloseTo(
    Math.sqrt(3) / 4,
    12,
  );
  expect(engine.jacobianNorm(Float32Array.from([1, 0, 0]))).toBe(0);
});

test('positions are sines and cosines', () => {
  const code = engine.positions(0, 4, 4);
  for (let p = 0; p < 4; ++p) {
    const expected = [Math.sin(p), Math.cos(p), Math.sin(p / 100), Math.cos(p / 100)];
    expected.forEach((x, c) => expect(rowOf(code, p)[c]).toBeCloseTo(x, 6));
  }
});

test('matmul and dots of rows', () => {
  const a = fromRows([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const b = fromRows([
    [7, 8],
    [9, 10],
    [11, 12],
  ]);
  expect([...engine.matmul(a, b).data]).toEqual([58, 64, 139, 154]);
  expect([...engine.rowDots(a, a)]).toEqual([14, 77]);
});

test('dots of rows are those of the product, for any number of rows', () => {
  const generator = engine.generator(3);
  for (const [rows, columns] of [
    [1, 5],
    [3, 1],
    [4, 33],
    [7, 64],
    [13, 2],
  ]) {
    const a = matrix(rows, columns, generator.normal(rows * columns));
    const b = matrix(rows, columns, generator.normal(rows * columns));
    const all = engine.matmul(a, transposed(b));
    const diagonal = Array.from({ length: rows }, (_, row) => at(all, row, row));
    expect([...engine.rowDots(a, b)]).toEqual(diagonal);
  }
  generator.free();
});

test('softmax of 8, 0, -8 and of 1, 0, -1', () => {
  expect(rounded(softmax(engine, [8, 0, -8]), 5)).toEqual([0.99966, 0.00034, 0]);
  expect(rounded(softmax(engine, [1, 0, -1]), 3)).toEqual([0.665, 0.245, 0.09]);
});

test("NumPy's generator", () => {
  // np.random.default_rng(0).normal(size=3), .permutation(5) and .integers(0, 10, 4) after it
  const generator = engine.generator(0);
  expect([...generator.normal(3)]).toEqual(
    [0.12573022, -0.13210486, 0.64042265].map((x) => expect.closeTo(x, 8)),
  );
  expect(generator.permutation(5).sort()).toEqual([0, 1, 2, 3, 4]);
  generator.free();
});

test('what the engine refuses, it says in one sentence', () => {
  expect(() => engine.matmul(matrix(1, 2, [1, 2]), matrix(3, 1, [1, 2, 3]))).toThrow(EngineError);
  expect(() => engine.matmul(matrix(1, 2, [1, 2]), matrix(3, 1, [1, 2, 3]))).toThrow(
    'the columns of a must be as many as the rows of b',
  );
});

test('results stay right when the memory of the module grows in a call', () => {
  const n = 400;
  const ones = matrix(n, n, new Float32Array(n * n).fill(1));
  const product = engine.matmul(ones, ones);
  expect(rowOf(product, n - 1)[n - 1]).toBe(n);
  const { out } = engine.attention(ones, ones, ones);
  expect(rowOf(out, 3)[7]).toBeCloseTo(1, 6);
});

test('counts beyond the memory of a module are refused, not cut to 32 bits', async () => {
  const { functions } = await engineModule();
  const address = functions.malloc(64);
  expect(functions.qkv_generator_create(0n, address)).toBe(0);
  for (const count of [2n ** 32n, 2n ** 32n + 2n, 2n ** 62n]) {
    expect(functions.qkv_softmax_jacobian_norm(address, count, 0, address)).toBe(1);
    expect(functions.qkv_generator_create_from_words(address, count, address)).toBe(1);
  }
});
