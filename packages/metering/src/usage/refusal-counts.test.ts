import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { createRefusalCounts } from './refusal-counts.ts';
import { unrecordedUsage } from './unrecorded-usage.ts';

let server: TestRedis;
let redis: Redis;
let nowMs = Date.parse('2026-11-20T12:59:59Z');

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

const counts = () => createRefusalCounts({ redis, now: () => nowMs, keepSumsDays: 1 });
const refusal = { keyId: 'key_1', team: 'platform', endpoint: 'images', model: null };
const range = { fromMs: Date.parse('2026-11-20T00:00:00Z'), toMs: Date.parse('2026-11-21T00:00:00Z') };
const refusedBy = async (...groupBy: ('hour' | 'keyId' | 'team')[]) =>
  (await unrecordedUsage(redis, { ...range, groupBy, only: {} })).map(({ group, sums }) => ({
    ...group,
    refused: sums.refused,
  }));

test('refusals of several processes are added up, each in its hour, and do not wait for ever', async () => {
  const [one, other] = [counts(), counts()];
  one.add(refusal);
  other.add(refusal);
  nowMs += 1000;
  other.add({ ...refusal, keyId: 'key_2', team: null });
  await Promise.all([one.close(), other.close()]);
  expect(await refusedBy('hour', 'keyId', 'team')).toEqual([
    { hour: '2026-11-20T12', keyId: 'key_1', team: 'platform', refused: 2 },
    { hour: '2026-11-20T13', keyId: 'key_2', team: '', refused: 1 },
  ]);
  expect(await redis.ttl('gateway:{meter}:refusals:2026-11-20')).toBeGreaterThan(86_000);
});

test('no refusals, no Redis calls', async () => {
  const idle = counts();
  const before = await redis.info('commandstats');
  await idle.close();
  expect((await redis.info('commandstats')).includes('cmdstat_multi')).toBe(before.includes('cmdstat_multi'));
});

test('counts that cannot be written while Redis is away are written when it is back', async () => {
  await emptyRedis(redis);
  const kept = counts();
  server.kill('SIGKILL');
  await waitFor(() => redis.status === 'reconnecting');
  kept.add(refusal);
  await kept.flush();
  kept.add(refusal);
  await server.close();
  server = await startRedis({ port: server.port });
  await waitFor(() => redis.status === 'ready');
  await kept.close();
  expect(await refusedBy()).toEqual([{ refused: 2 }]);
});
