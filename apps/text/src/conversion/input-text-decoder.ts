import { parseArguments } from '../wire/raw-json.ts';

const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** Arguments that have not begun as expected after this many characters will not. */
const MAX_HEAD_LENGTH = 64;

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/**
 * Reads the text out of `{"input":"…"}` while it is still being written: the arguments of a function that replaces
 * a free-text tool. Where they have another form, the whole is read at the end.
 */
export class InputTextDecoder {
  #state: 'head' | 'text' | 'closed' | 'other' = 'head';
  /** All of it while the form is open, else what is not read yet. */
  #unread = '';
  /** The first half of a character whose second half is still to come. */
  #half = '';

  push(fragment: string): string {
    if (this.#state === 'closed') return '';
    this.#unread += fragment;
    if (this.#state === 'head') this.#readHead();
    return this.#state === 'text' ? this.#readText() : '';
  }

  end(): string {
    if (this.#state === 'text' || this.#state === 'closed') return this.#half;
    const value = parseArguments(this.#unread)?.input;
    if (typeof value === 'string') return value;
    return this.#unread.trim() === '' ? '' : this.#unread;
  }

  #readHead(): void {
    const head = HEAD.exec(this.#unread);
    if (head !== null) {
      this.#state = 'text';
      this.#unread = this.#unread.slice(head[0].length);
    } else if (this.#unread.length > MAX_HEAD_LENGTH) this.#state = 'other';
  }

  #readText(): string {
    let text = this.#half;
    let position = 0;
    this.#half = '';
    while (position < this.#unread.length) {
      const special = this.#unread.slice(position).search(/["\\]/);
      const end = special < 0 ? this.#unread.length : position + special;
      text += this.#unread.slice(position, end);
      position = end;
      if (this.#unread[position] === '"') {
        this.#state = 'closed';
        break;
      }
      const escaped = position < this.#unread.length ? readEscape(this.#unread, position) : '';
      if (escaped === null) break;
      text += escaped;
      if (escaped !== '') position += this.#unread[position + 1] === 'u' ? 6 : 2;
    }
    this.#unread = this.#unread.slice(position);
    if (this.#state === 'text' && isHighSurrogate(text.charCodeAt(text.length - 1))) {
      this.#half = text.slice(-1);
      return text.slice(0, -1);
    }
    return text;
  }
}

/** The character that this escape encodes; null while it is incomplete. */
function readEscape(json: string, position: number): string | null {
  const kind = json.charAt(position + 1);
  const length = kind === 'u' ? 6 : 2;
  if (json.length < position + length) return null;
  const digits = json.slice(position + 2, position + length);
  return kind === 'u' ? String.fromCharCode(Number.parseInt(digits, 16)) : (ESCAPES[kind] ?? kind);
}
