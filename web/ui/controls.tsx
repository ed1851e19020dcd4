// Numbers shown and numbers edited.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { clamp, type Range } from './fields.ts';
import { useUniqueId } from './id.ts';
import type { Field, Store } from './store.ts';
import { spoken, Symbols } from './symbols.tsx';
import { fixed, short, t } from './text.ts';

/** A number that the engine computed. Tests find all of them by this class. */
export function Num({
  value,
  digits = 2,
  text,
}: {
  value: number;
  digits?: number;
  text?: string;
}) {
  return <span class="num">{text ?? fixed(value, digits)}</span>;
}

/** A vector that the engine computed, as [1.00, 2.00]. */
export function VectorNums({ values }: { values: ArrayLike<number> }) {
  return (
    <span class="row-vector">
      [
      {Array.from(values, (value, n) => (
        <>
          {n > 0 && ', '}
          <Num value={value} />
        </>
      ))}
      ]
    </span>
  );
}

interface NumberInputProps {
  readonly value: number;
  readonly label: string;
  readonly range: Range;
  readonly onValue: (value: number) => void;
  readonly onCommit: (joins: boolean) => void;
}

/**
 * A small box for one number. While it is edited it keeps what is typed; text that is no number gives way to the
 * number there was.
 */
export function NumberInput({ value, label, range, onValue, onCommit }: NumberInputProps) {
  const [typed, setTyped] = useState<string | undefined>();
  return (
    <input
      class="number"
      type="number"
      aria-label={label}
      min={range.min}
      max={range.max}
      step={Math.max(range.step, 0.1)}
      value={typed ?? String(value)}
      onInput={(event) => {
        setTyped(event.currentTarget.value);
        const number = event.currentTarget.valueAsNumber;
        if (Number.isFinite(number) && number >= range.min && number <= range.max) {
          onValue(clamp(number, range));
        }
      }}
      onChange={(event) => {
        const number = event.currentTarget.valueAsNumber;
        const taken = clamp(Number.isFinite(number) ? number : value, range);
        onValue(taken);
        setTyped(undefined);
        event.currentTarget.value = String(taken); // also where no state changed
        onCommit(true);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly range: Range;
  readonly onValue: (value: number) => void;
  readonly onCommit: (joins: boolean) => void;
  /** As it is read and shown. */
  readonly text?: string;
}

export function Slider({ label, value, range, onValue, onCommit, text }: SliderProps) {
  const id = useUniqueId();
  const shown = text ?? short(value);
  return (
    <div class="slider">
      <label for={id}>
        <Symbols text={label} />
      </label>
      <input
        id={id}
        type="range"
        min={range.min}
        max={range.max}
        step={range.step}
        value={value}
        aria-valuetext={shown}
        onInput={(event) => onValue(event.currentTarget.valueAsNumber)}
        onChange={() => onCommit(true)}
      />
      {/* No <output>: its changes would be said a second time, for the slider says its value itself. */}
      <span>{shown}</span>
    </div>
  );
}

interface MatrixEditorProps {
  readonly store: Store;
  readonly field: Field<readonly number[]>;
  readonly columns: number;
  readonly range: Range;
  /** Of the whole matrix, its rows and its columns, for labels. */
  readonly name: string;
  readonly rowNames?: readonly ComponentChildren[];
  readonly rowLabels?: readonly string[];
  readonly columnNames?: readonly string[];
  /** What ends a change of an entry, if more than the store's commit is to be done. */
  readonly onCommit?: (joins: boolean, entry: number) => void;
}

/** A matrix whose entries can be edited. */
export function MatrixEditor({
  store,
  field,
  columns,
  range,
  name,
  rowNames,
  rowLabels,
  columnNames,
  onCommit = (joins) => store.commit(field.key, joins),
}: MatrixEditorProps) {
  const values = field.value;
  const rows = values.length / columns;
  const setEntry = (entry: number) => (value: number) =>
    field.set(values.map((old, n) => (n === entry ? value : old)));
  return (
    <table class="matrix" aria-label={spoken(name)}>
      {columnNames && (
        <thead>
          <tr>
            {rowNames && <td />}
            {columnNames.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {Array.from({ length: rows }, (_, r) => (
          <tr key={r}>
            {rowNames && <th scope="row">{rowNames[r]}</th>}
            {Array.from({ length: columns }, (_, c) => (
              <td key={c}>
                <NumberInput
                  value={values[r * columns + c]}
                  range={range}
                  label={t('matrix.entry', {
                    name: spoken(name),
                    row: rowLabels?.[r] ?? String(r + 1),
                    column: columnNames?.[c] ?? String(c + 1),
                  })}
                  onValue={setEntry(r * columns + c)}
                  onCommit={(joins) => onCommit(joins, r * columns + c)}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Switch({
  label,
  value,
  onValue,
}: {
  label: string;
  value: boolean;
  onValue: (value: boolean) => void;
}) {
  return (
    <label class="switch">
      <input
        type="checkbox"
        checked={value}
        onChange={(event) => onValue(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

interface ChoiceProps<T extends string> {
  readonly legend: string;
  readonly value: T;
  readonly options: readonly (readonly [T, ComponentChildren])[];
  readonly onValue: (value: T) => void;
}

export function Choice<T extends string>({ legend, value, options, onValue }: ChoiceProps<T>) {
  const name = useUniqueId();
  return (
    <fieldset class="choice">
      <legend>{legend}</legend>
      {options.map(([option, label]) => (
        <label key={option}>
          <input
            type="radio"
            name={name}
            checked={option === value}
            onChange={() => onValue(option)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
