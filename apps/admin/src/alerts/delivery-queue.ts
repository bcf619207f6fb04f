import { QUEUE_PREFIX } from '@gateway/jobs/redis/job-keys';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { type Job, Queue, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { Delivery } from './message.ts';
import type { SendOutcome } from './send-message.ts';

const Attempt = z.strictObject({
  at: z.iso.datetime(),
  /** The receiver's; null where it did not answer. */
  status: z.int().nullable(),
  /** Null: it was taken. */
  error: z.string().nullable(),
  durationMs: z.int(),
});
type Attempt = z.infer<typeof Attempt>;

const Queued = Delivery.extend({ attempts: z.array(Attempt) });

/** A message to one receiver, as people see it. */
export interface ListedDelivery extends z.infer<typeof Queued> {
  readonly id: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly createdMs: number;
}

/** One attempt, for its log line and the metrics. */
export interface FinishedAttempt extends Delivery {
  readonly attempt: number;
  readonly outcome: SendOutcome;
  readonly durationMs: number;
}

const QUEUE = 'alert';
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
/** Before each attempt after the first one: two hours together. What is older is no news. */
const RETRY_DELAYS_MS = [
  ...[5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS],
  ...[10 * MINUTE_MS, 30 * MINUTE_MS, 75 * MINUTE_MS],
];
const MAX_RETRY_AFTER_MS = 60 * MINUTE_MS;
const KEPT = { age: 7 * 86_400, count: 1000 } as const;
const CONCURRENCY = 4;

/**
 * @param made how many attempts have failed
 * @param wantedMs the wait that the receiver asked for
 */
export function retryDelayMs(made: number, delays: readonly number[], wantedMs: number): number {
  const delayMs = delays[Math.min(made, delays.length) - 1] ?? 0;
  return Math.max(delayMs, Math.min(wantedMs, MAX_RETRY_AFTER_MS));
}

/** The wait that a receiver asked for. */
class NotTaken extends Error {
  readonly retryAfterMs: number;
  constructor({ error, retryAfterMs }: SendOutcome) {
    super(error ?? '');
    this.retryAfterMs = retryAfterMs ?? 0;
  }
}

/** The messages that wait, are retried, and have ended: of all admin services. */
export interface DeliveryQueue {
  /** A second time changes nothing. */
  add(delivery: Delivery): Promise<void>;
  /** The newest first. */
  list(limit: number): Promise<ListedDelivery[]>;
  close(): Promise<void>;
}

export function createDeliveryQueue(redis: Redis, onError: (error: unknown) => void): DeliveryQueue {
  const queue = new Queue(QUEUE, { connection: redis, prefix: QUEUE_PREFIX });
  queue.on('error', onError);
  return {
    add: async ({ receiver, message }) => {
      await queue.add(message.type, { receiver, message, attempts: [] } satisfies z.infer<typeof Queued>, {
        // One for each receiver and message. Neither has a colon, which such ids may not have.
        jobId: `${receiver} ${message.id}`,
        attempts: RETRY_DELAYS_MS.length + 1,
        backoff: { type: 'custom' },
        removeOnComplete: KEPT,
        removeOnFail: KEPT,
        stackTraceLimit: 0,
      });
    },
    list: async (limit) => {
      const jobs = await queue.getJobs(['wait', 'active', 'delayed', 'completed', 'failed'], 0, limit - 1);
      const listed = await Promise.all(
        jobs.map(async (job: Job | undefined): Promise<ListedDelivery[]> => {
          // One of them may be gone meanwhile.
          const data = Queued.safeParse(job?.data).data;
          if (job === undefined || data === undefined) return [];
          const state = await job.getState();
          const status = state === 'completed' ? 'delivered' : state === 'failed' ? 'failed' : 'pending';
          return [{ ...data, id: job.id ?? '', status, createdMs: job.timestamp }];
        }),
      );
      return listed
        .flat()
        .toSorted((a, b) => b.createdMs - a.createdMs)
        .slice(0, limit);
    },
    close: () => queue.close(),
  };
}

interface WorkerOptions {
  /** A connection of its own, which blocks. */
  readonly redis: Redis;
  readonly send: (delivery: Delivery) => Promise<SendOutcome>;
  readonly onAttempt: (attempt: FinishedAttempt) => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly retryDelaysMs?: readonly number[] | undefined;
}

/** Sends what is in the queue, until it is closed. Of several admin services each message is sent by one. */
export async function createDeliveryWorker({
  redis,
  send,
  onAttempt,
  onError,
  retryDelaysMs = RETRY_DELAYS_MS,
}: WorkerOptions): Promise<{ close(): Promise<void> }> {
  const process = async (job: Job): Promise<void> => {
    const queued = Queued.parse(job.data);
    const { receiver, message, attempts } = queued;
    const startedAt = new Date();
    const started = performance.now();
    const outcome = await send({ receiver, message });
    const durationMs = Math.round(performance.now() - started);
    const made: Attempt = {
      ...{ at: startedAt.toISOString(), status: outcome.status, error: outcome.error, durationMs },
    };
    await job.updateData({ ...queued, attempts: [...attempts, made] });
    await onAttempt({ receiver, message, attempt: attempts.length + 1, outcome, durationMs });
    if (outcome.error !== null)
      throw outcome.isFinal ? new UnrecoverableError(outcome.error) : new NotTaken(outcome);
  };
  const report = oncePerOutage(onError);
  const worker = new Worker(QUEUE, process, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    concurrency: CONCURRENCY,
    lockDuration: 60_000,
    settings: {
      backoffStrategy: (made, _type, error) =>
        retryDelayMs(made, retryDelaysMs, error instanceof NotTaken ? error.retryAfterMs : 0),
    },
  });
  worker.on('error', report);
  await worker.waitUntilReady();
  return { close: () => worker.close() };
}
