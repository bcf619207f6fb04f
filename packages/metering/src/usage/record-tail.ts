import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { dayOf, redisNames } from '../redis-names.ts';
import { parseRecord } from './outbox.ts';

/** What has been appended since the last look. */
export interface NewRecords {
  readonly records: readonly UsageRecord[];
  /** Whether there were more than one look returns; those are left out. */
  readonly hasMore: boolean;
}

/** Reads the records that are appended from now on, look by look. */
export interface RecordTail {
  read(): Promise<NewRecords>;
}

interface RecordTailOptions {
  readonly redis: Redis;
  readonly now: () => number;
  /** The most records of one look. */
  readonly maxRecords: number;
  readonly onBroken?: ReportBroken;
}

const FIRST_ID = '0-0';

/** The first look finds where the records end, and returns none. */
export function createRecordTail({
  redis,
  now,
  maxRecords,
  onBroken = () => undefined,
}: RecordTailOptions): RecordTail {
  let position: { readonly day: string; readonly id: string } | null = null;

  const lastIdOf = async (day: string): Promise<string> =>
    (await redis.xrevrange(redisNames.records(day), '+', '-', 'COUNT', 1)).at(0)?.[0] ?? FIRST_ID;

  return {
    read: async () => {
      const today = dayOf(now());
      if (position === null) {
        position = { day: today, id: await lastIdOf(today) };
        return { records: [], hasMore: false };
      }
      const { day, id } = position;
      const name = redisNames.records(day);
      const entries = await redis.xrange(name, `(${id}`, '+', 'COUNT', maxRecords);
      const hasMore = entries.length === maxRecords;
      const last = hasMore ? await lastIdOf(day) : (entries.at(-1)?.[0] ?? id);
      position = day === today ? { day, id: last } : { day: today, id: FIRST_ID };
      const records = entries.flatMap(([entryId, [, stored = '']]) => {
        const place = { kind: 'usage_record', id: `${name} ${entryId}` } as const;
        const record = readStored(stored, parseRecord, place, onBroken);
        return record === undefined ? [] : [record];
      });
      return { records, hasMore };
    },
  };
}
