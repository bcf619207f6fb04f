import { parseArguments } from './raw-json.ts';

const HEAD = /^\s*\{\s*"input"\s*:\s*"/;

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/**
 * Reads the text out of `{"input":"…"}` while it is still being written: the arguments of a function that stands in
 * for a free-text tool. Where they have another form, the whole is read at the end.
 */
export class InputTextDecoder {
  #json = '';
  /** Next unread character; -1 until the string has begun. */
  #position = -1;
  #held = '';
  #closed = false;

  push(fragment: string): string {
    this.#json += fragment;
    if (this.#position < 0) this.#position = HEAD.exec(this.#json)?.[0].length ?? -1;
    return this.#position < 0 || this.#closed ? '' : this.#decode();
  }

  end(): string {
    const held = this.#held;
    this.#held = '';
    if (this.#position >= 0) return held;
    const value = parseArguments(this.#json)?.input;
    if (typeof value === 'string') return value;
    return this.#json.trim() === '' ? '' : this.#json;
  }

  #decode(): string {
    let text = this.#held;
    this.#held = '';
    while (this.#position < this.#json.length && !this.#closed) {
      const character = this.#json.charAt(this.#position);
      if (character === '"') this.#closed = true;
      const piece = character === '\\' ? this.#escape() : this.#plain();
      if (piece === null) break;
      text += piece;
    }
    // Half a character is no text yet: its other half comes with the next fragment.
    if (isHighSurrogate(text.charCodeAt(text.length - 1)) && !this.#closed) {
      this.#held = text.slice(-1);
      return text.slice(0, -1);
    }
    return text;
  }

  #plain(): string {
    const end = this.#json.slice(this.#position).search(/["\\]/);
    const stop = end < 0 ? this.#json.length : this.#position + end;
    const piece = this.#json.slice(this.#position, stop);
    this.#position = stop === this.#position ? stop + 1 : stop;
    return piece;
  }

  /** Null while the escape is incomplete. */
  #escape(): string | null {
    const kind = this.#json.charAt(this.#position + 1);
    const length = kind === 'u' ? 6 : 2;
    if (this.#json.length < this.#position + length) return null;
    const digits = this.#json.slice(this.#position + 2, this.#position + length);
    this.#position += length;
    return kind === 'u' ? String.fromCharCode(Number.parseInt(digits, 16)) : (ESCAPES[kind] ?? kind);
  }
}
