import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { dayOf, hourOf, redisNames } from '../redis-names.ts';
import type { RefusalCounts as StoredCounts } from './outbox.ts';

/** Who was refused where. */
export interface Refusal {
  readonly keyId: string;
  readonly team: string | null;
  readonly endpoint: string;
  /** Null if the body was not read. */
  readonly model: string | null;
}

/** Counts refused requests into usage, once a second and not once a request. */
export interface RefusalCounts {
  add(refusal: Refusal): void;
  /** Writes the counts; what cannot be written is kept for the next time. Never throws. */
  flush(): Promise<void>;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

interface RefusalCountsOptions {
  readonly redis: Redis;
  readonly now: () => number;
  readonly keepSumsDays: number;
}

const FLUSH_EVERY_MS = 1000;
const SECONDS_PER_DAY = 86_400;
/** Bounds the memory while Redis is away; further kinds of refusals are not counted then. */
const MAX_PENDING = 10_000;

type Count = StoredCounts['counts'][number];

export function createRefusalCounts({ redis, now, keepSumsDays }: RefusalCountsOptions): RefusalCounts {
  /** By who, where and when. */
  let pending = new Map<string, Count>();

  const add = (counted: Count): void => {
    const { count, ...what } = counted;
    const key = JSON.stringify(what);
    const before = pending.get(key);
    if (before === undefined && pending.size >= MAX_PENDING) return;
    pending.set(key, { ...what, count: (before?.count ?? 0) + count });
  };

  const flush = async (): Promise<void> => {
    if (pending.size === 0) return;
    const counts = [...pending.values()];
    pending = new Map();
    const name = redisNames.refusals(dayOf(now()));
    const entry: StoredCounts = { id: randomUUID(), counts };
    try {
      await redis
        .multi()
        .xadd(name, '*', 'refusals', JSON.stringify(entry))
        .expire(name, keepSumsDays * SECONDS_PER_DAY)
        .exec();
    } catch {
      for (const count of counts) add(count);
    }
  };
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref();

  return {
    add: ({ keyId, team, endpoint, model }) =>
      add({ hour: hourOf(now()), keyId, team, endpoint, model, count: 1 }),
    flush,
    close: () => {
      clearInterval(timer);
      return flush();
    },
  };
}
