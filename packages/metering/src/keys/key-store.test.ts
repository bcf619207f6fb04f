import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit-log.ts';
import { keyNames } from '../redis-names.ts';
import { createTeamStore } from '../teams/team-store.ts';
import { makeSecret } from './key-secret.ts';
import { createKeyStore } from './key-store.ts';

const gatewaySecret = 'a gateway secret of more than 32 characters';
let server: TestRedis;
let redis: Redis;
let nowMs: number;
const now = () => nowMs;

beforeAll(async () => {
  server = await startRedis();
  redis = createRedis(server.url, 'request');
  await redis.connect();
});
afterAll(async () => {
  await redis.quit();
  await server.close();
});
beforeEach(async () => {
  nowMs = Date.parse('2026-11-20T12:00:00Z');
  await redis.flushall();
});

const store = () => createKeyStore({ redis, gatewaySecret, now });

test('a created key is found by its secret, with everything that the services need', async () => {
  const { record, secret } = await store().createKey({
    name: 'search',
    team: 'platform',
    models: ['gpt-*'],
    endpoints: ['responses'],
    labels: { cost: '42' },
  });
  expect(await store().findKey(secret)).toEqual({
    identity: {
      keyId: record.id,
      keyName: 'search',
      team: 'platform',
      models: ['gpt-*'],
      endpoints: ['responses'],
      accounts: [],
    },
    expiresAtMs: Number.POSITIVE_INFINITY,
  });
  expect(await store().getKey(record.id)).toEqual(record);
  expect(record).toMatchObject({
    createdAt: '2026-11-20T12:00:00.000Z',
    revokedAt: null,
    labels: { cost: '42' },
  });
});

test('an unknown key, a mistyped key and a key of another gateway secret are not found', async () => {
  const { secret } = await store().createKey({ name: 'search' });
  expect(await store().findKey(makeSecret())).toBeUndefined();
  expect(await store().findKey(`${secret.slice(0, -1)}!`)).toBeUndefined();
  const other = createKeyStore({ redis, gatewaySecret: 'another gateway secret, also long', now });
  expect(await other.findKey(secret)).toBeUndefined();
});

test('a mistyped key is refused without a Redis call', async () => {
  const nowhere = createRedis('redis://127.0.0.1:1', 'request');
  const offline = createKeyStore({ redis: nowhere, gatewaySecret, now });
  expect(await offline.findKey('gwk_mistyped')).toBeUndefined();
  expect(await offline.findKey('short')).toBeUndefined();
  await expect(offline.findKey(makeSecret())).rejects.toMatchObject({ code: 'service_unavailable' });
  nowhere.disconnect();
});

test('a revoked key is no longer found, stays listed, and cannot be revoked twice', async () => {
  const { record, secret } = await store().createKey({ name: 'search' });
  const revoked = await store().revokeKey(record.id);
  expect(revoked?.revokedAt).toBe('2026-11-20T12:00:00.000Z');
  expect(await store().findKey(secret)).toBeUndefined();
  expect((await store().listKeys({ limit: 10 })).keys).toEqual([revoked]);
  nowMs += 1000;
  expect(await store().revokeKey(record.id)).toEqual(revoked);
  expect(await store().revokeKey('key_nobody')).toBeUndefined();
});

test('a change made while a key is being revoked is not lost', async () => {
  const { record } = await store().createKey({ name: 'search' });
  const recordName = `gateway:key:${record.id}`;
  let changed = false;
  const racing = createKeyStore({
    redis,
    gatewaySecret,
    now: () => {
      // Between the reading and the writing of the record, once.
      if (!changed) void redis.set(recordName, JSON.stringify({ ...record, disabled: true }));
      changed = true;
      return nowMs;
    },
  });
  expect(await racing.revokeKey(record.id)).toMatchObject({ disabled: true });
  expect(await store().getKey(record.id)).toMatchObject({ disabled: true, revokedAt: expect.any(String) });
});

test('an expired key and a disabled key are not found', async () => {
  const expiring = await store().createKey({
    name: 'guest',
    expiresAt: new Date(nowMs + 1000).toISOString(),
  });
  expect((await store().findKey(expiring.secret))?.expiresAtMs).toBe(nowMs + 1000);
  nowMs += 1000;
  expect(await store().findKey(expiring.secret)).toBeUndefined();

  const { record, secret } = await store().createKey({ name: 'search' });
  await redis.set(`gateway:key:${record.id}`, JSON.stringify({ ...record, disabled: true }));
  expect(await store().findKey(secret)).toBeUndefined();
});

test('pages list every key once, the newest first, also while keys are being added', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 7; n += 1) {
    nowMs += 1;
    ids.unshift((await store().createKey({ name: `key ${n}` })).record.id);
  }
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = await store().listKeys({ limit: 3, after });
    seen.push(...page.keys.map(({ id }) => id));
    after = page.next ?? undefined;
    nowMs += 1;
    await store().createKey({ name: 'added later' });
  } while (after !== undefined);
  expect(seen).toEqual(ids);
});

test('the bootstrap key can be ensured by many processes at once and stays revoked once it is', async () => {
  const secret = 'a bootstrap key that a person chose'.replaceAll(' ', '-');
  await Promise.all(Array.from({ length: 5 }, () => store().ensureBootstrapKey(secret)));
  const { keys } = await store().listKeys({ limit: 10 });
  expect(keys).toHaveLength(1);
  expect((await store().findKey(secret))?.identity).toMatchObject({ keyName: 'bootstrap', endpoints: null });
  await store().revokeKey(keys[0]?.id ?? '');
  await store().ensureBootstrapKey(secret);
  expect(await store().findKey(secret)).toBeUndefined();
});

test('no secret is in Redis in clear', async () => {
  const bootstrap = 'a-bootstrap-key-that-a-person-chose';
  await store().ensureBootstrapKey(bootstrap);
  const { secret } = await store().createKey({ name: 'search' });
  await store().findKey(secret);
  const names = await redis.keys('*');
  expect(names).toHaveLength(6);
  expect(names.every((name) => name.startsWith('gateway:'))).toBe(true);
  const dumps = await Promise.all(
    names.map(async (name) => `${name} ${(await redis.dumpBuffer(name))?.toString('latin1')}`),
  );
  for (const dump of dumps) {
    expect(dump).not.toContain(bootstrap);
    expect(dump).not.toContain(secret.slice(4, 20));
    expect(dump).not.toContain(secret.slice(-16));
  }
});

test('a broken record is reported and is not a key or a team; all others are listed as before', async () => {
  const broken: unknown[] = [];
  const onBroken = (record: unknown) => void broken.push(record);
  const keys = createKeyStore({ redis, gatewaySecret, now, onBroken });
  const teams = createTeamStore({ redis, now, onBroken });
  const by = { who: 'me', requestId: null };
  const [one, other] = [await keys.createKey({ name: 'one' }), await keys.createKey({ name: 'other' })];
  for (const name of ['a', 'b']) await teams.createTeam({ name }, by);
  await redis.set(keyNames.record(one.record.id), '{"version":2,"team":12.5');
  const member = await keys.createKey({ name: 'member', team: 'a' });
  await redis.set(keyNames.team('a'), '{}');
  await redis.xadd(keyNames.audit, '*', 'entry', '{');

  const listed = (await keys.listKeys({ limit: 10 })).keys;
  expect(new Set(listed.map(({ id }) => id))).toEqual(new Set([member.record.id, other.record.id]));
  expect((await teams.listTeams({ limit: 10 })).teams.map(({ name }) => name)).toEqual(['b']);
  expect(await keys.findKey(one.secret)).toBeUndefined();
  await expect(keys.findKey(member.secret)).rejects.toMatchObject({
    code: 'service_unavailable',
    retry: false,
  });
  expect(await keys.getKey(one.record.id)).toBeUndefined();
  expect(await keys.revokeKey(one.record.id)).toBeUndefined();
  expect(await teams.deleteTeam('a', by)).toBeUndefined();
  expect((await readAudit(redis, { limit: 10, onBroken })).entries).toHaveLength(5);
  expect(new Set(broken.map((record) => JSON.stringify(record))).size).toBe(3);
  expect(broken).toContainEqual({ kind: 'key', id: one.record.id });
  expect(broken).toContainEqual({ kind: 'team', id: 'a' });
});
