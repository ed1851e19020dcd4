// Compares the results of the engine in WebAssembly with native ones, problem by problem:
//
//   node compare_bits.mjs NATIVE_bit_hashes bit_hashes.wasm RANDOM_PROBLEMS
//
// The native scalar program `exact` says what is right. Ends with 1 if a line differs anywhere.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const [native, module, count = '400'] = process.argv.slice(2);
const runWasi = fileURLToPath(new URL('run_wasi.mjs', import.meta.url));

function hashes(command, args) {
  const run = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (run.error) throw run.error;
  if (run.status !== 0) return { failure: run.stderr.trim() || `exit code ${run.status}` };
  return { lines: run.stdout.trim().split('\n') };
}
const natively = (kernel) => hashes(native, [kernel, count]);
const inWasm = (kernel) => hashes(process.execPath, ['--no-warnings', runWasi, module, kernel, count]);

const right = natively('exact').lines;
const counted = (kinds) => right.filter((line) => kinds.test(line)).length;
const random = counted(/^(small|long) /);
const gradients = counted(/^gradient /);
const fixed = right.length - random - gradients;
console.log(
  `${right.length} problems: ${fixed} fixed, ${random} random, ${gradients} random gradients`,
);

let failed =
  right.some((line) => line.startsWith('differs')) ||
  random !== Number(count) ||
  gradients !== Math.floor(Number(count) / 4) ||
  counted(/^training /) === 0;
for (const [name, run] of [
  ['native portable', natively('portable')],
  ['native avx2', natively('avx2')],
  ['native avx512', natively('avx512')],
  ['native neon', natively('neon')],
  ['WebAssembly exact', inWasm('exact')],
  ['WebAssembly portable', inWasm('portable')],
]) {
  if (run.failure?.includes('not in this build or not in this CPU')) {
    console.log(`${name}: not on this machine`);
    continue;
  }
  const lines = run.lines ?? [];
  const equal = right.filter((line, n) => line === lines[n]).length;
  console.log(`${name}: ${equal} of ${right.length} equal ${run.failure ?? ''}`);
  const first = right.findIndex((line, n) => line !== lines[n]);
  if (first >= 0) console.log(`  first difference: ${right[first]} against ${lines[first]}`);
  failed ||= equal !== right.length || lines.length !== right.length;
}
process.exitCode = failed ? 1 : 0;
