import type { z } from 'zod';
import type { Path } from '../yaml-document.ts';
import { expectedPhrase } from './expected-phrase.ts';
import { type Complaint, type MistakeList, valueAt } from './mistake-list.ts';

/** What an issue's place takes, where that is no free text. */
const placeOf = (issue: z.core.$ZodIssue): Pick<Complaint, 'place' | 'known'> => {
  switch (issue.code) {
    case 'invalid_value':
      return { place: 'closed', known: issue.values.map(String) };
    case 'invalid_type':
      return ['number', 'int', 'boolean'].includes(issue.expected) ? { place: 'closed' } : {};
    case 'too_small':
    case 'too_big':
      return issue.origin === 'string' ? {} : { place: 'closed' };
    case 'invalid_union':
      return { place: 'closed' };
    default:
      return {};
  }
};

const complaintsOf = (issues: readonly z.core.$ZodIssue[]): readonly Complaint[] =>
  issues.flatMap((issue): Complaint | Complaint[] => {
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...path, key], expected: issue.message, at: 'member' }));
    }
    if (issue.code !== 'invalid_key') return { path, expected: issue.message, ...placeOf(issue) };
    return { path, expected: issue.issues[0]?.message ?? issue.message, at: 'key' };
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
