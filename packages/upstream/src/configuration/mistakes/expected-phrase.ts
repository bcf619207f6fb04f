import { z } from 'zod';
import { listed, nearest } from './suggest.ts';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
};

const amount = (count: number | bigint, origin: string): string => {
  const unit = UNITS[origin];
  return unit === undefined ? String(count) : `${count} ${unit[Number(count) === 1 ? 0 : 1]}`;
};

const shapeOf = (inst: unknown): readonly string[] =>
  inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];

/** What a schema would have accepted, as the end of "found …, expected …". Used as zod's error map. */
export const expectedPhrase = (issue: z.core.$ZodRawIssue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected;
    case 'invalid_value': {
      const values = issue.values.map(String);
      return `${values.length > 1 ? 'one of ' : ''}${listed(values)}`;
    }
    case 'unrecognized_keys': {
      const known = shapeOf(issue.inst);
      const hint = issue.keys.length === 1 ? nearest(issue.keys[0] ?? '', known) : '';
      return `only ${listed(known)}${hint}`;
    }
    case 'too_small':
      if (issue.inclusive === false) return `more than ${issue.minimum}`;
      return `at least ${amount(issue.minimum, issue.origin)}`;
    case 'too_big':
      return `at most ${amount(issue.maximum, issue.origin)}`;
    default:
      return 'something else';
  }
};
