import type { Redis } from 'ioredis';
import { redisNames } from '../redis-names.ts';
import { sumField } from './sums.ts';

/** Who was refused where. */
export interface Refusal {
  readonly keyId: string;
  readonly team: string | null;
  readonly endpoint: string;
  /** Null if the body was not read. */
  readonly model: string | null;
}

/** Counts refused requests into the hours' sums, once a second and not once a request. */
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
const HOUR_LENGTH = 'YYYY-MM-DDTHH'.length;

export function createRefusalCounts({ redis, now, keepSumsDays }: RefusalCountsOptions): RefusalCounts {
  /** Counts by field, by hour. */
  let pending = new Map<string, Map<string, number>>();
  let size = 0;

  const count = (hour: string, field: string, amount: number): void => {
    const fields = pending.get(hour) ?? new Map<string, number>();
    pending.set(hour, fields);
    const before = fields.get(field);
    if (before === undefined && size >= MAX_PENDING) return;
    if (before === undefined) size += 1;
    fields.set(field, (before ?? 0) + amount);
  };

  const writeHour = async (hour: string, fields: ReadonlyMap<string, number>): Promise<void> => {
    const name = redisNames.sums(hour);
    let commands = redis.multi();
    for (const [field, amount] of fields) commands = commands.hincrby(name, field, amount);
    try {
      await commands.expire(name, keepSumsDays * SECONDS_PER_DAY).exec();
    } catch {
      for (const [field, amount] of fields) count(hour, field, amount);
    }
  };

  const flush = async (): Promise<void> => {
    if (size === 0) return;
    const taken = pending;
    pending = new Map();
    size = 0;
    await Promise.all([...taken].map(([hour, fields]) => writeHour(hour, fields)));
  };
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref();

  return {
    add: ({ keyId, team, endpoint, model }) => {
      const groups = {
        keyId,
        team: team ?? '',
        model: model ?? '',
        channel: '',
        endpoint,
        outcome: 'refused',
      };
      count(new Date(now()).toISOString().slice(0, HOUR_LENGTH), sumField(groups, 'refused'), 1);
    },
    flush,
    close: () => {
      clearInterval(timer);
      return flush();
    },
  };
}
