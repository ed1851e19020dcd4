// Starts the lesson: the engine, the state of the address, and a figure in each of its places.
import { effect } from '@preact/signals';
import { render, type ComponentType } from 'preact';
import base64 from 'virtual:engine';

import type { Engine } from '../engine/engine.ts';
import { decode, instantiate } from '../engine/module.ts';
import { WasmEngine } from '../engine/wasm_engine.ts';
import { Store } from '../ui/store.ts';
import { t } from '../ui/text.ts';
import type { Lesson } from './context.ts';
import './lesson.css';
import { startPage } from './page.tsx';
import { sections } from './sections/sections.ts';

declare global {
  interface Window {
    /** Tests put an engine of theirs around the real one. */
    qkvTestEngine?: (engine: Engine) => Engine;
  }
}

/** Puts the figures into their places: at once those in sight, then one by one the others. */
async function mount(figures: Record<string, ComponentType>): Promise<void> {
  const places = [...document.querySelectorAll<HTMLElement>('[data-figure]')];
  const fill = (place: HTMLElement) => {
    const Content = figures[place.dataset.figure!];
    place.replaceChildren(); // the drawing of the build
    render(<Content />, place);
  };
  // Sections, for asking where something in a section out of sight lies would lay it out.
  const inSight = (place: HTMLElement) => {
    const { top, bottom } = place.closest('section')!.getBoundingClientRect();
    return top < innerHeight && bottom > 0;
  };
  const first = places.filter(inSight);
  first.forEach(fill);
  performance.mark('qkv-ready'); // for bench/lesson.mjs
  for (const place of places) {
    if (first.includes(place)) continue;
    await new Promise((resolve) => setTimeout(resolve));
    fill(place);
  }
}

async function start(): Promise<void> {
  const real = new WasmEngine(await instantiate(await decode(base64)));
  const engine = window.qkvTestEngine?.(real) ?? real;
  const lesson: Lesson = { engine, store: new Store() };
  const figures: Record<string, ComponentType> = Object.assign(
    {},
    ...sections.map((make) => make(lesson)),
  );
  const { store } = lesson;
  store.open(location.hash);

  startPage(lesson);
  await mount(figures);
  document.documentElement.dataset.ready = 'yes';

  // The address follows the state, but not faster than browsers allow.
  let timer: ReturnType<typeof setTimeout> | undefined;
  let own = location.hash;
  effect(() => {
    const hash = `#${store.link()}`;
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (hash === own || (hash === '#v=1' && !location.hash.startsWith('#v='))) return;
      own = hash;
      history.replaceState(null, '', hash);
    }, 300);
  });
  addEventListener('hashchange', () => {
    // Links inside the page go to places in it; only those with a version are states.
    if (location.hash.startsWith('#v=') && location.hash !== own) store.open(location.hash);
  });
}

start().catch((error: unknown) => {
  const place = document.getElementById('trouble')!;
  place.hidden = false;
  place.textContent = t('page-trouble', {
    reason: error instanceof Error ? error.message : String(error),
  });
  document.documentElement.dataset.ready = 'no';
});
