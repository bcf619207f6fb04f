import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import { keyNames, redisNames } from '@gateway/metering/redis-names';
import { createTeamStore } from '@gateway/metering/teams/team-store';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import type { DatabaseSettings } from '../database/open-database.ts';
import { openRecords } from '../open-records.ts';
import { onBothDatabases } from '../testing/use-database.ts';

const ANN = { who: 'ann', requestId: null };
const gatewaySecret = 'a gateway secret of more than 32 characters';
const now = Date.now;
const OTHER = /^Redis is in use by a gateway with another database\..* set DATABASE_URL to one PostgreSQL/;

onBothDatabases((used) => {
  const start = async (settings: DatabaseSettings = used.settings) => {
    const records = await openRecords({
      redis: used.redis,
      asks: used.redis.duplicate(),
      settings: {
        ...settings,
        USAGE_RECORDS_DAYS: 90,
        USAGE_SUMS_DAYS: 400,
        GATEWAY_TIME_ZONE: 'UTC',
        CONVERSATIONS_MOVE_AFTER_SECONDS: 0,
      },
      now,
      onBroken: () => undefined,
      report: () => undefined,
    });
    let closed: Promise<void> | undefined;
    const close = () => (closed ??= Promise.resolve(records[Symbol.asyncDispose]()));
    onTestFinished(close);
    const options = { records: records.access, gatewaySecret, now };
    return { ...records, keys: createKeyStore(options), teams: createTeamStore(options), close };
  };
  const otherSettings = async (): Promise<DatabaseSettings> => {
    const folder = await temporaryFolder();
    onTestFinished(folder.close);
    return { GATEWAY_DATA_DIR: folder.path };
  };
  const findKey = (secret: string) =>
    createKeyFinder({ redis: used.redis, gatewaySecret, now }).findKey(secret);
  const spent = () => used.redis.hget(redisNames.account('team:red', 'total'), 'spent');

  test('a gateway whose Redis is in use with another database does not start, and changes nothing', async () => {
    const first = await start();
    const { secret, record } = await first.keys.createKey({ name: 'search' });
    const other = await otherSettings();
    await expect(start(other)).rejects.toThrow(OTHER);
    await expect(start(other)).rejects.toMatchObject({ name: 'ConfigError' });
    expect(await findKey(secret)).toBeDefined();
    await first.keys.revokeKey(record.id, ANN);
    expect(await findKey(secret)).toBeUndefined();

    // As if a gateway with another database had begun while this one stood still.
    await used.redis.set(redisNames.database, 'another', 'PX', 30_000);
    await expect(first.keys.createKey({ name: 'late' })).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringMatching(OTHER),
    });
    expect((await first.keys.listKeys({ limit: 10 })).keys).toHaveLength(1);
  });

  test('a new database takes over keys, teams and what was spent from the one before, once that is no longer in use', async () => {
    const first = await start(await otherSettings());
    await first.teams.createTeam({ name: 'red', budget: { usd: 1, period: 'total' } }, ANN);
    const { secret } = await first.keys.createKey({ name: 'search', team: 'red' });
    const revoked = await first.keys.createKey({ name: 'revoked' });
    await first.keys.revokeKey(revoked.record.id, ANN);
    await used.redis.hset(redisNames.account('team:red', 'total'), { spent: 1234, reserved: 0 });
    await first.close();

    const next = await start();
    expect((await next.keys.listKeys({ limit: 10 })).keys.map(({ name }) => name)).toEqual([
      'revoked',
      'search',
    ]);
    await used.redis.flushall();
    await next.close();
    await start();
    expect((await findKey(secret))?.identity.accounts).toMatchObject([{ owner: 'team:red' }]);
    expect(await findKey(revoked.secret)).toBeUndefined();
    expect(await spent()).toBe('1234');
  });

  test('a database that has keys of its own replaces those of another one in Redis', async () => {
    const own = await start();
    const { secret, record } = await own.keys.createKey({ name: 'own' });
    await own.close();
    await used.redis.flushall();
    const other = await start(await otherSettings());
    await other.teams.createTeam({ name: 'red' }, ANN);
    const foreign = await other.keys.createKey({ name: 'foreign' });
    for (let n = 0; n < 5; n += 1)
      await other.keys.updateKey(foreign.record.id, () => ({ name: 'again' }), ANN);
    await other.close();

    const next = await start();
    expect(await findKey(secret)).toBeDefined();
    expect(await findKey(foreign.secret)).toBeUndefined();
    expect(await used.redis.exists(keyNames.team('red'), keyNames.record(foreign.record.id))).toBe(0);
    await next.keys.revokeKey(record.id, ANN);
    expect(await findKey(secret)).toBeUndefined();
  });

  test('with a database that was set back Redis has the keys of then, and later changes reach it', async () => {
    const before = await start();
    const kept = await before.keys.createKey({ name: 'kept' });
    const version = await used.database.read(({ query }) => query('select version from access_version'));
    const lost = await before.keys.createKey({ name: 'lost' });
    await before.keys.revokeKey(kept.record.id, ANN);
    await before.close();
    await used.database.write(async ({ query }) => {
      await query('delete from access_records where id = $1', [lost.record.id]);
      await query('update access_records set content = $1', [JSON.stringify(kept.record)]);
      await query('update access_version set version = $1', [Number(version[0]?.version)]);
    });

    const next = await start();
    expect(await findKey(kept.secret)).toBeDefined();
    expect(await findKey(lost.secret)).toBeUndefined();
    await next.keys.revokeKey(kept.record.id, ANN);
    expect(await findKey(kept.secret)).toBeUndefined();
  });
});
