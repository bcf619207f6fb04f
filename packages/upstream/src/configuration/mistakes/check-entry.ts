import type { z } from 'zod';
import type { Path } from '../yaml-document.ts';
import { expectedPhrase } from './expected-phrase.ts';
import { type Complaint, type MistakeList, valueAt } from './mistake-list.ts';

const complaintsOf = (issues: readonly z.core.$ZodIssue[]): readonly Complaint[] =>
  issues.flatMap((issue): Complaint | Complaint[] => {
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: [...path, key],
        expected: issue.message,
        at: 'key',
        found: JSON.stringify(key),
      }));
    }
    if (issue.code !== 'invalid_key') return { path, expected: issue.message };
    const expected = issue.issues[0]?.message ?? issue.message;
    return { path, expected, at: 'key', found: JSON.stringify(path.at(-1)) };
  });

const without = (value: unknown, complaints: readonly Complaint[]): unknown => {
  const copy: unknown = structuredClone(value);
  for (const { path } of complaints) {
    const parent = valueAt(copy, path.slice(0, -1));
    const name = path.at(-1);
    if (typeof parent === 'object' && parent !== null && typeof name === 'string') {
      Reflect.deleteProperty(parent, name);
    }
  }
  return copy;
};

/**
 * Checks one part of the file against its schema. The result lacks the members that are wrong, so that the rest can
 * still be checked; null if nothing is left to check.
 */
export const checkEntry = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  path: Path,
  mistakes: MistakeList,
): z.infer<Schema> | null => {
  const result = schema.safeParse(value, { error: expectedPhrase });
  if (result.success) return result.data;
  const complaints = complaintsOf(result.error.issues);
  for (const complaint of complaints) mistakes.add(path, complaint);
  return schema.safeParse(without(value, complaints)).data ?? null;
};
