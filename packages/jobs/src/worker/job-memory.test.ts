import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { waitFor } from '@gateway/testkit/wait-for';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  edit,
  generation,
  images,
  type JobStage,
  openJobStage,
  owner,
  staying,
  transcript,
  transcription,
} from '../fixtures/job-stage.ts';
import { newJobId, QUEUE_PREFIX } from '../redis/job-keys.ts';
import type { JobContext } from './job-processor.ts';

/** What jobs leave: little in Redis, and only their results in the data folder. */

const KIBIBYTE = 1024;
const LONG = 'x'.repeat(500 * KIBIBYTE);

let stage: JobStage;
let redis: Redis;
beforeEach(async () => {
  stage = await openJobStage();
  redis = new Redis(stage.redis.url);
});
afterEach(async () => {
  redis.disconnect();
  await stage.close();
});

/** Bytes of everything that the queues keep. */
async function kept(): Promise<number> {
  const names = await redis.keys('gateway:{jobs}:*');
  const sizes = await Promise.all(names.map((name) => redis.memory('USAGE', name, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

const files = async () => ({
  uploads: [...(await readdir(stage.uploads.folder)), ...(await readdir(join(stage.dataDir, 'inputs')))],
  assets: await readdir(join(stage.dataDir, 'assets')),
});

test('an image job keeps less than 4 KB, however much the caller and the provider send along', async () => {
  const queue = await stage.openQueue();
  const output = { ...images, members: { usage: { of: LONG } } };
  const run = async () => output;
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  const before = await kept();
  const long = { ...generation, parameters: { prompt: 'a cat', unknown: LONG } };
  for (let count = 0; count < 5; count += 1) {
    const handle = await queue.enqueue('image.generation', long, owner);
    expect(await handle.result(staying)).toEqual(output);
    const uploadIds = await Promise.all(Array.from({ length: 16 }, stage.upload));
    const edited = await queue.enqueue('image.edit', { ...edit(...uploadIds), fields: [['a', LONG]] }, owner);
    expect(await edited.result(staying)).toEqual(output);
  }
  expect((await kept()) - before).toBeLessThan(10 * 4 * KIBIBYTE);
  await waitFor(async () => (await files()).uploads.length === 0);
  expect((await files()).assets).toHaveLength(10);
});

test('a transcript and its deltas keep less than 4 KB', async () => {
  const queue = await stage.openQueue();
  const output = { ...transcript, body: LONG };
  await stage.openWorker({
    'audio.transcription': {
      run: async (_input, { emit }) => {
        for (let at = 0; at < 50; at += 1) await emit(LONG.slice(0, 10 * KIBIBYTE));
        return output;
      },
    },
  });
  const before = await kept();
  const handles = await Promise.all(
    Array.from({ length: 5 }, async () =>
      queue.enqueue('audio.transcription', transcription(await stage.upload()), owner),
    ),
  );
  for (const handle of handles) {
    const texts: string[] = [];
    for await (const text of handle.events) texts.push(text);
    expect(texts.join('')).toBe(LONG);
    expect(await handle.result(staying)).toEqual(output);
  }
  // Fifty events of each job among them, of some 100 bytes.
  await waitFor(async () => (await kept()) - before < 5 * 4 * KIBIBYTE + 250 * 200);
  await waitFor(async () => (await files()).uploads.length === 0);
});

test('an error keeps less than 4 KB, and reaches the caller whole', async () => {
  const queue = await stage.openQueue();
  const relay = { status: 400, body: LONG };
  const run = async () => {
    throw new GatewayError('upstream_rejected', { message: 'no', source: 'upstream', relay });
  };
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  const before = await kept();
  for (let count = 0; count < 5; count += 1) {
    const handle = await queue.enqueue('image.generation', generation, owner);
    await expect(handle.result(staying)).rejects.toMatchObject({ options: { relay } });
    expect(await queue.find(handle.id, owner.keyId)).toMatchObject({ status: 'failed', error: { relay } });
  }
  expect((await kept()) - before).toBeLessThan(5 * 4 * KIBIBYTE);
});

test('what a caller who left was to be sent is not kept', async () => {
  const queue = await stage.openQueue();
  const left = Promise.withResolvers<void>();
  await stage.openWorker({
    'audio.transcription': {
      run: async (_input, { emit, signal }) => {
        await emit(LONG.slice(0, 60 * KIBIBYTE));
        left.resolve();
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      },
    },
  });
  const before = await kept();
  const handle = await queue.enqueue('audio.transcription', transcription(await stage.upload()), owner);
  await left.promise;
  await handle.cancel();
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'job_cancelled' });
  // The event stream takes some 5 KB by itself.
  await waitFor(async () => (await kept()) - before < 10 * KIBIBYTE);
  expect(await redis.keys('*:texts:*')).toEqual([]);
});

test('a job from before inputs lay in files is done, with its output where its service looks for it', async () => {
  const queue = new Queue('image', { connection: { url: stage.redis.url }, prefix: QUEUE_PREFIX });
  const uploadId = await stage.upload();
  const input = edit(uploadId);
  const jobId = newJobId();
  await queue.add('image.edit', { ...owner, input }, { jobId });
  const mine = await stage.openQueue();
  expect(await mine.find(jobId, owner.keyId)).toMatchObject({ status: 'queued', model: input.model });
  const seen: unknown[] = [];
  const run = async (given: unknown) => {
    seen.push(given);
    return images;
  };
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  await waitFor(() => stage.finished.length === 1);
  expect(seen).toEqual([input]);
  expect(stage.finished).toMatchObject([{ jobId, model: input.model, outcome: 'completed', output: images }]);
  expect((await queue.getJob(jobId))?.returnvalue).toEqual(images);
  await waitFor(async () => (await files()).uploads.length === 0);
  await queue.close();
});

test('a job that does not fit into Redis leaves no file', async () => {
  const queue = await stage.openQueue();
  await redis.config('SET', 'maxmemory', '1');
  await expect(queue.enqueue('image.generation', generation, owner)).rejects.toMatchObject({
    code: 'service_unavailable',
  });
  await redis.config('SET', 'maxmemory', '0');
  await waitFor(async () => (await files()).uploads.length === 0);
});

/** Emits while Redis takes no writes. */
async function emitWhileFull({ emit }: JobContext): Promise<void> {
  await redis.config('SET', 'maxmemory', '1');
  await emit('a text').finally(() => redis.config('SET', 'maxmemory', '0'));
}

test('free work whose output Redis does not take is unavailable, and may be repeated', async () => {
  const queue = await stage.openQueue();
  const run = async (_: unknown, context: JobContext) => {
    await emitWhileFull(context);
    return transcript;
  };
  await stage.openWorker({ 'audio.transcription': { run } });
  const handle = await queue.enqueue('audio.transcription', transcription(await stage.upload()), owner);
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'service_unavailable', retry: true });
});

test('paid work whose output Redis does not take is unavailable, and is not repeated', async () => {
  const queue = await stage.openQueue();
  const run = async (_: unknown, context: JobContext) => {
    await emitWhileFull(context);
    return images;
  };
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  const handle = await queue.enqueue('image.generation', generation, owner);
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'service_unavailable', retry: false });
});
