import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { newKeyRecord } from '@gateway/metering/keys/key-record';
import { hashOf, makeSecret } from '@gateway/metering/keys/key-secret';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import type { RecordFilter } from '@gateway/metering/keys/records/access-records';
import { createProjection } from '@gateway/metering/keys/records/projection';
import type { KeySettings } from '@gateway/metering/keys/settings';
import { redisNames } from '@gateway/metering/redis-names';
import { beforeEach, expect, test } from 'vitest';
import { onBothDatabases } from '../testing/use-database.ts';
import { createAccessStore, writeRecords } from './access-store.ts';
import { fillRedis } from './fill-redis.ts';

const gatewaySecret = 'a gateway secret of more than 32 characters';
const now = () => Date.parse('2026-11-26T12:00:00Z');
const COUNT = 100_000;
const idOf = (n: number) => `key_${1_000_000 + n}`;
const SECRETS = { first: makeSecret(), last: makeSecret() };

/** The keys that are not like all others. */
function special(n: number, settings: Partial<KeySettings> = {}) {
  const secret = n === 0 ? SECRETS.first : n === COUNT - 1 ? SECRETS.last : makeSecret();
  const record = newKeyRecord(
    idOf(n),
    { name: `key ${n}`, ...settings },
    hashOf(secret, gatewaySecret),
    now(),
  );
  const text = JSON.stringify(n === 3007 ? { ...record, revokedAt: '2026-11-26T10:00:00Z' } : record);
  return { kind: 'key', id: record.id, version: 2, text } as const;
}
const TEAM = { team: 'red', budget: { usd: 5, period: 'day' } } as const;
const SPECIAL = [
  special(0),
  special(COUNT - 1),
  special(54_321, { name: 'The Needle_50%' }),
  ...Array.from({ length: 100 }, (_, at) => at * 1000 + 7).map((n) =>
    special(n, {
      ...TEAM,
      ...(n === 1007 && { disabled: true }),
      ...(n === 2007 && { expiresAt: '2026-11-26T11:00:00Z' }),
    }),
  ),
];

onBothDatabases((used) => {
  beforeEach(async () => {
    const ordinary = JSON.stringify(newKeyRecord('@', { name: 'ordinary' }, 'hash-@', now())).split('@');
    await used.database.write(async (queries) => {
      await queries.query(
        `with recursive numbers (n) as (select 1000000 union all select n + 1 from numbers where n < ${1_000_000 + COUNT - 1})
         insert into access_records (kind, id, version, content, state, has_budget, searched)
         select 'key', 'key_' || n, 1, cast($1 as text) || 'key_' || n || cast($2 as text) || n || cast($3 as text), 'active', 0, 'ordinary'
         from numbers`,
        ordinary,
      );
      await queries.query('update access_version set version = 2');
      await writeRecords(queries, SPECIAL);
      await queries.query('analyze access_records');
    });
  });

  test('of a hundred thousand keys each page has what is wanted, and an emptied Redis gets them all, some at a time', async () => {
    const { database, redis } = used;
    const projection = createProjection(redis);
    const records = createAccessStore({ database, projection, now, opened: () => Promise.resolve() });
    const keys = createKeyStore({ records, gatewaySecret, now });
    const idsOf = async (only: RecordFilter, limit = 3, after?: string) =>
      (await keys.listKeys({ limit, after, only })).keys.map(({ id }) => id);
    const inState = (...of: NonNullable<RecordFilter['states']>['of']) => ({ states: { of, nowMs: now() } });
    const team = { teams: ['red'] };

    expect(await idsOf({}, 2)).toEqual([idOf(99_999), idOf(99_998)]);
    expect(await idsOf({}, 2, idOf(2))).toEqual([idOf(1), idOf(0)]);
    for (const search of [' needle_50% ', 'KEY_1054321'])
      expect(await idsOf({ search })).toEqual([idOf(54_321)]);
    for (const search of ['needle%50', 'needle-50', "'", 'needle\\_'])
      expect(await idsOf({ search })).toEqual([]);
    expect(await idsOf(team, 2, idOf(98_007))).toEqual([idOf(97_007), idOf(96_007)]);
    expect(await idsOf({ ...team, ids: [idOf(7), idOf(8)] })).toEqual([idOf(7)]);
    expect(await idsOf({ teams: [] })).toEqual([]);
    expect(await idsOf({ hasBudget: true }, 2)).toEqual([idOf(99_007), idOf(98_007)]);
    expect(await idsOf(inState('disabled'))).toEqual([idOf(1007)]);
    expect(await idsOf(inState('expired'))).toEqual([idOf(2007)]);
    expect(await idsOf(inState('revoked'))).toEqual([idOf(3007)]);
    expect(await idsOf({ ...team, ...inState('active') }, 9, idOf(5007))).toEqual([idOf(4007), idOf(7)]);
    expect(await idsOf(inState('expired', 'revoked'))).toEqual([idOf(3007), idOf(2007)]);

    let most = 0;
    const counted = {
      ...projection,
      put: (some: Parameters<typeof projection.put>[0]) => {
        most = Math.max(most, some.length);
        return projection.put(some);
      },
    };
    const stopping = new AbortController().signal;
    const filled = await fillRedis({ database, databaseId: 'this', projection: counted, stopping });
    expect(filled).toBe(COUNT);
    expect(most).toBeLessThanOrEqual(500);
    const { findKey } = createKeyFinder({ redis, gatewaySecret, now });
    expect((await findKey(SECRETS.first))?.identity.keyId).toBe(idOf(0));
    expect((await findKey(SECRETS.last))?.identity.keyId).toBe(idOf(99_999));
    expect(await redis.exists(redisNames.epoch)).toBe(1);
  });
});
