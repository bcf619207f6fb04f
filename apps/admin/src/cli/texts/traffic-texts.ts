import { z } from 'zod';
import { type Columns, cellText, type Row, type Text, table } from './table.ts';

/** The other sums that are not 0 in every row. */
const ALWAYS_SHOWN: readonly string[] = ['requests', 'failed', 'refused'];

/** What a row is grouped by comes first; then its sums. */
export const usageText: Text = (answer, nowMs) => {
  const rows = z.array(z.looseObject({ costMicroUsd: z.number() })).parse(answer);
  if (rows.length === 0) return 'No usage in this period.';
  const shown = rows.map(
    ({ costMicroUsd, ...row }): Row => ({ ...row, usd: (costMicroUsd / 1e6).toFixed(6) }),
  );
  const names = Object.keys(shown[0] ?? {}).filter(
    (name) => ALWAYS_SHOWN.includes(name) || shown.some((row) => row[name] !== 0),
  );
  const columns = names.map((name) => [name, (row: Row) => row[name] || (row[name] === 0 ? 0 : null)]);
  return table(Object.fromEntries(columns), shown, nowMs);
};

const Timed = z.object({ timing: z.object({ totalMs: z.number() }) });

/** How long a request took. */
export const totalMsOf = (request: Row): number => Timed.parse(request).timing.totalMs;

const Attention = z.array(
  z.looseObject({
    isUrgent: z.boolean(),
    sentence: z.string(),
    comparison: z.string().nullable(),
    affects: z.string().nullable(),
    advice: z.string(),
    since: z.string().nullable(),
    until: z.string().nullable(),
  }),
);

/** In the zone of the person's machine. */
const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
const at = (word: string, instant: string | null): string =>
  instant === null ? '' : ` ${word} ${local.format(new Date(instant))}.`;

export const attentionText: Text = (answer) =>
  Attention.parse(answer)
    .map(
      ({ isUrgent, sentence, comparison, affects, advice, since, until }) =>
        `${isUrgent ? '! ' : '  '}${[sentence, comparison, affects, advice]
          .flatMap((text) => text ?? [])
          .map(cellText)
          .join(' ')}${at('Since', since)}${at('Until', until)}`,
    )
    .join('\n') || 'Nothing needs attention.';

export const AUDIT_COLUMNS: Columns = {
  WHEN: 'at',
  WHO: 'who',
  ACTION: 'action',
  SUBJECT: 'subject',
  CHANGES: ({ before, after }) => changedMembers(before, after),
};

const Members = z.record(z.string(), z.unknown());

function changedMembers(before: unknown, after: unknown): string {
  const [from, to] = [Members.safeParse(before).data, Members.safeParse(after).data];
  if (from === undefined || to === undefined) return '';
  return Object.keys(to)
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => `${name}: ${cellText(from[name])} -> ${cellText(to[name])}`)
    .join('; ');
}
