import type { Account } from '@gateway/contracts/identity';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLedger } from '../ledger/ledger.ts';
import { chargesOf } from '../meter/account-charges.ts';
import { redisNames } from '../redis-names.ts';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { checksOf } from './account-checks.ts';
import { type Admission, createAdmission } from './admission.ts';
import { readBalances } from './balance.ts';

let server: TestRedis;
let redis: Redis;
let admission: Admission;
const nowMs = Date.now();
/** A fixed time, so that no bucket refills. */
const clock = () => nowMs * 1000;
const timeZone = 'Europe/Berlin';

beforeAll(async () => {
  server = await startRedis();
  redis = createRedis(server.url, 'request');
  await redis.connect();
  admission = createAdmission({ redis, clock });
});
afterAll(async () => {
  admission.close();
  await redis.quit();
  await server.close();
});
beforeEach(() => emptyRedis(redis));

const accounts: Account[] = [
  {
    owner: 'key_1',
    limits: {
      requestsPerMinute: 5,
      tokensPerMinute: 10_000,
      audioSecondsPerMinute: 90,
      concurrentRequests: 3,
    },
    budget: { microUsd: 1000, period: 'month', allowUnpriced: false },
  },
  { owner: 'team:a', limits: {}, budget: { microUsd: 500, period: 'total', allowUnpriced: false } },
];
const balances = () => readBalances(redis, accounts, { timeZone, nowMs, clock });
const remaining = async () =>
  (await balances()).map(({ limits, budget }) => [
    ...limits.map(({ remaining: left }) => left),
    budget?.remainingMicroUsd,
  ]);

test('an unused account has everything left', async () => {
  expect(await remaining()).toEqual([[5, 10_000, 90, 3, 1000], [500]]);
  expect(await redis.keys('*')).toEqual([redisNames.epoch]);
});

test('what is left is what admission and reservation leave', async () => {
  const checks = checksOf(accounts);
  await admission.admit('req_1', checks);
  await admission.admit('req_2', checks);
  admission.release('req_1', checks);
  await waitFor(async () => (await redis.zcard(redisNames.slots(accounts[0]?.owner ?? ''))) === 1);
  const ledger = createLedger({ redis, now: () => nowMs, keepRecordsDays: 1, clock });
  const subject = { id: 'req_1', keyId: 'key_1', team: 'a', endpoint: 'x', model: 'm', startedAtMs: nowMs };
  const estimate = {
    ...{ outcome: 'ok' as const, channel: null, attempts: 1, durationMs: 1, firstByteMs: null },
    consumption: { ...NOTHING_CONSUMED, inputTokens: 4000, audioMs: 30_500 },
    ...{ estimated: true, costMicroUsd: 300 },
  };
  await ledger.reserve({
    subject,
    estimate,
    charges: chargesOf(accounts, subject.model, timeZone),
    leaseMs: 60_000,
  });
  const [own, team] = await balances();
  const left = Object.fromEntries(own?.limits.map(({ limit, remaining: count }) => [limit, count]) ?? []);
  expect(left).toEqual({
    requestsPerMinute: 3,
    concurrentRequests: 2,
    audioSecondsPerMinute: 59,
    tokensPerMinute: 6000,
  });
  expect(own?.budget).toMatchObject({ spentMicroUsd: 0, reservedMicroUsd: 300, remainingMicroUsd: 700 });
  await ledger.settle(subject, { ...estimate, costMicroUsd: 120 });
  const [, after] = await balances();
  expect(team?.budget?.remainingMicroUsd).toBe(200);
  expect(after?.budget).toMatchObject({ spentMicroUsd: 120, reservedMicroUsd: 0, remainingMicroUsd: 380 });
});

test('an account that cannot be read is a service_unavailable', async () => {
  const nowhere = createRedis('redis://127.0.0.1:1', 'request');
  await expect(readBalances(nowhere, accounts, { timeZone, nowMs })).rejects.toMatchObject({
    code: 'service_unavailable',
  });
  nowhere.disconnect();
});
