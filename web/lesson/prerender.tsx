// The figures as they start, as HTML: what is there before scripts run, and without them.
import { createElement, type ComponentType } from 'preact';
import { renderToString } from 'preact-render-to-string';

import type { Engine } from '../engine/engine.ts';
import { Store } from '../ui/store.ts';
import { sections } from './sections/sections.ts';

/** By the name of their place in the page. */
export function prerender(engine: Engine): Record<string, string> {
  const lesson = { engine, store: new Store() };
  const figures: Record<string, ComponentType> = Object.assign(
    {},
    ...sections.map((make) => make(lesson)),
  );
  return Object.fromEntries(
    Object.entries(figures).map(([name, content]) => [
      name,
      renderToString(createElement(content, {})),
    ]),
  );
}
