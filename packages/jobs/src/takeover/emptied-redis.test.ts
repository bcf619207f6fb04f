import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { generation, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';
import { newJobId } from '../redis/job-keys.ts';

/** Redis forgets everything while callers wait, without a sign of it. */

let stage: JobStage;
let redis: Redis;
const children: ChildProcess[] = [];
beforeAll(async () => {
  stage = await openJobStage();
  redis = new Redis(stage.redis.url);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await stage.clear();
});
afterAll(async () => {
  redis.disconnect();
  await stage.close();
});

const openWorker = (run: () => Promise<typeof images>) =>
  stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } }, { lockMs: 30_000 });

test('jobs that had not begun are queued again, and are done once', async () => {
  const queue = await stage.openQueue();
  const handles = await Promise.all(
    Array.from({ length: 10 }, () => queue.enqueue('image.generation', generation, owner)),
  );
  await redis.flushall();
  let runs = 0;
  await openWorker(async () => {
    runs += 1;
    return images;
  });
  const results = await Promise.all(handles.map((handle) => handle.result(staying)));
  expect(results).toEqual(handles.map(() => images));
  expect(runs).toBe(10);
});

test('a job that runs is waited for, and its images are answered', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  let runs = 0;
  await openWorker(async () => {
    runs += 1;
    began.resolve();
    await finish.promise;
    return images;
  });
  const handle = await queue.enqueue('image.generation', generation, owner);
  await began.promise;
  await redis.flushall();
  // The worker is subscriber whether it still runs the job: only then may it end.
  const subscriber = new Redis(stage.redis.url);
  await subscriber.subscribe('gateway:{jobs}:ask');
  const [, jobId] = await once(subscriber, 'message');
  subscriber.disconnect();
  expect(jobId).toBe(handle.id);
  finish.resolve();
  expect(await handle.result(staying)).toEqual(images);
  expect(runs).toBe(1);
});

test('paid work whose worker died as well ends as outcome_unknown, with its files gone', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  const path = fileURLToPath(new URL('../fixtures/silent-worker.ts', import.meta.url));
  const child = fork(path, [stage.redis.url, stage.dataDir, 'image', 'begin'], { stdio: 'inherit' });
  children.push(child);
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await redis.flushall();
  let runs = 0;
  await openWorker(async () => {
    runs += 1;
    return images;
  });
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'outcome_unknown', retry: false });
  expect(runs).toBe(0);
  await waitFor(async () => (await readdir(join(stage.dataDir, 'inputs'))).length === 0);
});

/** Queues a job for a request with an idempotency key that Redis does not know. */
async function claimAndQueue(queue: Awaited<ReturnType<JobStage['openQueue']>>, idempotencyKey: string) {
  const jobId = newJobId();
  const { keyId } = owner;
  const claimed = await queue.claims.claim({ keyId, idempotencyKey, fingerprint: 'the same', jobId });
  if (!claimed.isNew) throw new Error('Redis knows a job of this key');
  const { claim } = claimed;
  return queue.enqueue('image.generation', generation, { ...owner, id: jobId, claim, isDetached: true });
}

test('a repeated request gets the images that were made under its idempotency key', async () => {
  const queue = await stage.openQueue();
  let runs = 0;
  await openWorker(async () => {
    runs += 1;
    return images;
  });
  expect(await (await claimAndQueue(queue, 'one')).result(staying)).toEqual(images);
  await redis.flushall();
  expect(await (await claimAndQueue(queue, 'one')).result(staying)).toEqual(images);
  expect(runs).toBe(1);
});

test('a repeated request does not pay for what a dead worker had begun; its caller learns it once', async () => {
  const queue = await stage.openQueue();
  const first = await claimAndQueue(queue, 'two');
  const path = fileURLToPath(new URL('../fixtures/silent-worker.ts', import.meta.url));
  const child = fork(path, [stage.redis.url, stage.dataDir, 'image', 'begin'], { stdio: 'inherit' });
  children.push(child);
  await once(child, 'message');
  first.leave();
  child.kill('SIGKILL');
  await once(child, 'exit');
  await redis.flushall();
  let runs = 0;
  await openWorker(async () => {
    runs += 1;
    return images;
  });
  const repeated = (await claimAndQueue(queue, 'two')).result(staying);
  await expect(repeated).rejects.toMatchObject({ code: 'outcome_unknown', retry: false });
  expect(runs).toBe(0);
  expect(await (await claimAndQueue(queue, 'two')).result(staying)).toEqual(images);
  expect(runs).toBe(1);
});
