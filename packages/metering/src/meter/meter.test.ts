import { appendFile, readdir, readFile } from 'node:fs/promises';
import type { Account } from '@gateway/contracts/identity';
import { NOTHING_CONSUMED, UsageRecord, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { redisNames } from '../redis-names.ts';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { createMeter, type Meter, type MeterProblem } from './meter.ts';
import { openUsageSpool, type SpooledUsage, type UsageSpool } from './usage-spool.ts';

/** A fixed time: no bucket refills between two requests. */
const clockUs = Date.now() * 1000;

let server: TestRedis;
let redis: Redis;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  server = await startRedis();
  folder = await temporaryFolder();
  redis = new Redis(server.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: true });
  redis.on('error', () => undefined);
  await redis.connect();
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
  await folder.close();
});
beforeEach(async () => {
  await emptyRedis(redis);
});

let nextId = 0;
const subject = () => ({
  id: `req_${++nextId}`,
  keyId: 'key_1',
  team: null,
  endpoint: 'responses',
  model: 'gpt-5',
  startedAtMs: Date.now(),
});
const result = (costMicroUsd: number, outputTokens = 0): UsageResult => ({
  outcome: 'ok',
  channel: 'openai',
  attempts: 1,
  durationMs: 1,
  firstByteMs: 1,
  consumption: { ...NOTHING_CONSUMED, outputTokens },
  estimated: false,
  costMicroUsd,
});
const account = (changes: Partial<Account>): Account => ({
  owner: 'key_1',
  limits: {},
  budget: null,
  ...changes,
});
const budget = (microUsd: number): Account =>
  account({ budget: { microUsd, period: 'total', allowUnpriced: false } });

async function meterOver(
  connection: Redis,
  spool?: UsageSpool,
): Promise<{
  meter: Meter;
  problems: MeterProblem[];
  notices: readonly string[];
  settled: readonly UsageRecord[];
}> {
  const problems: MeterProblem[] = [];
  const notices: string[] = [];
  const settled: UsageRecord[] = [];
  const ledger = createLedger({
    redis: connection,
    now: Date.now,
    keepRecordsDays: 30,
    clock: () => clockUs,
  });
  const meter = createMeter({
    ledger,
    spool: spool ?? (await openUsageSpool(folder.path, `spool-${++nextId}`, Date.now)),
    now: Date.now,
    timeZone: 'UTC',
    report: (problem) => problems.push(problem),
    onRefused: (reason) => void notices.push(reason),
    onBudgetNear: () => void notices.push('near'),
    onSettled: (record) => void settled.push(record),
  });
  return { meter, problems, notices, settled };
}

const records = async () => {
  const entries = await redis.xrange(redisNames.records(new Date().toISOString().slice(0, 10)), '-', '+');
  return entries.map(([, fields]) => UsageRecord.parse(JSON.parse(fields[1] ?? '')));
};
const spent = () => redis.hgetall(redisNames.account('key_1', 'total'));

test('the most that a request may cost is reserved before, and its real cost is taken after', async () => {
  const { meter, settled } = await meterOver(redis);
  const metered = await meter.begin({ subject: subject(), accounts: [budget(1000)], estimate: result(400) });
  expect(await spent()).toEqual({ reserved: '400' });
  await metered.settle(result(150));
  await metered.settle(result(999));
  expect(await spent()).toEqual({ reserved: '0', spent: '150' });
  expect(settled.map(({ costMicroUsd }) => costMicroUsd)).toEqual([150]);
  await meter.close();
});

test('what is released is free again, leaves no record and cannot be settled any more', async () => {
  const { meter } = await meterOver(redis);
  const metered = await meter.begin({ subject: subject(), accounts: [budget(1000)], estimate: result(400) });
  await metered.release();
  await metered.settle(result(150));
  expect(await spent()).toEqual({ reserved: '0' });
  expect(await records()).toEqual([]);
  await meter.close();
});

test('a request that the budget does not cover is refused without a wait; one over a limit is refused with a wait', async () => {
  const { meter } = await meterOver(redis);
  await expect(
    meter.begin({ subject: subject(), accounts: [budget(100)], estimate: result(101) }),
  ).rejects.toMatchObject({ code: 'budget_exhausted', retry: false });
  const limited = [account({ limits: { tokensPerMinute: 100 } })];
  await meter.begin({ subject: subject(), accounts: limited, estimate: result(1, 80) });
  await expect(
    meter.begin({ subject: subject(), accounts: limited, estimate: result(1, 40) }),
  ).rejects.toMatchObject({
    code: 'rate_limited_tokens',
    message: expect.stringMatching(/Limit 100, Used 80, Requested 40\. Please try again in [\d.]+s\.$/),
    options: {
      retryAfterSeconds: expect.any(Number),
      headers: {
        'x-ratelimit-limit-tokens': '100',
        'x-ratelimit-remaining-tokens': '20',
        'anthropic-ratelimit-tokens-limit': '100',
        'retry-after-ms': expect.stringMatching(/^\d+$/),
      },
    },
  });
  await expect(
    meter.begin({ subject: subject(), accounts: limited, estimate: result(1, 101) }),
  ).rejects.toMatchObject({ code: 'rate_limited_tokens', retry: false });
  await meter.close();
});

test('the callbacks get the reasons of refusals, and budgets that are nearly spent', async () => {
  const { meter, notices } = await meterOver(redis);
  const begin = (accounts: readonly Account[], estimate: UsageResult) =>
    meter.begin({ subject: subject(), accounts, estimate }).catch(() => undefined);
  await begin([budget(100)], result(10));
  await begin([budget(100)], result(75));
  await begin([budget(100)], result(50));
  await begin([account({ limits: { imagesPerMinute: 1 } })], {
    ...result(1),
    consumption: { ...NOTHING_CONSUMED, images: 2 },
  });
  await begin([budget(100)], { ...result(1), costMicroUsd: null });
  expect(notices).toEqual(['near', 'budget', 'images_per_minute', 'unpriced_model']);
  await meter.close();
});

test('the strictest of several accounts decides, and the others are left untouched', async () => {
  const { meter } = await meterOver(redis);
  const team = account({
    owner: 'team:search',
    budget: { microUsd: 50, period: 'total', allowUnpriced: false },
  });
  await expect(
    meter.begin({ subject: subject(), accounts: [budget(1000), team], estimate: result(51) }),
  ).rejects.toMatchObject({ message: expect.stringContaining("your team's budget") });
  expect(await spent()).toEqual({});
  await meter.close();
});

test('with Redis away a key with limits is refused with 503, one without is served and is accounted once Redis is back', async () => {
  const own = await startRedis();
  const connection = new Redis(own.url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  });
  connection.on('error', () => undefined);
  await connection.connect();
  const kept: SpooledUsage[] = [];
  const { meter, settled } = await meterOver(connection, {
    add: async (usage) => void kept.push(usage),
    replay: async () => undefined,
  });
  await own.close();
  await waitFor(() => connection.status !== 'ready');
  await expect(
    meter.begin({ subject: subject(), accounts: [budget(1000)], estimate: result(1) }),
  ).rejects.toMatchObject({ code: 'service_unavailable' });
  const about = subject();
  const metered = await meter.begin({ subject: about, accounts: [], estimate: result(1) });
  await metered.settle(result(7));
  expect(kept).toEqual([{ record: { ...about, ...result(7) } }]);
  expect(settled).toEqual([{ ...about, ...result(7) }]);
  await meter.close();
  connection.disconnect();
});

test('spooled usage is accounted once, also when any process replays it twice', async () => {
  const spool = await openUsageSpool(folder.path, 'gone', Date.now);
  const reserved = subject();
  const ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 30 });
  await ledger.reserve({ subject: reserved, estimate: result(50), charges: [], leaseMs: 60_000 });
  const unknown = subject();
  const all = [{ record: { ...reserved, ...result(10) } }, { record: { ...unknown, ...result(20) } }];
  for (const usage of [...all, ...all]) await spool.add(usage);
  const later = () => Date.now() + 120_000;
  const other = await openUsageSpool(folder.path, 'other', later);
  const settle = async ({ record }: SpooledUsage) => {
    const { id, keyId, team, endpoint, model, startedAtMs, ...rest } = record;
    await ledger.settle({ id, keyId, team, endpoint, model, startedAtMs }, rest);
  };
  await expect(
    other.replay(async () => {
      throw new Error('Redis is away');
    }),
  ).rejects.toThrow();
  await other.replay(settle);
  await other.replay(settle);
  expect((await records()).map(({ id, costMicroUsd }) => [id, costMicroUsd])).toEqual([
    [reserved.id, 10],
    [unknown.id, 20],
  ]);
});

test('half a line of a process that died while writing is not read, and does not block the others', async () => {
  const own = await temporaryFolder();
  const spool = await openUsageSpool(own.path, 'dying', Date.now);
  await spool.add({ record: { ...subject(), ...result(1) } });
  const [file = ''] = await readdir(own.path);
  await appendFile(`${own.path}/${file}`, '{"rec');
  const seen: SpooledUsage[] = [];
  await spool.replay(async (usage) => void seen.push(usage));
  expect(seen).toHaveLength(1);
  expect(await readdir(own.path)).toEqual([]);
  await own.close();
});

test('a caller is warned when a budget is nearly spent, and not before', async () => {
  const { meter } = await meterOver(redis);
  const accounts = [budget(1000)];
  const begin = (estimate: UsageResult) => meter.begin({ subject: subject(), accounts, estimate });
  expect((await begin(result(799))).budgetNotice).toBeNull();
  expect((await begin(result(31))).budgetNotice).toBe('used=83%');
  await meter.close();
});

test('a reservation that another process is to settle exists before the handover, and stays without this process', async () => {
  const { meter } = await meterOver(redis);
  const about = subject();
  await meter.begin({ subject: about, accounts: [], estimate: result(5), leaseMs: 3_600_000 });
  const until = Number(await redis.zscore(redisNames.openReservations, about.id));
  expect(until).toBeGreaterThan(Date.now() + 3_000_000);
  await meter.close();
  const other = await meterOver(redis);
  await other.meter.resume(about).settle(result(4));
  expect((await records()).map(({ costMicroUsd }) => costMicroUsd)).toEqual([4]);
  await other.meter.close();
});

test('when Redis loses its data during ten requests, each is recorded once, also from the spool', async () => {
  const { meter } = await meterOver(redis);
  const abouts = Array.from({ length: 10 }, subject);
  const begun = await Promise.all(
    abouts.map((about) => meter.begin({ subject: about, accounts: [budget(10_000)], estimate: result(400) })),
  );
  await emptyRedis(redis);
  await Promise.all(begun.map((metered) => metered.settle(result(150))));
  const spool = await openUsageSpool(folder.path, 'after a flush', Date.now);
  for (const about of abouts) await spool.add({ record: { ...about, ...result(150) } });
  const ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 30 });
  await spool.replay(async ({ record: { id, keyId, team, endpoint, model, startedAtMs, ...rest } }) => {
    await ledger.settle({ id, keyId, team, endpoint, model, startedAtMs }, rest);
  });
  const ids = (await records()).map(({ id }) => id);
  expect(ids.toSorted()).toEqual(abouts.map(({ id }) => id).toSorted());
  await meter.close();
});

test('usage that is no whole number is reported and charged as estimated', async () => {
  const { meter, problems } = await meterOver(redis);
  const metered = await meter.begin({
    subject: subject(),
    accounts: [budget(1000)],
    estimate: result(400, 7),
  });
  await metered.settle(result(150.5, 12.5));
  expect(await spent()).toEqual({ reserved: '0', spent: '400' });
  expect(await records()).toMatchObject([
    { costMicroUsd: 400, estimated: true, consumption: { outputTokens: 7 }, channel: 'openai' },
  ]);
  expect(problems).toMatchObject([
    { what: 'usage', reason: expect.stringContaining('consumption.outputTokens, costMicroUsd') },
  ]);
  await meter.close();
});

test('a line of the spool that cannot be read is reported and put aside, and blocks no other', async () => {
  const own = await temporaryFolder();
  const broken: unknown[] = [];
  const spool = await openUsageSpool(own.path, 'odd', Date.now, (record) => broken.push(record));
  const [first, last] = [subject(), subject()];
  await spool.add({ record: { ...first, ...result(1) } });
  const [file = ''] = await readdir(own.path);
  const odd = JSON.stringify({ record: { ...subject(), ...result(12.5) } });
  await appendFile(`${own.path}/${file}`, `${odd}\n`);
  await spool.add({ record: { ...last, ...result(2) } });
  const seen: string[] = [];
  const settle = async ({ record }: SpooledUsage) => void seen.push(record.id);
  await spool.replay(settle);
  await spool.replay(settle);
  expect(seen).toEqual([first.id, last.id]);
  expect(broken).toEqual([{ kind: 'spooled_usage', id: expect.stringMatching(/ 2$/) }]);
  expect(await readFile(`${own.path}/broken.txt`, 'utf8')).toBe(`${odd}\n`);
  await own.close();
});

test('a kept reservation outlives its process, and any process settles it once', async () => {
  const { meter } = await meterOver(redis);
  const about = subject();
  const metered = await meter.begin({ subject: about, accounts: [budget(1000)], estimate: result(400) });
  expect(await metered.keep(3_600_000)).toBe(true);
  const until = Number(await redis.zscore(redisNames.openReservations, about.id));
  expect(until).toBeGreaterThan(Date.now() + 3_000_000);
  await meter.close();
  expect(await records()).toEqual([]);

  const others = [await meterOver(redis), await meterOver(redis)];
  const settled = await Promise.all(
    others.flatMap(({ meter: other }) => [
      other.settleOnce(about, result(150)),
      other.settleOnce(about, result(150)),
    ]),
  );
  expect(settled.filter(Boolean)).toHaveLength(1);
  expect((await records()).map(({ costMicroUsd }) => costMicroUsd)).toEqual([150]);
  for (const { meter: other } of others) await other.close();
});

test('upkeep never shortens a lease that was extended meanwhile', async () => {
  const ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 1 });
  const about = subject();
  await ledger.reserve({ subject: about, estimate: result(1), charges: [], leaseMs: 1000 });
  await ledger.renew([about.id], 3_600_000);
  await ledger.renew([about.id], 60_000);
  const until = Number(await redis.zscore(redisNames.openReservations, about.id));
  expect(until).toBeGreaterThan(Date.now() + 3_000_000);
});

test('of all limits on tokens that a request counts on, the tightest is reported as the request left it', async () => {
  const { meter } = await meterOver(redis);
  const begin = async (limits: Account['limits'], tokens: number) => {
    const accounts = [account({ limits }), account({ owner: 'team:a', limits: { tokensPerMinute: 500 } })];
    return (await meter.begin({ subject: subject(), accounts, estimate: result(1, tokens) })).tokenRate;
  };
  expect(await begin({ tokensPerMinute: 1000 }, 100)).toEqual({ unit: 'tokens', limit: 500, remaining: 400 });
  expect(await begin({ models: { 'gpt-*': { tokensPerMinute: 90 } } }, 50)).toEqual({
    unit: 'tokens',
    limit: 90,
    remaining: 40,
  });
  const free = await meter.begin({ subject: subject(), accounts: [], estimate: result(1, 50) });
  expect(free.tokenRate).toBeNull();
  await meter.close();
});

test('what is reserved at a second try is not released for the sake of the first, of which nobody knows what it did', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const kept = Promise.withResolvers<void>();
  const ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 30, clock: () => clockUs });
  let tries = 0;
  const reserve: Ledger['reserve'] = (reservation) => {
    tries += 1;
    return tries === 1 ? Promise.reject(new Error('no answer in time')) : ledger.reserve(reservation);
  };
  const meter = createMeter({
    ledger: { ...ledger, reserve },
    // Each round comes to it after the releases.
    spool: { add: async () => undefined, replay: async () => kept.resolve() },
    now: Date.now,
    timeZone: 'UTC',
    report: () => undefined,
    onRefused: () => undefined,
    onBudgetNear: () => undefined,
  });
  const demand = { subject: subject(), accounts: [budget(1000)], estimate: result(10), leaseMs: 60_000 };
  await expect(meter.begin(demand)).rejects.toMatchObject({ code: 'service_unavailable' });
  await meter.begin(demand);
  vi.advanceTimersByTime(15_000);
  await kept.promise;
  expect(await spent()).toMatchObject({ reserved: '10' });
  await meter.close();
});
