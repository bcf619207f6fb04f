import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { redisNames } from '../../redis-names.ts';
import { withRedis } from '../../testing/with-redis.ts';
import { createProjection } from './projection.ts';

let redis: Redis;
withRedis((used) => {
  redis = used;
});

const KEY = redisNames.account('key_1', 'total');
const TEAM = redisNames.account('team:red', '2026-11');
const STREAM = redisNames.records('2026-11-26');
const append = (ms: number, costMicroUsd: number | null, ...more: string[]) =>
  redis.xadd(STREAM, `${ms}-0`, 'record', JSON.stringify({ costMicroUsd }), ...more);
const charged = (...names: string[]) => ['accounts', JSON.stringify(names)];
const balance = (after: string) =>
  createProjection(redis).balance(
    [
      { name: KEY, microUsd: 100 },
      { name: TEAM, microUsd: 0 },
    ],
    [{ name: STREAM, after }],
  );
const accounts = async () => Promise.all([KEY, TEAM].map((name) => redis.hgetall(name)));

test('accounts are what the database knows, and what the streams have after that', async () => {
  await redis.hset(KEY, { spent: 9999, reserved: 7 });
  await append(1, 1000, ...charged(KEY, TEAM));
  await append(2, 20, ...charged(KEY));
  await append(3, 3, ...charged(KEY, TEAM));
  await append(4, null, ...charged(KEY));
  // Of the last ones who brings them into the database finds out the accounts, or there are none.
  await append(5, 500, 'lost', '1');
  await append(6, 500);
  expect(await balance('1-0')).toBe(true);
  expect(await accounts()).toEqual([{ spent: '123', reserved: '7' }, { spent: '3' }]);
  expect(await redis.ttl(TEAM)).toBeGreaterThan(0);
});

test('where too much is on its way, accounts stay as they are until it is less', async () => {
  await redis.hset(KEY, { spent: 9999, reserved: 7 });
  const commands = redis.pipeline();
  for (let ms = 1; ms <= 10_001; ms += 1) commands.xadd(STREAM, `${ms}-0`, 'record', '{}');
  await commands.exec();
  expect(await balance('0-0')).toBe(false);
  expect(await accounts()).toEqual([{ spent: '9999', reserved: '7' }, {}]);
  expect(await balance('1-0')).toBe(true);
});
