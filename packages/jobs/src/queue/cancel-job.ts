import type { GatewayError } from '@gateway/contracts/gateway-error';
import { JobKind } from '@gateway/contracts/jobs';
import type { ConsumedUsage, UsageResult } from '@gateway/contracts/usage/usage-record';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { JOBS } from '../catalog.ts';
import { jobCancelled } from '../events/job-listener.ts';
import type { JobFiles } from '../files/job-files.ts';
import { parseEnvelope } from '../job-envelope.ts';
import { type JobMetering, type SettleJob, settlementOf } from '../job-metering.ts';
import { hasEnded, recordOf } from '../records/job-record.ts';
import { CANCEL_CHANNEL, cancelledKey, endedKey } from '../redis/job-keys.ts';
import { type JobTurns, takerOf } from '../turns/job-turns.ts';
import { type AnnounceEnd, announceEnd } from '../webhooks/announce-end.ts';

interface CancelOptions {
  readonly id: string;
  readonly queue: Queue;
  readonly redis: Redis;
  readonly turns: Pick<JobTurns, 'releaseParked'>;
  readonly files: JobFiles;
  /** Accounts for a metered job that never starts. */
  readonly settle: SettleJob | undefined;
  /** Queues its webhook, if it is detached. */
  readonly announce: AnnounceEnd | undefined;
  readonly onError: (error: unknown) => void;
}

/** What there was to cancel: no such job, one that has ended now or before, or one that its worker has been told to stop. */
export type Cancelled = 'unknown' | 'ended' | 'stopping';

/**
 * Removes a queued job from its queue, or stops a running one. The mark is set first, so that a worker that
 * takes the job now finds the mark or already listens.
 */
export async function cancelJob(options: CancelOptions): Promise<Cancelled> {
  const { id, queue, redis, turns, files, settle } = options;
  const job = await queue.getJob(id);
  if (job === undefined) return 'unknown';
  const kind = JobKind.parse(job.name);
  const record = await recordOf(queue, id, job, files);
  if (hasEnded(record) || (await redis.exists(endedKey(id))) === 1) return 'ended';
  const finishedAtMs = Date.now();
  const { resultRetentionSeconds } = JOBS[kind];
  const cancelled = { ...record, status: 'cancelled', finishedAtMs };
  await redis.set(cancelledKey(id), JSON.stringify(cancelled), 'EX', 2 * resultRetentionSeconds);
  const removed = await queue.remove(id);
  await redis.publish(CANCEL_CHANNEL, id);
  if (removed !== 1) return 'stopping';
  const { uploads, metering, consumedBefore, ...owner } = parseEnvelope(kind, job.data);
  const taker = takerOf(kind, owner);
  if (taker.share?.concurrentJobs !== undefined) await turns.releaseParked(taker.keyId);
  await files.uploads.delete(...uploads);
  if (metering) await settle?.(metering.subject, unstarted(metering, jobCancelled(), consumedBefore));
  await announceEnd(options, kind, job);
  return 'ended';
}

/** The accounting of a job whose work never began, or not again after what earlier attempts have used. */
export const unstarted = (
  metering: JobMetering,
  error: GatewayError,
  consumedBefore?: ConsumedUsage,
): UsageResult =>
  settlementOf({ metering, hasRun: false, consumed: undefined, consumedBefore, error, nowMs: Date.now() });
