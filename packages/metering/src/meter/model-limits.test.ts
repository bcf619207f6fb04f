import type { Account } from '@gateway/contracts/identity';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLedger } from '../ledger/ledger.ts';
import { readBalances } from '../limits/balance.ts';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { createMeter, type Meter } from './meter.ts';

let server: TestRedis;
let connections: readonly Redis[];
let meters: readonly Meter[];
const reasons: string[] = [];
/** A fixed time: no bucket refills while requests run. */
const clockUs = Date.now() * 1000;
const clock = () => clockUs;

beforeAll(async () => {
  server = await startRedis();
  connections = [createRedis(server.url, 'request'), createRedis(server.url, 'request')];
  await Promise.all(connections.map((redis) => redis.connect()));
  meters = connections.map((redis) =>
    createMeter({
      ledger: createLedger({ redis, now: Date.now, keepRecordsDays: 1, clock }),
      spool: { add: async () => undefined, replay: async () => undefined },
      now: Date.now,
      timeZone: 'UTC',
      report: ({ reason }) => reasons.push(reason),
      onRefused: (reason) => void reasons.push(reason),
      onBudgetNear: () => undefined,
    }),
  );
});
afterAll(async () => {
  await Promise.all(meters.map((meter) => meter.close()));
  await Promise.all(connections.map((redis) => redis.quit()));
  await server.close();
});
beforeEach(async () => {
  for (const redis of connections.slice(0, 1)) await emptyRedis(redis);
  reasons.length = 0;
});

let nextId = 0;
/** On the replicas in turn. */
const begin = (accounts: readonly Account[], model: string, outputTokens = 0) => {
  const id = ++nextId;
  const meter = meters[id % 2];
  if (meter === undefined) throw new Error('no meter');
  const estimate: UsageResult = {
    ...{ outcome: 'ok', channel: null, attempts: 0, durationMs: 0, firstByteMs: null },
    ...{ consumption: { ...NOTHING_CONSUMED, outputTokens }, estimated: true, costMicroUsd: 0 },
  };
  const subject = { id: `req_${id}`, keyId: 'key_1', team: null, endpoint: 'chat', model, startedAtMs: 0 };
  return meter.begin({ subject, accounts, estimate });
};
const passed = async (count: number, ...request: Parameters<typeof begin>) => {
  const answers = await Promise.allSettled(Array.from({ length: count }, () => begin(...request)));
  return answers.filter(({ status }) => status === 'fulfilled').length;
};
const limitedTo = (models: NonNullable<Account['limits']['models']>, owner = 'key_1'): Account => ({
  ...{ owner, limits: { models }, budget: null },
});

test('exactly ten of fifteen requests at once pass a limit for a pattern of models, on two replicas', async () => {
  const accounts = [limitedTo({ 'gpt-*': { requestsPerMinute: 10 } })];
  const models = ['gpt-5', 'gpt-5-mini', 'gpt-4.1'];
  const counts = await Promise.all(models.map((model) => passed(5, accounts, model)));
  expect(counts.reduce((sum, count) => sum + count)).toBe(10);
  expect(reasons).toEqual(Array.from({ length: 5 }, () => 'requests_per_minute'));
  expect(await passed(15, accounts, 'claude-opus')).toBe(15);
});

test('exactly seven of twelve requests pass a limit of tokens for a model', async () => {
  const accounts = [limitedTo({ 'gpt-5': { tokensPerMinute: 7000 } })];
  expect(await passed(12, accounts, 'gpt-5', 1000)).toBe(7);
  expect(await passed(12, accounts, 'gpt-5-mini', 1000)).toBe(12);
});

test('a request counts on every entry that fits, of the key and of its team, and on none if one refuses', async () => {
  const accounts = [
    limitedTo({ '*': { requestsPerMinute: 8 }, 'gpt-*': { requestsPerMinute: 6 } }),
    limitedTo({ 'gpt-5': { requestsPerMinute: 2 } }, 'team:search'),
  ];
  expect(await passed(4, accounts, 'gpt-5')).toBe(2);
  expect(await passed(9, accounts, 'gpt-4.1')).toBe(4);
  expect(await passed(9, accounts, 'claude-opus')).toBe(2);
});

test('a refusal for requests names the models and the wait, and has the headers for requests', async () => {
  const accounts = [limitedTo({ 'gpt-*': { requestsPerMinute: 1 } })];
  await begin(accounts, 'gpt-5');
  await expect(begin(accounts, 'gpt-5')).rejects.toMatchObject({
    code: 'rate_limited',
    message: expect.stringMatching(
      /^Rate limit reached on requests per minute of 'gpt-\*': Limit 1, Used 1, Requested 1\. Please try again in [\d.]+s\.$/,
    ),
    options: {
      retryAfterSeconds: expect.any(Number),
      headers: {
        'x-ratelimit-limit-requests': '1',
        'x-ratelimit-remaining-requests': '0',
        'anthropic-ratelimit-requests-limit': '1',
        'retry-after-ms': expect.stringMatching(/^\d+$/),
      },
    },
  });
});

test("what is left of a pattern's limits is reported with what is left over all models", async () => {
  const [redis] = connections;
  if (redis === undefined) throw new Error('no connection');
  const accounts: Account[] = [
    {
      owner: 'key_1',
      limits: { requestsPerMinute: 9, models: { 'gpt-*': { requestsPerMinute: 3, imagesPerMinute: 2 } } },
      budget: null,
    },
  ];
  await begin(accounts, 'gpt-5');
  const [balance] = await readBalances(redis, accounts, { timeZone: 'UTC', nowMs: Date.now(), clock });
  expect(balance?.limits).toEqual([
    { limit: 'requestsPerMinute', model: null, value: 9, remaining: 9 },
    { limit: 'requestsPerMinute', model: 'gpt-*', value: 3, remaining: 2 },
    { limit: 'imagesPerMinute', model: 'gpt-*', value: 2, remaining: 2 },
  ]);
});
