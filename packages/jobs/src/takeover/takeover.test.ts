import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  generation,
  images,
  type JobStage,
  openJobStage,
  owner,
  staying,
  transcript,
  transcription,
} from '../fixtures/job-stage.ts';
import { audioProcessors, imageProcessors } from '../fixtures/processors.ts';
import type { FinishedJob } from '../worker/finished-job.ts';

let stage: JobStage;
const children: ChildProcess[] = [];
beforeAll(async () => {
  stage = await openJobStage();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await stage.clear();
});
afterAll(() => stage.close());

/** A worker in a process of its own that has begun the one job there is; killed without a chance to report anything. */
async function killWorkerInTheMiddle(queue: 'image' | 'transcription', first: 'begin' | 'emit' = 'begin') {
  const path = fileURLToPath(new URL('../fixtures/silent-worker.ts', import.meta.url));
  const child = fork(path, [stage.redis.url, stage.dataDir, queue, first], { stdio: 'inherit' });
  children.push(child);
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('paid work of a worker that was killed is not repeated: it ends as outcome_unknown', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  await killWorkerInTheMiddle('image');
  let runs = 0;
  await stage.openWorker(
    imageProcessors(async () => {
      runs += 1;
      return images;
    }),
  );
  const error = await handle.result(staying).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'outcome_unknown', retry: false });
  expect(runs).toBe(0);
});

test('paid work of a worker that was killed after it had stored the result is completed from there', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  await killWorkerInTheMiddle('image');
  await stage.openWorker(
    imageProcessors(
      () => Promise.reject(new Error('repeated')),
      async () => ({ ...images, channel: 'recovered' }),
    ),
  );
  expect(await handle.result(staying)).toMatchObject({ channel: 'recovered' });
});

test('paid work of a worker that was killed before it called a provider is done by another', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  await killWorkerInTheMiddle('image');
  const ended: string[] = [];
  const processor = {
    run: async () => images,
    hasNotBegun: async (jobId: string) => jobId === handle.id,
    ended: async ({ jobId, outcome }: FinishedJob) => void ended.push(`${jobId} ${outcome}`),
  };
  await stage.openWorker({ 'image.generation': processor, 'image.edit': processor });
  expect(await handle.result(staying)).toEqual(images);
  await waitFor(() => ended.length > 0);
  expect(ended).toEqual([`${handle.id} completed`]);
});

test('free work of a worker that was killed is taken over by another, with its upload', async () => {
  const queue = await stage.openQueue();
  const uploadId = await stage.upload();
  const handle = await queue.enqueue('audio.transcription', transcription(uploadId), owner);
  await killWorkerInTheMiddle('transcription');
  const seen: number[] = [];
  await stage.openWorker(
    audioProcessors(async ({ attempt }) => {
      await access(stage.uploads.pathOf(uploadId));
      seen.push(attempt);
      return transcript;
    }),
  );
  expect(await handle.result(staying)).toEqual(transcript);
  expect(seen).toEqual([2]);
  await waitFor(() =>
    access(stage.uploads.pathOf(uploadId)).then(
      () => false,
      () => true,
    ),
  );
});

test('free work whose output had begun to reach the caller is not begun again', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('audio.transcription', transcription(await stage.upload()), owner);
  await killWorkerInTheMiddle('transcription', 'emit');
  await stage.openWorker(audioProcessors(() => Promise.reject(new Error('repeated'))));
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'outcome_unknown' });
});

/** As if a worker had not been heard of for longer than its claim lasts. Resolves when the job has been given out again. */
async function loseClaim(queue: string, jobId: string): Promise<void> {
  const redis = new Redis(stage.redis.url);
  const key = `gateway:{jobs}:${queue}:${jobId}`;
  await waitFor(async () => {
    if ((await redis.hget(key, 'stc')) === null) await redis.del(`${key}:lock`);
    return Number(await redis.hget(key, 'ats')) > 1;
  });
  redis.disconnect();
}

test('a job that is given again to the worker that is doing it is done once', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<string>();
  const finish = Promise.withResolvers<void>();
  let runs = 0;
  await stage.openWorker(
    audioProcessors(async ({ jobId }) => {
      runs += 1;
      began.resolve(jobId);
      await finish.promise;
      return transcript;
    }),
  );
  const handle = await queue.enqueue('audio.transcription', transcription(await stage.upload()), owner);
  await loseClaim('transcription', await began.promise);
  finish.resolve();
  expect(await handle.result(staying)).toEqual(transcript);
  expect(runs).toBe(1);
});

test('a job whose worker only seemed dead is left to it by the one who is given it', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<string>();
  const finish = Promise.withResolvers<void>();
  let runs = 0;
  let stored: typeof images | undefined;
  const processors = imageProcessors(
    async ({ jobId }) => {
      runs += 1;
      began.resolve(jobId);
      await finish.promise;
      stored = images;
      return images;
    },
    async () => stored,
  );
  // With one slot, the first worker cannot be given the job again.
  await stage.openWorker(processors, { concurrency: 1 });
  const handle = await queue.enqueue('image.generation', generation, owner);
  const jobId = await began.promise;
  await stage.openWorker(processors);
  await loseClaim('image', jobId);
  finish.resolve();
  expect(await handle.result(staying)).toEqual(images);
  expect(runs).toBe(1);
});
