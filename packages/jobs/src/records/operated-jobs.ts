import { contentTypeOf } from '@gateway/assets/asset-id';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type BatchCounts, isBatch, JobKind, type JobStatus } from '@gateway/contracts/jobs';
import type { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { JOBS } from '../catalog.ts';
import { storedFailure } from '../files/job-files.ts';
import { type JobRecord, parseEnvelope } from '../job-envelope.ts';
import {
  CANCEL_CHANNEL,
  cancelledKey,
  endedKey,
  isJobId,
  RESULTS_KEY,
  resultKey,
} from '../redis/job-keys.ts';
import { webhookIdOf } from '../webhooks/delivery.ts';
import { readCounts } from './batch-counts.ts';
import { type LinesPage, type LinesQuery, readLines } from './batch-lines.ts';
import { hasEnded } from './job-record.ts';
import { Remembered, recordIn } from './remembered.ts';

/** One job as an operator sees it. Times are Unix milliseconds. */
export interface OperatedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly queue: string;
  readonly keyId: string;
  readonly model: string;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  /** Of its last attempt, if that failed: also of a job that will be tried again. */
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  /** The assets of its result that are still kept. */
  readonly assets: readonly { readonly id: string; readonly contentType: string }[];
  readonly expiresAtMs: number | null;
  /** The webhook of its end. There is one if the job is detached and a receiver is configured. */
  readonly webhookId: string;
  /** What only its queue knows; null from an hour after its end, when the queue has forgotten it. */
  readonly run: OperatedRun | null;
  /** Of a batch, once it has begun. */
  readonly counts: BatchCounts | null;
}

interface OperatedRun {
  readonly requestId: string;
  /** How often it was begun. */
  readonly attempts: number;
  /** When it is tried again; null unless it waits for its next attempt. */
  readonly retryAtMs: number | null;
  /** Whether it waits until fewer jobs of its key are at work. */
  readonly isParked: boolean;
  /** How often another worker took it over from one that fell silent. */
  readonly takeovers: number;
  /** How often a person queued it again. */
  readonly requeues: number;
  readonly isDetached: boolean;
  readonly batchId: string | null;
}

export interface OperatedJobs {
  /** Undefined for a job that nobody remembers. */
  get(jobId: string): Promise<OperatedJob | undefined>;
  /** The lines of a batch; none of one that has not begun, and of other jobs. */
  lines(job: OperatedJob, query: LinesQuery): Promise<LinesPage>;
  /**
   * Cancels a job of any key. A running job is stopped at once. For a waiting job, the worker that would take
   * it does what each end of a job needs: it settles, reports and deletes.
   *
   * @throws {GatewayError} `object_not_found`; `conflict` for a job that has ended, or that is in no queue
   */
  cancel(jobId: string): Promise<void>;
}

interface OperatedJobsOptions {
  readonly redis: Redis;
  readonly queues: readonly Queue[];
  readonly now: () => number;
}

const AssetIds = z.array(z.string()).catch([]);

export function createOperatedJobs({ redis, queues, now }: OperatedJobsOptions): OperatedJobs {
  const inQueue = async (jobId: string): Promise<{ job: Job; queue: Queue } | undefined> => {
    for (const queue of queues) {
      const job = await queue.getJob(jobId);
      if (job !== undefined) return { job, queue };
    }
    return undefined;
  };

  const remembered = async (jobId: string): Promise<Remembered | null> => {
    const [cancelled, ended] = await redis.mget(cancelledKey(jobId), endedKey(jobId));
    const text = ended ?? cancelled ?? null;
    return text === null ? null : Remembered.parse(JSON.parse(text));
  };

  return {
    get: async (jobId) => {
      if (!isJobId(jobId)) return undefined;
      const [found, ended] = [await inQueue(jobId), await remembered(jobId)];
      const known = found === undefined ? ended : { ...(await recordIn(found.job)), ...ended };
      if (known === null) return undefined;
      const [assets, expires] = await Promise.all([
        redis.hget(resultKey(jobId), 'assets'),
        redis.zscore(RESULTS_KEY, jobId),
      ]);
      const run = found === undefined ? null : await runOf(found.job, found.queue, redis);
      const [counts = null] = isBatch(known.kind) ? await readCounts(redis, [jobId]) : [];
      const { reason, ...shown } = known;
      const failure = reason ? storedFailure(reason) : null;
      return {
        ...shown,
        id: jobId,
        queue: JOBS[known.kind].queue,
        errorCode: failure?.code ?? null,
        errorMessage: failure?.message ?? null,
        assets: AssetIds.parse(JSON.parse(assets ?? '[]')).map((id) => ({
          id,
          contentType: contentTypeOf(id) ?? 'application/octet-stream',
        })),
        expiresAtMs: expires === null ? null : Number(expires),
        webhookId: webhookIdOf(jobId, run?.requeues ?? 0),
        run,
        counts,
      };
    },

    lines: async ({ id, kind, counts, status, errorCode }, query) =>
      counts === null || !isBatch(kind)
        ? { lines: [], next: null }
        : readLines({ redis, queues }, { id, kind, total: counts.total, status, errorCode }, query),

    cancel: async (jobId) => {
      const found = isJobId(jobId) ? await inQueue(jobId) : undefined;
      const ended = isJobId(jobId) ? await remembered(jobId) : null;
      if (found === undefined && ended === null)
        throw new GatewayError('object_not_found', `There is no job '${jobId}', or its record has expired.`);
      const known = found && (await recordIn(found.job));
      if (known === undefined || ended !== null || hasEnded(known))
        throw new GatewayError('conflict', 'The job has already ended or been cancelled.');
      const { reason: _, ...record } = known;
      const { resultRetentionSeconds } = JOBS[known.kind];
      const cancelled: JobRecord = {
        ...record,
        id: jobId,
        status: 'cancelled',
        finishedAtMs: now(),
        error: null,
      };
      // The mark comes first: a worker that is just taking the job either finds it there or is already listening.
      await redis.set(cancelledKey(jobId), JSON.stringify(cancelled), 'EX', 2 * resultRetentionSeconds);
      await redis.publish(CANCEL_CHANNEL, jobId);
    },
  };
}

/** BullMQ's scores of delayed jobs are milliseconds times this. */
const DELAYED_UNIT = 4096;

async function runOf(job: Job, queue: Queue, redis: Redis): Promise<OperatedRun> {
  const {
    requestId,
    requeues = 0,
    isDetached = false,
    batchId = null,
  } = parseEnvelope(JobKind.parse(job.name), job.data);
  const { attemptsStarted: attempts, stalledCounter: takeovers } = job;
  const delayed = await redis.zscore(queue.toKey('delayed'), job.id ?? '');
  // A job that was never begun is delayed while it is parked; one that an older worker leaves to others, by a delay of its own.
  const retryAtMs = delayed === null || attempts === 0 ? null : Math.floor(Number(delayed) / DELAYED_UNIT);
  const isParked = delayed !== null && attempts === 0 && !(job.delay > 0);
  return { requestId, attempts, retryAtMs, isParked, takeovers, requeues, isDetached, batchId };
}
