import { endOfString } from '@gateway/contracts/json/json-depth';
import { type JsonObject, parseObject } from './json-object.ts';

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Deeper JSON is no reply. */
const MAX_DEPTH = 1_000;

/** The beginning of an escape at the end of a text. */
const HALF_AN_ESCAPE = /\\u?[\da-f]{0,3}$/i;
const ESCAPE_LENGTH = 5;

/**
 * The object that JSON amounts to which ends too early: its last text as far as it has come, all else as far as it is whole. Null where
 * it is none.
 */
export function objectOfCut(json: Buffer): JsonObject | null {
  /** What closes the lists and objects that are open, the innermost first. */
  let closing = '';
  /** Up to here it is JSON, once that is closed which was open there. */
  let whole = { end: 0, closing };
  /** The last sign between values. */
  let sign = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json[at] ?? 0;
    if (code === QUOTE) {
      const isName = closing.startsWith('}') && sign !== COLON;
      const end = endOfString(json, at);
      if (end < 0 && !isName)
        return parseObject(`${json.toString('utf8', 0, endOfText(json, at))}"${closing}`);
      if (end < 0) break;
      at = end;
      if (!isName) whole = { end: at + 1, closing };
    } else if (code === COLON) sign = code;
    else if (code === COMMA) {
      sign = code;
      whole = { end: at, closing };
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      closing = (code === OPEN_LIST ? ']' : '}') + closing;
      if (closing.length > MAX_DEPTH) return null;
      sign = code;
      whole = { end: at + 1, closing };
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      closing = closing.slice(1);
      whole = { end: at + 1, closing };
    }
  }
  return parseObject(json.toString('utf8', 0, whole.end) + whole.closing);
}

/** Where the text ends that begins at `start` and has no end, without half an escape. */
function endOfText(json: Buffer, start: number): number {
  const tail = json.toString('latin1', Math.max(start + 1, json.length - ESCAPE_LENGTH));
  const half = HALF_AN_ESCAPE.exec(tail);
  if (half === null) return json.length;
  const end = json.length - half[0].length;
  let first = end;
  while (json[first - 1] === BACKSLASH) first -= 1;
  return (end - first) % 2 === 0 ? end : json.length;
}
