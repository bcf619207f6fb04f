import { JobKind } from '@gateway/contracts/jobs';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { JOBS } from './catalog.ts';
import { JobEnvelope } from './job-envelope.ts';
import { CANCEL_CHANNEL, cancelledKey } from './job-keys.ts';
import { recordOf } from './job-record.ts';
import type { UploadStore } from './upload-store.ts';

interface CancelOptions {
  readonly id: string;
  readonly queue: Queue;
  readonly redis: Redis;
  readonly uploads: UploadStore;
}

/**
 * Takes a queued job out of the line and stops a running one. The mark is set first: a worker that is just taking the
 * job either finds it there or is already listening.
 */
export async function cancelJob({ id, queue, redis, uploads }: CancelOptions): Promise<void> {
  const job = await queue.getJob(id);
  if (job === undefined) return;
  const kind = JobKind.parse(job.name);
  const record = await recordOf(kind, id, job);
  if (record.status !== 'queued' && record.status !== 'in_progress') return;
  const finishedAtMs = Date.now();
  const { resultRetentionSeconds } = JOBS[kind];
  const cancelled = {
    ...record,
    status: 'cancelled',
    finishedAtMs,
    expiresAtMs: finishedAtMs + resultRetentionSeconds * 1000,
  };
  await redis.set(cancelledKey(id), JSON.stringify(cancelled), 'EX', resultRetentionSeconds);
  const removed = await queue.remove(id);
  await redis.publish(CANCEL_CHANNEL, id);
  if (removed === 1) await uploads.delete(...uploadIds(kind, JobEnvelope.parse(job.data).input));
}

/** The uploads that a job of this kind reads. */
export function uploadIds<Kind extends JobKind>(kind: Kind, input: unknown): string[] {
  const spec = JOBS[kind];
  return spec.uploadsOf(spec.input.parse(input));
}
