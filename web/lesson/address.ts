// The address holds the state and a place: #v=1&...&at=PLACE. Links within the page keep the state, copied links
// go to their figure, Back and Forward bring states back.
import { effect } from '@preact/signals';

import type { Store } from '../ui/store.ts';

const kQuiet = 300; // ms without a change before the address follows: browsers limit how often it may

function placeOf(hash: string): HTMLElement | null {
  const name = /(?:&at=|^#)([a-z0-9-]+)$/.exec(hash)?.[1];
  if (!name) return null;
  return document.querySelector(`[data-figure="${name}"]`) ?? document.getElementById(name);
}

/** Scrolls to the place, and lets the keyboard go on from there. */
function goTo(place: HTMLElement): void {
  if (!place.hasAttribute('tabindex')) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.scrollIntoView();
  // Sections on the way were of guessed heights; now they are laid out.
  requestAnimationFrame(() => requestAnimationFrame(() => place.scrollIntoView()));
}

/** Goes to the place that the address names, when the page opens. */
export function openPlace(hash: string): void {
  const place = placeOf(hash);
  if (place) goTo(place);
}

export function followState(store: Store): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const hash = `#${store.link()}`;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const pristine = hash === '#v=1' && !location.hash.startsWith('#v=');
      if (!pristine && location.hash !== hash && !location.hash.startsWith(`${hash}&at=`)) {
        history.replaceState(null, '', hash);
      }
    }, kQuiet);
  });
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]');
    const place = link && document.getElementById(link.hash.slice(1));
    if (!place || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, '', `#${store.link()}&at=${place.id}`);
    goTo(place);
  });
  addEventListener('popstate', () => {
    if (location.hash.startsWith('#v=')) store.go(location.hash);
    openPlace(location.hash);
  });
}
