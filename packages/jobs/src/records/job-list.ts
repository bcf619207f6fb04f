import { GatewayError } from '@gateway/contracts/gateway-error';
import { type BatchCounts, isBatch, JobKind, JobStatus } from '@gateway/contracts/jobs';
import { type Job, type JobType, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { JOBS } from '../catalog.ts';
import { hasEmitted } from '../events/job-log.ts';
import { storedFailure } from '../files/job-files.ts';
import {
  type JobEnvelope,
  JobEnvelope as JobEnvelopeSchema,
  knownJob,
  NewerJob,
  parseEnvelope,
} from '../job-envelope.ts';
import type { JobMetering } from '../job-metering.ts';
import { endedKey, QUEUE_PREFIX, requeueKey } from '../redis/job-keys.ts';
import { mayBeRequeued } from '../worker/retry-policy.ts';
import { readCounts } from './batch-counts.ts';

/** How many of a queue's jobs are in which state. */
export interface QueueCounts {
  readonly queue: string;
  readonly queued: number;
  readonly inProgress: number;
  /** Jobs between two attempts, and jobs that are parked because their key has enough at work. */
  readonly delayed: number;
  readonly failed: number;
  readonly completed: number;
  /** When the oldest waiting job was queued, in Unix milliseconds; null if none waits. */
  readonly oldestQueuedAtMs: number | null;
}

/** A job as operators see it. Times are Unix milliseconds. */
export interface ListedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly keyId: string;
  readonly requestId: string;
  readonly model: string;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly attempts: number;
  /** Of its last attempt, if that failed: also of a job that will be tried again. */
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  /** Whether it can be queued again: it certainly was not done, and its input is still there. */
  readonly canRequeue: boolean;
  /** The lines of a batch by what became of them, once it has begun; null for other jobs. */
  readonly counts: BatchCounts | null;
}

export interface JobPage {
  readonly jobs: readonly ListedJob[];
  /** For the next page; null on the last. */
  readonly next: string | null;
}

export interface JobList {
  /** All of them, for those who look at single jobs. */
  readonly queues: readonly Queue[];
  counts(): Promise<QueueCounts[]>;
  /** Queue by queue, the newest first. @param after `next` of the page before */
  list(options: { status: ListedStatus; limit: number; after?: string | undefined }): Promise<JobPage>;
  /**
   * Queues a failed job again, under its own id.
   *
   * @param reserve takes money and limits again, under the id that it is given; the failed attempt has been settled
   * @throws {GatewayError} `object_not_found`, `conflict` for a job that may have been done or whose input is gone
   */
  requeue(jobId: string, reserve: ReserveAgain): Promise<ListedJob>;
}

export const ListedStatus = JobStatus.extract(['queued', 'in_progress', 'completed', 'failed']);
export type ListedStatus = z.infer<typeof ListedStatus>;

export type ReserveAgain = (metering: JobMetering, kind: JobKind, id: string) => Promise<JobMetering>;

/** Where a page begins: the queue, and how many of its jobs came before. */
export const JOB_CURSOR = /^(\d{1,2})-(\d{1,6})$/;

const TYPES: Readonly<Record<ListedStatus, JobType[]>> = {
  queued: ['wait', 'prioritized', 'delayed'],
  in_progress: ['active'],
  completed: ['completed'],
  failed: ['failed'],
};

const QUEUES = [...new Set(JobKind.options.map((kind) => JOBS[kind].queue))];
/** Nobody takes longer to queue one job again. */
const REQUEUE_LOCK_S = 30;

/** @param redis whose commands fail promptly */
export function createJobList(redis: Redis, onError: (error: unknown) => void): JobList {
  const queues = QUEUES.map((name) => {
    const queue = new Queue(name, { connection: redis, prefix: QUEUE_PREFIX });
    queue.on('error', onError);
    return queue;
  });
  return {
    queues,
    counts: () =>
      Promise.all(
        queues.map(async (queue) => {
          const counts = await queue.getJobCounts(
            'wait',
            'prioritized',
            'active',
            'delayed',
            'failed',
            'completed',
          );
          const { wait = 0, prioritized = 0, active = 0, delayed = 0, failed = 0, completed = 0 } = counts;
          return {
            queue: queue.name,
            queued: wait + prioritized,
            inProgress: active,
            delayed,
            failed,
            completed,
            oldestQueuedAtMs: wait + prioritized === 0 ? null : await oldestQueued(redis, queue),
          };
        }),
      ),
    list: async ({ status, limit, after }) => {
      const [, first = '0', skip = '0'] = JOB_CURSOR.exec(after ?? '') ?? [];
      const jobs: ListedJob[] = [];
      for (let at = Number(first), start = Number(skip); at < queues.length; at += 1, start = 0) {
        const room = limit - jobs.length;
        if (room === 0) return { jobs: await counted(redis, jobs), next: `${at}-${start}` };
        const found = (await queues[at]?.getJobs(TYPES[status], start, start + room)) ?? [];
        // Those of another version, which this one cannot read, are left out.
        const readable = found.slice(0, room).filter((job) => !(knownJob(job) instanceof NewerJob));
        jobs.push(...readable.map((job) => listed(job, status)));
        if (found.length > room) return { jobs: await counted(redis, jobs), next: `${at}-${start + room}` };
      }
      return { jobs: await counted(redis, jobs), next: null };
    },
    requeue: async (jobId, reserve) => {
      for (const queue of queues) {
        const job = await queue.getJob(jobId);
        if (job === undefined) continue;
        const lock = requeueKey(jobId);
        if ((await redis.set(lock, '1', 'EX', REQUEUE_LOCK_S, 'NX')) === null)
          throw notRequeued('is already being requeued');
        try {
          return await requeueJob(redis, job, reserve);
        } finally {
          await redis.del(lock);
        }
      }
      throw new GatewayError('object_not_found', `There is no job '${jobId}', or its record has expired.`);
    },
  };
}

/** More jobs than wait in a queue by default. */
const MAX_LOOKED_AT = 1000;

/** Jobs take turns, so that the next one need not be the oldest. Of more than a thousand, one of the first thousand. */
async function oldestQueued(redis: Redis, queue: Queue): Promise<number | null> {
  const [next, prioritized] = await Promise.all([
    redis.lrange(queue.toKey('wait'), -MAX_LOOKED_AT, -1),
    redis.zrange(queue.toKey('prioritized'), '0', String(MAX_LOOKED_AT - 1)),
  ]);
  const pipeline = redis.pipeline();
  for (const id of [...next, ...prioritized].slice(0, MAX_LOOKED_AT))
    pipeline.hget(queue.toKey(id), 'timestamp');
  const times = ((await pipeline.exec()) ?? []).flatMap(([, time]) =>
    typeof time === 'string' && Number(time) > 0 ? [Number(time)] : [],
  );
  return times.length === 0 ? null : Math.min(...times);
}

async function requeueJob(redis: Redis, job: Job, reserve: ReserveAgain): Promise<ListedJob> {
  if ((await job.getState()) !== 'failed') throw notRequeued('has not failed');
  if (!listed(job, 'failed').canRequeue)
    throw notRequeued(
      'may have been done and paid for, failed because of its request, or its input has been deleted',
    );
  // Usage is put down once for each id, and what this one's attempts have used has been.
  const { consumedBefore: _, ...envelope }: JobEnvelope = JobEnvelopeSchema.loose().parse(job.data);
  const requeues = (envelope.requeues ?? 0) + 1;
  const { metering } = envelope;
  const again = metering && (await reserve(metering, JobKind.parse(job.name), `${job.id}.${requeues}`));
  await job.updateData({ ...envelope, requeues, ...(again && { metering: again }) });
  await redis.del(endedKey(job.id ?? ''));
  await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
  return listed(job, 'queued');
}

/** Jobs, with the counts of those that are batches. */
async function counted(redis: Redis, jobs: readonly ListedJob[]): Promise<ListedJob[]> {
  const batches = jobs.filter(({ kind }) => isBatch(kind)).map(({ id }) => id);
  if (batches.length === 0) return [...jobs];
  const kept = await readCounts(redis, batches);
  const counts = new Map(batches.map((id, at) => [id, kept[at]]));
  return jobs.map((job) => ({ ...job, counts: counts.get(job.id) ?? null }));
}

function listed(job: Job, status: ListedStatus): ListedJob {
  const kind = JobKind.parse(job.name);
  const { keyId, requestId, model, isDetached } = parseEnvelope(kind, job.data);
  const failure = status === 'completed' || !job.failedReason ? null : storedFailure(job.failedReason);
  const hasFailed = status === 'failed';
  return {
    id: job.id ?? '',
    kind,
    status: hasFailed && failure?.code === 'job_cancelled' ? 'cancelled' : status,
    keyId,
    requestId,
    model,
    createdAtMs: job.timestamp,
    startedAtMs: job.processedOn ?? null,
    finishedAtMs: job.finishedOn ?? null,
    attempts: job.attemptsStarted,
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message ?? null,
    canRequeue:
      hasFailed &&
      failure !== null &&
      isDetached === true &&
      !hasEmitted(job) &&
      mayBeRequeued(failure, JOBS[kind]),
    counts: null,
  };
}

const notRequeued = (why: string): GatewayError =>
  new GatewayError('conflict', `The job ${why}. It was left unchanged.`);
