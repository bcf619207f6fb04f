import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { keyNames } from '../redis-names.ts';
import { createTeamStore } from '../teams/team-store.ts';
import { emptyRedis, keysInRedis, recordsInRedis } from '../testing/records-in-redis.ts';
import { makeSecret } from './key-secret.ts';

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
  await emptyRedis(redis);
});

const store = () => keysInRedis({ redis, gatewaySecret, now });

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
  const other = keysInRedis({ redis, gatewaySecret: 'another gateway secret, also long', now });
  expect(await other.findKey(secret)).toBeUndefined();
});

test('a mistyped key is refused without a Redis call', async () => {
  const nowhere = createRedis('redis://127.0.0.1:1', 'request');
  const offline = keysInRedis({ redis: nowhere, gatewaySecret, now });
  expect(await offline.findKey('gwk_mistyped')).toBeUndefined();
  expect(await offline.findKey('short')).toBeUndefined();
  await expect(offline.findKey(makeSecret())).rejects.toMatchObject({ code: 'service_unavailable' });
  nowhere.disconnect();
});

test('a revoked key is no longer found, stays, and cannot be revoked twice', async () => {
  const { record, secret } = await store().createKey({ name: 'search' });
  const revoked = await store().revokeKey(record.id);
  expect(revoked?.revokedAt).toBe('2026-11-20T12:00:00.000Z');
  expect(await store().findKey(secret)).toBeUndefined();
  expect(await store().getKey(record.id)).toEqual(revoked);
  nowMs += 1000;
  expect(await store().revokeKey(record.id)).toEqual(revoked);
  expect(await store().revokeKey('key_nobody')).toBeUndefined();
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

test('the bootstrap key can be ensured by many processes at once and stays revoked once it is', async () => {
  const secret = 'a bootstrap key that a person chose'.replaceAll(' ', '-');
  await Promise.all(Array.from({ length: 5 }, () => store().ensureBootstrapKey(secret)));
  const names = await redis.keys('gateway:key:*');
  expect(names).toHaveLength(1);
  expect((await store().findKey(secret))?.identity).toMatchObject({ keyName: 'bootstrap', endpoints: null });
  await store().revokeKey(names[0]?.slice('gateway:key:'.length) ?? '');
  await store().ensureBootstrapKey(secret);
  expect(await store().findKey(secret)).toBeUndefined();
});

test('no secret is in Redis in clear', async () => {
  const bootstrap = 'a-bootstrap-key-that-a-person-chose';
  await store().ensureBootstrapKey(bootstrap);
  const { secret } = await store().createKey({ name: 'search' });
  await store().findKey(secret);
  const names = await redis.keys('*');
  expect(names).toHaveLength(7);
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

test('a broken record is reported and is not a key or a team; all others work as before', async () => {
  const broken: unknown[] = [];
  const onBroken = (record: unknown) => void broken.push(record);
  const keys = keysInRedis({ redis, gatewaySecret, now, onBroken });
  const teams = createTeamStore({ records: recordsInRedis(redis), now, onBroken });
  const by = { who: 'me', requestId: null };
  const [one, other] = [await keys.createKey({ name: 'one' }), await keys.createKey({ name: 'other' })];
  for (const name of ['a', 'b']) await teams.createTeam({ name }, by);
  await redis.set(keyNames.record(one.record.id), '{"version":2,"team":12.5');
  const member = await keys.createKey({ name: 'member', team: 'a' });
  await redis.set(keyNames.team('a'), '{}');

  expect(await keys.findKey(other.secret)).toBeDefined();
  expect(await keys.findKey(one.secret)).toBeUndefined();
  await expect(keys.findKey(member.secret)).rejects.toMatchObject({
    code: 'service_unavailable',
    retry: false,
  });
  expect(await keys.getKey(one.record.id)).toBeUndefined();
  expect(await keys.revokeKey(one.record.id)).toBeUndefined();
  expect(await teams.deleteTeam('a', by)).toBeUndefined();
  expect(new Set(broken.map((record) => JSON.stringify(record))).size).toBe(2);
  expect(broken).toContainEqual({ kind: 'key', id: one.record.id });
  expect(broken).toContainEqual({ kind: 'team', id: 'a' });
});
