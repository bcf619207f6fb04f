import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { textsKey } from './job-keys.ts';

const MAX_CHARACTERS = 65_536;
const MAX_TEXTS = 100_000;
/** How long texts stand that nobody takes, because their reader or their writer is gone. */
const UNREAD_TTL_S = 3600;
const ENDED_TTL_S = 300;
/** Read in one round trip. */
const PAGE = 100;

export interface JobEmitter {
  emit(text: string): Promise<void>;
  readonly hasEmitted: boolean;
  /** Resolves when everything emitted has been stored, so that it reaches the caller before the job's end does. */
  flush(): Promise<void>;
}

/**
 * Sends a job's texts through a stream of its own, which goes when they have been read. The queue's event stream, which
 * also tells of the job's end, says that there are more.
 */
export function createJobEmitter(job: Job, jobId: string, redis: Redis): JobEmitter {
  let count = 0;
  let last = Promise.resolve();
  const send = async (text: string): Promise<void> => {
    const key = textsKey(jobId);
    // All at once, so that they are carried out in this order.
    const commands: Promise<unknown>[] = [redis.xadd(key, '*', 'text', text)];
    if (count === 1) commands.push(redis.expire(key, UNREAD_TTL_S));
    commands.push(job.updateProgress({ texts: count }));
    await Promise.all(commands);
  };
  return {
    emit: (text) => {
      if (text.length > MAX_CHARACTERS) return Promise.reject(new Error('an emitted text is too long'));
      count += 1;
      if (count > MAX_TEXTS) return Promise.reject(new Error('a job emitted too many texts'));
      const sent = send(text);
      last = Promise.all([last, sent]).then(() => undefined);
      last.catch(() => undefined);
      return sent;
    },
    get hasEmitted() {
      return count > 0;
    },
    flush: () => last,
  };
}

/** Whether this attempt or an earlier one has emitted: the progress of a new job is 0, ours is an object. */
export const hasEmitted = (job: Job): boolean => typeof job.progress === 'object';

/** After a job's end: what its reader has not taken yet stands a little longer, and nothing where nobody reads. */
export async function endTexts(redis: Redis, jobId: string, { isRead }: { isRead: boolean }): Promise<void> {
  if (isRead) await redis.expire(textsKey(jobId), ENDED_TTL_S);
  else await redis.del(textsKey(jobId));
}

/** Takes a job's texts from Redis, in order, each once. */
export interface TextReader {
  /** Takes what is there now; what has been taken is dropped from Redis. */
  read(): Promise<void>;
  /** Drops the rest. */
  close(): Promise<void>;
}

export function createTextReader(redis: Redis, jobId: string, onText: (text: string) => void): TextReader {
  const key = textsKey(jobId);
  let last: string | undefined;
  let turn = Promise.resolve();
  const take = async (): Promise<void> => {
    for (;;) {
      const from = last === undefined ? '-' : `(${last}`;
      const page = await redis.xrange(key, from, '+', 'COUNT', PAGE);
      for (const [id, [, text = '']] of page) {
        last = id;
        onText(text);
      }
      if (last !== undefined && page.length > 0) await redis.xtrim(key, 'MINID', last);
      if (page.length < PAGE) return;
    }
  };
  return {
    read: () => {
      const taken = turn.then(take);
      turn = taken.catch(() => undefined);
      return taken;
    },
    close: async () => {
      await redis.del(key);
    },
  };
}
