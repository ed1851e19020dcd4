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

function undo({ store }: Lesson): void {
  if (!store.canUndo.value) return;
  store.undo();
  announce(t('tools.undone'));
}

function redo({ store }: Lesson): void {
  if (!store.canRedo.value) return;
  store.redo();
  announce(t('tools.redone'));
}

function Tools(lesson: Lesson) {
  const { store } = lesson;
  return (
    <>
      <button type="button" aria-disabled={!store.canUndo.value} onClick={() => undo(lesson)}>
        <span aria-hidden="true">↶</span> {t('tools.undo')}
      </button>
      <button type="button" aria-disabled={!store.canRedo.value} onClick={() => redo(lesson)}>
        <span aria-hidden="true">↷</span> {t('tools.redo')}
      </button>
      <button
        type="button"
        onClick={() => {
          store.reset();
          announce(t('tools.was-reset'));
        }}
      >
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

/** `?embed=1` shows one figure alone, named by `figure`; the main one if there is none of that name. */
function embed(): void {
  const query = new URLSearchParams(location.search);
  if (query.get('embed') !== '1') return;
  // The main figure's exercises have places of their own, which show nothing alone.
  const places = [...document.querySelectorAll<HTMLElement>('[data-figure]')].filter(
    (p) => !p.dataset.figure!.startsWith('figure-'),
  );
  const named = (name: string | null) => places.find((p) => p.dataset.figure === name);
  const place = named(query.get('figure')) ?? named('figure')!;
  document.documentElement.dataset.embed = 'yes';
  for (const heading of [
    document.querySelector('h1'),
    place.closest('section')?.querySelector('h2'),
  ]) {
    heading?.classList.add('unseen');
  }
  for (let shown: Element | null = place; shown; shown = shown.parentElement) {
    shown.setAttribute('data-shown', '');
  }
}

/** On paper nothing can be opened, so all is open. */
function openForPrint(): void {
  const opened: HTMLDetailsElement[] = [];
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>(
      'main details:not([open])',
    )) {
      if (details.classList.contains('save')) continue;
      details.open = true;
      opened.push(details);
    }
  });
  addEventListener('afterprint', () => {
    for (const details of opened.splice(0)) details.open = false;
  });
}

export function startPage(lesson: Lesson): void {
  openForPrint();
  applyTheme(savedTheme());
  embed();
  render(<Tools {...lesson} />, document.getElementById('tools')!);
  render(<ThemeChoice />, document.getElementById('theme')!);
  addEventListener('keydown', (event) => {
    const target = event.target as Element;
    if (target.matches('input[type=number], input[type=text], textarea')) return; // their own undo
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z') return;
    event.preventDefault();
    if (event.shiftKey) redo(lesson);
    else undo(lesson);
  });
}
