import type { Path } from './path.ts';

type Step = string | number;
type Members = { readonly [name: Step]: unknown };

/**
 * Reports the members of a value that its schema left out, at any depth: those that `given` has and `read`, what zod
 * made of it, has not. `null` means absent, and an empty list means nothing. What zod passed on as it was (a JSON schema,
 * a tool's input) is the same value in both and is not looked into. Both are made of parsed JSON.
 */
export function reportLeftOut(given: unknown, read: unknown, at: Path, report: (path: Path) => void): void {
  compare(given, read, [...at], report);
}

const hasMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null;

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

/** `path` is one list for the whole walk: a path is copied only where something is reported. */
function compare(given: unknown, read: unknown, path: Step[], report: (path: Path) => void): void {
  if (!hasMembers(given) || !hasMembers(read)) return;
  if (Array.isArray(given)) {
    for (let index = 0; index < given.length; index += 1) {
      if (given[index] === read[index]) continue;
      path.push(index);
      compare(given[index], read[index], path, report);
      path.pop();
    }
    return;
  }
  for (const name in given) {
    const value = given[name];
    if (value === read[name] || isEmpty(value)) continue;
    path.push(name);
    if (Object.hasOwn(read, name)) compare(value, read[name], path, report);
    else report([...path]);
    path.pop();
  }
}
