import { type JobArea, type JobKind, jobAreaOf } from '@gateway/contracts/jobs';
import type { Redis } from 'ioredis';
import { JOBS } from '../catalog.ts';
import { jobListKey } from '../redis/job-keys.ts';

/** The newest jobs of a key that are listed; older ones are still found by their ids. */
const MAX_LISTED = 10_000;

interface ListedJob {
  readonly kind: JobKind;
  readonly keyId: string;
  readonly jobId: string;
  readonly createdAtMs: number;
}

/** Puts a job into its key's list, and takes out what is too old or too many. */
export async function listJob(redis: Redis, { kind, keyId, jobId, createdAtMs }: ListedJob): Promise<void> {
  const key = jobListKey(jobAreaOf(kind), keyId);
  const { queueLimitMs, resultRetentionSeconds } = JOBS[kind];
  const lifetimeMs = queueLimitMs + 2 * resultRetentionSeconds * 1000;
  await redis
    .multi()
    .zadd(key, createdAtMs, jobId)
    .zremrangebyscore(key, '-inf', createdAtMs - lifetimeMs)
    .zremrangebyrank(key, 0, -MAX_LISTED - 1)
    .pexpire(key, lifetimeMs)
    .exec();
}

export async function unlistJobs(
  redis: Redis,
  { area, keyId, jobIds }: { area: JobArea; keyId: string; jobIds: readonly string[] },
): Promise<void> {
  if (jobIds.length > 0) await redis.zrem(jobListKey(area, keyId), ...jobIds);
}

interface PageOptions {
  readonly area: JobArea;
  readonly keyId: string;
  /** The job before the page's first. */
  readonly after: string | undefined;
  readonly count: number;
}

/** Ids of a key's jobs, newest first; undefined where the job before is not listed. */
export async function listedJobs(
  redis: Redis,
  { area, keyId, after, count }: PageOptions,
): Promise<string[] | undefined> {
  const key = jobListKey(area, keyId);
  const rank = after === undefined ? -1 : await redis.zrevrank(key, after);
  return rank === null ? undefined : redis.zrevrange(key, rank + 1, rank + count);
}
