import { GatewayError } from '@gateway/contracts/gateway-error';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { generation, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';
import type { JobMetering } from '../job-metering.ts';
import { newJobId } from '../redis/job-keys.ts';
import type { JobContext } from '../worker/job-processor.ts';
import { createJobList, type JobList } from './job-list.ts';

let stage: JobStage;
let redis: Redis;
let list: JobList;
beforeEach(async () => {
  stage = await openJobStage();
  redis = new Redis(stage.redis.url);
  list = createJobList(redis, () => undefined);
});
afterEach(async () => {
  redis.disconnect();
  await stage.close();
});

const estimate: UsageResult = {
  channel: null,
  attempts: 0,
  consumption: NOTHING_CONSUMED,
  estimated: true,
  costMicroUsd: 40_000,
  outcome: 'ok',
  durationMs: 0,
  firstByteMs: null,
};
const meteringOf = (id: string): JobMetering => ({
  subject: {
    id,
    keyId: owner.keyId,
    team: null,
    endpoint: 'images',
    model: generation.model,
    startedAtMs: 1,
  },
  estimate,
});
const reserve = async ({ subject, estimate: same }: JobMetering, _kind: string, id: string) => ({
  subject: { ...subject, id },
  estimate: same,
});

const openWorker = (run: (context: JobContext) => Promise<typeof images>) =>
  stage.openWorker({
    'image.generation': { run: (_, context) => run(context) },
    'image.edit': { run: (_, context) => run(context) },
  });
const failWith = (error: GatewayError) => openWorker(() => Promise.reject(error));
const busy = new GatewayError('upstream_overloaded', { message: 'busy', retryAfterSeconds: 60 });

async function failedJob(error: GatewayError, isDetached = true): Promise<string> {
  const queue = await stage.openQueue();
  const metering = meteringOf(newJobId());
  const worker = await failWith(error);
  const handle = await queue.enqueue('image.generation', generation, { ...owner, metering, isDetached });
  await expect(handle.result(staying)).rejects.toMatchObject({ code: error.code });
  await worker.close({ drainTimeoutMs: 0 });
  return handle.id;
}

test('jobs of another version that this one cannot read are left out of the list, and the others are in it', async () => {
  const queue = await stage.openQueue();
  const [newer, known] = [
    await queue.enqueue('image.generation', generation, owner),
    await queue.enqueue('image.generation', generation, owner),
  ];
  const job = await stage.jobOf('image', newer.id);
  await job.updateData({ ...job.data, contentLog: 'of tomorrow' });
  const { jobs } = await list.list({ status: 'queued', limit: 10 });
  expect(jobs.map(({ id }) => id)).toEqual([known.id]);
});

test('a job that failed without having been done is listed, queued again, done, and accounted under another id', async () => {
  const id = await failedJob(busy);
  expect((await list.list({ status: 'failed', limit: 10 })).jobs).toMatchObject([
    {
      id,
      kind: 'image.generation',
      status: 'failed',
      keyId: 'key_1',
      errorCode: 'upstream_overloaded',
      canRequeue: true,
    },
  ]);
  expect(await list.requeue(id, reserve)).toMatchObject({ id, status: 'queued' });
  await expect(list.requeue(id, reserve)).rejects.toMatchObject({ code: 'conflict' });
  const queue = await stage.openQueue();
  expect(await queue.find(id, 'key_1')).toMatchObject({ status: 'queued' });
  await openWorker(async () => images);
  await waitFor(async () => (await queue.find(id, 'key_1'))?.status === 'completed');
  expect(stage.settled.map(({ subject, result }) => [subject.id, result.outcome])).toEqual([
    [id, 'failed'],
    [`${id}.1`, 'ok'],
  ]);
});

const costing = (costMicroUsd: number) => ({
  ...{ channel: 'openai', attempts: 1, estimated: false, costMicroUsd },
  consumption: NOTHING_CONSUMED,
});

test('what a job has used is charged although it is cancelled while it waits to be tried again', async () => {
  const queue = await stage.openQueue();
  await openWorker(async ({ consumed }) => {
    consumed(costing(2));
    throw new GatewayError('upstream_overloaded', { message: 'busy', retryAfterSeconds: 5 });
  });
  const metering = meteringOf(newJobId());
  const handle = await queue.enqueue('image.generation', generation, { ...owner, metering });
  await waitFor(async () => (await list.counts()).some(({ delayed }) => delayed > 0));
  await handle.cancel();
  await waitFor(() => stage.settled.length > 0);
  expect(stage.settled.map(({ result }) => [result.outcome, result.costMicroUsd])).toEqual([
    ['cancelled', 2],
  ]);
});

test('what a job has used before it failed is not charged again with what it uses when it is queued again', async () => {
  const queue = await stage.openQueue();
  const worker = await openWorker(async ({ attempt, consumed }) => {
    consumed(costing(attempt === 1 ? 1 : 2));
    throw new GatewayError('upstream_overloaded', { message: 'busy' });
  });
  const metering = meteringOf(newJobId());
  const handle = await queue.enqueue('image.generation', generation, {
    ...owner,
    metering,
    isDetached: true,
  });
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'upstream_overloaded' });
  await waitFor(async () => (await list.list({ status: 'failed', limit: 1 })).jobs.length > 0);
  await worker.close({ drainTimeoutMs: 0 });
  await list.requeue(handle.id, reserve);
  await openWorker(async ({ consumed }) => {
    consumed(costing(5));
    return images;
  });
  await waitFor(async () => (await queue.find(handle.id, owner.keyId))?.status === 'completed');
  expect(stage.settled.map(({ result }) => result.costMicroUsd)).toEqual([3, 5]);
});

test('a job that may have been done, whose caller was wrong, or whose files are gone is not queued again', async () => {
  const refused = [
    await failedJob(new GatewayError('outcome_unknown', { message: 'lost', retry: false })),
    await failedJob(new GatewayError('upstream_failed', { message: 'broken off', retry: false })),
    await failedJob(new GatewayError('upstream_rejected', 'no')),
    await failedJob(busy, false),
  ];
  expect((await list.list({ status: 'failed', limit: 10 })).jobs.map(({ canRequeue }) => canRequeue)).toEqual(
    [false, false, false, false],
  );
  for (const id of refused)
    await expect(list.requeue(id, reserve)).rejects.toMatchObject({ code: 'conflict' });
  await expect(list.requeue(newJobId(), reserve)).rejects.toMatchObject({ code: 'object_not_found' });
});

test('a job whose reservation is refused stays failed', async () => {
  const id = await failedJob(busy);
  const refuse = () => Promise.reject(new GatewayError('budget_exhausted', 'spent'));
  await expect(list.requeue(id, refuse)).rejects.toMatchObject({ code: 'budget_exhausted' });
  expect((await list.list({ status: 'failed', limit: 10 })).jobs).toMatchObject([{ id, canRequeue: true }]);
});

test('the list goes on where its page ended, and the counts say where jobs are', async () => {
  const queue = await stage.openQueue();
  for (let count = 0; count < 5; count += 1) await queue.enqueue('image.generation', generation, owner);
  const first = await list.list({ status: 'queued', limit: 3 });
  expect(first.jobs).toHaveLength(3);
  const second = await list.list({ status: 'queued', limit: 3, after: first.next ?? '' });
  expect(second.jobs).toHaveLength(2);
  expect(second.next).toBeNull();
  expect(new Set([...first.jobs, ...second.jobs].map(({ id }) => id)).size).toBe(5);
  expect(await list.counts()).toContainEqual({
    queue: 'image',
    queued: 5,
    oldestQueuedAtMs: expect.any(Number),
    inProgress: 0,
    delayed: 0,
    failed: 0,
    completed: 0,
  });
});
