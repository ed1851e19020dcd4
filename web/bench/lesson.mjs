// Measures the built lesson in Chromium: time to the first interaction, and the cost of dragging.
//
//   node bench/lesson.mjs [PAGE] [--trace FOLDER]
//
// Dragging is read from a recorded trace of the browser's main thread. For each frame in which the
// pointer moved: `script` is the handler with the engine's call, and the drawing that follows it (microtasks);
// `all` adds style, layout and paint. 95th percentiles over 300 moves.
import { mkdirSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import { chromium } from 'playwright-core';

const args = process.argv.slice(2);
const traceAt = args.indexOf('--trace');
const folder = traceAt >= 0 ? args.splice(traceAt, 2)[1] : undefined;
const address = pathToFileURL(
  args[0] ?? new URL('../../build/web/lesson.html', import.meta.url).pathname,
).href;
const kMoves = 300;

const browser = await chromium.launch({
  executablePath: process.env.QKV_CHROMIUM ?? '/usr/bin/chromium',
});

const percentile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
};
const median = (values) => percentile(values, 0.5);

async function open(throttle) {
  const context = await browser.newContext({
    offline: true,
    viewport: { width: 1200, height: 900 },
  });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: throttle });
  await page.goto(address);
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes');
  return { context, page, session };
}

async function startTime(throttle) {
  const times = [];
  for (let run = 0; run < 7; ++run) {
    const { context, page } = await open(throttle);
    times.push(await page.evaluate(() => performance.getEntriesByName('qkv-ready')[0].startTime));
    await context.close();
  }
  return median(times);
}

async function record(session, action) {
  const events = [];
  const collect = ({ value }) => events.push(...value);
  session.on('Tracing.dataCollected', collect);
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: {
      includedCategories: [
        'devtools.timeline',
        'v8.execute',
        'toplevel',
        'disabled-by-default-devtools.timeline',
      ],
    },
  });
  await action();
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await done;
  session.off('Tracing.dataCollected', collect);
  return events;
}

/** Milliseconds a frame with a pointer move: of script, and of everything. */
function costs(events) {
  const complete = events.filter((event) => event.ph === 'X');
  const moves = complete.filter(
    (e) => e.name === 'EventDispatch' && e.args.data?.type === 'pointermove',
  );
  const tasks = complete.filter((e) => /RunTask$/.test(e.name)).sort((a, b) => a.ts - b.ts);
  const names = [
    'RunMicrotasks',
    'UpdateLayoutTree',
    'Layout',
    'PrePaint',
    'Paint',
    'Layerize',
    'Commit',
  ];
  const parts = complete.filter((e) => names.includes(e.name));
  const frames = new Map();
  for (const move of moves) {
    const task = tasks.findLast(
      (t) => t.tid === move.tid && t.ts <= move.ts && t.ts + t.dur >= move.ts,
    );
    if (!task) continue;
    const frame = frames.get(task) ?? { script: 0, all: 0 };
    frame.script += move.dur / 1000;
    frame.all += move.dur / 1000;
    frames.set(task, frame);
  }
  for (const [task, frame] of frames) {
    for (const part of parts) {
      if (part.tid !== task.tid || part.ts < task.ts || part.ts > task.ts + task.dur) continue;
      if (moves.some((m) => m.ts <= part.ts && part.ts + part.dur <= m.ts + m.dur)) continue;
      if (part.name === 'RunMicrotasks') frame.script += part.dur / 1000;
      frame.all += part.dur / 1000;
    }
  }
  return [...frames.values()];
}

async function drag(throttle, figure, handle) {
  const { context, page, session } = await open(throttle);
  const place = page.locator(`[data-figure="${figure}"] .handle${handle}`).first();
  await place.scrollIntoViewIfNeeded();
  const box = await place.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const events = await record(session, async () => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let n = 0; n < kMoves; ++n) {
      await page.mouse.move(x + 60 * Math.sin(n / 9) - 20, y + 60 * Math.cos(n / 7));
    }
    await page.mouse.up();
  });
  await context.close();
  if (folder) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      `${folder}/drag-${figure}-${throttle}x.json`,
      JSON.stringify({ traceEvents: events }),
    );
  }
  return costs(events);
}

for (const throttle of [1, 4]) {
  console.log(
    `${throttle}x: first interaction after ${(await startTime(throttle)).toFixed(0)} ms (median of 7)`,
  );
}
for (const [figure, handle] of [
  ['dot-arrows', ''],
  ['figure', '.query'],
]) {
  for (const throttle of [1, 4]) {
    const frames = await drag(throttle, figure, handle);
    const of = (what, share) =>
      percentile(
        frames.map((frame) => frame[what]),
        share,
      ).toFixed(2);
    console.log(
      `${throttle}x: dragging in ${figure}, ${frames.length} frames: script ${of('script', 0.5)} ms, 95 % ${of('script', 0.95)} ms; ` +
        `with style, layout and paint ${of('all', 0.5)} ms, 95 % ${of('all', 0.95)} ms`,
    );
  }
}

// The histogram of 10,000 dot products, from the change of the slider to the whole drawing. `first`: numbers that were
// never drawn; `again`: back to a size seen before.
for (const throttle of [1, 4]) {
  const { context, page } = await open(throttle);
  await page.locator('[data-figure="scale-spread"]').scrollIntoViewIfNeeded();
  await page.waitForFunction(
    () => document.querySelector('.scale-histograms')?.dataset.count === '10000',
  );
  for (const [name, size] of [
    ['first', 512],
    ['again', 64],
    ['again', 512],
    ['again', 128],
  ]) {
    const took = await page.evaluate(async (wanted) => {
      const box = document.querySelector('[data-figure="scale-spread"] .scale-histograms');
      const slider = document.querySelector('[data-figure="scale-spread"] input[type=range]');
      const start = performance.now();
      slider.value = String(wanted);
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      while (box.dataset.size !== String(wanted) || box.dataset.count !== '10000') {
        await new Promise(requestAnimationFrame);
      }
      return performance.now() - start;
    }, size);
    console.log(`${throttle}x: histogram at d_k ${size}, ${name}: ${took.toFixed(0)} ms`);
  }
  await context.close();
}
await browser.close();
