import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import { failureOf, type JobFiles, outputOf, readOutput } from '../files/job-files.ts';
import type { JobRecord } from '../job-envelope.ts';
import { outcomeUnknown, textsLost, toJobError } from '../job-failure.ts';
import { readEnded } from '../records/ended-jobs.ts';
import type { FindJob } from '../records/find-job.ts';
import { hasEnded, recordOf } from '../records/job-record.ts';
import { closeInTime } from '../redis/close-in-time.ts';
import { endedKey, eventsKey, QUEUE_PREFIX } from '../redis/job-keys.ts';
import type { EventFeed } from './event-feed.ts';
import type { EventLog } from './event-log.ts';
import { followLog } from './follow-log.ts';
import { openJobLog } from './job-log.ts';

type Outcome = { readonly output: unknown } | { readonly error: GatewayError };

/** Someone who waits for a job in this process. */
export interface Waiter {
  /** What the job emits while it runs, in order; ends with the waiting, after all that was emitted by then. For one reader. */
  readonly texts: AsyncIterable<string>;
  readonly outcome: Promise<unknown>;
  /** Call it when the job has been stored. From then on, a job that cannot be found is lost. */
  stored(): void;
  /** Ends the waiting here, whatever becomes of the job. */
  settle(outcome: Outcome): void;
}

/** What is done about a job that Redis has lost, by the process that stored it. */
export interface LostJob {
  /** Whether it is still to be waited for. @param isHeard whether its caller has got texts of it */
  revive(isHeard: boolean): Promise<boolean>;
  /** Deletes its files: the worker that ended it could not know that nobody else needs them. */
  deleteFiles(): Promise<void>;
}

interface WaitOptions {
  /** Others may read the job's texts too, so they are not deleted when they have been read. */
  readonly keepsTexts: boolean;
  readonly lost?: LostJob;
}

/** Follows the event stream of one queue and notifies those who wait for its jobs. */
export interface JobListener {
  /** Call it before the job is stored, so that no event is missed. */
  wait(jobId: string, options: WaitOptions): Waiter;
  /** Notifies those who wait for a job that ended before they waited. */
  lookUp(jobId: string): Promise<void>;
  /** Calls back whenever something may have changed about a job, until it is stopped. */
  watch(jobId: string, onChange: () => void): { stop(): void };
  /** Calls back whenever a job may have ended, until it is stopped. */
  watchEnd(jobId: string, onEnd: () => void): { stop(): void };
  close(): Promise<void>;
}

interface ListenerOptions {
  readonly queue: Queue;
  readonly redis: Redis;
  readonly feed: EventFeed;
  readonly files: JobFiles;
  readonly find: FindJob;
  readonly lookUpMs: number;
  readonly onError: (error: unknown) => void;
}

/** A waiter, and how the listener hands it its job's outcome. */
interface Waiting extends Waiter {
  /** For when Redis has lost the job; undefined where another process stored it. */
  readonly lost: { revive(): Promise<boolean>; deleteFiles(): Promise<void> } | undefined;
  readonly isStored: boolean;
  end(outcome: () => Promise<Outcome>): Promise<void>;
}

/**
 * Reads the queue's event stream from its present end. Reading goes on there after a lost connection, so
 * that no event is missed; should the stream have been cut or lost meanwhile, the jobs waited for are looked up as well.
 */
export async function listenToJobs(options: ListenerOptions): Promise<JobListener> {
  const { queue, redis, feed, files, find, lookUpMs, onError } = options;
  const log = openJobLog(redis);
  const waiters = createRegister<Waiting>();
  const watchers = createRegister<() => void>();
  const endWatchers = createRegister<() => void>();
  const [last] = await redis.xrevrange(eventsKey(queue.name), '+', '-', 'COUNT', 1);
  const events = new QueueEvents(queue.name, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    lastEventId: last?.[0] ?? '0-0',
  });
  const tellWatchers = ({ jobId }: { jobId: string }) => {
    for (const onChange of watchers.of(jobId)) onChange();
  };
  const tellOfEnd = (ended: { jobId: string }) => {
    for (const onEnd of endWatchers.of(ended.jobId)) onEnd();
    tellWatchers(ended);
  };
  const endAll = (jobId: string, outcome: () => Promise<Outcome>) =>
    Promise.all(waiters.of(jobId).map((waiter) => waiter.end(outcome)));
  const made = (jobId: string) => async (): Promise<Outcome> => ({ output: await outputOf(files, jobId) });
  const failed = (jobId: string, reason: string) => async (): Promise<Outcome> => ({
    error: await failureOf(files, jobId, reason),
  });
  /** What was made counts; else it is waited for on, where it can come back. */
  const endLost = async (jobId: string): Promise<void> => {
    const lost = waiters.of(jobId);
    const output = await readOutput(files, jobId);
    const end = async (waiter: Waiting) => {
      if (output !== undefined) {
        await waiter.end(async () => ({ output }));
        await waiter.lost?.deleteFiles();
      } else if (!(await waiter.lost?.revive())) await waiter.end(async () => ({ error: outcomeUnknown() }));
    };
    await Promise.all(lost.map(end));
  };
  events.on('error', onError);
  events.on('completed', ({ jobId }) => void endAll(jobId, made(jobId)));
  events.on('failed', ({ jobId, failedReason }) => void endAll(jobId, failed(jobId, failedReason)));
  events.on('removed', ({ jobId }) => {
    for (const waiter of waiters.of(jobId)) waiter.settle({ error: jobCancelled() });
  });
  events.on('active', tellWatchers);
  events.on('waiting', tellWatchers);
  events.on('delayed', tellWatchers);
  events.on('completed', tellOfEnd);
  events.on('failed', tellOfEnd);
  events.on('removed', tellOfEnd);

  const endBy = async (jobId: string, record: JobRecord): Promise<void> => {
    if (record.status === 'completed') {
      const lost = waiters.of(jobId).map((waiter) => waiter.lost);
      await endAll(jobId, made(jobId));
      // Where Redis has lost the job, its worker could not know that it was the last.
      await Promise.all(lost.map((one) => one?.deleteFiles()));
    } else if (record.status === 'cancelled') await endAll(jobId, async () => ({ error: jobCancelled() }));
    else if (record.error !== null) {
      const error = GatewayError.deserialize(record.error);
      await endAll(jobId, async () => ({ error }));
    }
  };
  /** The mark of a cancelled job is not its end: its worker may keep a result all the same. */
  const endCancelled = async (jobId: string, marked: JobRecord): Promise<void> => {
    const job = await queue.getJob(jobId);
    const record = job && (await recordOf(queue, jobId, job, files));
    // It is kept before the job leaves the queue.
    const text = await redis.get(endedKey(jobId));
    const end = text === null ? record : await readEnded(text, files);
    if (end === undefined) {
      const output = await readOutput(files, jobId);
      await endBy(jobId, output === undefined ? marked : { ...marked, status: 'completed' });
    } else if (hasEnded(end)) await endBy(jobId, end);
  };

  const lookUp = async (jobId: string) => {
    const record = await find(jobId);
    if (record === undefined) await endLost(jobId);
    else if (record.status === 'cancelled') await endCancelled(jobId, record);
    else await endBy(jobId, record);
  };
  const lookUpAll = async () => {
    for (const jobId of watchers.jobIds()) tellWatchers({ jobId });
    for (const jobId of endWatchers.jobIds()) tellOfEnd({ jobId });
    const stored = waiters.jobIds().filter((jobId) => waiters.of(jobId).some(({ isStored }) => isStored));
    await Promise.all(stored.map(lookUp));
  };
  // One that loses Redis before its first connection never reads, and its close fails.
  await events.waitUntilReady();
  let lookingUp: Promise<void> | undefined;
  const onReady = () => {
    const mine = (lookingUp ?? Promise.resolve())
      .then(lookUpAll)
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
    wait: (jobId, { keepsTexts, lost }) => {
      const waiter = createWaiter(jobId, {
        log,
        feed,
        keepsTexts,
        lost,
        onError,
        onSettled: () => waiters.remove(jobId, waiter),
      });
      waiters.add(jobId, waiter);
      return waiter;
    },
    lookUp,
    watch: (jobId, onChange) => {
      watchers.add(jobId, onChange);
      return { stop: () => watchers.remove(jobId, onChange) };
    },
    watchEnd: (jobId, onEnd) => {
      endWatchers.add(jobId, onEnd);
      return { stop: () => endWatchers.remove(jobId, onEnd) };
    },
    close: async () => {
      redis.off('ready', onReady);
      clearInterval(timer);
      await closeInTime(events.close().catch(onError));
    },
  };
}

/** The waiters and watchers of each job. */
function createRegister<Entry>() {
  const entries = new Map<string, Set<Entry>>();
  return {
    add: (jobId: string, entry: Entry) => {
      const known = entries.get(jobId);
      if (known === undefined) entries.set(jobId, new Set([entry]));
      else known.add(entry);
    },
    remove: (jobId: string, entry: Entry) => {
      const known = entries.get(jobId);
      known?.delete(entry);
      if (known?.size === 0) entries.delete(jobId);
    },
    of: (jobId: string): Entry[] => [...(entries.get(jobId) ?? [])],
    jobIds: (): string[] => [...entries.keys()],
  };
}

export const jobCancelled = (): GatewayError =>
  new GatewayError('job_cancelled', 'The job was cancelled before it was done.');

interface WaiterOptions {
  readonly log: EventLog;
  readonly feed: EventFeed;
  readonly keepsTexts: boolean;
  readonly lost: LostJob | undefined;
  readonly onError: (error: unknown) => void;
  readonly onSettled: () => void;
}

function createWaiter(
  jobId: string,
  { log, feed, keepsTexts, lost, onError, onSettled }: WaiterOptions,
): Waiting {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  // A request for the outcome gets the rejection; there may be none.
  promise.catch(() => undefined);
  const ended = new AbortController();
  const left = Promise.withResolvers<null>();
  let isStored = false;
  let isHeard = false;
  const settle = (outcome: Outcome): void => {
    if ('error' in outcome) reject(outcome.error);
    else resolve(outcome.output);
    ended.abort();
    onSettled();
  };
  async function* texts(): AsyncGenerator<string> {
    const pages = followLog({ log, feed, id: jobId, after: -1, signal: ended.signal });
    let next = 0;
    try {
      for (;;) {
        // Redis may be away when the waiting ends.
        const page = await Promise.race([pages.next(), left.promise]);
        if (page === null || page.done === true) break;
        for (const { number, values } of page.value.entries) {
          // An answer must not have holes. Who joins an older job gets what is still there.
          if (!keepsTexts && number !== next) throw textsLost();
          next = number + 1;
          isHeard = true;
          yield values.join('');
        }
      }
      if (!keepsTexts && isHeard) log.remove(jobId).catch(onError);
    } finally {
      ended.abort();
      pages.return(undefined).catch(() => undefined);
    }
  }
  return {
    texts: texts(),
    outcome: promise,
    lost: lost && { revive: () => lost.revive(isHeard), deleteFiles: () => lost.deleteFiles() },
    stored: () => {
      isStored = true;
    },
    get isStored() {
      return isStored;
    },
    settle: (outcome) => {
      settle(outcome);
      left.resolve(null);
    },
    end: async (outcome) => {
      try {
        settle(await outcome());
      } catch (error) {
        settle({ error: toJobError(error) });
        onError(error);
      }
    },
  };
}
