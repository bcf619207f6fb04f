import { createHashCounts, type HashCounts } from '@gateway/redis/hash-counts';
import type { Redis } from 'ioredis';
import type { Attempt } from '../replies/reply.ts';

/** How attempts at channels ended, counted by all processes together. */
export interface AttemptCounts extends Pick<HashCounts, 'flush' | 'close'> {
  add(attempt: Pick<Attempt, 'channel' | 'outcome'>): void;
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

/** Hash of one slice: counts by channel and outcome, neither of which has a space. */
const sliceName = (slice: number): string => `gateway:channel-attempts:${slice}`;
const sliceOf = (atMs: number): number => Math.floor(atMs / SLICE_MS);

/** They are for people who look at a channel. */
export function createAttemptCounts({ redis, now }: AttemptCountsOptions): AttemptCounts {
  const counts = createHashCounts({ redis, flushEveryMs: FLUSH_EVERY_MS, keepSeconds: KEEP_S });
  return {
    ...counts,
    add: ({ channel, outcome }) => counts.add(sliceName(sliceOf(now())), `${channel} ${outcome}`),
  };
}

/** The counts of a time of ten minutes. */
export interface AttemptSlice {
  readonly fromMs: number;
  readonly counts: CountsByChannel;
}

interface CountedTime {
  readonly nowMs: number;
  readonly lastMs: number;
}

/** The slices of the last `lastMs` milliseconds, the oldest first; that one reaches up to ten minutes further back. @throws what Redis throws */
export async function readAttemptSlices(
  redis: Redis,
  { nowMs, lastMs }: CountedTime,
): Promise<readonly AttemptSlice[]> {
  const last = sliceOf(nowMs);
  const first = sliceOf(nowMs - lastMs);
  const slices = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  return Promise.all(
    slices.map(async (slice) => {
      const counts = new Map<string, Record<string, number>>();
      for (const [field, amount] of Object.entries(await redis.hgetall(sliceName(slice)))) {
        const [channel = '', outcome = ''] = field.split(' ');
        const ofChannel = counts.get(channel) ?? {};
        counts.set(channel, ofChannel);
        ofChannel[outcome] = Number(amount);
      }
      return { fromMs: slice * SLICE_MS, counts };
    }),
  );
}

/** The counts of several slices together. */
export function sumOfSlices(slices: readonly AttemptSlice[]): CountsByChannel {
  const sums = new Map<string, Record<string, number>>();
  for (const { counts } of slices)
    for (const [channel, outcomes] of counts) {
      const sum = sums.get(channel) ?? {};
      sums.set(channel, sum);
      for (const [outcome, amount] of Object.entries(outcomes)) sum[outcome] = (sum[outcome] ?? 0) + amount;
    }
  return sums;
}

/** The counts of the last `lastMs` milliseconds, up to ten minutes more. @throws what Redis throws */
export const readAttemptCounts = async (redis: Redis, time: CountedTime): Promise<CountsByChannel> =>
  sumOfSlices(await readAttemptSlices(redis, time));
