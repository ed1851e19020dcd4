// What belongs to the page as a whole: undo, reset, theme, and showing one figure alone.
import { render } from 'preact';
import { useState } from 'preact/hooks';

import { announce } from '../ui/announce.ts';
import { t } from '../ui/text.ts';
import type { Lesson } from './context.ts';

const kThemes = ['auto', 'light', 'dark'] as const;
type Theme = (typeof kThemes)[number];
const kThemeKey = 'qkv-theme';

function savedTheme(): Theme {
  try {
    return kThemes.find((theme) => theme === localStorage.getItem(kThemeKey)) ?? 'auto';
  } catch {
    return 'auto'; // no storage here
  }
}

function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(kThemeKey, theme);
  } catch {
    // It holds until the page is closed.
  }
}

function Tools({ store }: Lesson) {
  return (
    <>
      <button
        type="button"
        aria-disabled={!store.canUndo.value}
        onClick={() => {
          if (!store.canUndo.value) return;
          store.undo();
          announce(t('tools.undone'));
        }}
      >
        <span aria-hidden="true">↶</span> {t('tools.undo')}
      </button>
      <button
        type="button"
        aria-disabled={!store.canRedo.value}
        onClick={() => {
          if (!store.canRedo.value) return;
          store.redo();
          announce(t('tools.redone'));
        }}
      >
        <span aria-hidden="true">↷</span> {t('tools.redo')}
      </button>
      <button type="button" onClick={() => store.reset()}>
        {t('tools.reset')}
      </button>
    </>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(savedTheme);
  return (
    <label class="theme">
      {t('tools.theme')}
      <select
        value={theme}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Theme;
          applyTheme(chosen);
          setTheme(chosen);
        }}
      >
        {kThemes.map((name) => (
          <option key={name} value={name}>
            {t(`tools.theme-${name}`)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** `?embed=1` shows one figure alone, named by `figure`; the first that has a name of its own else. */
function embed(): void {
  const query = new URLSearchParams(location.search);
  if (query.get('embed') !== '1') return;
  const places = [...document.querySelectorAll<HTMLElement>('[data-figure]')];
  const place = places.find((p) => p.dataset.figure === query.get('figure')) ?? places[0];
  document.documentElement.dataset.embed = 'yes';
  document.querySelector('h1')?.classList.add('unseen');
  for (let shown: Element | null = place; shown; shown = shown.parentElement) {
    shown.setAttribute('data-shown', '');
  }
}

export function startPage(lesson: Lesson): void {
  applyTheme(savedTheme());
  embed();
  render(<Tools {...lesson} />, document.getElementById('tools')!);
  render(<ThemeChoice />, document.getElementById('theme')!);
  addEventListener('keydown', (event) => {
    const target = event.target as Element;
    if (target.matches('input[type=number], input[type=text], textarea')) return; // their own undo
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z') return;
    event.preventDefault();
    if (event.shiftKey) lesson.store.redo();
    else lesson.store.undo();
  });
}
