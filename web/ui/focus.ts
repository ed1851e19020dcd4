// Where the focus goes when the button that had it goes away.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** On a change of `on`, not at first: the focus goes to `whenOn` or `whenOff`. */
export function useFocusAfter(
  on: boolean,
  whenOn: RefObject<HTMLElement | null>,
  whenOff: RefObject<HTMLElement | null>,
): void {
  const before = useRef(on);
  useLayoutEffect(() => {
    if (before.current !== on) (on ? whenOn : whenOff).current?.focus();
    before.current = on;
  });
}
