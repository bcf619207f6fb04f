import { MemberScanner, skipSpace } from './json-members.ts';

/** How an escaped ASCII letter begins: the only other way to write a name of ASCII letters. */
const ASCII_ESCAPE = '\\u00';

/** A JSON object with another value for its own member `model`. */
export const replaceModel = (json: Buffer, model: string): Buffer =>
  replaceValues(json, valuesOf(json, 'model'), JSON.stringify(model));

/** A JSON object with this value for a member of its own, which it may have had or not. */
export function setMember(json: Buffer, name: string, value: unknown): Buffer {
  const spans = valuesOf(json, name);
  const written = JSON.stringify(value);
  if (spans.length > 0) return replaceValues(json, spans, written);
  const end = json.lastIndexOf('}');
  const isEmpty = skipSpace(json, skipSpace(json, 0) + 1) === end;
  const member = `${isEmpty ? '' : ','}${JSON.stringify(name)}:${written}`;
  return Buffer.concat([json.subarray(0, end), Buffer.from(member), json.subarray(end)]);
}

/** A JSON object without its own members of these names, and with others at its end: each as its bytes were. */
export function exchangeMembers(
  json: Buffer,
  removed: readonly string[],
  added: Readonly<Record<string, unknown>>,
): Buffer {
  const quoted = removed.map((name) => JSON.stringify(name));
  const scanner = new MemberScanner(json);
  /** Runs of members that stay, with what is between them. */
  const kept: Span[] = [];
  let isAfterGap = true;
  for (let member = scanner.next(); member !== null; member = scanner.next()) {
    const name = json.toString('latin1', member.nameStart, member.nameEnd);
    if (quoted.some((one) => isName(name, one))) isAfterGap = true;
    else {
      const last = isAfterGap ? undefined : kept.pop();
      kept.push({ start: last?.start ?? member.nameStart, end: member.end });
      isAfterGap = false;
    }
  }
  const parts = kept.flatMap(({ start, end }, index) => [
    OPEN_OR_COMMA[index === 0 ? 0 : 1],
    json.subarray(start, end),
  ]);
  const end = Object.entries(added).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  const [before] = OPEN_OR_COMMA;
  if (parts.length === 0) return Buffer.from(`${before}${end.join(',')}}`);
  return Buffer.concat([...parts, Buffer.from(`${end.map((member) => `,${member}`).join('')}}`)]);
}

const OPEN_OR_COMMA = [Buffer.from('{'), Buffer.from(',')] as const;

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
 * Where the values of an object's own members of this name are. Where the name occurs twice every one counts, since
 * readers differ in which they take.
 *
 * @param json a JSON object that has been parsed before
 * @param name ASCII letters and underscores
 */
function valuesOf(json: Buffer, name: string): Span[] {
  const quoted = JSON.stringify(name);
  const spans: Span[] = [];
  if (!mayHave(json, quoted, 0)) return spans;
  const scanner = new MemberScanner(json);
  for (let member = scanner.next(); member !== null; member = scanner.next()) {
    if (!isName(json.toString('latin1', member.nameStart, member.nameEnd), quoted)) continue;
    spans.push(member);
    // Mostly it comes early and once: then the rest needs no walk.
    if (!mayHave(json, quoted, member.end)) return spans;
  }
  return spans;
}

/** In bytes: that is twice as fast as in text. */
const mayHave = (json: Buffer, quoted: string, from: number): boolean =>
  json.includes(quoted, from) || json.includes(ASCII_ESCAPE, from);

const isName = (written: string, quoted: string): boolean =>
  written === quoted || (written.includes('\\') && JSON.stringify(JSON.parse(written)) === quoted);
