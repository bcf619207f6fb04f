import type { Redis } from 'ioredis';

/** Counts in memory that are added to hashes in Redis from time to time, so that counting itself costs nothing there. */
export interface HashCounts {
  /** Adds one to a field of a hash. */
  add(hash: string, field: string): void;
  /** Writes the counts; what cannot be written is kept for the next time. Never throws. */
  flush(): Promise<void>;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

interface HashCountsOptions {
  readonly redis: Redis;
  readonly flushEveryMs: number;
  /** A hash expires this long after its last count. */
  readonly keepSeconds: number;
}

/** Bounds the memory while Redis is away; further fields are not counted then. */
const MAX_PENDING = 10_000;

/** What a process had not written when it was killed is missing. */
export function createHashCounts({ redis, flushEveryMs, keepSeconds }: HashCountsOptions): HashCounts {
  /** Counts by field, by hash. */
  let pending = new Map<string, Map<string, number>>();
  let size = 0;

  const count = (hash: string, field: string, amount: number): void => {
    const fields = pending.get(hash) ?? new Map<string, number>();
    pending.set(hash, fields);
    const before = fields.get(field);
    if (before === undefined && size >= MAX_PENDING) return;
    if (before === undefined) size += 1;
    fields.set(field, (before ?? 0) + amount);
  };

  const write = async (hash: string, fields: ReadonlyMap<string, number>): Promise<void> => {
    const transaction = redis.multi();
    for (const [field, amount] of fields) transaction.hincrby(hash, field, amount);
    try {
      await transaction.expire(hash, keepSeconds).exec();
    } catch {
      for (const [field, amount] of fields) count(hash, field, amount);
    }
  };

  const flush = async (): Promise<void> => {
    const taken = pending;
    pending = new Map();
    size = 0;
    await Promise.all([...taken].map(([hash, fields]) => write(hash, fields)));
  };
  const timer = setInterval(() => void flush(), flushEveryMs).unref();

  return {
    add: (hash, field) => count(hash, field, 1),
    flush,
    close: () => {
      clearInterval(timer);
      return flush();
    },
  };
}
