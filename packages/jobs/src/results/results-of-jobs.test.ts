import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { generation, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';

/** How the results of jobs count for their key, from the end of a job to the next one. */

let stage: JobStage;
let redis: Redis;
beforeAll(async () => {
  stage = await openJobStage();
  redis = new Redis(stage.redis.url);
});
afterEach(() => stage.clear());
afterAll(async () => {
  redis.disconnect();
  await stage.close();
});

const IMAGE_BYTES = 50_000;

/** A worker whose jobs make one image each. */
async function openWorker() {
  const run = async (_input: unknown, { jobId }: { jobId: string }) => {
    const { id, sizeBytes } = await stage.assets.put(`${jobId}-0.png`, Buffer.alloc(IMAGE_BYTES));
    return { ...images, images: [{ assetId: id, contentType: 'image/png', sizeBytes, members: {} }] };
  };
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
}

/** An owner whose results may take as much as two images. */
const limited = (keyId: string) => ({ ...owner, keyId, share: { keptResultBytes: 2 * IMAGE_BYTES } });
const expiryOf = async (jobId: string) =>
  Number(await redis.zscore('gateway:{jobs}:results', jobId)) - Date.now();

test('a key whose results nobody gets is refused when they take what it may keep, and others are not', async () => {
  const queue = await stage.openQueue();
  await openWorker();
  const made = [];
  for (let count = 0; count < 2; count += 1) {
    const handle = await queue.enqueue('image.generation', generation, limited('key_full'));
    await handle.result(staying);
    made.push(handle);
  }
  const refusal = { code: 'result_quota_exhausted', options: { retryAfterSeconds: expect.any(Number) } };
  const reserving = queue.reserveSlot('image.generation', limited('key_full'));
  await expect(reserving).rejects.toMatchObject(refusal);
  const enqueuing = queue.enqueue('image.generation', generation, limited('key_full'));
  await expect(enqueuing).rejects.toMatchObject(refusal);
  await using _slot = await queue.reserveSlot('image.generation', limited('key_other'));
  const [first] = made;
  if (first === undefined) throw new Error('nothing was made');
  first.delivered('whole');
  await waitFor(async () => (await expiryOf(first.id)) < 600_000);
  const next = await queue.enqueue('image.generation', generation, limited('key_full'));
  await next.result(staying);
  expect(await stage.assets.head(`${first.id}-0.png`)).toBeUndefined();
  expect(await stage.assets.head(`${first.id}-output.json`)).toBeUndefined();
  expect(await stage.assets.head(`${made[1]?.id}-0.png`)).toMatchObject({ sizeBytes: IMAGE_BYTES });
});

test('a result is kept for its kind of job until its caller has got it', async () => {
  const queue = await stage.openQueue();
  await openWorker();
  const handle = await queue.enqueue('image.generation', generation, owner);
  await handle.result(staying);
  expect(await expiryOf(handle.id)).toBeGreaterThan(3_500_000);
  handle.delivered('whole');
  await waitFor(async () => (await expiryOf(handle.id)) < 600_000);
  expect(await expiryOf(handle.id)).toBeGreaterThan(500_000);
});
