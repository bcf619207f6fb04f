import { GatewayError } from '../gateway-error.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [COMMA, COLON] = [0x2c, 0x3a];
const [OPEN_LIST, OPEN_OBJECT] = [0x5b, 0x7b];
const [CLOSE_LIST, CLOSE_OBJECT] = [0x5d, 0x7d];

/**
 * How deep JSON from an upstream, or inside a text of a caller, may be nested. Far above the bound for a request, since
 * replies repeat parts of it; far below the depth that overflows the stack of recursive functions.
 */
const MAX_DEPTH = 1_000;

export interface JsonOutline {
  readonly isTooDeep: boolean;
  /** How many members its objects have, a repeated one each time. */
  readonly memberCount: number;
  /** About how many values it has: what separates them is counted, and what opens a list or an object. */
  readonly valueCount: number;
}

/**
 * Whether JSON opens more than `maxDepth` lists and objects inside one another, and how many members and values it has. The answer
 * for text that is not JSON has no meaning: the parser refuses it. Deep JSON costs its parser seconds and recursive
 * functions their stack, so this runs before both; it jumps over strings, and 115 KB take some 50 µs. It takes UTF-8, not
 * a string: V8 has a dozen kinds of those, and where all come by, it looks up each character's access again.
 */
export function outlineOf(json: Buffer, maxDepth: number): JsonOutline {
  const { length } = json;
  let depth = 0;
  let memberCount = 0;
  let valueCount = 0;
  for (let at = 0; at < length; at += 1) {
    const code = json[at];
    if (code === QUOTE) {
      at = endOfString(json, at);
      if (at === -1) break;
    } else if (code === COLON) memberCount += 1;
    else if (code === COMMA) valueCount += 1;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1;
      valueCount += 1;
      if (depth > maxDepth) return { isTooDeep: true, memberCount, valueCount };
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
  }
  return { isTooDeep: false, memberCount, valueCount };
}

/** Whether JSON opens more than `maxDepth` lists and objects inside one another. */
export const isDeeperThan = (text: string, maxDepth: number): boolean =>
  // Each bracket needs a closing one.
  text.length > 2 * maxDepth && outlineOf(Buffer.from(text), maxDepth).isTooDeep;

/** This many bytes of a string, and after each escaped quote in it, are read byte by byte: a search costs more to begin. */
const NEAR_BYTES = 48;

/** The index of the closing quote of the string that begins at `start`; -1 if it has none. */
export function endOfString(json: Buffer, start: number): number {
  const { length } = json;
  let at = start + 1;
  while (at < length) {
    const near = Math.min(at + NEAR_BYTES, length);
    for (; at < near; at += 1) {
      const code = json[at];
      if (code === QUOTE) return at;
      if (code === BACKSLASH) at += 1;
    }
    const end = json.indexOf(QUOTE, at);
    if (end === -1) return -1;
    let first = end;
    while (first > at && json[first - 1] === BACKSLASH) first -= 1;
    if ((end - first) % 2 === 0) return end;
    at = end + 1;
  }
  return -1;
}

/** The error for a request whose JSON is nested too deeply for the gateway. */
export const nestedTooDeeply = (cause?: unknown): GatewayError =>
  new GatewayError('invalid_json', {
    message: 'The JSON of the request is nested too deeply. Send it with fewer levels of lists and objects.',
    cause,
  });

/**
 * Checks JSON that was not checked as part of a request: an upstream's, or a text inside a request.
 *
 * @throws {SyntaxError} for JSON that is nested too deeply
 */
export function boundedJson(text: string): string {
  if (isDeeperThan(text, MAX_DEPTH)) throw new SyntaxError('JSON is nested too deeply');
  return text;
}

/** Parses such JSON. @throws {SyntaxError} for text that is not JSON, or is nested too deeply */
export const parseJson = (text: string): unknown => JSON.parse(boundedJson(text));
