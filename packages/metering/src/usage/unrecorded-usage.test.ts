import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { dayOf, redisNames } from '../redis-names.ts';
import { sampleResult, sampleSubject } from '../testing/sample-usage.ts';
import { withRedis } from '../testing/with-redis.ts';

import { unrecordedRecords, unrecordedUsage } from './unrecorded-usage.ts';

let redis: Redis;

withRedis((client) => {
  redis = client;
});

const at = (moment: string) => Date.parse(moment);
let nextId = 0;

/** Appends a record as `settle` does, at a moment. */
async function record(moment: string, changes: Partial<UsageRecord>) {
  const one = { ...sampleSubject(`req_${++nextId}`, at(moment)), ...sampleResult(10), ...changes };
  const id = `${at(moment)}-${nextId}`;
  await redis.xadd(redisNames.records(dayOf(at(moment))), id, 'record', JSON.stringify(one));
}

test('usage is grouped as the query demands, from the first hour to the last, and nothing else', async () => {
  await record('2026-11-19T23:59:00Z', {});
  await record('2026-11-20T10:10:00Z', {});
  await record('2026-11-20T10:50:00Z', { outcome: 'cut', costMicroUsd: 5 });
  await record('2026-11-20T11:00:00Z', { model: 'claude' });
  await record('2026-11-21T00:00:00Z', {});
  const range = { fromMs: at('2026-11-20T00:00:00Z'), toMs: at('2026-11-21T00:00:00Z') };
  const rows = await unrecordedUsage(redis, { ...range, groupBy: ['hour', 'model'], only: {} });
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
  const [total] = await unrecordedUsage(redis, { ...range, groupBy: [], only: { model: 'gpt-5' } });
  expect(total).toMatchObject({ group: {}, sums: { requests: 2, costMicroUsd: 15 } });
});

test('percentiles are those of all that a row holds, whatever hours and groups it sums up', async () => {
  for (const [hour, durationMs] of [10, 100, 1000].entries())
    for (let count = 0; count < 10; count += 1)
      await record(`2026-11-20T1${hour}:00:00Z`, { durationMs, firstByteMs: null, model: `m${hour}` });
  await record('2026-11-20T13:00:00Z', { outcome: 'failed', durationMs: 60_000 });
  const range = { fromMs: at('2026-11-20T00:00:00Z'), toMs: at('2026-11-21T00:00:00Z') };
  const [all] = await unrecordedUsage(redis, { ...range, groupBy: [], only: {} });
  expect(all?.latencies.totalMs.quantile(0.95)).toBeGreaterThan(630);
  expect(all?.latencies.totalMs.quantile(0.95)).toBeLessThanOrEqual(1000);
  expect(all?.latencies.totalMs.quantile(0.5)).toBeGreaterThan(63);
  expect(all?.latencies.totalMs.quantile(0.5)).toBeLessThanOrEqual(100);
  expect(all?.latencies.firstOutputMs.quantile(0.5)).toBeNull();
  const [one] = await unrecordedUsage(redis, { ...range, groupBy: ['model'], only: { model: 'm0' } });
  expect(one?.latencies.totalMs.quantile(0.95)).toBeLessThanOrEqual(10);
});

test('a year of hours is read, and hours without usage have no rows', async () => {
  await record('2026-01-05T00:00:00Z', {});
  await record('2026-12-31T23:00:00Z', {});
  const rows = await unrecordedUsage(redis, {
    fromMs: at('2026-01-01T00:00:00Z'),
    toMs: at('2027-01-01T00:00:00Z'),
    groupBy: ['day'],
    only: {},
  });
  expect(rows.map(({ group }) => group.day)).toEqual(['2026-01-05', '2026-12-31']);
});

test('a broken record is reported, and all others are returned', async () => {
  await record('2026-11-20T10:10:00Z', {});
  const name = redisNames.records('2026-11-20');
  const id = `${at('2026-11-20T10:15:00Z')}-0`;
  await redis.xadd(name, id, 'record', '{"id":"req_x","costMicroUsd":0.5}');
  await redis.xadd(name, `${at('2026-11-20T10:15:00Z')}-1`, 'record', '{"id":');
  await record('2026-11-20T10:20:00Z', {});

  const broken: { kind: string; id: string }[] = [];
  const onBroken = (one: { kind: string; id: string }) => void broken.push(one);
  const day = { fromMs: at('2026-11-20T00:00:00Z'), toMs: at('2026-11-21T00:00:00Z'), onBroken };
  expect(await unrecordedRecords(redis, day)).toHaveLength(2);
  expect(broken.map(({ kind }) => kind)).toEqual(['usage_record', 'usage_record']);
  expect(broken[0]?.id).toContain(id);

  const [total] = await unrecordedUsage(redis, { ...day, groupBy: [], only: {} });
  expect(total?.sums).toMatchObject({ requests: 2, costMicroUsd: 20 });
});
