import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assetId } from '@gateway/assets/asset-id';
import type { ImageOutput } from '@gateway/contracts/jobs';
import { COMPILE_CACHE } from '@gateway/testkit/compile-cache';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pngBytes, pngFile } from './testing/image-files.ts';
import { configurationText, startImage, type TestImage } from './testing/start-image.ts';

let image: TestImage;
const children: ChildProcess[] = [];
beforeEach(async () => {
  image = await startImage({ maxWaiting: 1 });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await image.close();
});

const dallE2 = { model: 'dall-e-2', prompt: 'a cat', size: '256x256' } as const;
const editParts = () =>
  [
    ['model', 'dall-e-2'],
    ['prompt', 'a hat'],
    ['image', pngFile()],
  ] as const;

/** The image worker as it runs in production, in a process of its own. */
async function startWorkerProcess(): Promise<ChildProcess> {
  const file = join(image.dataDir, 'gateway.yaml');
  await writeFile(file, configurationText(image.simulator.url));
  const child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...COMPILE_CACHE,
      REDIS_URL: image.redis.url,
      GATEWAY_CONFIG: file,
      GATEWAY_DATA_DIR: image.dataDir,
      IMAGE_WORKER_METRICS_PORT: '0',
    },
  });
  children.push(child);
  return child;
}

/** Whether the queue, in which one job may wait, would take another. */
async function hasRoom(): Promise<boolean> {
  const redis = new Redis(image.redis.url);
  const waiting = await redis.zcard('gateway:{jobs}:image:prioritized');
  redis.disconnect();
  return waiting === 0;
}

/** Its worker is killed in the middle, and its claim on the job has run out. Resolves to the job's id. */
async function killWorkerInTheMiddle(child: ChildProcess): Promise<string> {
  await image.simulator.nextRequest();
  child.kill('SIGKILL');
  await once(child, 'exit');
  const redis = new Redis(image.redis.url);
  const [lock = ''] = await redis.keys('gateway:{jobs}:image:job_*:lock');
  // Nobody looks again for 15 s after the worker itself has looked.
  await redis.del(lock, 'gateway:{jobs}:image:stalled-check');
  redis.disconnect();
  return lock.split(':').at(-2) ?? '';
}

const takeover = { lockMs: 1000, checkMs: 200 };

test('a worker process makes images, and reports that it is alive and ready', async () => {
  const child = await startWorkerProcess();
  const [message] = await once(child, 'message');
  expect(message).toMatchObject({ type: 'ready', port: expect.any(Number) });
  const ops = `http://127.0.0.1:${message.port}`;
  expect((await fetch(`${ops}/healthz`)).status).toBe(200);
  expect((await fetch(`${ops}/readyz`)).status).toBe(200);
  expect((await image.generate(dallE2)).status).toBe(200);
  await waitFor(async () => {
    const metrics = await (await fetch(`${ops}/metrics`)).text();
    return [
      /gateway_requests_total\{endpoint="image\.generation",status="200",outcome="ok"[^}]*\} 1/,
      /gateway_job_queue_seconds_count\{[^}]*kind="image\.generation"[^}]*\} 1/,
    ].every((line) => line.test(metrics));
  });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('a worker that is killed in the middle of paid work does not have it paid twice', async () => {
  const gate = Promise.withResolvers<void>();
  image.simulator.script('/v1/images/generations', { gate: gate.promise });
  const child = await startWorkerProcess();
  const replying = image.generate(dallE2);
  await killWorkerInTheMiddle(child);
  await image.startWorker({ takeover });
  const reply = await replying;
  expect(reply.status).toBe(502);
  expect(reply.headers.get('x-should-retry')).toBe('false');
  expect(await reply.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(image.simulator.requests).toHaveLength(1);
  expect(await image.accounted('key_1', 1)).toMatchObject([
    { outcome: 'failed', estimated: true, consumption: { images: 1 }, costMicroUsd: 16_000 },
  ]);
});

test('a worker that is killed after it has stored its images has not worked in vain', async () => {
  const gate = Promise.withResolvers<void>();
  image.simulator.script('/v1/images/generations', { gate: gate.promise });
  const child = await startWorkerProcess();
  const replying = image.generate({ ...dallE2, response_format: 'b64_json' });
  const jobId = await killWorkerInTheMiddle(child);
  const { id, sizeBytes } = await image.assets.put(assetId(jobId, 0, 'image/png'), pngBytes());
  const output: ImageOutput = {
    created: 5,
    images: [{ assetId: id, contentType: 'image/png', sizeBytes, members: {} }],
    members: {},
    dropped: [],
    channel: 'one',
    upstreamAttempts: 1,
  };
  await image.assets.put(assetId(jobId, 'output', 'application/json'), Buffer.from(JSON.stringify(output)));
  await image.startWorker({ takeover });
  const reply = await replying;
  expect(await reply.json()).toEqual({ created: 5, data: [{ b64_json: pngBytes().toString('base64') }] });
  expect(image.simulator.requests).toHaveLength(1);
  expect(await image.accounted('key_1', 1)).toMatchObject([
    { id: jobId, outcome: 'ok', estimated: false, consumption: { images: 1 }, costMicroUsd: 16_000 },
  ]);
});

test('a full queue refuses before files are kept, with the time to come back', async () => {
  const waiting = image.generate(dallE2);
  await waitFor(async () => !(await hasRoom()));
  for (const refused of [await image.generate(dallE2), await image.edit(editParts())]) {
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await refused.json()).toMatchObject({
      error: { code: 'rate_limit_exceeded', message: expect.stringContaining('try again in') },
    });
  }
  await image.nothingLeft();
  await image.startWorker();
  expect((await waiting).status).toBe(200);
});

test('a caller who leaves takes its queued job and its files along', async () => {
  const caller = new AbortController();
  const replying = image.edit(editParts(), { signal: caller.signal });
  await waitFor(async () => (await image.uploaded()).length === 1);
  await waitFor(async () => !(await hasRoom()));
  caller.abort();
  await expect(replying).rejects.toThrow();
  await image.nothingLeft();
  expect(await image.accounted('key_1', 1)).toMatchObject([
    { outcome: 'cancelled', consumption: { images: 0 }, costMicroUsd: 0 },
  ]);
  await waitFor(hasRoom);
  await image.startWorker();
  expect((await image.generate(dallE2)).status).toBe(200);
  expect(image.simulator.requests).toHaveLength(1);
});

test('a service that must stop answers those who wait, and their jobs end', async () => {
  const replying = image.edit(editParts());
  await waitFor(async () => (await image.uploaded()).length === 1);
  await waitFor(async () => !(await hasRoom()));
  image.deadline.abort(new Error('drain deadline passed'));
  const reply = await replying;
  expect(reply.status).toBe(503);
  expect(reply.headers.get('retry-after')).toBe('1');
  await image.nothingLeft();
});

test('without Redis a caller gets a 503 with Retry-After at once', async () => {
  await image.redis.stop();
  const replies = await waitFor(async () => {
    const answers = [await image.generate(dallE2), await image.edit(editParts())];
    return answers.every(({ status }) => status === 503) && answers;
  });
  for (const { headers } of replies) expect(headers.get('retry-after')).toBe('5');
  await image.nothingLeft();
});
