import { createHashCounts, type HashCounts } from '@gateway/redis/hash-counts';
import type { Redis } from 'ioredis';
import { hourOf, redisNames } from '../redis-names.ts';
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
export interface RefusalCounts extends Pick<HashCounts, 'flush' | 'close'> {
  add(refusal: Refusal): void;
}

interface RefusalCountsOptions {
  readonly redis: Redis;
  readonly now: () => number;
  readonly keepSumsDays: number;
}

const FLUSH_EVERY_MS = 1000;
const SECONDS_PER_DAY = 86_400;

export function createRefusalCounts({ redis, now, keepSumsDays }: RefusalCountsOptions): RefusalCounts {
  const keepSeconds = keepSumsDays * SECONDS_PER_DAY;
  const counts = createHashCounts({ redis, flushEveryMs: FLUSH_EVERY_MS, keepSeconds });
  return {
    ...counts,
    add: ({ keyId, team, endpoint, model }) => {
      const groups = {
        keyId,
        team: team ?? '',
        model: model ?? '',
        channel: '',
        endpoint,
        outcome: 'refused',
      };
      counts.add(redisNames.sums(hourOf(now())), sumField(groups, 'refused'));
    },
  };
}
