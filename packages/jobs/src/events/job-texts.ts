import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { textsKey } from '../redis/job-keys.ts';

const MAX_CHARACTERS = 65_536;
const MAX_TEXTS = 100_000;
/** How much of a job's texts is kept for later readers. The oldest texts are dropped first. */
const MAX_KEPT_CHARACTERS = 4 * 1024 * 1024;
/** How long texts are kept that nobody reads, because their reader or their writer is gone. */
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

interface EmitterOptions {
  readonly jobId: string;
  readonly redis: Redis;
  /** Texts are kept after they have been read. */
  readonly keepsTexts: boolean;
  /** Publishes in the queue's event stream how many there are. */
  readonly publish: (count: number) => Promise<unknown>;
}

/** Which of a job's texts are kept. */
function createKeptTexts() {
  const entries: { id: string; length: number }[] = [];
  let total = 0;
  return {
    /** Resolves to the oldest that is kept from now on, where older ones have to go. */
    add: (id: string, length: number): string | undefined => {
      entries.push({ id, length });
      total += length;
      if (total <= MAX_KEPT_CHARACTERS) return undefined;
      while (total > MAX_KEPT_CHARACTERS) total -= entries.shift()?.length ?? total;
      return entries[0]?.id;
    },
  };
}

/**
 * Sends a job's texts through a stream of their own. The stream is deleted after it has been read, or after
 * some time. The queue's event stream, which also reports the job's end, announces new texts.
 */
export function createJobEmitter({ jobId, redis, keepsTexts, publish }: EmitterOptions): JobEmitter {
  const key = textsKey(jobId);
  const kept = createKeptTexts();
  let count = 0;
  let last = Promise.resolve();
  const send = async (text: string): Promise<void> => {
    // All at once, so that they are carried out in this order.
    const added = redis.xadd(key, '*', 'text', text);
    const commands: Promise<unknown>[] = [added];
    if (count === 1) commands.push(redis.expire(key, UNREAD_TTL_S));
    commands.push(publish(count));
    await Promise.all(commands);
    const id = await added;
    const oldest = keepsTexts && id !== null ? kept.add(id, text.length) : undefined;
    if (oldest !== undefined) await redis.xtrim(key, 'MINID', oldest);
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

/** After a job's end: keeps unread texts a little longer for their reader; without a reader, deletes them. */
export async function endTexts(redis: Redis, jobId: string, { isRead }: { isRead: boolean }): Promise<void> {
  if (isRead) await redis.expire(textsKey(jobId), ENDED_TTL_S);
  else await redis.del(textsKey(jobId));
}

/** Takes a job's texts from Redis, in order, each once. */
export interface TextReader {
  /** Takes what is there now. */
  read(): Promise<void>;
  /** Drops the rest, unless texts are kept. */
  close(): Promise<void>;
}

interface ReaderOptions {
  /** Texts that were read stay in Redis. */
  readonly keepsTexts: boolean;
  readonly onText: (text: string) => void;
}

export function createTextReader(redis: Redis, jobId: string, options: ReaderOptions): TextReader {
  const { keepsTexts, onText } = options;
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
      if (!keepsTexts && last !== undefined && page.length > 0) await redis.xtrim(key, 'MINID', last);
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
      if (!keepsTexts) await redis.del(key);
    },
  };
}

/** A text that a job emitted, under its id in the job's stream. */
export interface EmittedText {
  readonly id: string;
  readonly text: string;
}

/** A page of the texts that are still there, from this one on; a page that is not full is the last. */
export async function readTexts(
  redis: Redis,
  jobId: string,
  { from, count = PAGE }: { from: string; count?: number },
): Promise<EmittedText[]> {
  const page = await redis.xrange(textsKey(jobId), from, '+', 'COUNT', count);
  return page.map(([id, [, text = '']]) => ({ id, text }));
}
