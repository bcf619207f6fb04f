import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAttemptCounts, readAttemptCounts } from './attempt-counts.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.UTC(2026, 10, 23, 12, 5);

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  await redis.quit();
  await server.close();
});
beforeEach(() => redis.flushall());

const read = async (lastMs: number) =>
  Object.fromEntries(await readAttemptCounts(redis, { nowMs: NOW_MS, lastMs }));

test('what all processes count of a channel is added up, by how its attempts ended', async () => {
  const processes = [1, 2].map(() => createAttemptCounts({ redis, now: () => NOW_MS }));
  for (const counts of processes) {
    counts.add({ channel: 'one', outcome: 'ok' });
    counts.add({ channel: 'one', outcome: 'rate-limited' });
    counts.add({ channel: 'one', outcome: 'rate-limited' });
    counts.add({ channel: 'two', outcome: 'timeout' });
  }
  for (const counts of processes) await counts.close();
  expect(await read(HOUR_MS)).toEqual({ one: { ok: 2, 'rate-limited': 4 }, two: { timeout: 2 } });
});

test('the last hour and the last day are told apart, and what is older is forgotten', async () => {
  let nowMs = NOW_MS;
  const counts = createAttemptCounts({ redis, now: () => nowMs });
  for (const agoMs of [0, 2 * HOUR_MS, 26 * HOUR_MS]) {
    nowMs = NOW_MS - agoMs;
    counts.add({ channel: 'one', outcome: 'failed' });
  }
  await counts.close();
  expect(await read(HOUR_MS)).toEqual({ one: { failed: 1 } });
  expect(await read(DAY_MS)).toEqual({ one: { failed: 2 } });
  for (const name of await redis.keys('gateway:channel-attempts:*'))
    expect(await redis.ttl(name)).toBeGreaterThan(24 * 3600);
});

test('what could not be written is written later, once', async () => {
  const other = await startRedis();
  const connection = new Redis(other.url, { enableOfflineQueue: false, retryStrategy: () => 10 });
  connection.on('error', () => undefined);
  const counts = createAttemptCounts({ redis: connection, now: () => NOW_MS });
  // Not connected yet: every command is refused.
  counts.add({ channel: 'one', outcome: 'failed' });
  await counts.flush();
  await new Promise((resolve) => connection.once('ready', resolve));
  counts.add({ channel: 'one', outcome: 'failed' });
  await counts.close();
  const found = await readAttemptCounts(connection, { nowMs: NOW_MS, lastMs: HOUR_MS });
  expect(Object.fromEntries(found)).toEqual({ one: { failed: 2 } });
  await connection.quit();
  await other.close();
});
