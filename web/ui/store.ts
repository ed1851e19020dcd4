// The state of a page: named fields that components read and set, a link that reopens it, and undo.
import { batch, signal, type Signal } from '@preact/signals';

import type { Codec } from './fields.ts';

const kVersion = '1';
const kMostSteps = 200;
const kJoins = 700; // ms between changes that are one step of undo

/** One value of the page's state. Reading `value` in a component redraws it on a change. */
export class Field<T> {
  private readonly current: Signal<T>;

  constructor(
    readonly key: string,
    readonly codec: Codec<T>,
    readonly initial: T,
  ) {
    this.current = signal(initial);
  }

  get value(): T {
    return this.current.value;
  }
  /** Sets the value as a link would bring it back: checked, clamped, rounded to its step. */
  set(value: T): void {
    const text = this.codec.format(value);
    if (text === this.text) return;
    const parsed = this.codec.parse(text);
    if (parsed !== undefined) this.current.value = parsed;
  }
  get text(): string {
    return this.codec.format(this.current.value);
  }
  /** From a link. Text that means nothing gives the initial value. */
  read(text: string | undefined): void {
    const parsed = text === undefined ? undefined : this.codec.parse(text);
    const value = parsed ?? this.initial;
    if (this.codec.format(value) !== this.text) this.current.value = value;
  }
}

export class Store {
  private readonly fields = new Map<string, Field<unknown>>();
  private readonly past: string[] = [];
  private readonly future: string[] = [];
  private settled = '';
  private lastField = '';
  private lastTime = 0;
  /** For buttons: how far undo and redo can go. */
  readonly canUndo = signal(false);
  readonly canRedo = signal(false);
  /** How many links were opened: what follows isn't the reader's doing. */
  readonly opened = signal(0);

  /** `key` is section.name, unique in the page. */
  field<T>(key: string, codec: Codec<T>, initial: T): Field<T> {
    if (this.fields.has(key)) throw new Error(`two fields are called ${key}`);
    const field = new Field(key, codec, initial);
    this.fields.set(key, field as Field<unknown>);
    this.settled = this.link();
    return field;
  }

  /** The state as the part of an address after #: what differs from the start, and a version. */
  link(): string {
    const parts = [`v=${kVersion}`];
    for (const field of this.fields.values()) {
      if (field.text !== field.codec.format(field.initial)) {
        parts.push(`${field.key}=${encodeURIComponent(field.text)}`);
      }
    }
    return parts.join('&');
  }

  /** Opens a link. Unknown names are ignored, bad values give the initial ones. */
  open(link: string): void {
    batch(() => {
      this.restore(link);
      this.opened.value = this.opened.peek() + 1;
    });
    this.settled = this.link();
    this.past.length = this.future.length = 0;
    this.lastField = '';
    this.tell();
  }

  /** Goes to the state of a link, as one step of undo. */
  go(link: string): void {
    this.commit();
    this.restore(link);
    this.commit();
  }

  /**
   * Ends a change, which becomes one step of undo. A change of the field that the last step changed
   * too joins it if `joins` and it comes soon after: so a run of key presses is one step.
   */
  commit(field = '', joins = false): void {
    const now = this.link();
    if (now === this.settled) return;
    const time = performance.now();
    const soon = time - this.lastTime < kJoins;
    if (!(joins && soon && field !== '' && field === this.lastField)) this.past.push(this.settled);
    this.lastTime = time;
    if (this.past.length > kMostSteps) this.past.shift();
    this.future.length = 0;
    this.settled = now;
    this.lastField = field;
    this.tell();
  }

  undo(): void {
    this.commit();
    this.move(this.past, this.future);
  }
  redo(): void {
    this.move(this.future, this.past);
  }

  /** Everything, or the fields of one section, as at the start. It can be undone. */
  reset(section?: string): void {
    this.commit();
    batch(() => {
      for (const field of this.fields.values()) {
        if (section === undefined || field.key.startsWith(`${section}.`)) field.read(undefined);
      }
    });
    this.commit();
  }

  private move(from: string[], to: string[]): void {
    const state = from.pop();
    if (state === undefined) return;
    to.push(this.settled);
    this.restore(state);
    this.settled = this.link();
    this.lastField = '';
    this.tell();
  }

  private restore(link: string): void {
    const values = new Map<string, string>();
    for (const part of link.replace(/^#/, '').split('&')) {
      const equals = part.indexOf('=');
      if (equals < 0) continue;
      try {
        values.set(part.slice(0, equals), decodeURIComponent(part.slice(equals + 1)));
      } catch {
        // A broken escape means nothing.
      }
    }
    const known = values.get('v') === kVersion;
    batch(() => {
      for (const field of this.fields.values()) {
        field.read(known ? values.get(field.key) : undefined);
      }
    });
  }

  private tell(): void {
    this.canUndo.value = this.past.length > 0;
    this.canRedo.value = this.future.length > 0;
  }
}
