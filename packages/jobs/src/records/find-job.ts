import { isBatch } from '@gateway/contracts/jobs';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { JobFiles } from '../files/job-files.ts';
import { JobRecord } from '../job-envelope.ts';
import { cancelledKey, endedKey, isJobId } from '../redis/job-keys.ts';
import type { KeptResults } from '../results/kept-results.ts';
import { readCounts } from './batch-counts.ts';
import { readEnded } from './ended-jobs.ts';
import { hasEnded, recordOf } from './job-record.ts';

interface FinderOptions {
  readonly redis: Redis;
  readonly queues: readonly Pick<Queue, 'getJob'>[];
  readonly files: JobFiles;
  readonly results: Pick<KeptResults, 'expiryOf'>;
}

/** A job, and how long its result is kept. */
export interface FoundJob extends JobRecord {
  /** When the result expires, in Unix milliseconds; null if there is none. */
  readonly expiresAtMs: number | null;
  /** It was cancelled, and its worker has not ended it yet: it may get a result all the same. */
  readonly isStopping?: boolean;
}

type Found = JobRecord & Pick<FoundJob, 'isStopping'>;

/** Looks for a job in all places: among the ended ones, in the queues. */
export type FindJob = (jobId: string) => Promise<FoundJob | undefined>;

export function createJobFinder({ redis, queues, files, results }: FinderOptions): FindJob {
  const findStored = async (jobId: string): Promise<Found | undefined> => {
    const [cancelled, ended] = await redis.mget(cancelledKey(jobId), endedKey(jobId));
    // A job that is cancelled while it runs may end with a result all the same.
    if (ended) return readEnded(ended, files);
    if (!cancelled) return undefined;
    const record = JobRecord.parse(JSON.parse(cancelled));
    if (!(await isQueued(jobId))) return record;
    const text = await redis.get(endedKey(jobId));
    return text === null ? { ...record, isStopping: true } : readEnded(text, files);
  };

  const isQueued = async (jobId: string): Promise<boolean> => {
    const jobs = await Promise.all(queues.map((queue) => queue.getJob(jobId)));
    return jobs.some((job) => job !== undefined);
  };

  const findRecord = async (jobId: string): Promise<Found | undefined> => {
    const stored = await findStored(jobId);
    if (stored !== undefined) return stored;
    for (const queue of queues) {
      const job = await queue.getJob(jobId);
      if (job === undefined) continue;
      const record = await recordOf(queue, jobId, job, files);
      if (!hasEnded(record)) return record;
      // It may have ended while it was looked at: its kept end is written before that.
      const ended = await findStored(jobId);
      if (ended !== undefined) return ended;
      const again = await queue.getJob(jobId);
      return again && recordOf(queue, jobId, again, files);
    }
    // One that a queue does not keep may have ended since it was looked for first.
    return findStored(jobId);
  };

  return async (jobId) => {
    if (!isJobId(jobId)) return undefined;
    const record = await findRecord(jobId);
    if (record === undefined) return undefined;
    // A result can be removed while its job is still remembered.
    const expiresAtMs = record.status === 'completed' ? await results.expiryOf(jobId) : null;
    const [counts] = isBatch(record.kind) ? await readCounts(redis, [jobId]) : [];
    return { ...record, expiresAtMs, ...(counts && { counts }) };
  };
}
