// Starts the lesson: the engine, the state of the address, and a figure in each of its places.
import { render, type ComponentType } from 'preact';

import type { Engine } from '../engine/engine.ts';
import { instantiate } from '../engine/module.ts';
import { WasmEngine } from '../engine/wasm_engine.ts';
import { Store } from '../ui/store.ts';
import { t } from '../ui/text.ts';
import { followState, openPlace } from './address.ts';
import type { Lesson } from './context.ts';
import './lesson.css';
import { startPage } from './page.tsx';
import { sections } from './sections/sections.ts';

declare global {
  interface Window {
    /** The engine, unpacked and compiled since the page began (build_tools/engine_module.ts). */
    qkvModule: Promise<WebAssembly.Module>;
    /** Tests put an engine of theirs around the real one. */
    qkvTestEngine?: (engine: Engine) => Engine;
  }
}

/** Puts the figures into their places: first those in sight, then the others, one a task. */
async function mount(figures: Record<string, ComponentType>): Promise<void> {
  const places = [...document.querySelectorAll<HTMLElement>('[data-figure]')];
  // Sections out of sight are not laid out, and asking where a part of one lies would lay it out.
  const inSight = (element: Element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top < innerHeight && bottom > 0;
  };
  const first = places.filter((place) => inSight(place.closest('section')!) && inSight(place));
  const order = [...first, ...places.filter((place) => !first.includes(place))];
  for (const [n, place] of order.entries()) {
    if (n > 0) await new Promise((resolve) => setTimeout(resolve));
    const Content = figures[place.dataset.figure!];
    place.replaceChildren(); // the drawing of the build
    render(<Content />, place);
    if (n === 0) performance.mark('qkv-ready'); // for bench/lesson.mjs
  }
}

async function start(): Promise<void> {
  const real = new WasmEngine(await instantiate(await window.qkvModule));
  const engine = window.qkvTestEngine?.(real) ?? real;
  const lesson: Lesson = { engine, store: new Store() };
  const figures: Record<string, ComponentType> = Object.assign(
    {},
    ...sections.map((make) => make(lesson)),
  );
  const { store } = lesson;
  store.open(location.hash);

  startPage(lesson);
  const opened = location.hash;
  await mount(figures);
  openPlace(opened);
  document.documentElement.dataset.ready = 'yes';
  followState(store);
}

start().catch((error: unknown) => {
  const place = document.getElementById('trouble')!;
  place.hidden = false;
  place.textContent = t('page-trouble', {
    reason: error instanceof Error ? error.message : String(error),
  });
  document.documentElement.dataset.ready = 'no';
});
