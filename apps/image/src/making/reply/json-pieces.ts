/** Of JSON that is read as it comes. */
export type JsonPiece =
  /** Bytes of the JSON itself; of a string that is lifted out of it, the two quotes are left. */
  | { readonly kind: 'json'; readonly bytes: Buffer }
  /** The string at this path follows, in parts without their escapes. */
  | { readonly kind: 'string-begin'; readonly path: JsonPath }
  | { readonly kind: 'string-part'; readonly bytes: Buffer }
  | { readonly kind: 'string-end' };

export type JsonPath = readonly (string | number)[];

/** Whether the string value at this path is lifted out. */
export type Lifts = (path: JsonPath) => boolean;

/** Reads JSON as it comes and hands on some of its strings in parts, so that nobody has to hold them. */
export async function* jsonPieces(chunks: AsyncIterable<Buffer>, lifts: Lifts): AsyncGenerator<JsonPiece> {
  const splitter = new JsonSplitter(lifts);
  for await (const chunk of chunks) yield* splitter.split(chunk);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [COMMA, COLON] = [0x2c, 0x3a];
const [OPEN_LIST, OPEN_OBJECT] = [0x5b, 0x7b];
const [CLOSE_LIST, CLOSE_OBJECT] = [0x5d, 0x7d];

/** A longer one is none that we look for. */
const MAX_KEY_BYTES = 256;
/** As everywhere for JSON of upstreams. */
const MAX_DEPTH = 1_000;

/** What a backslash and a character encode, where it is not the character itself. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

interface Container {
  readonly isList: boolean;
  /** Where the next value belongs. */
  at: string | number;
}

/**
 * Follows the structure of one JSON text through its chunks. Text that is no JSON gets an answer too, which means nothing: what
 * is left goes to the parser, which refuses it.
 */
class JsonSplitter {
  readonly #lifts: Lifts;
  readonly #containers: Container[] = [];
  #state: 'structure' | 'key' | 'string' | 'lifted' = 'structure';
  #expectsKey = false;
  #key: Buffer[] = [];
  /** Of an escape that has begun: a backslash and what follows. */
  #escape = '';

  constructor(lifts: Lifts) {
    this.#lifts = lifts;
  }

  *split(chunk: Buffer): Generator<JsonPiece> {
    let at = 0;
    /** From where on the bytes are the JSON's own. */
    let own = 0;
    while (at < chunk.length) {
      if (this.#state === 'lifted') {
        const parts: Buffer[] = [];
        at = this.#lift(chunk, at, parts);
        // The closing quote is the JSON's.
        own = this.#state === 'lifted' ? at : at - 1;
        if (parts.length > 0) yield { kind: 'string-part', bytes: Buffer.concat(parts) };
        if (this.#state !== 'lifted') yield { kind: 'string-end' };
      } else if (this.#state === 'structure') {
        const quote = this.#readStructure(chunk, at);
        at = quote + 1;
        if (quote < chunk.length && this.#beginString()) {
          yield { kind: 'json', bytes: chunk.subarray(own, at) };
          yield { kind: 'string-begin', path: this.#path() };
          own = at;
        }
      } else at = this.#skipString(chunk, at);
    }
    if (own < chunk.length && this.#state !== 'lifted') yield { kind: 'json', bytes: chunk.subarray(own) };
  }

  /** Reads up to the next quote, or to the chunk's end. */
  #readStructure(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at];
      const container = this.#containers.at(-1);
      if (byte === QUOTE) return at;
      if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (this.#containers.length === MAX_DEPTH) throw new SyntaxError('JSON is nested too deeply');
        const isList = byte === OPEN_LIST;
        this.#containers.push({ isList, at: isList ? 0 : '' });
        this.#expectsKey = !isList;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        this.#containers.pop();
        this.#expectsKey = false;
      } else if (byte === COLON) this.#expectsKey = false;
      else if (byte === COMMA && container !== undefined) {
        if (typeof container.at === 'number') container.at += 1;
        this.#expectsKey = !container.isList;
      }
    }
    return chunk.length;
  }

  /** Whether the string that begins here is lifted. */
  #beginString(): boolean {
    if (this.#expectsKey) {
      this.#key = [];
      this.#state = 'key';
      return false;
    }
    this.#state = this.#lifts(this.#path()) ? 'lifted' : 'string';
    return this.#state === 'lifted';
  }

  #path(): JsonPath {
    return this.#containers.map(({ at }) => at);
  }

  /** Goes on after the closing quote of a string that stays, or to the chunk's end. */
  #skipString(chunk: Buffer, start: number): number {
    let at = start;
    if (this.#escape !== '') {
      this.#escape = '';
      at += 1;
    }
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === BACKSLASH) {
        if (at + 1 === chunk.length) this.#escape = '\\';
        at += 1;
      } else if (byte === QUOTE) {
        if (this.#state === 'key') this.#endKey(chunk.subarray(start, at));
        this.#state = 'structure';
        return at + 1;
      }
    }
    if (this.#state === 'key') this.#key.push(chunk.subarray(start));
    return chunk.length;
  }

  #endKey(last: Buffer): void {
    const container = this.#containers.at(-1);
    const key = Buffer.concat([...this.#key, last]);
    this.#key = [];
    if (container === undefined) return;
    container.at = '';
    if (key.length <= MAX_KEY_BYTES) container.at = textOf(key);
  }

  /** Takes what a lifted string has in this chunk. Goes on after its closing quote, or to the chunk's end. */
  #lift(chunk: Buffer, start: number, parts: Buffer[]): number {
    let at = start;
    let quote = chunk.indexOf(QUOTE, at);
    let backslash = chunk.indexOf(BACKSLASH, at);
    while (at < chunk.length) {
      if (this.#escape !== '') {
        at = this.#readEscape(chunk, at, parts);
        continue;
      }
      if (quote !== -1 && quote < at) quote = chunk.indexOf(QUOTE, at);
      if (backslash !== -1 && backslash < at) backslash = chunk.indexOf(BACKSLASH, at);
      const isEscape = backslash !== -1 && (quote === -1 || backslash < quote);
      const end = isEscape ? backslash : quote === -1 ? chunk.length : quote;
      if (end > at) parts.push(chunk.subarray(at, end));
      at = end + 1;
      if (isEscape) this.#escape = '\\';
      else if (end === quote) {
        this.#state = 'structure';
        return at;
      }
    }
    return chunk.length;
  }

  #readEscape(chunk: Buffer, at: number, parts: Buffer[]): number {
    this.#escape += String.fromCharCode(chunk[at] ?? 0);
    const [, letter = '', ...digits] = this.#escape;
    if (letter !== 'u') parts.push(Buffer.from(ESCAPES.get(letter) ?? letter));
    else if (digits.length === 4)
      parts.push(Buffer.from(String.fromCharCode(Number.parseInt(digits.join(''), 16))));
    else return at + 1;
    this.#escape = '';
    return at + 1;
  }
}

/** A key as it is meant, escapes and all; empty where it is none. */
function textOf(key: Buffer): string {
  try {
    return String(JSON.parse(`"${key.toString()}"`));
  } catch {
    return '';
  }
}
