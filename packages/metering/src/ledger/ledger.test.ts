import {
  NOTHING_CONSUMED,
  UsageRecord,
  type UsageResult,
  type UsageSubject,
} from '@gateway/contracts/usage/usage-record';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { redisNames } from '../redis-names.ts';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { unrecordedUsage } from '../usage/unrecorded-usage.ts';
import type { Charge } from './charge.ts';
import { createLedger, type Ledger } from './ledger.ts';

let server: TestRedis;
let redis: Redis;
let ledger: Ledger;
/** A second replica, with connections of its own. */
let otherRedis: Redis;
let otherLedger: Ledger;
/** The ids of requests that were settled for processes that are gone. */
const abandoned: string[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  otherRedis = new Redis(server.url);
  const onAbandoned = (record: UsageRecord) => void abandoned.push(record.id);
  const options = { now: Date.now, keepRecordsDays: 30, clock: () => clockUs, onAbandoned };
  ledger = createLedger({ redis, ...options });
  otherLedger = createLedger({ redis: otherRedis, ...options });
});
afterAll(async () => {
  redis.disconnect();
  otherRedis.disconnect();
  await server.close();
});
beforeEach(async () => {
  await emptyRedis(redis);
  abandoned.length = 0;
});

/** A fixed time unless a test moves it: no bucket refills while requests run. */
const clockUs = Date.now() * 1000;
const LEASE_MS = 60_000;
let nextId = 0;
const subject = (): UsageSubject => ({
  id: `req_${++nextId}`,
  keyId: 'key_1',
  team: 'search',
  endpoint: 'responses',
  model: 'gpt-5',
  startedAtMs: Date.now(),
});

const result = (
  costMicroUsd: number | null,
  tokens = 0,
  outcome: UsageResult['outcome'] = 'ok',
): UsageResult => ({
  outcome,
  channel: 'openai',
  attempts: 1,
  durationMs: 5,
  firstByteMs: 2,
  consumption: { ...NOTHING_CONSUMED, outputTokens: tokens },
  estimated: false,
  costMicroUsd,
});

const budget = (limit: number, owner = 'key_1'): Charge => ({
  kind: 'budget',
  owner,
  dimension: 'microUsd',
  period: 'total',
  timeZone: 'UTC',
  limit,
});
const tokensPerMinute = (limit: number, owner = 'key_1'): Charge => ({
  kind: 'rate',
  owner,
  dimension: 'tokens',
  model: null,
  limit,
});

const account = async (owner = 'key_1') => {
  const { spent = '0', reserved = '0' } = await redis.hgetall(redisNames.account(owner, 'total'));
  return { spent: Number(spent), reserved: Number(reserved) };
};
const records = async (): Promise<UsageRecord[]> => {
  const entries = await redis.xrange(redisNames.records(new Date().toISOString().slice(0, 10)), '-', '+');
  return entries.map(([, fields]) => UsageRecord.parse(JSON.parse(fields[1] ?? '')));
};

test('fifty requests at once against a budget for ten, on two replicas: ten pass', async () => {
  const charges = [budget(10 * 1000)];
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      (index % 2 === 0 ? ledger : otherLedger).reserve({
        subject: subject(),
        estimate: result(1000),
        charges,
        leaseMs: LEASE_MS,
      }),
    ),
  );
  expect(answers.filter(({ ok }) => ok)).toHaveLength(10);
  expect(await account()).toEqual({ spent: 0, reserved: 10_000 });
});

test.for([1, 3, 7, 60, 999])(
  'exactly %i of 1.5 times as many token requests pass a limit for them',
  async (count) => {
    const tokens = 10_000;
    const charges = [tokensPerMinute(count * tokens)];
    const answers = await Promise.all(
      Array.from({ length: Math.ceil(count * 1.5) }, () =>
        ledger.reserve({ subject: subject(), estimate: result(null, tokens), charges, leaseMs: LEASE_MS }),
      ),
    );
    expect(answers.filter(({ ok }) => ok)).toHaveLength(count);
  },
);

test('a refusal names the charge and the wait, and reserves nothing', async () => {
  const charges = [budget(5000), tokensPerMinute(100)];
  const first = await ledger.reserve({
    subject: subject(),
    estimate: result(1000, 100),
    charges,
    leaseMs: LEASE_MS,
  });
  expect(first).toEqual({ ok: true, remaining: [4000, 0] });
  const second = await ledger.reserve({
    subject: subject(),
    estimate: result(1000, 50),
    charges,
    leaseMs: LEASE_MS,
  });
  expect(second).toMatchObject({ ok: false, charge: charges[1], remaining: 0 });
  expect(second).toMatchObject({ waitMs: 30_000 });
  expect(await account()).toEqual({ spent: 0, reserved: 1000 });
});

test('for a request that alone exceeds the limit, the refusal has no wait', async () => {
  const answer = await ledger.reserve({
    subject: subject(),
    estimate: result(null, 101),
    charges: [tokensPerMinute(100)],
    leaseMs: LEASE_MS,
  });
  expect(answer).toMatchObject({ ok: false, waitMs: null });
});

test('settling gives back what was reserved too much, of money and of tokens', async () => {
  const charges = [budget(5000), tokensPerMinute(100)];
  const about = subject();
  await ledger.reserve({ subject: about, estimate: result(5000, 100), charges, leaseMs: LEASE_MS });
  expect(await ledger.settle(about, result(700, 40))).toBe(true);
  expect(await account()).toEqual({ spent: 700, reserved: 0 });
  const next = await ledger.reserve({
    subject: subject(),
    estimate: result(4300, 60),
    charges,
    leaseMs: LEASE_MS,
  });
  expect(next).toMatchObject({ ok: true });
});

test('what cost more than was reserved is taken in full', async () => {
  const about = subject();
  await ledger.reserve({ subject: about, estimate: result(100), charges: [budget(1000)], leaseMs: LEASE_MS });
  await ledger.settle(about, result(1500));
  expect(await account()).toEqual({ spent: 1500, reserved: 0 });
  const next = await ledger.reserve({
    subject: subject(),
    estimate: result(1),
    charges: [budget(1000)],
    leaseMs: LEASE_MS,
  });
  expect(next).toMatchObject({ ok: false, waitMs: null, remaining: 0 });
});

test('what costs nothing is settled on a budget like anything else', async () => {
  const about = subject();
  await ledger.reserve({
    subject: about,
    estimate: result(null),
    charges: [budget(1000)],
    leaseMs: LEASE_MS,
  });
  expect(await ledger.settle(about, result(null, 5))).toBe(true);
  expect(await account()).toEqual({ spent: 0, reserved: 0 });
  expect(await records()).toMatchObject([{ costMicroUsd: null }]);
});

test('a request is settled and recorded once, any number of times and from any process', async () => {
  const about = subject();
  await ledger.reserve({ subject: about, estimate: result(100), charges: [budget(1000)], leaseMs: LEASE_MS });
  const tries = await Promise.all(
    Array.from({ length: 10 }, (_, index) => (index % 2 ? ledger : otherLedger).settle(about, result(60))),
  );
  expect(tries.filter(Boolean)).toHaveLength(1);
  expect(await account()).toEqual({ spent: 60, reserved: 0 });
  expect(await records()).toEqual([{ ...about, ...result(60) }]);
});

test('what reserved nothing because Redis was away is recorded once too', async () => {
  const about = subject();
  expect(await ledger.settle(about, result(60))).toBe(true);
  expect(await otherLedger.settle(about, result(60))).toBe(false);
  expect(await records()).toHaveLength(1);
});

test('a request whose reservation Redis has lost leaves its record all the same, once', async () => {
  const abouts = Array.from({ length: 10 }, subject);
  const reservation = { estimate: result(100, 7), charges: [budget(10_000)], leaseMs: LEASE_MS };
  await Promise.all(abouts.map((about) => ledger.reserve({ subject: about, ...reservation })));
  await emptyRedis(redis);
  for (const replica of [ledger, otherLedger, ledger])
    await Promise.all(abouts.map((about) => replica.settle(about, result(60, 5))));
  const found = await records();
  expect(found.map(({ id }) => id).toSorted()).toEqual(abouts.map(({ id }) => id).toSorted());
  expect(found.every(({ costMicroUsd }) => costMicroUsd === 60)).toBe(true);
});

test('a settlement that is repeated charges nothing twice, also when its reservation comes late', async () => {
  const about = subject();
  const charges = [budget(1000), tokensPerMinute(600)];
  const reservation = { subject: about, estimate: result(100, 60), charges, leaseMs: 0 };
  await ledger.reserve(reservation);
  await ledger.settle(about, result(60, 6));
  // A Redis that was frozen runs it again.
  await otherLedger.reserve(reservation);
  expect(await account()).toEqual({ spent: 60, reserved: 100 });
  expect(await ledger.settleAbandoned()).toBe(0);
  expect(await account()).toEqual({ spent: 60, reserved: 0 });
  expect(await records()).toHaveLength(1);
  expect(await redis.zcard(redisNames.openReservations)).toBe(0);
});

test('a reservation that cannot be read is reported, given back, and holds up no other', async () => {
  const broken: unknown[] = [];
  const careful = createLedger({
    redis,
    now: Date.now,
    keepRecordsDays: 1,
    clock: () => clockUs,
    onBroken: (record) => broken.push(record),
  });
  const [first, second] = [subject(), subject()];
  for (const about of [first, second])
    await careful.reserve({ subject: about, estimate: result(100), charges: [budget(1000)], leaseMs: 0 });
  await redis.hset(redisNames.reservation(first.id), 'about', '{"subject":12.5}');
  expect(await careful.settleAbandoned()).toBe(1);
  expect(broken).toEqual([{ kind: 'reservation', id: first.id }]);
  expect(await account()).toEqual({ spent: 100, reserved: 0 });
  expect(await careful.settleAbandoned()).toBe(0);
  expect(broken).toHaveLength(1);
});

test('what is released is given back whole, leaves no record, and may never have been reserved', async () => {
  const about = subject();
  const charges = [budget(1000), tokensPerMinute(600)];
  await ledger.release(about.id);
  await ledger.reserve({ subject: about, estimate: result(100, 60), charges, leaseMs: 0 });
  await otherLedger.release(about.id);
  await ledger.release(about.id);
  expect(await ledger.settleAbandoned()).toBe(0);
  expect(await redis.hgetall(redisNames.account('key_1', 'total'))).toEqual({ reserved: '0' });
  expect(await redis.keys('*')).toHaveLength(2);
});

test('a reservation whose process is gone is charged as estimated when its lease runs out, once', async () => {
  const about = subject();
  await ledger.reserve({ subject: about, estimate: result(100, 7), charges: [budget(1000)], leaseMs: 0 });
  const kept = subject();
  await ledger.reserve({ subject: kept, estimate: result(200), charges: [budget(1000)], leaseMs: LEASE_MS });
  const settled = await Promise.all([ledger.settleAbandoned(), otherLedger.settleAbandoned()]);
  expect(settled.reduce((sum, count) => sum + count)).toBe(1);
  expect(abandoned).toEqual([about.id]);
  expect(await account()).toEqual({ spent: 100, reserved: 200 });
  expect(await records()).toEqual([{ ...about, ...result(100, 7, 'abandoned'), estimated: true }]);
  expect(await ledger.settle(about, result(60))).toBe(false);
});

test('no record is written whose consumption or cost is no amount', async () => {
  const about = subject();
  await ledger.reserve({
    subject: about,
    estimate: result(100, 7),
    charges: [budget(1000)],
    leaseMs: LEASE_MS,
  });
  const { consumption } = result(1);
  for (const wrong of [
    { ...result(1), consumption: { ...consumption, inputTokens: 12.5 } },
    { ...result(1), consumption: { ...consumption, inputTokens: Number.NaN } },
    { ...result(1), consumption: { ...consumption, images: 1e300 } },
    result(0.5),
    result(-1),
  ])
    await expect(ledger.settle(about, wrong)).rejects.toThrow('invalid amount');
  expect(await account()).toEqual({ spent: 0, reserved: 100 });
  expect(await records()).toEqual([]);
});

test('a renewed reservation is not abandoned', async () => {
  const about = subject();
  await ledger.reserve({ subject: about, estimate: result(100), charges: [], leaseMs: 0 });
  await ledger.renew([about.id, 'req_of_nobody'], LEASE_MS);
  expect(await ledger.settleAbandoned()).toBe(0);
  expect(await ledger.settle(about, result(60))).toBe(true);
});

test("an hour's sums are the sums of its records", async () => {
  for (const [cost, tokens] of [
    [100, 10],
    [250, 20],
    [null, 5],
  ] as const) {
    const about = subject();
    await ledger.reserve({ subject: about, estimate: result(1000), charges: [], leaseMs: LEASE_MS });
    await ledger.settle(about, result(cost, tokens));
  }
  const hour = Date.now();
  const [row, ...others] = await unrecordedUsage(redis, {
    ...{ fromMs: hour - 3_600_000, toMs: hour + 1, only: {} },
    groupBy: ['keyId', 'team', 'model', 'channel', 'endpoint', 'outcome'],
  });
  expect(others).toEqual([]);
  expect(row?.group).toEqual({
    keyId: 'key_1',
    team: 'search',
    model: 'gpt-5',
    channel: 'openai',
    endpoint: 'responses',
    outcome: 'ok',
  });
  expect(
    Object.entries(row?.sums ?? {})
      .filter(([, value]) => value > 0)
      .toSorted(),
  ).toEqual([
    ['costMicroUsd', 350],
    ['outputTokens', 35],
    ['requests', 3],
    ['unpricedRequests', 1],
  ]);
});

test('in any order of reserving, settling, crashing and retrying: never overspent, nothing lost, nothing doubled', async () => {
  const step = fc.record({
    estimate: fc.integer({ min: 1, max: 400 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    end: fc.constantFrom('settle', 'settle twice', 'die'),
    replica: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 30 }),
      fc.scheduler(),
      async (steps, scheduler) => {
        await emptyRedis(redis);
        const limit = 1000;
        let expected = 0;
        const run = async ({ estimate, share, end, replica }: (typeof steps)[number]) => {
          const mine = replica ? ledger : otherLedger;
          const about = subject();
          const leaseMs = end === 'die' ? 0 : LEASE_MS;
          const { ok } = await scheduler.schedule(
            mine.reserve({ subject: about, estimate: result(estimate), charges: [budget(limit)], leaseMs }),
          );
          if (!ok) return;
          const { spent, reserved } = await account();
          expect(spent + reserved).toBeLessThanOrEqual(limit);
          const cost = Math.floor(estimate * share);
          expected += end === 'die' ? estimate : cost;
          if (end === 'die') return;
          await scheduler.schedule(mine.settle(about, result(cost)));
          if (end === 'settle twice') await scheduler.schedule(mine.settle(about, result(cost)));
        };
        await scheduler.waitFor(Promise.all(steps.map(run)));
        await ledger.settleAbandoned();
        expect(await account()).toEqual({ spent: expected, reserved: 0 });
        const total = (await records()).reduce((sum, record) => sum + (record.costMicroUsd ?? 0), 0);
        expect(total).toBe(expected);
      },
    ),
    { numRuns: 40 },
  );
});
