import type { ImageGenerationInput, ImageOutput } from '@gateway/contracts/jobs';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { FinishedJob } from './finished-job.ts';
import type { JobActs } from './job-act.ts';
import { createJobQueue, type JobQueue } from './job-queue.ts';
import { createJobWorker, type JobWorker, type JobWorkerOptions } from './job-worker.ts';
import { openUploadStore, type UploadStore } from './upload-store.ts';

const input: ImageGenerationInput = {
  model: 'dall-e-3',
  parameters: { prompt: 'a cat' },
  responseFormat: 'url',
};
const output: ImageOutput = {
  created: 1,
  images: [{ assetId: 'job_x-0.png', contentType: 'image/png', revisedPrompt: null }],
  members: {},
  channel: 'openai',
  upstreamAttempts: 1,
};
const owner = { keyId: 'key_1', requestId: 'req_1' };
const never = new AbortController().signal;

let redis: TestRedis;
let folder: TemporaryFolder;
let uploads: UploadStore;
const opened: (() => Promise<void>)[] = [];

beforeAll(async () => {
  redis = await startRedis();
  folder = await temporaryFolder();
  uploads = await openUploadStore(folder.path);
});
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});
afterAll(async () => {
  await redis.close();
  await folder.close();
});

async function openQueue(): Promise<JobQueue<'image.generation' | 'image.edit' | 'audio.transcription'>> {
  const queue = await createJobQueue({
    redisUrl: redis.url,
    kinds: ['image.generation', 'image.edit', 'audio.transcription'],
    maxWaiting: 2,
    uploads,
    now: Date.now,
    onError: () => undefined,
  });
  opened.push(() => queue.close());
  return queue;
}

async function openWorker(acts: JobActs, more: Partial<JobWorkerOptions> = {}): Promise<JobWorker> {
  const finished: FinishedJob[] = [];
  const worker = await createJobWorker({
    redisUrl: redis.url,
    acts,
    concurrency: 4,
    uploads,
    onFinished: (job) => finished.push(job),
    onError: () => undefined,
    ...more,
  });
  opened.push(() => worker.close({ drainTimeoutMs: 0 }));
  return worker;
}

test('a job is done by a worker and its output reaches whoever waits', async () => {
  const queue = await openQueue();
  const handle = await queue.enqueue('image.generation', input, owner);
  await openWorker({
    'image.generation': { run: async () => output },
    'image.edit': { run: async () => output },
  });
  expect(await handle.result(never)).toEqual(output);
  expect(await queue.find(handle.id, 'key_1')).toMatchObject({ status: 'completed', model: 'dall-e-3' });
  expect(await queue.find(handle.id, 'key_2')).toBeUndefined();
});
