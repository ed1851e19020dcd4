// Names for elements that are tied to each other: labels, groups of radio buttons, descriptions.
import { useState } from 'preact/hooks';

let count = 0;

/** Unique in the page. Preact's own useId starts anew in each figure, so that figures would share names. */
export function useUniqueId(): string {
  const [id] = useState(() => `id-${++count}`);
  return id;
}
