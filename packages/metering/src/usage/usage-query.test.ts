import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createLedger } from '../ledger/ledger.ts';
import { redisNames } from '../redis-names.ts';
import { sampleResult, sampleSubject } from '../testing/sample-usage.ts';
import { withRedis } from '../testing/with-redis.ts';
import { queryUsage } from './usage-query.ts';
import { usageRecords } from './usage-records.ts';

let redis: Redis;
let nowMs = 0;

withRedis((client) => {
  redis = client;
});

const at = (moment: string) => Date.parse(moment);
let nextId = 0;

async function record(moment: string, changes: Partial<UsageRecord>) {
  nowMs = at(moment);
  const ledger = createLedger({ redis, now: () => nowMs, keepRecordsDays: 30, keepSumsDays: 400 });
  const { id, keyId, team, endpoint, model, startedAtMs, ...rest } = {
    ...sampleSubject(`req_${++nextId}`, nowMs),
    ...sampleResult(10),
    ...changes,
  };
  await ledger.settle({ id, keyId, team, endpoint, model, startedAtMs }, rest);
}

test('usage is grouped as the query demands, from the first hour to the last, and nothing else', async () => {
  await record('2026-11-19T23:59:00Z', {});
  await record('2026-11-20T10:10:00Z', {});
  await record('2026-11-20T10:50:00Z', { outcome: 'cut', costMicroUsd: 5 });
  await record('2026-11-20T11:00:00Z', { model: 'claude' });
  await record('2026-11-21T00:00:00Z', {});
  const range = { fromMs: at('2026-11-20T00:00:00Z'), toMs: at('2026-11-21T00:00:00Z') };
  const rows = await queryUsage(redis, { ...range, groupBy: ['hour', 'model'], only: {} });
  expect(
    rows.map(({ group, sums }) => ({
      ...group,
      requests: sums.requests,
      failed: sums.failed,
      cost: sums.costMicroUsd,
    })),
  ).toEqual([
    { hour: '2026-11-20T10', model: 'gpt-5', requests: 2, failed: 1, cost: 15 },
    { hour: '2026-11-20T11', model: 'claude', requests: 1, failed: 0, cost: 10 },
  ]);
  const [total] = await queryUsage(redis, { ...range, groupBy: [], only: { model: 'gpt-5' } });
  expect(total).toMatchObject({ group: {}, sums: { requests: 2, costMicroUsd: 15 } });
});

test('percentiles are those of all that a row holds, whatever hours and groups it sums up', async () => {
  for (const [hour, durationMs] of [10, 100, 1000].entries())
    for (let count = 0; count < 10; count += 1)
      await record(`2026-11-20T1${hour}:00:00Z`, { durationMs, firstByteMs: null, model: `m${hour}` });
  await record('2026-11-20T13:00:00Z', { outcome: 'failed', durationMs: 60_000 });
  const range = { fromMs: at('2026-11-20T00:00:00Z'), toMs: at('2026-11-21T00:00:00Z') };
  const [all] = await queryUsage(redis, { ...range, groupBy: [], only: {} });
  expect(all?.latencies.totalMs.quantile(0.95)).toBeGreaterThan(630);
  expect(all?.latencies.totalMs.quantile(0.95)).toBeLessThanOrEqual(1000);
  expect(all?.latencies.totalMs.quantile(0.5)).toBeGreaterThan(63);
  expect(all?.latencies.totalMs.quantile(0.5)).toBeLessThanOrEqual(100);
  expect(all?.latencies.firstOutputMs.quantile(0.5)).toBeNull();
  const [one] = await queryUsage(redis, { ...range, groupBy: ['model'], only: { model: 'm0' } });
  expect(one?.latencies.totalMs.quantile(0.95)).toBeLessThanOrEqual(10);
});

test('a year of hours is read, and hours without usage have no rows', async () => {
  await record('2026-01-05T00:00:00Z', {});
  await record('2026-12-31T23:00:00Z', {});
  const rows = await queryUsage(redis, {
    fromMs: at('2026-01-01T00:00:00Z'),
    toMs: at('2027-01-01T00:00:00Z'),
    groupBy: ['day'],
    only: {},
  });
  expect(rows.map(({ group }) => group.day)).toEqual(['2026-01-05', '2026-12-31']);
});

test('records come out as they went in, every one, over more than a page', async () => {
  const today = new Date().toISOString();
  for (let count = 0; count < 1203; count += 1) await record(today, { team: 'search', costMicroUsd: null });
  const seen: string[] = [];
  const day = at(today.slice(0, 10));
  for await (const { id, team, costMicroUsd } of usageRecords(redis, {
    fromMs: day,
    toMs: day + 86_400_000,
  })) {
    expect({ team, costMicroUsd }).toEqual({ team: 'search', costMicroUsd: null });
    seen.push(id);
  }
  expect(new Set(seen).size).toBe(1203);
  expect(seen).toEqual(seen.toSorted((a, b) => Number(a.slice(4)) - Number(b.slice(4))));
});

test('a broken record or sum is reported, and all others are returned', async () => {
  await record('2026-11-20T10:10:00Z', {});
  const name = redisNames.records('2026-11-20');
  const id = await redis.xadd(name, '*', 'record', '{"id":"req_x","costMicroUsd":0.5}');
  await redis.xadd(name, '*', 'record', '{"id":');
  await record('2026-11-20T10:20:00Z', {});
  const sums = redisNames.sums('2026-11-20T10');
  await redis.hset(
    sums,
    'no sum',
    '1',
    (await redis.hkeys(sums))[0]?.replace('key_1', 'key_2') ?? '',
    '12.5',
  );

  const broken: { kind: string; id: string }[] = [];
  const onBroken = (one: { kind: string; id: string }) => void broken.push(one);
  const ids: string[] = [];
  // Streams use Redis' clock, records the day of their process.
  const day = { fromMs: at('2026-11-20T00:00:00Z'), toMs: at('2026-11-21T00:00:00Z') };
  await redis.rename(name, redisNames.records(new Date().toISOString().slice(0, 10)));
  const today = at(new Date().toISOString().slice(0, 10));
  for await (const one of usageRecords(redis, { fromMs: today, toMs: today + 86_400_000, onBroken }))
    ids.push(one.id);
  expect(ids).toHaveLength(2);
  expect(broken.map(({ kind }) => kind)).toEqual(['usage_record', 'usage_record']);
  expect(broken[0]?.id).toContain(id);

  const [total] = await queryUsage(redis, { ...day, groupBy: [], only: {}, onBroken });
  expect(total?.sums).toMatchObject({ requests: 2, costMicroUsd: 20 });
  expect(broken.slice(2).map(({ kind }) => kind)).toEqual(['usage_sum', 'usage_sum']);
});
