// Says what changed to people who can't see it: one polite region for the whole page.
const kQuiet = 500; // ms without a change before something is said

let region: HTMLElement | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** `text` may be made late, so that a drag doesn't make a sentence a frame. */
export function announce(text: string | (() => string)): void {
  region ??= document.getElementById('announcer') ?? undefined;
  clearTimeout(timer);
  timer = setTimeout(() => {
    const said = typeof text === 'string' ? text : text();
    if (region && region.textContent !== said) region.textContent = said;
  }, kQuiet);
}
