import type { z } from 'zod';
import type { Mistake } from './configuration-error.ts';
import { expectedPhrase } from './expected-phrase.ts';
import { type Path, pathText, type YamlDocument } from './yaml-document.ts';

/** Texts below these names are secrets wherever they come from. */
const SECRET_NAMES: ReadonlySet<string | number> = new Set(['apiKey', 'headers']);

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, part) ? Reflect.get(at, part) : undefined,
    value,
  );

/** A value in words; a text that may be a secret is not repeated. */
const found = (value: unknown, secret: boolean): string => {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (secret || /:\/\/.*@/.test(String(value)))
    return value === '' ? 'an empty text' : `a ${typeof value} (not shown)`;
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 80) : value);
};

export const mistakeAt = (
  document: YamlDocument,
  path: Path,
  expected: string,
  options: { at?: 'key' | 'value'; found?: string } = {},
): Mistake => {
  const secret = path.some((part) => SECRET_NAMES.has(part)) || document.fromEnvironment(path);
  return {
    ...document.place(path, options.at),
    path: pathText(path),
    found: options.found ?? found(valueAt(document.value, path), secret),
    expected,
  };
};

/** Checks one part of the file against its schema. Null, with its mistakes added to the list, if it does not fit. */
export const checkEntry = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  path: Path,
  document: YamlDocument,
  mistakes: Mistake[],
): z.infer<Schema> | null => {
  const result = schema.safeParse(value, { error: expectedPhrase });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const at = [...path, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const options = { at: 'key', found: JSON.stringify(key) } as const;
        mistakes.push(mistakeAt(document, [...at, key], issue.message, options));
      }
    } else if (issue.code === 'invalid_key') {
      const expected = issue.issues[0]?.message ?? issue.message;
      mistakes.push(mistakeAt(document, at, expected, { at: 'key', found: JSON.stringify(at.at(-1)) }));
    } else mistakes.push(mistakeAt(document, at, issue.message));
  }
  return null;
};
