// The frame of a figure: its name, what is inside, and what can be done with all of it.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

import { announce } from './announce.ts';
import { saveCsv, savePng, saveSvg } from './export.ts';
import type { Store } from './store.ts';
import { t } from './text.ts';

interface FigureProps {
  readonly store: Store;
  /** The section of the store's fields that it shows; also the name of saved files. */
  readonly section: string;
  readonly title: string;
  readonly children: ComponentChildren;
  /** The numbers it shows, a header first. */
  readonly numbers: () => readonly (readonly (string | number)[])[];
  /** Has it drawings to save? */
  readonly drawn?: boolean;
  /** Why there is nothing to save yet: it waits for the reader's guess. */
  readonly waiting?: string;
  /** What brings it back to its start, if more than the fields of its section are to be reset. */
  readonly onReset?: () => void;
}

/** The address that reopens this state and goes to the figure, for the clipboard. */
function address(store: Store, figure: Element): string {
  const place = figure.closest<HTMLElement>('[data-figure]')?.dataset.figure;
  return `${location.href.split('#')[0]}#${store.link()}${place ? `&at=${place}` : ''}`;
}

const kTold = 2000; // ms for which the button says that the link is copied

export function Figure({
  store,
  section,
  title,
  children,
  numbers,
  drawn = true,
  waiting,
  onReset = () => store.reset(section),
}: FigureProps) {
  const body = useRef<HTMLDivElement>(null);
  const [byHand, setByHand] = useState(false);
  const [copied, setCopied] = useState(false);
  const name = `qkv-${section.replaceAll('.', '-')}`;
  const copy = async () => {
    const text = address(store, body.current!);
    try {
      await navigator.clipboard.writeText(text);
      announce(t('figure.copied'));
      setByHand(false);
      setCopied(true);
      setTimeout(() => setCopied(false), kTold);
    } catch {
      setByHand(true); // no clipboard here, as on some pages opened as files: to be copied by hand
    }
  };
  /** The button's name says what it is for, since each figure has one. */
  const named = (label: string) => ({ 'aria-label': `${label}: ${title}` });
  return (
    <div class="figure" role="group" aria-label={title}>
      <div class="figure-body" ref={body}>
        {children}
      </div>
      <div class="figure-tools">
        <button
          type="button"
          {...named(t('figure.reset'))}
          onClick={() => {
            onReset();
            announce(t('figure.was-reset', { title }));
          }}
        >
          {t('figure.reset')}
        </button>
        <button type="button" {...named(t('figure.link'))} onClick={copy}>
          {copied ? t('figure.link-copied') : t('figure.link')}
        </button>
        <details class="save">
          <summary {...named(t('figure.save'))}>{t('figure.save')}</summary>
          {waiting !== undefined && <p>{waiting}</p>}
          {waiting === undefined && drawn && (
            <>
              <button type="button" onClick={() => saveSvg(body.current!, name)}>
                SVG
              </button>
              <button type="button" onClick={() => void savePng(body.current!, name)}>
                PNG
              </button>
            </>
          )}
          {waiting === undefined && (
            <button type="button" onClick={() => saveCsv(numbers(), name)}>
              CSV
            </button>
          )}
        </details>
      </div>
      {byHand && (
        <label class="link">
          {t('figure.by-hand')}
          <input
            type="text"
            readOnly
            value={address(store, body.current!)}
            onFocus={(event) => event.currentTarget.select()}
          />
        </label>
      )}
    </div>
  );
}
