import { addAuditEntry } from '@gateway/metering/audit/audit-log';
import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import { createProjection } from '@gateway/metering/keys/records/projection';
import { keyNames, redisNames } from '@gateway/metering/redis-names';
import { createTeamStore } from '@gateway/metering/teams/team-store';
import { keysInRedis, teamsInRedis } from '@gateway/metering/testing/records-in-redis';
import { expect, onTestFinished, test } from 'vitest';
import { createAuditReader } from '../audit/read-audit.ts';
import { createRecorder } from '../recorder/recorder.ts';
import { onBothDatabases } from '../testing/use-database.ts';
import { createAccessStore } from './access-store.ts';

const ANN = { who: 'ann', requestId: null };
const gatewaySecret = 'a gateway secret of more than 32 characters';
/** More than one page of the move. */
const MANY = 1100;

onBothDatabases((used) => {
  const recorder = (stopAfterReports = Number.POSITIVE_INFINITY) => {
    const reported: string[] = [];
    const { redis, opened } = used;
    const created = createRecorder({
      ...{ redis, opened, now: Date.now, timeZone: 'UTC', keepRecordsDays: 90, keepSumsDays: 400 },
      everyMs: 1_000_000_000,
      onBroken: () => undefined,
      report: ({ what, detail }) => {
        if (what === 'moved') reported.push(detail);
        if (reported.length >= stopAfterReports) throw new Error('killed here');
      },
    });
    onTestFinished(() => created[Symbol.asyncDispose]());
    /** One round, as of a start; then another recorder may begin. */
    const start = async () => {
      await created.round();
      await created[Symbol.asyncDispose]();
    };
    return { round: created.round, start, reported };
  };
  const moved = () => {
    const opened = () => Promise.resolve();
    const { database, redis } = used;
    const records = createAccessStore({
      database,
      projection: createProjection(redis),
      now: Date.now,
      opened,
    });
    return {
      keys: createKeyStore({ records, gatewaySecret, now: Date.now }),
      teams: createTeamStore({ records, now: Date.now }),
      readAudit: createAuditReader({ database, redis, onBroken: () => undefined }),
    };
  };

  test('keys, teams, what they have spent and the log of an earlier gateway are read over once, and work as before', async () => {
    const { redis } = used;
    const before = keysInRedis({ redis, gatewaySecret });
    const first = await before.createKey({ name: 'of the first version', team: 'red' });
    const rotated = await before.rotateKey(first.record.id, 3600, ANN);
    const other = await before.createKey({ name: 'other' });
    await teamsInRedis(redis).createTeam({ name: 'red', limits: { requestsPerMinute: 5 } }, ANN);
    // A key of the first version that was rotated later: its first secret's hash stands in no record.
    const record = { ...rotated?.record, secrets: [rotated?.record.secrets[0], { hash: null, until: null }] };
    await redis.set(keyNames.record(first.record.id), JSON.stringify(record));
    await redis.zadd(keyNames.index, 0, first.record.id, 0, other.record.id, 0, 'key_broken', 0, 'key_gone');
    await redis.set(keyNames.record('key_broken'), '{"version":');
    await redis.zadd(keyNames.teams, 0, 'red');
    await redis.hset(redisNames.account('team:red', 'total'), { spent: 1234, reserved: 5 });
    const transaction = redis.multi();
    addAuditEntry(transaction, {
      ...{ at: new Date().toISOString(), who: 'ann', requestId: null },
      ...{ action: 'key.created', subject: other.record.id, before: null, after: {} },
    });
    await transaction.exec();
    await redis.del(redisNames.epoch, keyNames.versions);

    const { round, reported } = recorder();
    await round();
    expect(reported).toEqual(['1 teams', '3 keys']);
    await redis.flushall();
    await round();
    const { findKey } = createKeyFinder({ redis, gatewaySecret, now: Date.now });
    for (const secret of [first.secret, rotated?.secret ?? ''])
      expect((await findKey(secret))?.identity.accounts).toMatchObject([{ owner: 'team:red' }]);
    expect(await findKey(other.secret)).toBeDefined();
    expect(await redis.hget(redisNames.account('team:red', 'total'), 'spent')).toBe('1234');
    const { keys, teams, readAudit } = moved();
    expect((await keys.listKeys({ limit: 10 })).keys.map(({ id }) => id)).toEqual(
      [first.record.id, other.record.id].toSorted().toReversed(),
    );
    expect((await teams.listTeams({ limit: 10 })).teams).toHaveLength(1);
    expect((await readAudit({ limit: 10 })).entries).toMatchObject([{ subject: other.record.id }]);
  });

  test('a start that ends in the middle goes on with the next one, and changes made after it stay', async () => {
    const { redis } = used;
    const { record } = await keysInRedis({ redis, gatewaySecret }).createKey({ name: 'one of many' });
    const ids = Array.from({ length: MANY }, (_, n) => `key_${String(n).padStart(5, '0')}`);
    await redis.mset(ids.flatMap((id) => [keyNames.record(id), JSON.stringify({ ...record, id })]));
    await redis.zadd(keyNames.index, ...ids.flatMap((id) => [0, id]));
    await redis.zadd(keyNames.teams, 0, 'red');
    await redis.set(keyNames.team('red'), '{}');
    await redis.del(redisNames.epoch);

    await recorder(1).start();
    expect(await redis.exists(redisNames.epoch)).toBe(0);
    const { start, reported } = recorder();
    await start();
    expect(reported).toEqual([`${MANY} keys`]);
    const { keys } = moved();
    await keys.revokeKey(ids[0] ?? '', ANN);
    await redis.zadd(keyNames.index, 0, ids[0] ?? '');
    await recorder().start();
    expect((await keys.getKey(ids[0] ?? ''))?.revokedAt).not.toBeNull();
  });
});
