import type { AlertsEntry } from '../alerts-entry.ts';
import { SafeName } from '../file-schema.ts';
import type { Complaint } from './mistake-list.ts';
import { listed } from './suggest.ts';

/** What a section of alerts names and the file does not have. */
export function checkAlerts(
  { receivers = {}, rules = [], weeklyReport }: AlertsEntry,
  channels: ReadonlySet<string>,
): Complaint[] {
  const known = Object.keys(receivers);
  const amongOf = (of: readonly string[], noun: string) => ({
    expected:
      of.length === 0
        ? `the name of a ${noun}, of which there are none`
        : `one of the ${noun}s ${listed(of)}`,
    place: 'closed' as const,
    known: of,
  });
  const unknownIn = (
    names: readonly string[],
    path: readonly (string | number)[],
    { isKnown, complaint }: { isKnown: (name: string) => boolean; complaint: Omit<Complaint, 'path'> },
  ): Complaint[] =>
    names.flatMap((name, at) => (isKnown(name) ? [] : [{ path: [...path, at], ...complaint }]));
  const isReceiver = {
    isKnown: (name: string) => known.includes(name),
    complaint: amongOf(known, 'receiver'),
  };
  const isChannel = {
    isKnown: (name: string) => channels.has(name),
    complaint: amongOf([...channels], 'channel'),
  };
  return [
    ...known
      .filter((name) => !SafeName.test(name))
      .map((name) => ({
        path: ['receivers', name],
        at: 'key' as const,
        expected: 'a name of up to 64 letters, digits and . _ -',
      })),
    ...rules.flatMap((rule, at) => [
      ...unknownIn(rule.receivers, ['rules', at, 'receivers'], isReceiver),
      ...unknownIn(rule.channels ?? [], ['rules', at, 'channels'], isChannel),
    ]),
    ...unknownIn(weeklyReport?.receivers ?? [], ['weeklyReport', 'receivers'], isReceiver),
  ];
}
