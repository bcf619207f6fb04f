import { endOfString } from '@gateway/contracts/json/json-depth';

/** A member of a JSON object's bytes: the position of its name, quotes included, and of its value. Ends are exclusive. */
export interface MemberSpan {
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly start: number;
  readonly end: number;
}

const [TAB, LINE_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Deeper values are left to the parser, which has a bound of its own. */
const MAX_DEPTH = 1_000;

/**
 * Finds an object's own members without parsing it. Members further inside are not meant,
 * nor is what looks like one inside a text. Values are passed over, not checked: what has been found here need not be JSON.
 */
export class MemberScanner {
  readonly #json: Buffer;
  #at: number;
  #state: 'inside' | 'ended' | 'failed';

  constructor(json: Buffer) {
    this.#json = json;
    const start = skipSpace(json, 0);
    this.#at = skipSpace(json, start + 1);
    this.#state = json[start] === OPEN_OBJECT ? 'inside' : 'failed';
    if (json[this.#at] === CLOSE_OBJECT) this.#close();
  }

  /** Whether the object was closed, and nothing comes after it. */
  get ended(): boolean {
    return this.#state === 'ended';
  }

  /** Null where there is no further one, or where the text is no object. */
  next(): MemberSpan | null {
    if (this.#state !== 'inside') return null;
    const json = this.#json;
    const nameStart = this.#at;
    const nameEnd = json[nameStart] === QUOTE ? afterString(json, nameStart) : -1;
    const colon = nameEnd === -1 ? -1 : skipSpace(json, nameEnd);
    const start = skipSpace(json, colon + 1);
    const end = colon !== -1 && json[colon] === COLON ? endOfValue(json, start) : -1;
    if (end === -1) {
      this.#state = 'failed';
      return null;
    }
    this.#at = skipSpace(json, end);
    const closing = json[this.#at];
    if (closing === COMMA) this.#at = skipSpace(json, this.#at + 1);
    else if (closing === CLOSE_OBJECT) this.#close();
    else this.#state = 'failed';
    return { nameStart, nameEnd, start, end };
  }

  #close(): void {
    const isLast = skipSpace(this.#json, this.#at + 1) === this.#json.length;
    this.#state = this.#state === 'inside' && isLast ? 'ended' : 'failed';
  }
}

export function skipSpace(json: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const code = json[at];
    if (code !== SPACE && code !== LINE_FEED && code !== RETURN && code !== TAB) return at;
    at += 1;
  }
}

/** The position after the string that begins at `start`; -1 where it has no end. */
function afterString(json: Buffer, start: number): number {
  const end = endOfString(json, start);
  return end === -1 ? -1 : end + 1;
}

/** The position after the value; -1 where it has no end, or is nothing. */
function endOfValue(json: Buffer, start: number): number {
  const first = json[start];
  if (first === QUOTE) return afterString(json, start);
  if (first === OPEN_OBJECT || first === OPEN_LIST) return endOfNesting(json, start);
  let end = start;
  while (end < json.length && !endsScalar(json[end])) end += 1;
  return end > start ? end : -1;
}

const endsScalar = (code: number | undefined): boolean =>
  code === COMMA ||
  code === CLOSE_OBJECT ||
  code === CLOSE_LIST ||
  code === SPACE ||
  code === LINE_FEED ||
  code === RETURN ||
  code === TAB;

function endOfNesting(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at += 1) {
    const code = json[at];
    if (code === QUOTE) {
      at = endOfString(json, at);
      if (at === -1) return -1;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      depth += 1;
      if (depth > MAX_DEPTH) return -1;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}
