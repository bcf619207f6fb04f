import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { emptyRedis, keysInRedis, teamsInRedis } from '../testing/records-in-redis.ts';

let server: TestRedis;
let redis: Redis;
let nowMs = Date.parse('2026-11-20T12:00:00Z');
const now = () => nowMs;
const alice = { who: 'alice', requestId: 'req_1' };

beforeAll(async () => {
  server = await startRedis();
  redis = createRedis(server.url, 'request');
  await redis.connect();
});
afterAll(async () => {
  await redis.quit();
  await server.close();
});
beforeEach(() => emptyRedis(redis));

const keys = () => keysInRedis({ redis, gatewaySecret: 'a gateway secret of more than 32 characters', now });
const teams = () => teamsInRedis(redis, now);
const later = (seconds: number) => {
  nowMs += seconds * 1000;
};

test('after a rotation both secrets work until the grace is over, then only the new one', async () => {
  const { record, secret } = await keys().createKey({ name: 'search' });
  const rotated = await keys().rotateKey(record.id, 60, alice);
  const next = rotated?.secret ?? '';
  expect(next).not.toBe(secret);
  expect((await keys().findKey(next))?.expiresAtMs).toBe(Number.POSITIVE_INFINITY);
  expect((await keys().findKey(secret))?.expiresAtMs).toBe(nowMs + 60_000);
  later(60);
  expect(await keys().findKey(secret)).toBeUndefined();
  expect((await keys().findKey(next))?.identity.keyId).toBe(record.id);
});

test('a rotation without grace, and a second one within it, end the oldest secret at once', async () => {
  const { record, secret } = await keys().createKey({ name: 'search' });
  const second = (await keys().rotateKey(record.id, 600, alice))?.secret ?? '';
  const third = (await keys().rotateKey(record.id, 600, alice))?.secret ?? '';
  const valid = async (...secrets: string[]) =>
    (await Promise.all(secrets.map((text) => keys().findKey(text)))).map((found) => found !== undefined);
  expect(await valid(secret, second, third)).toEqual([false, true, true]);
  const fourth = (await keys().rotateKey(record.id, 0, alice))?.secret ?? '';
  expect(await valid(secret, second, third, fourth)).toEqual([false, false, false, true]);
  expect(await redis.keys('gateway:key-hash:*')).toHaveLength(1);
});

test('revoking ends both secrets at once, and a revoked key is neither changed nor rotated', async () => {
  const { record, secret } = await keys().createKey({ name: 'search' });
  const next = (await keys().rotateKey(record.id, 600, alice))?.secret ?? '';
  await keys().revokeKey(record.id, alice);
  expect(await keys().findKey(secret)).toBeUndefined();
  expect(await keys().findKey(next)).toBeUndefined();
  await expect(keys().rotateKey(record.id, 0, alice)).rejects.toMatchObject({ code: 'conflict' });
  await expect(keys().updateKey(record.id, () => ({ name: 'x' }), alice)).rejects.toMatchObject({
    code: 'conflict',
  });
});

test('a key that was stored by the first version still works, is changed and rotated', async () => {
  const { record, secret } = await keys().createKey({ name: 'old', team: 'platform' });
  const { owner: _, limits: _l, budget: _b, secrets: _s, ...settings } = record;
  const { webhookUrl: _u, webhookSecrets: _w, priority: _p, ...first } = settings;
  await redis.set(`gateway:key:${record.id}`, JSON.stringify({ ...first, version: 1 }));
  expect((await keys().findKey(secret))?.identity).toMatchObject({ keyId: record.id, accounts: [] });
  const limits = { requestsPerMinute: 3 };
  await keys().updateKey(record.id, () => ({ name: 'old', limits }), alice);
  expect((await keys().findKey(secret))?.identity.accounts).toEqual([
    { owner: record.id, limits, budget: null },
  ]);
  const next = (await keys().rotateKey(record.id, 60, alice))?.secret ?? '';
  expect(await keys().findKey(secret)).toBeDefined();
  later(60);
  expect(await keys().findKey(secret)).toBeUndefined();
  expect(await keys().findKey(next)).toBeDefined();
});

test("a key counts on its own account and its team's, as soon as the team has one", async () => {
  const { record, secret } = await keys().createKey({
    name: 'search',
    team: 'platform',
    limits: { concurrentRequests: 2 },
    budget: { usd: 12.345678, period: 'month' },
  });
  const accounts = async () => (await keys().findKey(secret))?.identity.accounts;
  const own = {
    owner: record.id,
    limits: { concurrentRequests: 2 },
    budget: { microUsd: 12_345_678, period: 'month', allowUnpriced: false },
  };
  expect(await accounts()).toEqual([own]);
  await teams().createTeam({ name: 'platform', limits: { requestsPerMinute: 60 } }, alice);
  const team = { owner: 'team:platform', limits: { requestsPerMinute: 60 }, budget: null };
  expect(await accounts()).toEqual([own, team]);
  await teams().updateTeam('platform', ({ name }) => ({ name, limits: { tokensPerMinute: 9 } }), alice);
  expect(await accounts()).toEqual([own, { ...team, limits: { tokensPerMinute: 9 } }]);
  await teams().deleteTeam('platform', alice);
  expect(await accounts()).toEqual([own]);
});

test('a team is made once, and an unknown one is reported', async () => {
  await teams().createTeam({ name: 'b' }, alice);
  await teams().createTeam({ name: 'a' }, alice);
  await expect(teams().createTeam({ name: 'a' }, alice)).rejects.toMatchObject({ code: 'conflict' });
  expect(await teams().updateTeam('c', (record) => ({ name: record.name }), alice)).toBeUndefined();
  expect(await teams().deleteTeam('c', alice)).toBeUndefined();
});

test('limits for some models are kept with a key and its team; without any, nothing is limited', async () => {
  const own = { models: { 'gpt-*': { requestsPerMinute: 5, tokensPerMinute: 1000 }, 'o3:x': {} } };
  const { record, secret } = await keys().createKey({ name: 'search', team: 'platform', limits: own });
  const limits = { models: { '*': { imagesPerMinute: 2 } } };
  await teams().createTeam({ name: 'platform', limits }, alice);
  expect((await keys().findKey(secret))?.identity.accounts).toEqual([
    { owner: record.id, limits: own, budget: null },
    { owner: 'team:platform', limits, budget: null },
  ]);
  await teams().updateTeam('platform', () => ({ name: 'platform', limits: { models: {} } }), alice);
  await keys().updateKey(
    record.id,
    () => ({ name: 'search', team: 'platform', limits: { models: { 'gpt-*': {} } } }),
    alice,
  );
  expect((await keys().findKey(secret))?.identity.accounts).toEqual([]);
});
