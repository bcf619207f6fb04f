import type { AuditEntry } from '../../api/types.ts';

/** A member that an entry changed. Undefined: it was not there. */
export interface Change {
  /** Such as `limits.tokensPerMinute`. */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What is different after it, in the order of the members. All members of what was made or deleted. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): readonly Change[] {
  const old = new Map(membersOf(before ?? {}));
  const changed = new Map(membersOf(after ?? {}));
  return [...new Set([...old.keys(), ...changed.keys()])]
    .map((path) => ({ path, before: old.get(path), after: changed.get(path) }))
    .filter((change) => change.before !== change.after);
}

/** The members of an object at any depth, with their paths. Those that are null or empty say nothing. */
function membersOf(of: object, path = ''): readonly (readonly [string, string])[] {
  return Object.entries(of).flatMap(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`;
    if (value === null || value === undefined) return [];
    if (Array.isArray(value)) return value.length === 0 ? [] : itemsOf(value, at);
    return typeof value === 'object' ? membersOf(value, at) : [[at, String(value)] as const];
  });
}

const itemsOf = (items: readonly unknown[], path: string): readonly (readonly [string, string])[] =>
  items.every((item) => typeof item !== 'object')
    ? [[path, items.join(', ')]]
    : membersOf(Object.fromEntries(items.map((item, at) => [at + 1, item])), path);
