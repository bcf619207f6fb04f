import type { Path } from './path.ts';

type Step = string | number;

/**
 * Reports the members of a value that its schema left out, at any depth: those that `given` has and `read`, what zod
 * made of it, has not. `null` means absent, and an empty list says nothing. What zod passed on as it was (a JSON schema, a tool's input) is the same
 * value in both and is not looked into.
 */
export function reportLeftOut(given: unknown, read: unknown, at: Path, report: (path: Path) => void): void {
  compare(given, read, [...at], report);
}

/** `path` is one list for the whole walk: a path is copied only where something is reported. */
function compare(given: unknown, read: unknown, path: Step[], report: (path: Path) => void): void {
  if (given === read || typeof given !== 'object' || given === null) return;
  if (typeof read !== 'object' || read === null) return;
  if (Array.isArray(given)) {
    for (const [index, entry] of given.entries()) {
      path.push(index);
      compare(entry, Reflect.get(read, index), path, report);
      path.pop();
    }
    return;
  }
  for (const name of Object.keys(given)) {
    const value: unknown = Reflect.get(given, name);
    if (value === null || (Array.isArray(value) && value.length === 0)) continue;
    path.push(name);
    if (Object.hasOwn(read, name)) compare(value, Reflect.get(read, name), path, report);
    else report([...path]);
    path.pop();
  }
}
