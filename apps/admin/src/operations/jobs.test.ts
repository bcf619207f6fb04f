import { GatewayError } from '@gateway/contracts/gateway-error';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { generation, images, type JobStage, openJobStage, staying } from '@gateway/jobs/fixtures/job-stage';
import { batchCountsKey, endedKey, lineJobId, newJobId } from '@gateway/jobs/redis/job-keys';
import { createRedis } from '@gateway/redis/open-redis';
import { createMetrics, pageOf } from '@gateway/service-kit/metrics';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { ALL } from '../sessions/scope.ts';
import { type RunningAdmin, runAdmin, TOKEN } from '../testing/run-admin.ts';
import { cookieOf, type Person } from '../testing/use-admin.ts';
import { createQueueMetrics } from './queue-metrics.ts';

let stage: JobStage;
let admin: RunningAdmin;
beforeAll(async () => {
  stage = await openJobStage();
  admin = await runAdmin(stage.redis.url);
});
afterEach(() => stage.clear());
afterAll(async () => {
  await admin.stop();
  await stage.close();
});

const bearer = { authorization: `Bearer ${TOKEN}` };
const get = (path: string) => fetch(`${admin.url}${path}`, { headers: bearer });
const post = (path: string, body?: object) =>
  fetch(`${admin.url}${path}`, {
    method: 'POST',
    headers: { ...bearer, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
const Made = z.object({ id: z.string() });
const makeKey = async (settings: object) =>
  Made.parse(await (await post('/admin/v1/keys', { name: 'x', ...settings })).json()).id;

async function makeTeam(name: string): Promise<string> {
  expect((await post('/admin/v1/teams', { name })).status).toBe(201);
  return name;
}
const Shown = z.looseObject({ run: z.looseObject({ retryAt: z.string().nullable() }) });

const estimate: UsageResult = {
  channel: null,
  attempts: 0,
  consumption: { ...NOTHING_CONSUMED, images: 1 },
  estimated: true,
  costMicroUsd: 40_000,
  outcome: 'ok',
  durationMs: 0,
  firstByteMs: null,
};

const openWorker = (run: () => Promise<typeof images>) =>
  stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });

/** A job that its provider was too busy for. */
async function failedJob(keyId: string): Promise<string> {
  const queue = await stage.openQueue();
  const worker = await openWorker(() =>
    Promise.reject(new GatewayError('upstream_overloaded', { message: 'busy', retryAfterSeconds: 60 })),
  );
  const id = newJobId();
  const subject = {
    id,
    keyId,
    team: null,
    endpoint: 'images',
    model: generation.model,
    startedAtMs: Date.now(),
  };
  const metering = { subject, estimate };
  const handle = await queue.enqueue('image.generation', generation, {
    keyId,
    requestId: 'req_1',
    metering,
    isDetached: true,
  });
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'upstream_overloaded' });
  await worker.close({ drainTimeoutMs: 0 });
  return id;
}

test('a failed job is listed, queued again from the budget of its key, and done', async () => {
  const keyId = await makeKey({ budget: { usd: 1, period: 'total' } });
  const id = await failedJob(keyId);
  const listed = await (await get('/admin/v1/jobs')).json();
  expect(listed).toMatchObject({
    data: [
      {
        id,
        kind: 'image.generation',
        status: 'failed',
        keyId,
        errorCode: 'upstream_overloaded',
        errorMessage: 'busy',
        canRequeue: true,
        counts: null,
      },
    ],
    next: null,
  });
  const requeued = await post(`/admin/v1/jobs/${id}/requeue`);
  expect([requeued.status, await requeued.json()]).toMatchObject([200, { id, status: 'queued' }]);
  expect(await (await get(`/admin/v1/keys/${keyId}/balance`)).json()).toMatchObject({
    budget: { reservedUsd: 0.04 },
  });
  expect((await post(`/admin/v1/jobs/${id}/requeue`)).status).toBe(409);
  await openWorker(async () => images);
  await waitFor(() =>
    stage.settled.some(({ subject, result }) => subject.id === `${id}.1` && result.outcome === 'ok'),
  );
  expect(await (await get('/admin/v1/queues')).json()).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ queue: 'image', failed: 0 })]),
  });
});

test.for([
  ['completed', null, 'failed', 'batch_expired'],
  ['failed', 'invalid_key', 'failed', 'invalid_key'],
  ['cancelled', 'job_cancelled', 'cancelled', 'job_cancelled'],
  ['in_progress', null, 'queued', null],
] as const)(
  'of a batch that is %s, a line that never began is listed as its results have it',
  async ([status, code, lineStatus, lineCode]) => {
    const id = newJobId();
    const redis = createRedis(stage.redis.url, 'request');
    await redis.connect();
    const known = {
      ...{ keyId: 'key_1', model: 'dall-e-3', createdAtMs: 1, startedAtMs: 2, finishedAtMs: 3 },
      ...(code && { reason: JSON.stringify(new GatewayError(code, 'It ended.').serialize()) }),
    };
    await redis.mset(
      ...[endedKey(id), JSON.stringify({ ...known, kind: 'image.batch', status })],
      ...[batchCountsKey(id), JSON.stringify({ total: 2, completed: 1, failed: 1 })],
      ...[
        endedKey(lineJobId(id, 0)),
        JSON.stringify({ ...known, reason: null, kind: 'image.generation', status: 'completed' }),
      ],
    );
    await redis.quit();
    const lines = await (await get(`/admin/v1/jobs/${id}/lines`)).json();
    expect(lines).toMatchObject({
      data: [
        { line: 1, status: 'completed', errorCode: null },
        { line: 2, status: lineStatus, errorCode: lineCode },
      ],
      next: null,
    });
  },
);

test('the metrics of admin count the jobs of each queue by their state', async () => {
  const read = async () =>
    (await (await get('/metrics')).text())
      .split('\n')
      .filter((line) => /^gateway_job\w*\{.*queue="image"/.test(line))
      .map((line) => line.replace(',service="admin"', ''));
  const owner = { keyId: 'key_1', requestId: 'req_4', isDetached: true };
  const queue = await stage.openQueue();
  for (let count = 0; count < 3; count += 1) await queue.enqueue('image.generation', generation, owner);
  const none = ['running', 'delayed'].map((state) => `gateway_jobs{queue="image",state="${state}"} 0`);
  expect(await read()).toEqual([
    'gateway_jobs{queue="image",state="waiting"} 3',
    ...none,
    expect.stringMatching(/^gateway_job_oldest_waiting_seconds\{queue="image"\} \d/),
  ]);
  const end = Promise.withResolvers<typeof images>();
  const worker = await stage.openWorker(
    { 'image.generation': { run: () => end.promise }, 'image.edit': { run: () => end.promise } },
    { concurrency: 2 },
  );
  await waitFor(async () => (await read()).includes('gateway_jobs{queue="image",state="running"} 2'));
  expect(await read()).toContain('gateway_jobs{queue="image",state="waiting"} 1');
  end.resolve(images);
  await waitFor(async () => (await read()).includes('gateway_jobs{queue="image",state="waiting"} 0'));
  await worker.close({ drainTimeoutMs: 1000 });
  expect(await read()).toEqual([
    'gateway_jobs{queue="image",state="waiting"} 0',
    ...none,
    'gateway_job_oldest_waiting_seconds{queue="image"} 0',
  ]);
});

test('an unknown number of jobs is no metric, and nobody takes it for an empty queue', async () => {
  const metrics = createMetrics('admin');
  const failures: unknown[] = [];
  const counts = () => Promise.reject(new Error('Redis is away'));
  createQueueMetrics(metrics, {
    jobs: { counts },
    now: Date.now,
    onError: (error) => void failures.push(error),
  });
  const page = await pageOf(metrics).text();
  expect(page).toContain('# TYPE gateway_jobs gauge');
  expect(page).not.toMatch(/^gateway_job/m);
  expect(failures).toHaveLength(1);
});

test('a job shows its history, and is cancelled by an operator as by its caller', async () => {
  const keyId = await makeKey({});
  const failed = await failedJob(keyId);
  expect(await (await get(`/admin/v1/jobs/${failed}`)).json()).toMatchObject({
    ...{ id: failed, status: 'failed', queue: 'image', errorCode: 'upstream_overloaded', assets: [] },
    errorMessage: 'busy',
    run: { retryAt: null, isParked: false, takeovers: 0, requeues: 0, isDetached: true },
    history: [{ event: 'queued' }, { event: 'started' }, { event: 'ended', detail: 'failed' }],
  });
  expect((await post(`/admin/v1/jobs/${failed}/cancel`)).status).toBe(409);

  const queue = await stage.openQueue();
  const owner = { keyId, requestId: 'req_2', isDetached: true };
  const handle = await queue.enqueue('image.generation', generation, owner);
  const outcome = handle.result(staying).catch((error: unknown) => error);
  const cancelled = await post(`/admin/v1/jobs/${handle.id}/cancel`);
  expect([cancelled.status, await cancelled.json()]).toMatchObject([
    200,
    { id: handle.id, status: 'cancelled', startedAt: null },
  ]);
  expect((await post(`/admin/v1/jobs/${handle.id}/cancel`)).status).toBe(409);
  let runs = 0;
  await openWorker(async () => {
    runs += 1;
    return images;
  });
  expect(await outcome).toMatchObject({ code: 'job_cancelled' });
  expect(runs).toBe(0);
  expect((await get('/admin/v1/jobs/job_unknown')).status).toBe(404);
  expect((await post(`/admin/v1/jobs/${newJobId()}/cancel`)).status).toBe(404);
});

test('a job that waits says for what: for its next attempt, with why the last one failed, or for the jobs of its key', async () => {
  const keyId = await makeKey({});
  const queue = await stage.openQueue();
  const owner = { keyId, requestId: 'req_3', isDetached: true, share: { concurrentJobs: 1 } };
  const waiting = await queue.enqueue('image.generation', generation, owner);
  const parked = await queue.enqueue('image.generation', generation, owner);
  const run = () =>
    Promise.reject(new GatewayError('upstream_overloaded', { message: 'busy', retryAfterSeconds: 5 }));
  await openWorker(run);
  const read = async (id: string) => Shown.parse(await (await get(`/admin/v1/jobs/${id}`)).json());
  await waitFor(async () => (await read(waiting.id)).run.retryAt !== null);
  expect(await read(waiting.id)).toMatchObject({
    ...{ status: 'in_progress', errorCode: 'upstream_overloaded', errorMessage: 'busy' },
    run: { attempts: 1, retryAt: expect.stringMatching(/^20/), isParked: false },
  });
  expect(await read(parked.id)).toMatchObject({
    ...{ status: 'queued', errorCode: null, errorMessage: null },
    run: { attempts: 0, retryAt: null, isParked: true },
  });
});

test('a job that a worker leaves to those of another version waits, and not for the jobs of its key', async () => {
  const keyId = await makeKey({});
  const queue = await stage.openQueue();
  const owner = { keyId, requestId: 'req_4', isDetached: true };
  const { id } = await queue.enqueue('image.generation', generation, owner);
  const job = await stage.jobOf('image', id);
  await job.updateData({ ...job.data, ofTomorrow: true });
  await openWorker(async () => images);
  await waitFor(async () => (await job.getState()) === 'delayed');
  expect(Shown.parse(await (await get(`/admin/v1/jobs/${id}`)).json())).toMatchObject({
    ...{ status: 'queued', run: { attempts: 0, retryAt: null, isParked: false } },
  });
});

test('why a job failed is in words for those who see the whole gateway only', async () => {
  const keyId = await makeKey({ team: await makeTeam('red') });
  const id = await failedJob(keyId);
  const redis = createRedis(stage.redis.url, 'request');
  await redis.connect();
  const lead: Person = { role: 'team-lead', scope: { kind: 'teams', teams: ['red'] } };
  const shownTo = async (person: Person) => {
    const cookie = await cookieOf(redis, person);
    const [one, list] = await Promise.all(
      [`/admin/v1/jobs/${id}`, '/admin/v1/jobs'].map(async (path) =>
        (await fetch(`${admin.url}${path}`, { headers: { cookie } })).json(),
      ),
    );
    return { one, list };
  };
  const seen = (errorMessage: string | null) => {
    const job = { id, errorCode: 'upstream_overloaded', errorMessage };
    return { one: job, list: { data: expect.arrayContaining([expect.objectContaining(job)]) } };
  };
  try {
    expect(await shownTo({ role: 'viewer', scope: ALL })).toMatchObject(seen('busy'));
    expect(await shownTo(lead)).toMatchObject(seen(null));
  } finally {
    await redis.quit();
  }
});

test('a job whose key cannot pay or works no more stays failed', async () => {
  const poor = await failedJob(await makeKey({ budget: { usd: 0.01, period: 'total' } }));
  const refused = await post(`/admin/v1/jobs/${poor}/requeue`);
  expect([refused.status, await refused.json()]).toMatchObject([
    429,
    { error: { code: 'budget_exhausted' } },
  ]);
  const keyId = await makeKey({});
  const orphan = await failedJob(keyId);
  await fetch(`${admin.url}/admin/v1/keys/${keyId}`, { method: 'DELETE', headers: bearer });
  expect((await post(`/admin/v1/jobs/${orphan}/requeue`)).status).toBe(409);
  expect((await post('/admin/v1/jobs/job_unknown/requeue')).status).toBe(404);
  const left = await (await get('/admin/v1/jobs?status=failed&limit=200')).json();
  expect(left).toMatchObject({
    data: expect.arrayContaining([
      expect.objectContaining({ id: poor }),
      expect.objectContaining({ id: orphan }),
    ]),
  });
});
