import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineScript } from './define-script.ts';
import { openRedis } from './open-redis.ts';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = await openRedis(server.url, 'request', () => undefined);
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

const LUA = "redis.call('set', KEYS[1], ARGV[1]); return {KEYS[2], #KEYS, #ARGV}";

test('a script gets its keys and arguments, also after Redis has forgotten it', async () => {
  const run = defineScript(redis, 'gatewayTry', LUA, z.tuple([z.string(), z.number(), z.number()]));
  expect(await run(['one', 'two'], 'a', 2)).toEqual(['two', 2, 2]);
  await redis.script('FLUSH');
  expect(await run(['one', 'two'], 'b')).toEqual(['two', 2, 1]);
  expect(await redis.get('one')).toBe('b');
});

test('an answer of another shape is refused', async () => {
  const run = defineScript(redis, 'gatewayTry', LUA, z.number());
  await expect(run(['one'], 'a')).rejects.toThrow(z.ZodError);
});
