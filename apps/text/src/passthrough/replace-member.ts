const [TAB, LINE_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** How an escaped ASCII letter begins: the only other way to write a name of ASCII letters. */
const ASCII_ESCAPE = Buffer.from('\\u00');

/** A JSON object with another value for its own member `model`. */
export const replaceModel = (json: Buffer, model: string): Buffer =>
  replaceValues(json, valuesOf(json, 'model'), JSON.stringify(model));

/** A JSON object with this value for a member of its own, which it may have had or not. */
export function setMember(json: Buffer, name: string, value: unknown): Buffer {
  const spans = valuesOf(json, name);
  const written = JSON.stringify(value);
  if (spans.length > 0) return replaceValues(json, spans, written);
  const end = json.lastIndexOf(CLOSE_OBJECT);
  const isEmpty = json[skipSpace(json, skipSpace(json, 0) + 1)] === CLOSE_OBJECT;
  const member = `${isEmpty ? '' : ','}${JSON.stringify(name)}:${written}`;
  return Buffer.concat([json.subarray(0, end), Buffer.from(member), json.subarray(end)]);
}

function replaceValues(json: Buffer, spans: readonly Span[], value: string): Buffer {
  const written = Buffer.from(value);
  const parts: Buffer[] = [];
  let copied = 0;
  for (const { start, end } of spans) {
    parts.push(json.subarray(copied, start), written);
    copied = end;
  }
  parts.push(json.subarray(copied));
  return Buffer.concat(parts);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the values of an object's own members of this name are. Members further inside are not meant. Where the name
 * occurs twice every one counts, since readers differ in which they take.
 *
 * @param json a JSON object that has been parsed before: it is not checked again
 * @param name ASCII letters and underscores
 */
function valuesOf(json: Buffer, name: string): Span[] {
  const quoted = Buffer.from(JSON.stringify(name));
  const spans: Span[] = [];
  if (!mayHave(json, quoted, 0)) return spans;
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (json[at] === QUOTE) {
    const nameEnd = endOfString(json, at);
    const isMeant = isName(json.subarray(at, nameEnd), quoted);
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = endOfValue(json, start);
    if (isMeant) {
      spans.push({ start, end });
      // Mostly it comes early and once: then the rest needs no walk.
      if (!mayHave(json, quoted, end)) return spans;
    }
    at = skipSpace(json, end);
    if (json[at] !== COMMA) break;
    at = skipSpace(json, at + 1);
  }
  return spans;
}

const mayHave = (json: Buffer, quoted: Buffer, from: number): boolean =>
  json.indexOf(quoted, from) >= 0 || json.indexOf(ASCII_ESCAPE, from) >= 0;

const isName = (written: Buffer, quoted: Buffer): boolean =>
  written.equals(quoted) ||
  (written.includes(BACKSLASH) && JSON.stringify(JSON.parse(written.toString())) === quoted.toString());

function skipSpace(json: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = json[at];
    if (byte !== SPACE && byte !== LINE_FEED && byte !== RETURN && byte !== TAB) return at;
    at += 1;
  }
}

/** The index after the closing quote of the string that begins at `start`. */
function endOfString(json: Buffer, start: number): number {
  let at = start + 1;
  for (;;) {
    const byte = json[at];
    if (byte === QUOTE || byte === undefined) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
}

function endOfValue(json: Buffer, start: number): number {
  const first = json[start];
  if (first === QUOTE) return endOfString(json, start);
  if (first === OPEN_OBJECT || first === OPEN_LIST) return endOfNesting(json, start);
  let at = start;
  while (at < json.length && !endsScalar(json[at])) at += 1;
  return at;
}

const endsScalar = (byte: number | undefined): boolean =>
  byte === COMMA ||
  byte === CLOSE_OBJECT ||
  byte === CLOSE_LIST ||
  byte === SPACE ||
  byte === LINE_FEED ||
  byte === RETURN ||
  byte === TAB;

function endOfNesting(json: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < json.length) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfString(json, at);
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
  return at;
}
