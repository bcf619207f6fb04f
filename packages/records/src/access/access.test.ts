import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { addAuditEntry } from '@gateway/metering/audit/audit-log';
import { createKeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import { createProjection, type Projection } from '@gateway/metering/keys/records/projection';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { dayOf, keyNames, redisNames } from '@gateway/metering/redis-names';
import { createTeamStore } from '@gateway/metering/teams/team-store';
import { sampleResult } from '@gateway/metering/testing/sample-usage';
import { expect, onTestFinished, test } from 'vitest';
import { createAuditReader } from '../audit/read-audit.ts';
import { createRecorder, type RecorderEvent } from '../recorder/recorder.ts';
import { sampleRecord } from '../testing/sample-records.ts';
import { onBothDatabases } from '../testing/use-database.ts';
import { createAccessStore } from './access-store.ts';

const ANN = { who: 'ann', requestId: 'req_1' };
const GATEWAY_SECRET = 'a gateway secret of more than 32 characters';
/** Rounds are begun by the tests. */
const NEVER_MS = 1_000_000_000;

onBothDatabases((used) => {
  const events: RecorderEvent[] = [];
  const recorder = (prepareAccess?: () => Promise<void>) => {
    const created = createRecorder({
      ...{ redis: used.redis, opened: used.opened, now: Date.now, timeZone: 'UTC' },
      ...{ keepRecordsDays: 90, keepSumsDays: 400, everyMs: NEVER_MS },
      prepareAccess,
      onBroken: () => undefined,
      report: (event) => void events.push(event),
    });
    onTestFinished(async () => {
      await created[Symbol.asyncDispose]();
      events.length = 0;
    });
    return created;
  };
  const stores = (projection: Pick<Projection, 'claim' | 'put'> = createProjection(used.redis)) => {
    const opened = () => Promise.resolve();
    const records = createAccessStore({ database: used.database, projection, now: Date.now, opened });
    const options = { redis: used.redis, records, gatewaySecret: GATEWAY_SECRET, now: Date.now };
    return {
      keys: createKeyStore(options),
      teams: createTeamStore(options),
      ...createKeyFinder(options),
      readAudit: createAuditReader({ database: used.database, redis: used.redis, onBroken: () => undefined }),
    };
  };
  const ledger = () => createLedger({ redis: used.redis, now: Date.now, keepRecordsDays: 90 });
  const spent = async (owner: string) =>
    Number(await used.redis.hget(redisNames.account(owner, 'total'), 'spent'));

  test('pages list every key once, the newest first, and teams by name', async () => {
    const { keys, teams } = stores();
    const ids: string[] = [];
    for (const name of ['one', 'two', 'three', 'four', 'five'])
      ids.push((await keys.createKey({ name })).record.id);
    const seen: string[] = [];
    for (let after: string | undefined, isLast = false; !isLast; ) {
      const page = await keys.listKeys({ limit: 2, after });
      seen.push(...page.keys.map(({ id }) => id));
      after = page.next ?? undefined;
      isLast = page.next === null;
    }
    expect(seen).toEqual(ids.toSorted().toReversed());
    for (const name of ['b', 'B', 'a', 'ä']) await teams.createTeam({ name }, ANN);
    expect((await teams.listTeams({ limit: 10 })).teams.map(({ name }) => name)).toEqual([
      'B',
      'a',
      'b',
      'ä',
    ]);
    await expect(teams.createTeam({ name: 'a' }, ANN)).rejects.toMatchObject({ code: 'conflict' });
    await teams.deleteTeam('a', ANN);
    expect(await teams.getTeam('a')).toBeUndefined();
    expect(await used.redis.exists(keyNames.team('a'), keyNames.team('b'))).toBe(1);
  });

  test('changes at the same time all happen, and each is in the log with who, before and after, without a secret or hash', async () => {
    const { keys, readAudit } = stores();
    const { record, secret } = await keys.createKey({ name: 'search' }, ANN);
    const label = (n: number) =>
      stores().keys.updateKey(
        record.id,
        (before) => ({ name: before.name, labels: { ...before.labels, [`l${n}`]: '' } }),
        ANN,
      );
    await Promise.all([1, 2, 3].map(label));
    expect(Object.keys((await keys.getKey(record.id))?.labels ?? {})).toHaveLength(3);
    const next = (await keys.rotateKey(record.id, 60, ANN))?.secret ?? '';
    await keys.revokeKey(record.id, { who: 'bob', requestId: null });
    await keys.revokeKey(record.id, ANN);

    const first = await readAudit({ limit: 4 });
    const rest = await readAudit({ limit: 4, after: first.next ?? undefined });
    const entries = [...first.entries, ...rest.entries];
    expect(rest.next).toBeNull();
    expect(entries.map(({ action, who }) => `${who} ${action}`)).toEqual([
      'bob key.revoked',
      'ann key.rotated',
      ...Array(3).fill('ann key.changed'),
      'ann key.created',
    ]);
    expect(entries[0]).toMatchObject({
      subject: record.id,
      before: { revokedAt: null },
      after: { name: 'search' },
    });
    const hashes = (await used.redis.keys('gateway:key-hash:*')).map((name) =>
      name.slice('gateway:key-hash:'.length),
    );
    expect(hashes).toHaveLength(2);
    for (const hidden of [secret, next, ...hashes]) expect(JSON.stringify(entries)).not.toContain(hidden);
  });

  test('what Redis alone logs is shown at once, stays in the log, and is in it once', async () => {
    const { keys, readAudit } = stores();
    await keys.createKey({ name: 'search' }, ANN);
    const transaction = used.redis.multi();
    addAuditEntry(transaction, {
      ...{ at: new Date().toISOString(), who: 'ann', requestId: null },
      ...{ action: 'session.opened', subject: 'ses_1', before: null, after: {} },
    });
    await transaction.exec();
    const actions = async () => (await readAudit({ limit: 10 })).entries.map(({ action }) => action);
    const shown = ['session.opened', 'key.created'];
    expect(await actions()).toEqual(shown);
    const { round } = recorder();
    await round();
    await round();
    expect(await actions()).toEqual(shown);
    await used.redis.flushall();
    expect(await actions()).toEqual(shown);
  });

  test('a change that Redis missed reaches it with the next round; where Redis is away nothing is changed', async () => {
    const { keys, findKey } = stores();
    const { record, secret } = await keys.createKey({ name: 'search' }, ANN);
    const missed = stores({
      claim: () => Promise.resolve(0),
      put: () => Promise.reject(new Error('away')),
    });
    await missed.keys.revokeKey(record.id, ANN);
    expect(await findKey(secret)).toBeDefined();
    await recorder().round();
    expect(await findKey(secret)).toBeUndefined();

    const away = stores({ claim: () => Promise.reject(new Error('away')), put: () => Promise.resolve() });
    await expect(away.keys.createKey({ name: 'other' })).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    expect((await keys.listKeys({ limit: 10 })).keys).toHaveLength(1);
  });

  test('an emptied Redis gets keys, teams and what was spent again; what was revoked, deleted or replaced stays so', async () => {
    const { keys, teams, findKey } = stores();
    const budget = { usd: 1, period: 'total' as const };
    await teams.createTeam({ name: 'red', budget }, ANN);
    await teams.createTeam({ name: 'gone' }, ANN);
    await teams.deleteTeam('gone', ANN);
    const good = await keys.createKey({ name: 'good', team: 'red', budget });
    const revoked = await keys.createKey({ name: 'revoked' });
    await keys.revokeKey(revoked.record.id, ANN);
    const rotated = await keys.createKey({ name: 'rotated' });
    const next = await keys.rotateKey(rotated.record.id, 0, ANN);
    const { round } = recorder();
    await round();

    const owners = [good.record.id, 'team:red'];
    const subject = { ...sampleRecord('req_1'), keyId: good.record.id, team: 'red' };
    const charges = owners.map((owner) => ({
      ...({ kind: 'budget', owner, dimension: 'microUsd', period: 'total', timeZone: 'UTC' } as const),
      limit: 1_000_000,
    }));
    await ledger().reserve({ subject, estimate: sampleResult(900), charges, leaseMs: 60_000 });
    await ledger().settle(subject, sampleResult(700));
    await round();

    await used.redis.flushall();
    for (const secret of [good.secret, revoked.secret, 'a-key-that-nobody-has-made'])
      await expect(findKey(secret)).rejects.toMatchObject({ options: { retryAfterSeconds: 1 } });
    const reserving = ledger().reserve({
      subject: sampleRecord('req_2'),
      estimate: sampleResult(1),
      charges,
      leaseMs: 1,
    });
    await expect(reserving).rejects.toThrow('accounts are being read again');
    await round();

    expect((await findKey(good.secret))?.identity.accounts.map(({ owner }) => owner)).toEqual(owners);
    for (const secret of [revoked.secret, rotated.secret, 'a-key-that-nobody-has-made'])
      expect(await findKey(secret)).toBeUndefined();
    expect(await findKey(next?.secret ?? '')).toBeDefined();
    expect(await Promise.all(owners.map(spent))).toEqual([700, 700]);
    expect(await used.redis.exists(keyNames.team('gone'))).toBe(0);
    expect(events).toContainEqual({ what: 'filled Redis', detail: '3 keys' });
  });

  test('a request that was under way when Redis was emptied is recorded once, and its budgets know of it', async () => {
    const { keys } = stores();
    const { record } = await keys.createKey({ name: 'search', budget: { usd: 1, period: 'total' } });
    const { round } = recorder();
    await round();
    await used.redis.flushall();
    const about: UsageRecord = { ...sampleRecord('req_1'), keyId: record.id };
    // Before Redis is filled again, and after that; each twice, as by a process that settles again.
    await ledger().settle(about, sampleResult(30));
    await round();
    expect(await spent(record.id)).toBe(30);
    await ledger().settle({ ...about, id: 'req_2' }, sampleResult(5));
    await round();
    expect(await spent(record.id)).toBe(35);
    await used.redis.del(redisNames.settledIds(dayOf(about.startedAtMs)));
    for (const id of ['req_1', 'req_2']) await ledger().settle({ ...about, id }, sampleResult(30));
    await round();
    expect(await spent(record.id)).toBe(35);
  });

  test('a request that a Redis that was set back settles again counts once on its budget, also while others settle', async () => {
    const { redis } = used;
    const { record } = await stores().keys.createKey({ name: 'search' });
    const { round } = recorder();
    await round();
    const owner = record.id;
    const charges = [
      {
        ...({ kind: 'budget', owner, dimension: 'microUsd', period: 'total', timeZone: 'UTC' } as const),
        limit: 1_000_000,
      },
    ];
    const startedAtMs = Date.now();
    const about = (id: string): UsageRecord => ({ ...sampleRecord(id), keyId: owner, startedAtMs });
    const reserve = (id: string) =>
      ledger().reserve({ subject: about(id), estimate: sampleResult(900), charges, leaseMs: 60_000 });
    for (const id of ['req_1', 'req_2']) await reserve(id);
    const lost = [
      redisNames.account(owner, 'total'),
      redisNames.reservation('req_1'),
      redisNames.openReservations,
    ];
    const before = await Promise.all(lost.map((name) => redis.dumpBuffer(name)));
    await ledger().settle(about('req_1'), sampleResult(700));
    await round();

    // A replica takes over that knows of the reservation, and not that it was settled.
    for (const [at, name] of lost.entries()) await redis.restore(name, 0, before[at] ?? '', 'REPLACE');
    const settledIds = redisNames.settledIds(dayOf(about('req_1').startedAtMs));
    await redis.del(settledIds);
    await createProjection(redis).putAccounts([{ name: redisNames.account(owner, 'total'), microUsd: 700 }]);
    await ledger().settle(about('req_1'), sampleResult(700));
    expect(await spent(owner)).toBe(1400);
    await ledger().settle(about('req_2'), sampleResult(5));
    await round();
    expect(await spent(owner)).toBe(705);
    await round();
    expect(await spent(owner)).toBe(705);
  });

  test('after a failover that lost the last changes, what was revoked or deleted in them is so again', async () => {
    const { redis } = used;
    const { keys, teams, findKey } = stores();
    const { record, secret } = await keys.createKey({ name: 'search' });
    await teams.createTeam({ name: 'red' }, ANN);
    const { round } = recorder();
    await round();
    const lost = [keyNames.record(record.id), keyNames.team('red'), keyNames.versions];
    const before = await Promise.all(lost.map((name) => redis.dumpBuffer(name)));
    await keys.revokeKey(record.id);
    await teams.deleteTeam('red', ANN);
    const late = await keys.createKey({ name: 'late' });
    await round();

    for (const [at, name] of lost.entries()) await redis.restore(name, 0, before[at] ?? '', 'REPLACE');
    await redis.del(keyNames.record(late.record.id));
    // Another server by its replication id, as the one that takes over is.
    await redis.replicaof('127.0.0.1', '1');
    await redis.replicaof('NO', 'ONE');
    expect(await findKey(secret)).toBeDefined();
    await round();
    expect(await findKey(secret)).toBeUndefined();
    expect(await redis.exists(keyNames.team('red'))).toBe(0);
    expect(await findKey(late.secret)).toBeDefined();
  });

  test('what must be among the keys is there before any is looked up, and a failure is repeated', async () => {
    const { keys, findKey } = stores();
    const secret = 'a-bootstrap-key-that-a-person-chose';
    let attempts = 0;
    const { round } = recorder(async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('Redis is away');
      await keys.ensureBootstrapKey(secret);
    });
    await round();
    await expect(findKey(secret)).rejects.toMatchObject({ code: 'service_unavailable' });
    await round();
    await round();
    expect((await findKey(secret))?.identity).toMatchObject({ keyName: 'bootstrap' });
    expect(attempts).toBe(2);
  });
});
