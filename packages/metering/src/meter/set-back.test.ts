import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { openRedis } from '@gateway/redis/open-redis';
import { startFakeSentinel } from '@gateway/redis/testing/fake-sentinel';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { dayOf, redisNames } from '../redis-names.ts';
import { sampleResult, sampleSubject } from '../testing/sample-usage.ts';
import type { MeterProblem } from './meter.ts';
import { openMeter } from './open-meter.ts';

const budget = { microUsd: 1000, period: 'total', allowUnpriced: false } as const;
const accounts = [{ owner: 'key_1', limits: {}, budget }];

test('what a master confirmed and its replica never got is accounted on the new master, once, and counted', async () => {
  await using resources = new AsyncDisposableStack();
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const [first, second] = [await startRedis(), await startRedis()];
  resources.defer(second.close);
  const sentinel = resources.use(await startFakeSentinel(first.port));
  const admin = resources.adopt(new Redis(second.url), (opened) => opened.disconnect());
  const redis = resources.adopt(
    await openRedis(`redis+sentinel://127.0.0.1:${sentinel.port}/main`, 'request', () => undefined),
    (opened) => opened.disconnect(),
  );
  const problems: MeterProblem[] = [];
  let restored = 0;
  const settled: string[] = [];
  const nothing = () => undefined;
  const meter = await openMeter({
    redis,
    settings: {
      GATEWAY_DATA_DIR: folder.path,
      GATEWAY_TIME_ZONE: 'UTC',
      USAGE_RECORDS_DAYS: 30,
    },
    metrics: {
      refused: nothing,
      budgetNear: nothing,
      brokenRecord: nothing,
      usageRestored: (count) => (restored += count),
    },
    refusals: { add: nothing },
    now: Date.now,
    report: (problem) => problems.push(problem),
    onSettled: ({ id }) => settled.push(id),
  });
  const begin = (id: string) =>
    meter.begin({ subject: sampleSubject(id, Date.now()), accounts, estimate: sampleResult(100) });

  await admin.replicaof('127.0.0.1', first.port);
  await (await begin('req_known')).settle(sampleResult(10));
  const lost = await begin('req_lost');
  await redis.set('last', 1);
  await waitFor(async () => (await admin.exists('last')) === 1);
  await admin.replicaof('NO', 'ONE');
  await lost.settle(sampleResult(20));
  sentinel.says = second.port;
  first.kill('SIGKILL');
  await first.close();

  await waitFor(() => restored > 0);
  expect([restored, problems.filter(({ what }) => what === 'restored')]).toEqual([
    1,
    [
      {
        what: 'restored',
        reason: 'Redis was set back: 1 of the last 2 settlements were lost and are made again',
      },
    ],
  ]);
  const entries = await admin.xrange(redisNames.records(dayOf(Date.now())), '-', '+');
  const records = entries.map(([, [, record = '']]) => UsageRecord.parse(JSON.parse(record)));
  expect(records.map(({ id, costMicroUsd }) => [id, costMicroUsd])).toEqual([
    ['req_known', 10],
    ['req_lost', 20],
  ]);
  expect(await admin.hgetall(redisNames.account('key_1', 'total'))).toEqual({ reserved: '0', spent: '30' });
  // What is made again was counted before.
  expect(settled).toEqual(['req_known', 'req_lost']);
  await meter.close();
});
