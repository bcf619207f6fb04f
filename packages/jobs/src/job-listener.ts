import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import { closeInTime, GOODBYE_MS } from './close-in-time.ts';
import { decodeFailure, outcomeUnknown } from './job-failure.ts';
import { eventsKey, QUEUE_PREFIX } from './job-keys.ts';
import { createTextChannel, type TextChannel } from './text-channel.ts';

/** Someone who waits for a job in this process. */
export interface Waiter {
  readonly texts: TextChannel;
  readonly outcome: Promise<unknown>;
  /** Ends the waiting here, whatever becomes of the job. */
  settle(outcome: { output: unknown } | { error: GatewayError }): void;
}

/** Hears what becomes of one queue's jobs and tells those who wait. */
export interface JobListener {
  /** To be called before the job is stored, so that nothing is missed. */
  wait(jobId: string): Waiter;
  close(): Promise<void>;
}

interface ListenerOptions {
  readonly queue: Queue;
  readonly redis: Redis;
  readonly onError: (error: unknown) => void;
}

/**
 * Reads the queue's event stream from the place where it ends now. Reading goes on there after a lost connection, so
 * that no event is missed; should the stream have been cut meanwhile, the jobs waited for are looked up once.
 */
export async function listenToJobs({ queue, redis, onError }: ListenerOptions): Promise<JobListener> {
  const waiters = new Map<string, Waiter>();
  const [last] = await redis.xrevrange(eventsKey(queue.name), '+', '-', 'COUNT', 1);
  const events = new QueueEvents(queue.name, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    lastEventId: last?.[0] ?? '0-0',
  });
  events.on('error', onError);
  events.on('progress', ({ jobId, data }) => {
    if (typeof data === 'object' && 'text' in data && typeof data.text === 'string')
      waiters.get(jobId)?.texts.push(data.text);
  });
  events.on('completed', ({ jobId, returnvalue }) => waiters.get(jobId)?.settle({ output: returnvalue }));
  events.on('failed', ({ jobId, failedReason }) =>
    waiters.get(jobId)?.settle({ error: decodeFailure(failedReason) }),
  );
  events.on('removed', ({ jobId }) => waiters.get(jobId)?.settle({ error: jobCancelled() }));

  const lookUp = async () => {
    for (const [jobId, waiter] of waiters) {
      const job = await queue.getJob(jobId);
      if (job === undefined) waiter.settle({ error: outcomeUnknown() });
      else if (await job.isCompleted()) waiter.settle({ output: job.returnvalue });
      else if (await job.isFailed()) waiter.settle({ error: decodeFailure(job.failedReason) });
    }
  };
  const onReady = () => void lookUp().catch(onError);
  redis.on('ready', onReady);

  return {
    wait: (jobId) => {
      const waiter = createWaiter(() => waiters.delete(jobId));
      waiters.set(jobId, waiter);
      return waiter;
    },
    close: async () => {
      redis.off('ready', onReady);
      await closeInTime(events.close(), GOODBYE_MS);
    },
  };
}

export const jobCancelled = (): GatewayError =>
  new GatewayError('job_cancelled', 'The job was cancelled before it was done.');

function createWaiter(onSettled: () => void): Waiter {
  const texts = createTextChannel();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  // Whoever asks for the outcome gets the rejection; nobody need ask.
  promise.catch(() => undefined);
  return {
    texts,
    outcome: promise,
    settle: (outcome) => {
      if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.output);
      texts.end();
      onSettled();
    },
  };
}
