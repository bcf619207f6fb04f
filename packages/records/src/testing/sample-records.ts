import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { dayOf, redisNames } from '@gateway/metering/redis-names';
import { sampleResult, sampleSubject } from '@gateway/metering/testing/sample-usage';
import type { Redis } from 'ioredis';

export const at = (moment: string): number => Date.parse(moment);

export const sampleRecord = (id: string, changes: Partial<UsageRecord> = {}): UsageRecord => ({
  ...sampleSubject(id, Date.now()),
  ...sampleResult(10),
  ...changes,
});

let lastSeq = 0;

/** Appends a record as a settled request does; at a moment of the past where one is given. */
export async function append(redis: Redis, record: UsageRecord, atMs?: number): Promise<void> {
  const id = atMs === undefined ? '*' : `${atMs}-${++lastSeq}`;
  await redis.xadd(redisNames.records(dayOf(atMs ?? Date.now())), id, 'record', JSON.stringify(record));
}
