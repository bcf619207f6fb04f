import type { Redis } from 'ioredis';
import type { Attempt } from '../replies/reply.ts';

/** How attempts at channels ended, counted by all processes together. */
export interface AttemptCounts {
  add(attempt: Pick<Attempt, 'channel' | 'outcome'>): void;
  /** Writes the counts; what cannot be written is kept for the next time. Never throws. */
  flush(): Promise<void>;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

interface AttemptCountsOptions {
  readonly redis: Redis;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** How many attempts of each channel ended with each outcome: `{ one: { ok: 120, timeout: 3 } }`. */
export type CountsByChannel = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** A count is known to be of the last hour, or day, with this much in doubt. */
const SLICE_MS = 600_000;
const KEEP_S = 25 * 3600;
const FLUSH_EVERY_MS = 5_000;
/** Bounds the memory while Redis is away; other kinds of ends are not counted then. */
const MAX_PENDING = 10_000;

/** Hash of one slice: counts by channel and outcome, neither of which has a space. */
const sliceName = (slice: number): string => `gateway:channel-attempts:${slice}`;
const sliceOf = (atMs: number): number => Math.floor(atMs / SLICE_MS);

/**
 * Counts attempts in memory and adds them to Redis every five seconds, so that an attempt itself costs nothing there. They are for
 * people who look at a channel; what a process had not written when it was killed is missing.
 */
export function createAttemptCounts({ redis, now }: AttemptCountsOptions): AttemptCounts {
  /** By slice, by field. */
  let pending = new Map<number, Map<string, number>>();
  let size = 0;

  const count = (slice: number, field: string, amount: number): void => {
    const fields = pending.get(slice) ?? new Map<string, number>();
    pending.set(slice, fields);
    const before = fields.get(field);
    if (before === undefined && size >= MAX_PENDING) return;
    if (before === undefined) size += 1;
    fields.set(field, (before ?? 0) + amount);
  };

  const write = async (slice: number, fields: ReadonlyMap<string, number>): Promise<void> => {
    const transaction = redis.multi();
    for (const [field, amount] of fields) transaction.hincrby(sliceName(slice), field, amount);
    try {
      await transaction.expire(sliceName(slice), KEEP_S).exec();
    } catch {
      for (const [field, amount] of fields) count(slice, field, amount);
    }
  };

  const flush = async (): Promise<void> => {
    const taken = pending;
    pending = new Map();
    size = 0;
    await Promise.all([...taken].map(([slice, fields]) => write(slice, fields)));
  };
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref();

  return {
    add: ({ channel, outcome }) => count(sliceOf(now()), `${channel} ${outcome}`, 1),
    flush,
    close: () => {
      clearInterval(timer);
      return flush();
    },
  };
}

/** The counts of the last `lastMs` milliseconds, up to ten minutes more. @throws what Redis throws */
export async function readAttemptCounts(
  redis: Redis,
  { nowMs, lastMs }: { readonly nowMs: number; readonly lastMs: number },
): Promise<CountsByChannel> {
  const last = sliceOf(nowMs);
  const first = sliceOf(nowMs - lastMs);
  const names = Array.from({ length: last - first + 1 }, (_, at) => sliceName(first + at));
  const counts = new Map<string, Record<string, number>>();
  for (const fields of await Promise.all(names.map((name) => redis.hgetall(name))))
    for (const [field, amount] of Object.entries(fields)) {
      const [channel = '', outcome = ''] = field.split(' ');
      const ofChannel = counts.get(channel) ?? {};
      counts.set(channel, ofChannel);
      ofChannel[outcome] = (ofChannel[outcome] ?? 0) + Number(amount);
    }
  return counts;
}
