import { withoutMedia } from './media.ts';
import type { Redactor } from './redactor.ts';

/** Members with the turns of a conversation: of one that is too long, the newest are kept. */
const TURNS: ReadonlySet<string> = new Set(['messages', 'input']);
/** A number with so many digits may be one of a card or an account. */
const MIN_LONG_NUMBER = 1e8;
/** What a value takes beside its text. */
const VALUE_CHARACTERS = 4;

export interface CleanContent {
  readonly content: unknown;
  readonly isCut: boolean;
}

/** A JSON value without its media, redacted, and cut where it is longer than that many characters. */
export function cleanContent(value: unknown, redactor: Redactor, maxCharacters: number): CleanContent {
  const cleaner = new Cleaner(redactor, maxCharacters);
  const content = cleaner.value(value);
  return { content, isCut: cleaner.isCut };
}

class Cleaner {
  readonly #redactor: Redactor;
  #left: number;
  isCut = false;

  constructor(redactor: Redactor, maxCharacters: number) {
    this.#redactor = redactor;
    this.#left = maxCharacters;
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    this.#left -= VALUE_CHARACTERS;
    if (typeof value === 'number') return this.#number(value);
    if (Array.isArray(value)) return this.#list(value);
    return typeof value === 'object' && value !== null ? this.#object(value) : value;
  }

  #text(text: string): string {
    const clean = this.#redactor.text(withoutMedia(text));
    const left = Math.max(0, this.#left);
    this.#left -= clean.length + VALUE_CHARACTERS;
    if (clean.length <= left) return clean;
    this.isCut = true;
    return `${clean.slice(0, left)}… [cut, ${clean.length - left} more characters]`;
  }

  #number(value: number): unknown {
    if (Math.abs(value) < MIN_LONG_NUMBER) return value;
    const text = String(value);
    const clean = this.#redactor.text(text);
    return clean === text ? value : clean;
  }

  #list(list: readonly unknown[]): unknown[] {
    const kept: unknown[] = [];
    for (const item of list) {
      if (this.#isFull()) break;
      kept.push(this.value(item));
    }
    return kept;
  }

  #object(members: object): unknown {
    const entries = Object.entries(members);
    const turns = entries.filter(([name, value]) => TURNS.has(name) && Array.isArray(value));
    const late = new Map(turns);
    const clean = new Map<string, unknown>();
    for (const [name, value] of entries) {
      if (this.#isFull()) break;
      const shown = this.#redactor.text(name);
      this.#left -= shown.length;
      // Its place among the members stays.
      clean.set(shown, late.has(name) ? undefined : this.value(value));
    }
    for (const [name, value] of late) if (Array.isArray(value)) clean.set(name, this.#newest(value));
    return Object.fromEntries(clean);
  }

  #newest(turns: readonly unknown[]): unknown[] {
    const kept: unknown[] = [];
    for (const turn of turns.toReversed()) {
      if (this.#isFull()) break;
      kept.push(this.value(turn));
    }
    return kept.toReversed();
  }

  #isFull(): boolean {
    if (this.#left > 0) return false;
    this.isCut = true;
    return true;
  }
}
