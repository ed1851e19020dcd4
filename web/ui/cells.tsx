// Tables whose cells can be chosen, and tables whose cells can be edited, with cells lit up.
import type { ComponentChildren } from 'preact';

import { NumberInput } from './controls.tsx';
import type { Range } from './fields.ts';

interface Heads {
  /** Visible heading of the table, and its name. */
  readonly caption: ComponentChildren;
  readonly rows: number;
  readonly columns: number;
  readonly rowHeads?: readonly ComponentChildren[];
  /** Row heads that only screen readers get: a table beside has them for the eye. */
  readonly rowNames?: readonly string[];
  readonly columnHeads?: readonly ComponentChildren[];
  readonly class?: string;
  /** Further classes of a cell. */
  readonly cellClass?: (row: number, column: number) => string;
}

const count = (n: number) => Array.from({ length: n }, (_, i) => i);

function Frame({
  caption,
  rows,
  columns,
  rowHeads,
  rowNames,
  columnHeads,
  cellClass,
  class: kind = '',
  extraHead,
  extra,
  cell,
}: Heads & {
  readonly extraHead?: ComponentChildren;
  readonly extra?: (row: number) => ComponentChildren;
  readonly cell: (row: number, column: number) => ComponentChildren;
}) {
  return (
    <table class={`cells ${kind}`}>
      <caption>{caption}</caption>
      {columnHeads && (
        <thead>
          <tr>
            {rowHeads && <td />}
            {rowNames && <td class="narrow" />}
            {columnHeads.map((head, n) => (
              <th key={n} scope="col">
                {head}
              </th>
            ))}
            {extra && <th scope="col">{extraHead}</th>}
          </tr>
        </thead>
      )}
      <tbody>
        {count(rows).map((r) => (
          <tr key={r}>
            {rowHeads && <th scope="row">{rowHeads[r]}</th>}
            {rowNames && (
              <th scope="row" class="narrow">
                <span class="unseen">{rowNames[r]}</span>
              </th>
            )}
            {count(columns).map((c) => (
              <td key={c} class={cellClass?.(r, c)}>
                {cell(r, c)}
              </td>
            ))}
            {extra && <td class="extra">{extra(r)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface ChosenCellsProps extends Heads {
  readonly cell: (row: number, column: number) => ComponentChildren;
  /** What a screen reader reads instead of the bare content. */
  readonly cellLabel: (row: number, column: number) => string;
  /** A fraction from 0 to 1, drawn as a bar in the cell. */
  readonly bar?: (row: number, column: number) => number;
  /** The cell that is chosen, and the one that Tab goes to: that or another. */
  readonly chosen?: readonly [number, number];
  readonly stop: readonly [number, number];
  readonly onChoose: (row: number, column: number) => void;
  readonly extraHead?: ComponentChildren;
  readonly extra?: (row: number) => ComponentChildren;
}

/** Where an arrow key goes from a cell; undefined for other keys. */
export function cellMove(key: string, row: number, column: number, rows: number, columns: number) {
  const to: Record<string, readonly [number, number]> = {
    ArrowLeft: [row, Math.max(0, column - 1)],
    ArrowRight: [row, Math.min(columns - 1, column + 1)],
    ArrowUp: [Math.max(0, row - 1), column],
    ArrowDown: [Math.min(rows - 1, row + 1), column],
    Home: [row, 0],
    End: [row, columns - 1],
  };
  return Object.hasOwn(to, key) ? to[key] : undefined;
}

/**
 * Each cell is a button. Tab goes to one of them, arrow keys to its neighbours; the cell with the focus is
 * the chosen one. It stays a plain table, so that the table commands of screen readers work in it.
 */
export function ChosenCells({
  cell,
  cellLabel,
  bar,
  chosen,
  stop,
  onChoose,
  ...heads
}: ChosenCellsProps) {
  const press = (row: number, column: number) => (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = cellMove(event.key, row, column, heads.rows, heads.columns);
    if (!to) return;
    event.preventDefault();
    const table = (event.currentTarget as Element).closest('table')!;
    table.querySelector<HTMLElement>(`[data-cell="${to.join('-')}"]`)!.focus();
  };
  return (
    <Frame
      {...heads}
      cell={(r, c) => {
        const isChosen = chosen !== undefined && chosen[0] === r && chosen[1] === c;
        return (
          <button
            type="button"
            class={bar ? 'cell bar' : 'cell'}
            data-cell={`${r}-${c}`}
            style={bar ? { '--part': bar(r, c) } : undefined}
            tabIndex={stop[0] === r && stop[1] === c ? 0 : -1}
            aria-pressed={isChosen}
            aria-label={cellLabel(r, c)}
            onClick={() => onChoose(r, c)}
            onFocus={() => {
              if (!isChosen) onChoose(r, c);
            }}
            onKeyDown={press(r, c)}
          >
            {cell(r, c)}
          </button>
        );
      }}
    />
  );
}

interface EditedCellsProps extends Heads {
  readonly value: (row: number, column: number) => number;
  readonly range: Range;
  readonly cellLabel: (row: number, column: number) => string;
  readonly onValue: (row: number, column: number, value: number) => void;
  readonly onCommit: (joins: boolean) => void;
}

export function EditedCells({
  value,
  range,
  cellLabel,
  onValue,
  onCommit,
  ...heads
}: EditedCellsProps) {
  return (
    <Frame
      {...heads}
      cell={(r, c) => (
        <NumberInput
          value={value(r, c)}
          range={range}
          label={cellLabel(r, c)}
          onValue={(x) => onValue(r, c, x)}
          onCommit={onCommit}
        />
      )}
    />
  );
}

export function ShownCells(
  props: Heads & { readonly cell: (row: number, column: number) => ComponentChildren },
) {
  return <Frame {...props} />;
}
