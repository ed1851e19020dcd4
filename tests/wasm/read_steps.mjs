// The steps of the worked example, read from the memory of engine.wasm as a page reads them:
//
//   node read_steps.mjs engine.wasm
//
// q = [1, 2], keys [1, 0], [0, 1], [1, 1], values [10, 0], [0, 10], [5, 5]. Ends with 1 if a number
// is not the lesson's.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const wasi = new WASI({ version: 'preview1' });
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
wasi.initialize(instance);
const engine = instance.exports;

const view = () => new DataView(engine.memory.buffer);
const place = (bytes) => {
  const address = engine.malloc(bytes);
  new Uint8Array(engine.memory.buffer, address, bytes).fill(0);
  return address;
};
function matrix(rows) {
  const numbers = rows.flat();
  const data = place(4 * numbers.length), shape = place(16), tensor = place(80);
  new Float32Array(engine.memory.buffer, data, numbers.length).set(numbers);
  new BigInt64Array(engine.memory.buffer, shape, 2).set([BigInt(rows.length), BigInt(rows[0].length)]);
  engine.qkv_tensor_init(tensor, data, 0, 2, shape);
  return tensor;
}

// Offsets of bindings/c/layout.cc for wasm32.
const inputs = place(20);
view().setUint32(inputs, 20, true);
view().setUint32(inputs + 8, matrix([[1, 2]]), true);
view().setUint32(inputs + 12, matrix([[1, 0], [0, 1], [1, 1]]), true);
view().setUint32(inputs + 16, matrix([[10, 0], [0, 10], [5, 5]]), true);
const handle = place(4);
let status = engine.qkv_steps_of(inputs, 0, 0n, 0n, 0n, handle);
const description = place(176);
view().setUint32(description, 176, true);
status ||= engine.qkv_steps_describe(view().getUint32(handle, true), description);

const count = (offset) => Number(view().getBigInt64(description + offset, true));
const floats = (offset, length) =>
  [...new Float32Array(engine.memory.buffer, view().getUint32(description + offset, true), length)];
const text = (numbers, digits) => numbers.map((x) => x.toFixed(digits)).join(' ');
const got = [
  `status ${status}, ${count(56)} keys, ${count(64)} block, ${count(72)} merges, d_v ${count(48)}`,
  `dots ${text(floats(92, count(56)), 0)}`,
  `scores ${text(floats(96, count(56)), 3)}`,
  `weights ${text(floats(104, count(56)), 3)}`,
  `rescale ${text(floats(128, count(64)), 0)}`,
  `out ${text(floats(172, count(48)), 2)}`,
].join('\n');
engine.qkv_steps_destroy(view().getUint32(handle, true));
const expected = `status 0, 3 keys, 1 block, 0 merges, d_v 2
dots 1 2 3
scores 0.707 1.414 2.121
weights 0.140 0.284 0.576
rescale 1
out 4.28 5.72`;
console.log(got);
if (got !== expected) {
  console.log(`expected:\n${expected}`);
  process.exitCode = 1;
}
