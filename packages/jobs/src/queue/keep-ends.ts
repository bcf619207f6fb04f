import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobKind } from '@gateway/contracts/jobs';
import type { Redis } from 'ioredis';
import { type JobFiles, storeFailure } from '../files/job-files.ts';
import type { JobRecord } from '../job-envelope.ts';
import { keepRecord } from '../records/ended-jobs.ts';
import { unlessAway } from './queue-errors.ts';

type UnqueuedJob<Kind extends JobKind> = Pick<JobRecord, 'id' | 'keyId' | 'model'> & { readonly kind: Kind };

/** Records the ends of jobs that no worker has had. Doing it twice changes nothing. Everything throws `service_unavailable` while Redis is away. */
export interface EndKeeper<Kinds extends JobKind> {
  /** It failed before it was stored. */
  keepRefused(job: UnqueuedJob<Kinds>, error: GatewayError): Promise<void>;
}

interface KeeperOptions {
  readonly redis: Redis;
  readonly files: JobFiles;
  readonly now: () => number;
}

export function createEndKeeper<Kinds extends JobKind>({
  redis,
  files,
  now,
}: KeeperOptions): EndKeeper<Kinds> {
  const timesAt = (nowMs: number) => ({ createdAtMs: nowMs, startedAtMs: null, finishedAtMs: nowMs });
  return {
    keepRefused: async (job, error) => {
      const reason = await storeFailure(files, job.id, error);
      const record: JobRecord = { ...job, ...timesAt(now()), status: 'failed', error: null };
      await unlessAway(keepRecord(redis, record, reason));
    },
  };
}
