import { z } from 'zod';
import { cellText, memberTable, table } from './table.ts';

const Members = z.record(z.string(), z.unknown());
const Rows = z.array(Members);

const MICRO_PER_USD = 1e6;

const usd = (microUsd: unknown): string =>
  typeof microUsd === 'number' ? `$${(microUsd / MICRO_PER_USD).toFixed(6)}` : 'unpriced';

export function requestsText(answer: unknown): string {
  const rows = Rows.parse(answer);
  if (rows.length === 0) return 'No request of this kind has ended.';
  const cells = rows.map((row) => [
    ...[
      row.startedAt,
      row.requestId ?? row.id,
      row.keyId,
      row.model,
      row.channel,
      row.errorCode ?? row.outcome,
    ].map(cellText),
    cellText(Members.parse(row.timing).totalMs),
    usd(row.costMicroUsd),
  ]);
  return table(['BEGAN', 'REQUEST', 'KEY', 'MODEL', 'CHANNEL', 'OUTCOME', 'MS', 'COST'], cells);
}

export function requestText(answer: unknown): string {
  const { attemptList, cost, ...members } = Members.parse(answer);
  const attempts = Rows.parse(attemptList).map(({ channel, account, outcome, status, ms }) =>
    [channel, account, outcome, status, ms].map(cellText),
  );
  const parts = Rows.parse(cost).map(({ kind, amount, unitUsd, unit, microUsd }) => [
    ...[kind, amount, `$${cellText(unitUsd)} for ${cellText(unit)}`].map(cellText),
    usd(microUsd),
  ]);
  return [
    memberTable(members),
    ...(attempts.length === 0 ? [] : [table(['CHANNEL', 'ACCOUNT', 'OUTCOME', 'STATUS', 'MS'], attempts)]),
    ...(parts.length === 0 ? [] : [table(['USED', 'AMOUNT', 'PRICE', 'COST'], parts)]),
  ].join('\n\n');
}

export function jobText(answer: unknown): string {
  const { history, ...members } = Members.parse(answer);
  const events = Rows.parse(history).map(({ at, event, detail }) => [at, event, detail].map(cellText));
  return [memberTable(members), table(['WHEN', 'WHAT', 'HOW'], events)].join('\n\n');
}

const Attention = z.array(
  z.looseObject({
    isUrgent: z.boolean(),
    sentence: z.string(),
    since: z.string().nullable(),
    until: z.string().nullable(),
  }),
);

/** In the zone of the person's machine. */
const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
const at = (word: string, instant: string | null): string =>
  instant === null ? '' : ` ${word} ${local.format(new Date(instant))}.`;

export function attentionText(answer: unknown): string {
  const items = Attention.parse(answer);
  if (items.length === 0) return 'Nothing needs a person now.';
  return items
    .map(
      ({ isUrgent, sentence, since, until }) =>
        `${isUrgent ? '! ' : '  '}${cellText(sentence)}${at('Since', since)}${at('Until', until)}`,
    )
    .join('\n');
}
