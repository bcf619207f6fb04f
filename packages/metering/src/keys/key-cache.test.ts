import { GatewayError } from '@gateway/contracts/gateway-error';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { emptyRedis, keysInRedis } from '../testing/records-in-redis.ts';
import { createKeyCache } from './key-cache.ts';
import { makeSecret } from './key-secret.ts';
import type { KeySettings } from './settings.ts';

const gatewaySecret = 'a gateway secret of more than 32 characters';
let server: TestRedis;
let redis: Redis;
let nowMs = 0;
let lookups = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = createRedis(server.url, 'request');
  redis.on('error', () => undefined);
  await redis.connect();
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});
beforeEach(() => {
  nowMs = Date.parse('2026-11-20T12:00:00Z');
  lookups = 0;
});

const now = () => nowMs;
const store = () => keysInRedis({ redis, gatewaySecret, now });

/** What one replica of the edge has: a cache of its own over the shared Redis. */
function replica() {
  const { findKey } = store();
  return createKeyCache({
    now,
    uptime: now,
    findKey: (secret) => {
      lookups += 1;
      return findKey(secret);
    },
  });
}

test('a key in use is found at once, without a promise and as the same object', async () => {
  const { record, secret } = await store().createKey({ name: 'search' });
  const cache = replica();
  const identity = await cache.identify(secret);
  expect(identity).toMatchObject({ keyId: record.id });
  nowMs += 499;
  expect(cache.identify(secret)).toBe(identity);
  expect(lookups).toBe(1);
  nowMs += 1;
  expect(cache.identify(secret)).toBe(identity);
  await waitFor(() => lookups === 2);
});

test.for([-3_600_000, 3_600_000])(
  'a revoked key is refused within one second, also when the clock is set by %i ms',
  async (byMs) => {
    let uptimeMs = 0;
    const { record, secret } = await store().createKey({ name: 'search' });
    const cache = createKeyCache({ now, uptime: () => uptimeMs, findKey: store().findKey });
    expect(await cache.identify(secret)).toBeDefined();
    await store().revokeKey(record.id);
    nowMs += byMs;
    uptimeMs += 1000;
    expect(await cache.identify(secret)).toBeUndefined();
  },
);

test('a revoked key is refused by every replica within one second', async () => {
  const { record, secret } = await store().createKey({ name: 'search' });
  const [one, other] = [replica(), replica()];
  expect(await one.identify(secret)).toBeDefined();
  expect(await other.identify(secret)).toBeDefined();
  await store().revokeKey(record.id);
  nowMs += 1000;
  expect(await one.identify(secret)).toBeUndefined();
  expect(await other.identify(secret)).toBeUndefined();
});

test('a busy key that is revoked is refused by the refresh during its requests', async () => {
  const { record, secret } = await store().createKey({ name: 'search' });
  const cache = replica();
  await cache.identify(secret);
  await store().revokeKey(record.id);
  nowMs += 600;
  await waitFor(async () => (await cache.identify(secret)) === undefined);
});

test('a key is refused from the moment it expires, without a lookup', async () => {
  const expiresAt = new Date(nowMs + 100).toISOString();
  const { secret } = await store().createKey({ name: 'guest', expiresAt });
  const cache = replica();
  expect(await cache.identify(secret)).toBeDefined();
  nowMs += 100;
  expect(await cache.identify(secret)).toBeUndefined();
});

test('concurrent lookups of one key are one query', async () => {
  const { secret } = await store().createKey({ name: 'search' });
  const cache = replica();
  const identities = await Promise.all(Array.from({ length: 50 }, () => cache.identify(secret)));
  expect(new Set(identities).size).toBe(1);
  expect(lookups).toBe(1);
});

test('an unknown key is refused without another lookup for a second, and works once it exists', async () => {
  const secret = 'a-bootstrap-key-that-comes-later';
  const cache = replica();
  expect(await cache.identify(secret)).toBeUndefined();
  expect(cache.identify(secret)).toBeUndefined();
  expect(lookups).toBe(1);
  await store().ensureBootstrapKey(secret);
  nowMs += 1000;
  expect(await cache.identify(secret)).toMatchObject({ keyName: 'bootstrap' });
});

test('random keys do not evict known ones and are evicted themselves', async () => {
  let known = 0;
  const cache = createKeyCache({
    now,
    uptime: now,
    findKey: async (secret) => {
      lookups += 1;
      if (secret !== 'known') return undefined;
      known += 1;
      return {
        identity: { keyId: 'key_1', keyName: '', team: null, models: null, endpoints: null, accounts: [] },
        expiresAtMs: Infinity,
      };
    },
  });
  await cache.identify('known');
  for (let n = 0; n < 10_001; n += 1) await cache.identify(`unknown ${n}`);
  expect(cache.identify('known')).toMatchObject({ keyId: 'key_1' });
  expect(known).toBe(1);
  lookups = 0;
  await cache.identify('unknown 10000');
  expect(lookups).toBe(0);
  await cache.identify('unknown 0');
  expect(lookups).toBe(1);
});

test('while Redis is away a key seen within the last minute still works, never longer, and all others get a 503', async () => {
  const { record, secret } = await store().createKey({ name: 'search' });
  const idle = await store().createKey({ name: 'idle' });
  const cache = replica();
  await cache.identify(secret);
  server.kill('SIGKILL');
  await waitFor(() => redis.status === 'reconnecting');

  for (const seconds of [1, 30, 59]) {
    nowMs = Date.parse('2026-11-20T12:00:00Z') + seconds * 1000;
    expect(await cache.identify(secret)).toMatchObject({ keyId: record.id });
  }
  const unavailable = { code: 'service_unavailable', options: { retryAfterSeconds: expect.any(Number) } };
  await expect(cache.identify(idle.secret)).rejects.toMatchObject(unavailable);
  nowMs += 1000;
  await expect(cache.identify(secret)).rejects.toMatchObject(unavailable);

  await server.close();
  server = await startRedis({ port: server.port });
  await waitFor(() => redis.status === 'ready');
  expect(await cache.identify(secret)).toBeUndefined();
});

test('while Redis was emptied nobody is let in by what was known before, and all keys get a 503 with a time', async () => {
  const { secret } = await store().createKey({ name: 'search' });
  const cache = replica();
  await cache.identify(secret);
  await redis.flushall();
  nowMs += 1000;
  const unavailable = { code: 'service_unavailable', options: { retryAfterSeconds: 1 } };
  for (const any of [secret, makeSecret()])
    await expect(cache.identify(any)).rejects.toMatchObject(unavailable);
  await emptyRedis(redis);
  expect(await cache.identify(secret)).toBeUndefined();
});

test('while Redis is away a key with limits or a budget gets a 503, since those cannot be enforced', async () => {
  const own = await whenRedisIsAway({ limits: { requestsPerMinute: 5 } });
  const teams = await whenRedisIsAway({ budget: { usd: 5, period: 'day' } });
  expect([own, teams]).toEqual(['service_unavailable', 'service_unavailable']);
});

/** The result for a key in use with these settings when Redis stops answering. */
async function whenRedisIsAway(settings: Omit<KeySettings, 'name'>): Promise<unknown> {
  let answers = true;
  const { secret } = await store().createKey({ name: 'limited', ...settings });
  const cache = createKeyCache({
    now,
    uptime: now,
    findKey: (secret) =>
      answers ? store().findKey(secret) : Promise.reject(new GatewayError('service_unavailable', 'away')),
  });
  expect(await cache.identify(secret)).toBeDefined();
  answers = false;
  nowMs += 1000;
  return Promise.resolve(cache.identify(secret)).catch(({ code }) => code);
}

test('with Redis frozen a known key is served and an unknown one gets a 503, both without hanging', async () => {
  const { record, secret } = await store().createKey({ name: 'search' });
  const cache = replica();
  await cache.identify(secret);
  server.kill('SIGSTOP');
  try {
    nowMs += 1000;
    expect(await cache.identify(secret)).toMatchObject({ keyId: record.id });
    await expect(cache.identify(makeSecret())).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await cache.identify(secret)).toMatchObject({ keyId: record.id });
  } finally {
    server.kill('SIGCONT');
  }
  await waitFor(async () => (await redis.ping()) === 'PONG');
  await store().revokeKey(record.id);
  await waitFor(async () => {
    nowMs += 1000;
    return (await cache.identify(secret)) === undefined;
  });
});
