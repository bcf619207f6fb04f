import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import { closeInTime, GOODBYE_MS } from './close-in-time.ts';
import { outcomeUnknown, toJobError } from './job-failure.ts';
import { failureOf, type JobFiles, outputOf, readOutput } from './job-files.ts';
import { eventsKey, QUEUE_PREFIX } from './job-keys.ts';
import { createTextReader } from './job-texts.ts';
import { createTextChannel, type TextChannel } from './text-channel.ts';

type Outcome = { readonly output: unknown } | { readonly error: GatewayError };

/** Someone who waits for a job in this process. */
export interface Waiter {
  readonly texts: TextChannel;
  readonly outcome: Promise<unknown>;
  /** To be called when the job has been stored: from then on one that cannot be found is lost. */
  stored(): void;
  /** Ends the waiting here, whatever becomes of the job. */
  settle(outcome: Outcome): void;
}

/** What is done about a job that Redis has lost. */
export interface LostJob {
  /** Whether it is still to be waited for. @param isHeard whether its caller has got texts of it */
  revive(isHeard: boolean): Promise<boolean>;
  /** Its files go: the worker that ended it could not know that it was the last. */
  deleteFiles(): Promise<void>;
}

/** Hears what becomes of one queue's jobs and tells those who wait. */
export interface JobListener {
  /** To be called before the job is stored, so that nothing is missed. */
  wait(jobId: string, lost: LostJob): Waiter;
  close(): Promise<void>;
}

interface ListenerOptions {
  readonly queue: Queue;
  readonly redis: Redis;
  readonly files: JobFiles;
  readonly lookUpMs: number;
  readonly onError: (error: unknown) => void;
}

/** A waiter, and how the listener hands it its job's texts and outcome. */
interface Waiting extends Waiter {
  /** For when Redis has lost the job. */
  readonly lost: { revive(): Promise<boolean>; deleteFiles(): Promise<void> };
  readonly isStored: boolean;
  /** Takes the texts that the job has emitted. */
  readTexts(): Promise<void>;
  /** Takes the last texts, then the outcome. */
  end(outcome: () => Promise<Outcome>): Promise<void>;
}

/**
 * Reads the queue's event stream from the place where it ends now. Reading goes on there after a lost connection, so
 * that no event is missed; should the stream have been cut or lost meanwhile, the jobs waited for are looked up as well.
 */
export async function listenToJobs({
  queue,
  redis,
  files,
  lookUpMs,
  onError,
}: ListenerOptions): Promise<JobListener> {
  const waiters = new Map<string, Waiting>();
  const [last] = await redis.xrevrange(eventsKey(queue.name), '+', '-', 'COUNT', 1);
  const events = new QueueEvents(queue.name, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    lastEventId: last?.[0] ?? '0-0',
  });
  const made = (jobId: string) => async (): Promise<Outcome> => ({ output: await outputOf(files, jobId) });
  const failed = (jobId: string, reason: string) => async (): Promise<Outcome> => ({
    error: await failureOf(files, jobId, reason),
  });
  /** What was made counts; else it is waited for on, where it can come back. */
  const endLost = async (jobId: string, waiter: Waiting): Promise<void> => {
    const output = await readOutput(files, jobId);
    if (output !== undefined) {
      await waiter.end(async () => ({ output }));
      await waiter.lost.deleteFiles();
    } else if (!(await waiter.lost.revive())) await waiter.end(async () => ({ error: outcomeUnknown() }));
  };
  events.on('error', onError);
  events.on('progress', ({ jobId }) => void waiters.get(jobId)?.readTexts().catch(onError));
  events.on('completed', ({ jobId }) => void waiters.get(jobId)?.end(made(jobId)));
  events.on('failed', ({ jobId, failedReason }) => void waiters.get(jobId)?.end(failed(jobId, failedReason)));
  events.on('removed', ({ jobId }) => waiters.get(jobId)?.settle({ error: jobCancelled() }));

  /** The state first, then the job: one that ends in between is heard of by its event. */
  const lookUp = async () => {
    const lost: Promise<void>[] = [];
    for (const [jobId, waiter] of waiters) {
      if (!waiter.isStored) continue;
      const state = await queue.getJobState(jobId);
      await waiter.readTexts();
      if (state === 'completed') await waiter.end(made(jobId));
      else if (state === 'unknown') lost.push(endLost(jobId, waiter));
      else if (state === 'failed') {
        const job = await queue.getJob(jobId);
        if (job === undefined) lost.push(endLost(jobId, waiter));
        else await waiter.end(failed(jobId, job.failedReason));
      }
    }
    await Promise.all(lost);
  };
  // One that loses Redis before its first connection never reads, and its close fails.
  await events.waitUntilReady();
  let lookingUp: Promise<void> | undefined;
  const onReady = () => {
    const mine = (lookingUp ?? Promise.resolve())
      .then(lookUp)
      .catch(onError)
      .finally(() => {
        if (lookingUp === mine) lookingUp = undefined;
      });
    lookingUp = mine;
  };
  redis.on('ready', onReady);
  const timer = setInterval(() => {
    if (redis.status === 'ready' && lookingUp === undefined) onReady();
  }, lookUpMs).unref();

  return {
    wait: (jobId, lost) => {
      const onSettled = () => waiters.delete(jobId);
      const waiter = createWaiter(jobId, { redis, lost, onError, onSettled });
      waiters.set(jobId, waiter);
      return waiter;
    },
    close: async () => {
      redis.off('ready', onReady);
      clearInterval(timer);
      await closeInTime(events.close().catch(onError), GOODBYE_MS);
    },
  };
}

export const jobCancelled = (): GatewayError =>
  new GatewayError('job_cancelled', 'The job was cancelled before it was done.');

interface WaiterOptions {
  readonly redis: Redis;
  readonly lost: LostJob;
  readonly onError: (error: unknown) => void;
  readonly onSettled: () => void;
}

function createWaiter(jobId: string, { redis, lost, onError, onSettled }: WaiterOptions): Waiting {
  const texts = createTextChannel();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  // A request for the outcome gets the rejection; there may be none.
  promise.catch(() => undefined);
  const reader = createTextReader(redis, jobId, (text) => {
    isHeard = true;
    texts.push(text);
  });
  let isStored = false;
  let hasTexts = false;
  let isHeard = false;
  const settle = (outcome: Outcome): void => {
    if ('error' in outcome) reject(outcome.error);
    else resolve(outcome.output);
    texts.end();
    onSettled();
  };
  return {
    texts,
    outcome: promise,
    lost: { revive: () => lost.revive(isHeard), deleteFiles: () => lost.deleteFiles() },
    stored: () => {
      isStored = true;
    },
    get isStored() {
      return isStored;
    },
    readTexts: () => {
      hasTexts = true;
      return reader.read();
    },
    settle,
    end: async (outcome) => {
      try {
        if (hasTexts) await reader.read();
        settle(await outcome());
        if (hasTexts) await reader.close();
      } catch (error) {
        settle({ error: toJobError(error) });
        onError(error);
      }
    },
  };
}
