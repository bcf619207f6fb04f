import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type JobStores, openJobStores } from '../files/job-stores.ts';
import { createKeptResults, type KeptResults } from './kept-results.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const start = 1_800_000_000_000;

let server: TestRedis;
let redis: Redis;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let stores: JobStores;
let results: KeptResults;
let nowMs: number;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  folder = await temporaryFolder();
  stores = await openJobStores({ dataDir: folder.path });
  results = createKeptResults({ redis, assets: stores.assets, now: () => nowMs });
});
beforeEach(async () => {
  nowMs = start;
  await redis.flushall();
  await stores.assets.sweep(Number.POSITIVE_INFINITY);
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
  await folder.close();
});

/** A result with two assets of this size together. */
async function keep(
  jobId: string,
  { keyId = 'key_1', sizeBytes = 100, heldUntilMs = 0 } = {},
): Promise<void> {
  const assets = [];
  for (const [part, bytes] of [['0.png', sizeBytes - 10] as const, ['output.json', 10] as const])
    assets.push(await stores.assets.put(`${jobId}-${part}`, Buffer.alloc(bytes)));
  await results.keep({ jobId, keyId, assets, retentionSeconds: 24 * 3600, heldUntilMs });
}

const kept = async () => {
  const jobs = new Set<string>();
  for await (const { id } of stores.assets.list()) jobs.add(id.slice(0, id.indexOf('-')));
  return [...jobs].sort();
};
/** What the sweep leaves at this time. */
const leftAfter = async (ms: number) => {
  nowMs = start + ms;
  await results.sweep();
  return kept();
};

test('a result that nobody got is kept for a day, one that was got for ten minutes, and one got by URL while the URL holds', async () => {
  for (const jobId of ['job_1', 'job_2', 'job_3']) await keep(jobId);
  await results.delivered('job_2', 'whole');
  await results.delivered('job_3', 'by URL');
  expect(await leftAfter(9 * MINUTE_MS)).toEqual(['job_1', 'job_2', 'job_3']);
  expect(await leftAfter(11 * MINUTE_MS)).toEqual(['job_1', 'job_3']);
  expect(await leftAfter(61 * MINUTE_MS)).toEqual(['job_1', 'job_3']);
  expect(await leftAfter(66 * MINUTE_MS)).toEqual(['job_1']);
  expect(await leftAfter(23 * HOUR_MS)).toEqual(['job_1']);
  expect(await leftAfter(25 * HOUR_MS)).toEqual([]);
  expect(await redis.keys('*')).toEqual([]);
});

test('a result that is got again is kept for as long again', async () => {
  await keep('job_1');
  await results.delivered('job_1', 'by URL');
  nowMs = start + 60 * MINUTE_MS;
  await results.delivered('job_1', 'by URL');
  expect(await leftAfter(124 * MINUTE_MS)).toEqual(['job_1']);
  expect(await leftAfter(126 * MINUTE_MS)).toEqual([]);
});

test('a held result is kept until then, delivered or not, and is not removed for others', async () => {
  await keep('job_1', { heldUntilMs: start + 24 * HOUR_MS });
  await results.delivered('job_1', 'whole');
  await expect(results.ensureRoom('key_1', 100)).rejects.toMatchObject({ code: 'result_quota_exhausted' });
  expect(await leftAfter(23 * HOUR_MS)).toEqual(['job_1']);
  expect(await leftAfter(25 * HOUR_MS)).toEqual([]);
});

test('delivered results of a key are removed for its new ones: first what expires first', async () => {
  for (const jobId of ['job_1', 'job_2', 'job_3', 'job_4']) await keep(jobId);
  await keep('job_5', { keyId: 'key_2' });
  await results.delivered('job_1', 'by URL');
  await results.delivered('job_2', 'whole');
  await results.delivered('job_5', 'whole');
  await results.ensureRoom('key_1', 401);
  expect(await kept()).toEqual(['job_1', 'job_2', 'job_3', 'job_4', 'job_5']);
  await results.ensureRoom('key_1', 400);
  expect(await kept()).toEqual(['job_1', 'job_3', 'job_4', 'job_5']);
  await results.ensureRoom('key_1', 250);
  expect(await kept()).toEqual(['job_3', 'job_4', 'job_5']);
  nowMs += HOUR_MS;
  const refused = results.ensureRoom('key_1', 200);
  await expect(refused).rejects.toMatchObject({
    code: 'result_quota_exhausted',
    retry: false,
    options: { retryAfterSeconds: 23 * 3600 },
  });
  await results.ensureRoom('key_2', 101);
  expect(await kept()).toEqual(['job_3', 'job_4', 'job_5']);
  await results.delivered('job_3', 'whole');
  await results.ensureRoom('key_1', 200);
  expect(await kept()).toEqual(['job_4', 'job_5']);
});

test('a result that is removed is gone at once, with its bytes', async () => {
  await keep('job_1');
  await keep('job_2', { keyId: 'key_2' });
  expect(await results.remove('job_1')).toBe(true);
  expect(await results.remove('job_1')).toBe(false);
  expect(await kept()).toEqual(['job_2']);
  await results.ensureRoom('key_1', 1);
  await results.delivered('job_1', 'whole');
  expect(await results.remove('job_2')).toBe(true);
  expect(await redis.keys('*')).toEqual([]);
});

test('a delivered result that Redis has half forgotten frees nothing and blocks nobody', async () => {
  await keep('job_1');
  await redis.zadd('gateway:{jobs}:results-delivered:key_1', 1, 'job_gone');
  await expect(results.ensureRoom('key_1', 100)).rejects.toMatchObject({ code: 'result_quota_exhausted' });
});

test('a job that runs twice has one result', async () => {
  await keep('job_1', { sizeBytes: 100 });
  await keep('job_1', { sizeBytes: 60 });
  await results.ensureRoom('key_1', 61);
  await expect(results.ensureRoom('key_1', 60)).rejects.toMatchObject({ code: 'result_quota_exhausted' });
});

test('more results than are swept at once are all swept, by two processes at the same time', async () => {
  for (let index = 0; index < 250; index += 1)
    await results.keep({ jobId: `job_${index}`, keyId: 'key_1', assets: [], retentionSeconds: 1 });
  nowMs += 2000;
  const counts = await Promise.all([results.sweep(), results.sweep()]);
  expect(counts.reduce((sum, count) => sum + count)).toBe(250);
  expect(await redis.keys('*')).toEqual([]);
});
