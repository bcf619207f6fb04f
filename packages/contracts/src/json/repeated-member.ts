import { endOfString } from './json-depth.ts';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

type Path = readonly (string | number)[];

/** How many members the objects of parsed JSON have: of a repeated one, the parser keeps the last. */
export function countMembers(value: unknown): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (const entry of value) if (typeof entry === 'object') count += countMembers(entry);
  } else if (isObject(value)) {
    for (const name in value) {
      const inner = value[name];
      count += typeof inner === 'object' ? 1 + countMembers(inner) : 1;
    }
  }
  return count;
}

interface Level {
  /** The names so far; null for a list. */
  readonly names: Set<string> | null;
  /** The scan's position in it. */
  at: string | number;
}

/** The path of the first member whose name occurs before in its object, in any escaping; null if there is none. */
export function findRepeatedMember(json: Buffer): Path | null {
  const levels: Level[] = [];
  let isName = false;
  for (let at = 0; at < json.length; at += 1) {
    const level = levels.at(-1);
    const sign = String.fromCharCode(json[at] ?? 0);
    if (sign === '{' || sign === '[') {
      levels.push(sign === '{' ? { names: new Set(), at: '' } : { names: null, at: 0 });
      isName = sign === '{';
    } else if (sign === '}' || sign === ']') {
      levels.pop();
    } else if (sign === ',') {
      isName = level?.names !== null;
      if (typeof level?.at === 'number') level.at += 1;
    } else if (sign === '"') {
      const end = endOfString(json, at);
      if (isName && level?.names) {
        level.at = String(JSON.parse(json.toString('utf8', at, end + 1)));
        if (level.names.has(level.at)) return levels.map((one) => one.at);
        level.names.add(level.at);
        isName = false;
      }
      at = end;
    }
  }
  return null;
}
