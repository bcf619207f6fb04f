import { BatchCounts } from '@gateway/contracts/jobs';
import type { Redis } from 'ioredis';
import { batchCountsKey } from '../redis/job-keys.ts';

/** A batch's lines have a day; the batch is remembered for two more days. */
export const KEPT_SECONDS = 4 * 86_400;

/** Keeps how many of a batch's lines have ended how. */
export async function keepCounts(redis: Redis, batchId: string, counts: BatchCounts): Promise<void> {
  await redis.set(batchCountsKey(batchId), JSON.stringify(counts), 'EX', KEPT_SECONDS);
}

/** What was kept last of each of these batches, in their order; null for one whose lines have never been run. */
export async function readCounts(redis: Redis, batchIds: readonly string[]): Promise<(BatchCounts | null)[]> {
  if (batchIds.length === 0) return [];
  const texts = await redis.mget(batchIds.map(batchCountsKey));
  return texts.map((text) => (text === null ? null : BatchCounts.parse(JSON.parse(text))));
}
