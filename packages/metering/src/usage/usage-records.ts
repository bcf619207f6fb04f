import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { dayOf, redisNames } from '../redis-names.ts';
import { parseRecord } from './newest-records.ts';

/** Records that one round trip reads. */
const PAGE = 500;
const DAY_MS = 86_400_000;

interface RecordsQuery {
  readonly fromMs: number;
  readonly toMs: number;
  readonly onBroken?: ReportBroken;
}

/**
 * Every record of the days (UTC) from one moment to another, exclusive, as they were appended; a page in memory at a time.
 * A record that cannot be read is reported and left out.
 */
export async function* usageRecords(
  redis: Redis,
  { fromMs, toMs, onBroken = () => undefined }: RecordsQuery,
): AsyncGenerator<UsageRecord> {
  for (let day = Math.floor(fromMs / DAY_MS); day * DAY_MS < toMs; day += 1) {
    const name = redisNames.records(dayOf(day * DAY_MS));
    let start = `${fromMs}-0`;
    for (;;) {
      const page = await redis.xrange(name, start, `${toMs - 1}`, 'COUNT', PAGE);
      for (const [id, [, text = '']] of page) {
        const record = readStored(text, parseRecord, { kind: 'usage_record', id: `${name} ${id}` }, onBroken);
        if (record !== undefined) yield record;
      }
      const last = page.at(-1)?.[0];
      if (last === undefined || page.length < PAGE) break;
      start = `(${last}`;
    }
  }
}
