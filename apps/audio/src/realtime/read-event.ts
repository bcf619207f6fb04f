import { endOfString } from '@gateway/contracts/json/json-depth';
import { isObject } from '@gateway/contracts/json/json-object';

/** What is known of an event without parsing it. */
export interface EventOutline {
  readonly type: string;
  /** Of the longest text among its members, which is its sound where it carries any. */
  readonly longestBytes: number;
}

const [QUOTE, COLON, COMMA] = [0x22, 0x3a, 0x2c];
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d];
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
/** A member's name, or a type, in any escaping. */
const MAX_NAME_BYTES = 1024;
/** Bytes outside of texts, and texts, that are looked at one by one: all sessions of the process wait meanwhile. */
const MAX_STEPS = 1_000_000;
/** What a member counts as: an event has a few dozen at most. */
const STEPS_OF_MEMBER = 1000;

/** How much of an event may still be looked at. */
interface Steps {
  left: number;
}

/**
 * Reads an event's type by looking at the members of the object alone, and jumps over their values. Null: it is no object, has not
 * exactly one type that is a text, or would take too long to read. A type that comes twice could mean one event here and another one at the provider.
 */
export function readEvent(json: Buffer): EventOutline | null {
  const steps: Steps = { left: MAX_STEPS };
  let at = skipSpaces(json, 0, steps);
  if (json[at] !== OPEN_OBJECT) return null;
  let type: string | null = null;
  let longestBytes = 0;
  at = skipSpaces(json, at + 1, steps);
  while (json[at] === QUOTE) {
    steps.left -= STEPS_OF_MEMBER;
    if (steps.left <= 0) return null;
    const nameEnd = endOfString(json, at);
    if (nameEnd === -1) return null;
    const name = textAt(json, at, nameEnd);
    at = skipSpaces(json, nameEnd + 1, steps);
    if (json[at] !== COLON) return null;
    at = skipSpaces(json, at + 1, steps);
    const end = endOfValue(json, at, steps);
    if (end === -1) return null;
    const isText = json[at] === QUOTE;
    if (isText) longestBytes = Math.max(longestBytes, end - at - 1);
    if (name === 'type') {
      const value = isText ? textAt(json, at, end) : null;
      if (type !== null || value === null) return null;
      type = value;
    }
    at = skipSpaces(json, end + 1, steps);
    if (json[at] !== COMMA) break;
    at = skipSpaces(json, at + 1, steps);
  }
  if (json[at] !== CLOSE_OBJECT || skipSpaces(json, at + 1, steps) !== json.length) return null;
  return type === null ? null : { type, longestBytes };
}

/** Of the sound in items of a conversation, in base64. */
export function soundIn(items: readonly unknown[]): number {
  let bytes = 0;
  for (const item of items)
    for (const part of isObject(item) && Array.isArray(item.content) ? item.content : [])
      if (isObject(part) && typeof part.audio === 'string') bytes += part.audio.length;
  return bytes;
}

function skipSpaces(json: Buffer, from: number, steps: Steps): number {
  let at = from;
  while (SPACES.has(json[at] ?? 0) && steps.left > 0) {
    at += 1;
    steps.left -= 1;
  }
  return at;
}

/** The text between two quotes; null for one that is too long to be a name, or no JSON. */
function textAt(json: Buffer, start: number, end: number): string | null {
  if (end - start > MAX_NAME_BYTES) return null;
  const text = json.toString('utf8', start, end + 1);
  if (!text.includes('\\')) return text.slice(1, -1);
  try {
    return String(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The index of a value's last byte; -1 where it has no end that is found in time. */
function endOfValue(json: Buffer, start: number, steps: Steps): number {
  if (json[start] === QUOTE) return endOfString(json, start);
  const isNested = OPENING.has(json[start] ?? 0);
  let depth = 0;
  for (let at = start; at < json.length && steps.left > 0; at += 1) {
    steps.left -= 1;
    const code = json[at] ?? 0;
    if (code === QUOTE) {
      at = endOfString(json, at);
      if (at === -1) return -1;
    } else if (OPENING.has(code)) depth += 1;
    else if (depth === 0 && (code === COMMA || CLOSING.has(code))) return isNested ? -1 : at - 1;
    else if (CLOSING.has(code)) {
      depth -= 1;
      if (depth === 0 && isNested) return at;
    }
  }
  return -1;
}
