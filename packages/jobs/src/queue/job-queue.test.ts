import { assetId } from '@gateway/assets/asset-id';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openJobStores } from '../files/job-stores.ts';
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
import { imageProcessors } from '../fixtures/processors.ts';
import type { JobContext } from '../worker/job-processor.ts';

let stage: JobStage;
beforeAll(async () => {
  stage = await openJobStage();
});
afterEach(() => stage.clear());
afterAll(() => stage.close());

test('a job is done by a worker and its output reaches the caller who waits', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  await stage.openWorker(imageProcessors(async () => images));
  expect(await handle.result(staying)).toEqual(images);
});

test('a job is known to its own key and to no other', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  expect(await queue.find(handle.id, 'key_1')).toMatchObject({ status: 'queued', startedAtMs: null });
  await stage.openWorker(imageProcessors(async () => images));
  await handle.result(staying);
  expect(await queue.find(handle.id, 'key_1')).toMatchObject({
    id: handle.id,
    kind: 'image.generation',
    status: 'completed',
    model: 'dall-e-3',
    error: null,
  });
  expect(await queue.find(handle.id, 'key_2')).toBeUndefined();
  expect(await queue.find('job_0', 'key_1')).toBeUndefined();
});

test('two processes that wait each get their own results', async () => {
  const [first, second] = [await stage.openQueue(), await stage.openQueue()];
  await stage.openWorker(imageProcessors(async ({ requestId }) => ({ ...images, channel: requestId })));
  const handles = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? first : second).enqueue('image.generation', generation, {
        keyId: 'key_1',
        requestId: `req_${index}`,
      }),
    ),
  );
  const outputs = await Promise.all(handles.map((handle) => handle.result(staying)));
  expect(outputs.map(({ channel }) => channel)).toEqual(handles.map((_, index) => `req_${index}`));
});

test('what a job emits arrives in order, all of it before the end', async () => {
  const queue = await stage.openQueue();
  await stage.openWorker({
    'audio.transcription': {
      run: async (_input, { emit }) => {
        for (let index = 0; index < 200; index += 1) void emit(`delta ${index}`);
        return transcript;
      },
    },
  });
  const handle = await queue.enqueue('audio.transcription', transcription(await stage.upload()), owner);
  const texts: string[] = [];
  for await (const text of handle.events) texts.push(text);
  expect(texts).toEqual(Array.from({ length: 200 }, (_, index) => `delta ${index}`));
  expect(await handle.result(staying)).toEqual(transcript);
});

test("a job's failure reaches its caller with everything that the worker knew, but its cause", async () => {
  const queue = await stage.openQueue();
  await stage.openWorker(
    imageProcessors(async () => {
      throw new GatewayError('upstream_rejected', {
        message: 'too many fingers',
        path: ['prompt'],
        source: 'upstream',
        relay: { status: 400, body: '{"error":{}}' },
        cause: new Error('secret'),
      });
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  const error = await handle.result(staying).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'upstream_rejected',
    message: 'too many fingers',
    source: 'upstream',
    options: { path: ['prompt'], relay: { status: 400, body: '{"error":{}}' } },
  });
  await waitFor(() => stage.finished.length === 1);
  expect(stage.finished).toMatchObject([
    {
      jobId: handle.id,
      outcome: 'failed',
      attempts: 1,
      requestId: 'req_1',
      error: { code: 'upstream_rejected' },
    },
  ]);
  expect(await queue.find(handle.id, 'key_1')).toMatchObject({
    status: 'failed',
    error: { code: 'upstream_rejected' },
  });
});

test('a bug in a worker is an internal error, without its details', async () => {
  const queue = await stage.openQueue();
  await stage.openWorker(
    imageProcessors(async () => {
      throw new TypeError('x is not a function');
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  const error = await handle.result(staying).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'internal', message: expect.not.stringContaining('function') });
  await waitFor(() => stage.finished.length === 1);
  expect(stage.finished[0]?.error?.options.cause).toBeInstanceOf(TypeError);
});

test('a finished job whose output is not there, or is none, is an internal error that nobody is to repeat', async () => {
  const elsewhere = await temporaryFolder();
  const { assets: apart } = await openJobStores({ dataDir: elsewhere.path });
  const queue = await stage.openQueue({ assets: apart });
  await stage.openWorker(imageProcessors(async () => images));
  const lost = await queue.enqueue('image.generation', generation, owner);
  await expect(lost.result(staying)).rejects.toMatchObject({ code: 'internal', retry: false });

  const began = Promise.withResolvers<JobContext>();
  const finish = Promise.withResolvers<void>();
  await stage.clear();
  const again = await stage.openQueue({ assets: apart });
  await stage.openWorker(
    imageProcessors(async (context) => {
      began.resolve(context);
      await finish.promise;
      return images;
    }),
  );
  const odd = await again.enqueue('image.generation', generation, owner);
  const { jobId } = await began.promise;
  await apart.put(assetId(jobId, 'output', 'application/json'), Buffer.from('{"images":12.5}'));
  finish.resolve();
  await expect(odd.result(staying)).rejects.toMatchObject({ code: 'internal', retry: false });
  await elsewhere.close();
});

test('a full queue refuses before anything is stored, and names the time to come back', async () => {
  // A Redis of its own, in which nothing has been measured.
  const fresh = await openJobStage();
  const queue = await fresh.openQueue({ maxWaiting: 2 });
  const handles = [
    await queue.enqueue('image.generation', generation, owner),
    await queue.enqueue('image.edit', edit(await fresh.upload()), owner),
  ];
  const error = await queue.enqueue('image.generation', generation, owner).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'queue_full', options: { retryAfterSeconds: 5 } });
  await expect(queue.reserveSlot('image.edit', owner)).rejects.toMatchObject({ code: 'queue_full' });
  // Another queue has a bound of its own.
  await (await queue.reserveSlot('audio.transcription', owner)).free();
  await fresh.openWorker(imageProcessors(async () => images));
  await Promise.all(handles.map((handle) => handle.result(staying)));
  await (await queue.reserveSlot('image.edit', owner)).free();
  await fresh.close();
});

test('while Redis is away a request is refused at once, and afterwards all goes on', async () => {
  const own = await openJobStage();
  const queue = await own.openQueue();
  const { port } = new URL(own.redis.url);
  const worker = await own.openWorker(imageProcessors(async () => images));
  await own.redis.stop();
  await waitFor(async () => {
    const error = await queue
      .enqueue('image.generation', generation, owner)
      .catch((thrown: unknown) => thrown);
    return error instanceof GatewayError && error.code === 'service_unavailable';
  });
  expect(await queue.isReady().catch(() => false)).toBe(false);
  const again = await startRedis({ port: Number(port) });
  await waitFor(() => queue.isReady().catch(() => false));
  await waitFor(() => worker.isReady().catch(() => false));
  const handle = await waitFor(() => queue.enqueue('image.generation', generation, owner));
  expect(await handle.result(staying)).toEqual(images);
  await own.clear();
  await again.close();
  await own.close();
});

test('a process ends although Redis is away', async () => {
  const own = await openJobStage();
  const queue = await own.openQueue();
  await own.openWorker(imageProcessors(async () => images));
  await own.redis.stop();
  await waitFor(async () => !(await queue.isReady().catch(() => false)));
  // Closes the queue and the worker.
  await own.close();
});

test('a job that nobody waits for is done, by whatever process, and cancelled by its id', async () => {
  const queue = await stage.openQueue();
  const cancelled = await queue.submit('image.generation', generation, owner);
  await queue.cancelSubmitted('image.generation', cancelled);
  await queue.cancelSubmitted('image.generation', 'job_unknown');
  const done = await queue.submit('image.generation', generation, owner);
  await queue.close();
  const processor = { run: async () => images };
  await stage.openWorker({ 'image.generation': processor, 'image.edit': processor });
  await waitFor(() => stage.finished.length > 0);
  expect(stage.finished).toMatchObject([{ jobId: done, outcome: 'completed' }]);
});
