import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { dayOf, redisNames } from '../redis-names.ts';

/** Records that one round trip reads. */
const AT_ONCE = 500;
const DAY_MS = 86_400_000;

/** A record's position: the day of its stream, and its entry's id. */
export const RECORD_CURSOR = /^(\d{4}-\d{2}-\d{2})_(\d{1,15}-\d{1,15})$/;

export const parseRecord = (text: string): UsageRecord => UsageRecord.parse(JSON.parse(text));

interface NewestQuery {
  /** Of the requests' ends. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** `next` of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
  /** How many records it looks at: a page may be short, and have a next all the same. */
  readonly maxRead: number;
  /** A text that the record holds somewhere: others need not be parsed. */
  readonly text: string | undefined;
  readonly isWanted: (record: UsageRecord) => boolean;
  readonly onBroken?: ReportBroken;
}

export interface RecordPage {
  readonly records: readonly UsageRecord[];
  readonly next: string | null;
}

/** A page of the records in a time, those that ended last first. A record that cannot be read is reported and left out. */
export async function newestRecords(redis: Redis, query: NewestQuery): Promise<RecordPage> {
  const { fromMs, toMs, after, limit, maxRead, text, isWanted, onBroken = () => undefined } = query;
  const [, afterDay, afterId] = RECORD_CURSOR.exec(after ?? '') ?? [];
  const records: UsageRecord[] = [];
  let read = 0;
  let day = afterDay ?? dayOf(toMs - 1);
  let end = afterId === undefined ? `${toMs - 1}` : `(${afterId}`;
  while (day >= dayOf(fromMs)) {
    const name = redisNames.records(day);
    const entries = await redis.xrevrange(name, end, `${fromMs}-0`, 'COUNT', AT_ONCE);
    for (const [id, [, stored = '']] of entries) {
      read += 1;
      end = `(${id}`;
      if (text === undefined || stored.includes(text)) {
        const record = readStored(
          stored,
          parseRecord,
          { kind: 'usage_record', id: `${name} ${id}` },
          onBroken,
        );
        if (record !== undefined && isWanted(record)) records.push(record);
      }
      if (records.length === limit || read === maxRead) return { records, next: `${day}_${id}` };
    }
    if (entries.length === AT_ONCE) continue;
    day = dayOf(Date.parse(day) - DAY_MS);
    end = `${toMs - 1}`;
  }
  return { records, next: null };
}

interface FirstQuery {
  readonly fromMs: number;
  readonly toMs: number;
  readonly maxRead: number;
  readonly onBroken?: ReportBroken;
}

const hasId = (record: UsageRecord, id: string): boolean => record.id === id || record.requestId === id;

/** The first record after a moment that has this id, its own or its request's; null where none of so many records has. */
export async function firstRecordWithId(
  redis: Redis,
  id: string,
  { fromMs, toMs, maxRead, onBroken = () => undefined }: FirstQuery,
): Promise<UsageRecord | null> {
  let read = 0;
  for (let day = dayOf(fromMs); day <= dayOf(toMs); day = dayOf(Date.parse(day) + DAY_MS)) {
    const name = redisNames.records(day);
    let start = `${fromMs}-0`;
    for (;;) {
      const entries = await redis.xrange(name, start, `${toMs}`, 'COUNT', AT_ONCE);
      for (const [entryId, [, stored = '']] of entries) {
        if (!stored.includes(id)) continue;
        const place = { kind: 'usage_record', id: `${name} ${entryId}` } as const;
        const record = readStored(stored, parseRecord, place, onBroken);
        if (record !== undefined && hasId(record, id)) return record;
      }
      read += entries.length;
      const last = entries.at(-1)?.[0];
      if (read >= maxRead) return null;
      if (last === undefined || entries.length < AT_ONCE) break;
      start = `(${last}`;
    }
  }
  return null;
}
