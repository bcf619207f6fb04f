/** A member that has a call's arguments, as an object. */
const ARGUMENTS = /"(?:input|arguments|args)"\s*:\s*\{/g;
const ARGUMENT_MEMBERS: ReadonlySet<string> = new Set(['input', 'arguments', 'args']);

const NUMBER = /-?\d[\d.eE+-]*/y;
const [QUOTE, MINUS] = [0x22, 0x2d];
const [OPEN, CLOSE] = [0x7b, 0x7d];
const [DIGIT_0, DIGIT_9] = [0x30, 0x39];

/**
 * Whether JSON has arguments as an object with a number that JavaScript would write in another way, such as `1.0` and `-0`. Another
 * protocol has them as a text, and what a model wrote is what a tool gets.
 */
export function hasChangingArguments(json: string): boolean {
  ARGUMENTS.lastIndex = 0;
  for (let found = ARGUMENTS.exec(json); found !== null; found = ARGUMENTS.exec(json)) {
    const end = objectWithoutChange(json, ARGUMENTS.lastIndex - 1);
    if (end === null) return true;
    ARGUMENTS.lastIndex = end;
  }
  return false;
}

/** The end of the object that begins at `start`; null where a number in it would change. */
function objectWithoutChange(json: string, start: number): number | null {
  const { length } = json;
  let depth = 0;
  for (let at = start; at < length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === OPEN) depth += 1;
    else if (code === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9)) {
      NUMBER.lastIndex = at;
      const [written = ''] = NUMBER.exec(json) ?? [];
      if (String(Number(written)) !== written) return null;
      at += written.length - 1;
    }
  }
  return length;
}

function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let escapes = at;
    while (json[escapes - 1] === '\\') escapes -= 1;
    if ((at - escapes) % 2 === 0) return at;
  }
  return json.length;
}

/** Calls a function for each value of parsed JSON that is no part of such arguments, and puts its result there. */
export function replaceOutsideArguments(value: unknown, replace: (value: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (JSON.isRawJSON(value)) return replace(value);
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'object' || member === null) continue;
    const isArguments = ARGUMENT_MEMBERS.has(name) && !Array.isArray(member) && !JSON.isRawJSON(member);
    if (!isArguments) Reflect.set(value, name, replaceOutsideArguments(member, replace));
  }
  return value;
}
