import type { Redis } from 'ioredis';
import type { ReportBroken } from '../broken-records.ts';
import { createKeyFinder, type KeyFinder } from '../keys/find-key.ts';
import { createKeyStore, type KeyStore } from '../keys/key-store.ts';
import type { AccessRecords } from '../keys/records/access-records.ts';
import { createProjection } from '../keys/records/projection.ts';
import { keyNames } from '../redis-names.ts';
import { createTeamStore, type TeamStore } from '../teams/team-store.ts';

/** The id of no database. */
const OF_TESTS = 'of-tests';

/** Keys and teams for tests of what reads them: what Redis has of them is all there is, and there is no log. */
export function recordsInRedis(redis: Redis): AccessRecords {
  const projection = createProjection(redis);
  const nameOf = { key: keyNames.record, team: keyNames.team };
  return {
    get: (kind, id) => redis.get(nameOf[kind](id)),
    list: () => Promise.reject(new Error('there are no lists here')),
    change: async ({ kind, id, before, after }) => {
      if ((await redis.get(nameOf[kind](id))) !== before) return false;
      const version = await redis.incr('gateway:last-version');
      const text = after === null ? null : JSON.stringify(after);
      await projection.put([{ kind, id, version, text }]);
      if ((await projection.source()) === null) await projection.complete(OF_TESTS);
      return true;
    },
  };
}

/** Empties a Redis as one that has all that its database knows, which is nothing. */
export async function emptyRedis(redis: Redis): Promise<void> {
  const projection = createProjection(redis);
  const source = await projection.source();
  await redis.flushall();
  await projection.complete(source?.database ?? OF_TESTS);
}

interface TestAccess {
  readonly redis: Redis;
  readonly gatewaySecret: string;
  readonly webhookSecret?: string;
  readonly now?: () => number;
  readonly onBroken?: ReportBroken;
}

/** Keys that are made and found in a Redis. */
export const keysInRedis = (options: TestAccess): KeyStore & KeyFinder => {
  const { redis, now = Date.now } = options;
  return {
    ...createKeyStore({ ...options, now, records: recordsInRedis(redis) }),
    ...createKeyFinder({ ...options, now }),
  };
};

export const teamsInRedis = (redis: Redis, now: () => number = Date.now): TeamStore =>
  createTeamStore({ records: recordsInRedis(redis), now });
