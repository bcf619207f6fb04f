import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { textsHeadKey, textsKey } from '../redis/job-keys.ts';
import { createEventLog, type EventLog } from './event-log.ts';

/** One event may hold a long transcript. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
const MAX_TEXTS = 100_000;
/** Redis does nothing else while it appends. */
const MAX_AT_ONCE = 500;
/** How much of a job's texts is kept. The oldest are dropped first. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;
/** How long texts are kept that nobody reads, because their reader or their writer is gone. */
const UNENDED_SECONDS = 3600;
const ENDED_SECONDS = 300;

/** What jobs emit for their callers, by job ids. It begins with the first text. */
export const openJobLog = (redis: Redis): EventLog =>
  createEventLog({
    redis,
    keysOf: (jobId) => ({ head: textsHeadKey(jobId), entries: textsKey(jobId) }),
    names: ['text'],
    maxBytes: MAX_LOG_BYTES,
    beyond: 'drop-oldest',
    begins: true,
    unendedSeconds: UNENDED_SECONDS,
  });

export interface JobEmitter {
  emit(...texts: string[]): Promise<void>;
  readonly hasEmitted: boolean;
  /** Resolves when everything emitted has been stored, so that it reaches the caller before the job's end does. */
  flush(): Promise<void>;
}

interface EmitterOptions {
  readonly jobId: string;
  readonly log: Pick<EventLog, 'append'>;
  /** Marks the job as one that has emitted. */
  readonly mark: () => Promise<unknown>;
}

export function createJobEmitter({ jobId, log, mark }: EmitterOptions): JobEmitter {
  let count = 0;
  let last = Promise.resolve();
  return {
    emit: async (...texts) => {
      if (texts.some((text) => text.length > MAX_CHARACTERS)) throw new Error('an emitted text is too long');
      const isFirst = count === 0;
      count += texts.length;
      if (count > MAX_TEXTS) throw new Error('a job emitted too many texts');
      // Sent at once, so that they are carried out in this order.
      const sending: Promise<unknown>[] = isFirst ? [mark()] : [];
      for (let at = 0; at < texts.length; at += MAX_AT_ONCE) {
        const entries = texts.slice(at, at + MAX_AT_ONCE).map((text) => [text]);
        sending.push(log.append(jobId, entries));
      }
      const sent = Promise.all(sending);
      last = Promise.all([last, sent]).then(() => undefined);
      last.catch(() => undefined);
      await sent;
    },
    get hasEmitted() {
      return count > 0;
    },
    flush: () => last,
  };
}

/** Whether this attempt or an earlier one has emitted: the progress of a new job is 0, the mark is an object. */
export const hasEmitted = (job: Job): boolean => typeof job.progress === 'object';
export const EMITTED = { texts: 1 } as const;

/** After a job's end: keeps its texts a little longer for their readers; without a reader, deletes them. */
export async function endJobLog(
  log: EventLog,
  jobId: string,
  { isRead }: { isRead: boolean },
): Promise<void> {
  const end = { fields: { ending: '1' }, headSeconds: ENDED_SECONDS, seconds: ENDED_SECONDS };
  if (isRead) await log.end(jobId, end);
  else await log.remove(jobId);
}
