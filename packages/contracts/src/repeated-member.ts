import { endOfString } from './json-depth.ts';

type Path = readonly (string | number)[];

/** How many members the objects of parsed JSON have: of a repeated one, the parser keeps the last. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const entry of value) if (typeof entry === 'object') count += countMembers(entry);
    return count;
  }
  for (const inner of Object.values(value)) count += typeof inner === 'object' ? 1 + countMembers(inner) : 1;
  return count;
}

interface Level {
  /** The names so far; null for a list. */
  readonly names: Set<string> | null;
  /** The scan's position in it. */
  at: string | number;
}

/** The path of the first member whose name occurs before in its object, in any escaping; null if there is none. */
export function findRepeatedMember(json: string): Path | null {
  const levels: Level[] = [];
  let isName = false;
  for (let at = 0; at < json.length; at += 1) {
    const level = levels.at(-1);
    const sign = json[at];
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
        level.at = String(JSON.parse(json.slice(at, end + 1)));
        if (level.names.has(level.at)) return levels.map((one) => one.at);
        level.names.add(level.at);
        isName = false;
      }
      at = end;
    }
  }
  return null;
}
