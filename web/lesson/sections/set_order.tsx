// Tokens in a row that the reader puts into another order.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { useUniqueId } from '../../ui/id.ts';
import { t } from '../../ui/text.ts';

interface OrderListProps {
  readonly label: string;
  readonly order: readonly number[];
  readonly names: readonly string[];
  readonly badges: readonly ComponentChildren[];
  readonly onOrder: (order: readonly number[], token: number) => void;
}

/** Each token has a button to an earlier and one to a later place; arrow keys on them do the same. */
export function OrderList({ label, order, names, badges, onOrder }: OrderListProps) {
  const id = useUniqueId();
  const list = useRef<HTMLOListElement>(null);
  const refocus = useRef<string | undefined>(undefined); // the button that moved along with its token
  useLayoutEffect(() => {
    if (refocus.current)
      list.current?.querySelector<HTMLElement>(`[data-move="${refocus.current}"]`)?.focus();
    refocus.current = undefined;
  });
  const move = (token: number, by: -1 | 1, button: string) => {
    const from = order.indexOf(token);
    const to = from + by;
    if (to < 0 || to >= order.length) return;
    const moved = [...order];
    [moved[from], moved[to]] = [moved[to], moved[from]];
    refocus.current = button;
    onOrder(moved, token);
  };
  return (
    <div>
      <p class="order-name" id={id}>
        {label}
      </p>
      <ol class="order-list" aria-labelledby={id} ref={list}>
        {order.map((token, place) => {
          const toMove = (by: -1 | 1) => {
            const button = `${token}${by < 0 ? 'a' : 'b'}`;
            const atEnd = by < 0 ? place === 0 : place === order.length - 1;
            return (
              <button
                type="button"
                data-move={button}
                aria-label={t(by < 0 ? 'set.earlier' : 'set.later', {
                  token: names[token],
                  place: place + 1,
                })}
                aria-disabled={atEnd}
                onClick={() => move(token, by, button)}
                onKeyDown={(event) => {
                  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
                  event.preventDefault();
                  move(token, event.key === 'ArrowLeft' ? -1 : 1, button);
                }}
              >
                <span aria-hidden="true">{by < 0 ? '◂' : '▸'}</span>
              </button>
            );
          };
          return (
            <li key={token}>
              {toMove(-1)}
              {badges[token]}
              {toMove(1)}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
