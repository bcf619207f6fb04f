import { REDACTIONS } from '@gateway/contracts/content-log';
import type { ContentLogEntry } from '../content-log-entry.ts';
import { ownPattern } from '../own-pattern.ts';
import type { Complaint } from './mistake-list.ts';
import { listed } from './suggest.ts';

const PATTERN_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const BUILT_IN: readonly string[] = REDACTIONS;

/** What a section of the content log names and does not have, and patterns that cannot be used. */
export function checkContentLog({ patterns = {}, rules }: ContentLogEntry): Complaint[] {
  const known = [...BUILT_IN, ...Object.keys(patterns)];
  return [
    ...Object.entries(patterns).flatMap(([name, source]) => checkPattern(name, source)),
    ...rules.flatMap(({ redact = [] }, at) =>
      redact.flatMap((name, index): Complaint[] =>
        known.includes(name)
          ? []
          : [
              {
                path: ['rules', at, 'redact', index],
                expected: `one of the patterns ${listed(known)}`,
                place: 'closed',
                known,
              },
            ],
      ),
    ),
  ];
}

function checkPattern(name: string, source: string): Complaint[] {
  const path = ['patterns', name];
  if (!PATTERN_NAME.test(name))
    return [{ path, at: 'key', expected: 'a name of up to 32 small letters, digits and -' }];
  if (BUILT_IN.includes(name))
    return [{ path, at: 'key', expected: `a name that no built-in pattern has: ${listed(BUILT_IN)}` }];
  try {
    if (!ownPattern(source).matcher('').matches()) return [];
    return [
      {
        path,
        expected: 'a regular expression that matches something',
        found: 'one that matches nothing too',
      },
    ];
  } catch {
    const expected =
      'a regular expression in the syntax of RE2, without back-references and look-arounds; in quotes, \\ is written once in single quotes';
    return [{ path, expected, found: 'one that cannot be used' }];
  }
}
