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
  /** What brings it back to its start, if more than the fields of its section are to be reset. */
  readonly onReset?: () => void;
}

/** The address that reopens this state, for the clipboard. */
function address(store: Store): string {
  return `${location.href.split('#')[0]}#${store.link()}`;
}

export function Figure({
  store,
  section,
  title,
  children,
  numbers,
  drawn = true,
  onReset = () => store.reset(section),
}: FigureProps) {
  const body = useRef<HTMLDivElement>(null);
  const [link, setLink] = useState('');
  const name = `qkv-${section}`;
  const copy = async () => {
    const text = address(store);
    try {
      await navigator.clipboard.writeText(text);
      announce(t('figure.copied'));
      setLink('');
    } catch {
      setLink(text); // no clipboard here, as on some pages opened as files: to be copied by hand
    }
  };
  return (
    <div class="figure" role="group" aria-label={title}>
      <div class="figure-body" ref={body}>
        {children}
      </div>
      <div class="figure-tools">
        <button type="button" onClick={onReset}>
          {t('figure.reset')}
        </button>
        <button type="button" onClick={copy}>
          {t('figure.link')}
        </button>
        <details class="save">
          <summary>{t('figure.save')}</summary>
          {drawn && (
            <>
              <button type="button" onClick={() => saveSvg(body.current!, name)}>
                SVG
              </button>
              <button type="button" onClick={() => void savePng(body.current!, name)}>
                PNG
              </button>
            </>
          )}
          <button type="button" onClick={() => saveCsv(numbers(), name)}>
            CSV
          </button>
        </details>
      </div>
      {link && (
        <label class="link">
          {t('figure.by-hand')}
          <input
            type="text"
            readOnly
            value={link}
            onFocus={(event) => event.currentTarget.select()}
          />
        </label>
      )}
    </div>
  );
}
