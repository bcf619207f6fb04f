import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { type BrokenRecord, type ReportBroken, readStored } from '../broken-records.ts';
import {
  type EntryId,
  entryIdText,
  FIRST_ID,
  type OutboxEntry,
  type OutboxStream,
  outboxStreams,
  parseRecord,
  parseRefusals,
  placeOf,
  readOutbox,
} from './outbox.ts';
import { refusedGroups } from './refusals.ts';
import { createUsageRows, hourNumber, type UsageQuery, type UsageRow, type UsageRows } from './usage-rows.ts';

/** Entries that one round trip reads. */
const AT_ONCE = 500;

interface TailOptions {
  readonly streams: readonly OutboxStream[];
  /** How far each stream has been read by who has the rest. */
  readonly after: (stream: OutboxStream) => EntryId;
  /** At most so many entries of each stream. */
  readonly maxEntries: number;
}

/** The entries of streams after a position, each with its stream. */
export async function readTails(
  redis: Redis,
  { streams, after, maxEntries }: TailOptions,
): Promise<readonly { readonly stream: OutboxStream; readonly entries: readonly OutboxEntry[] }[]> {
  return Promise.all(
    streams.map(async (stream) => {
      const entries: OutboxEntry[] = [];
      let from = after(stream);
      while (entries.length < maxEntries) {
        const page = await readOutbox(redis, stream, { after: from, count: AT_ONCE });
        entries.push(...page);
        const last = page.at(-1);
        if (last === undefined || page.length < AT_ONCE) break;
        from = last.id;
      }
      return { stream, entries };
    }),
  );
}

/** Where an entry that cannot be read is found. */
export const brokenEntry = (
  { name }: Pick<OutboxStream, 'name'>,
  { id }: Pick<OutboxEntry, 'id'>,
): BrokenRecord => ({
  kind: 'usage_record',
  id: `${name} ${entryIdText(id)}`,
});

/** Adds what entries hold to rows. An entry that cannot be read is reported and left out. */
export function addEntries(
  rows: UsageRows,
  { stream, entries }: { readonly stream: OutboxStream; readonly entries: readonly OutboxEntry[] },
  onBroken: ReportBroken,
): void {
  for (const entry of entries) {
    const place = brokenEntry(stream, entry);
    if (stream.kind === 'records') {
      const record = readStored(entry.text, parseRecord, place, onBroken);
      if (record !== undefined) rows.addRecord(placeOf(entry, record).ms, record);
      continue;
    }
    for (const counted of readStored(entry.text, parseRefusals, place, onBroken)?.counts ?? []) {
      const row = rows.rowOf(hourNumber(Date.parse(`${counted.hour}:00Z`)), refusedGroups(counted));
      if (row !== undefined) row.sums.refused += counted.count;
    }
  }
}

/** The usage of a query, of nothing but what the streams hold: what no database has yet. */
export async function unrecordedUsage(
  redis: Redis,
  query: UsageQuery & { readonly onBroken?: ReportBroken },
): Promise<readonly UsageRow[]> {
  const rows = createUsageRows(query);
  const streams = outboxStreams(query.fromMs, query.toMs - 1);
  const tails = await readTails(redis, {
    streams,
    after: () => FIRST_ID,
    maxEntries: Number.POSITIVE_INFINITY,
  });
  for (const tail of tails) addEntries(rows, tail, query.onBroken ?? (() => undefined));
  return rows.rows();
}

/** The records of a time that the streams hold, as they were appended. One that cannot be read is reported and left out. */
export async function unrecordedRecords(
  redis: Redis,
  { fromMs, toMs, onBroken = () => undefined }: { fromMs: number; toMs: number; onBroken?: ReportBroken },
): Promise<readonly UsageRecord[]> {
  const streams = outboxStreams(fromMs, toMs - 1).filter(({ kind }) => kind === 'records');
  const tails = await readTails(redis, {
    streams,
    after: () => FIRST_ID,
    maxEntries: Number.POSITIVE_INFINITY,
  });
  return tails.flatMap(({ stream, entries }) =>
    entries.flatMap(
      (entry) => readStored(entry.text, parseRecord, brokenEntry(stream, entry), onBroken) ?? [],
    ),
  );
}
