import { access } from 'node:fs/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  edit,
  generation,
  images,
  type JobStage,
  openJobStage,
  owner,
  staying,
} from '../fixtures/job-stage.ts';
import { imageProcessors } from '../fixtures/processors.ts';
import { cancelledKey } from '../redis/job-keys.ts';
import type { JobContext } from '../worker/job-processor.ts';

let stage: JobStage;
beforeAll(async () => {
  stage = await openJobStage();
});
afterEach(() => stage.clear());
afterAll(() => stage.close());

/** A processor that begins, reports so, and ends when it is stopped. */
const endless = (began: (context: JobContext) => void) => (context: JobContext) =>
  new Promise<never>((_resolve, reject) => {
    context.signal.addEventListener('abort', () => reject(context.signal.reason));
    began(context);
  });

async function exists(uploadId: string): Promise<boolean> {
  return access(stage.uploads.pathOf(uploadId)).then(
    () => true,
    () => false,
  );
}

test('a caller who leaves takes its queued job out of the line, with its uploads', async () => {
  const queue = await stage.openQueue();
  const uploadId = await stage.upload();
  const handle = await queue.enqueue('image.edit', edit(uploadId), owner);
  const caller = new AbortController();
  const result = handle.result(caller.signal);
  caller.abort();
  await expect(result).rejects.toMatchObject({ code: 'client_closed_request' });
  await waitFor(async () => (await queue.find(handle.id, 'key_1'))?.status === 'cancelled');
  await waitFor(async () => !(await exists(uploadId)));
  const done: string[] = [];
  await stage.openWorker(
    imageProcessors(async ({ jobId }) => {
      done.push(jobId);
      return images;
    }),
  );
  const next = await queue.enqueue('image.generation', generation, owner);
  await next.result(staying);
  expect(done).toEqual([next.id]);
});

test('a caller who leaves stops its running job, and its uploads are deleted', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<JobContext>();
  await stage.openWorker(imageProcessors(endless(began.resolve)));
  const uploadId = await stage.upload();
  const handle = await queue.enqueue('image.edit', edit(uploadId), owner);
  const caller = new AbortController();
  const result = handle.result(caller.signal);
  const { signal } = await began.promise;
  caller.abort(new GatewayError('shutting_down', 'bye'));
  await expect(result).rejects.toMatchObject({ code: 'shutting_down' });
  await waitFor(() => signal.aborted);
  await waitFor(() =>
    stage.finished.some(({ jobId, outcome }) => jobId === handle.id && outcome === 'cancelled'),
  );
  await waitFor(async () => !(await exists(uploadId)));
  expect(await queue.find(handle.id, 'key_1')).toMatchObject({ status: 'cancelled' });
});

test('a job cancelled elsewhere ends the wait of its caller', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  const refused = expect(handle.result(staying)).rejects.toMatchObject({ code: 'job_cancelled' });
  await handle.cancel();
  await refused;
});

test('cancelling a job that has ended changes nothing', async () => {
  const queue = await stage.openQueue();
  await stage.openWorker(imageProcessors(async () => images));
  const handle = await queue.enqueue('image.generation', generation, owner);
  await handle.result(staying);
  await handle.cancel();
  expect(await queue.find(handle.id, 'key_1')).toMatchObject({ status: 'completed' });
});

test('a running job is not over for its caller when it is cancelled and looked up, but when its worker ends it', async () => {
  const queue = await stage.openQueue();
  const [stopped, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const began = Promise.withResolvers<JobContext>();
  await stage.openWorker(
    imageProcessors(async (context) => {
      context.signal.addEventListener('abort', () => stopped.resolve());
      began.resolve(context);
      await goOn.promise;
      return images;
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  await began.promise;
  await handle.cancel();
  await stopped.promise;
  // Whoever joins it has it looked up for everybody.
  const joined = await queue.attach('image.generation', handle.id);
  goOn.resolve();
  expect(await Promise.all([handle.result(staying), joined.result(staying)])).toEqual([images, images]);
});

test('a cancelled job that Redis has lost ends the wait of its caller', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  const redis = new Redis(stage.redis.url);
  const record = await queue.find(handle.id, owner.keyId);
  await redis.set(cancelledKey(handle.id), JSON.stringify({ ...record, status: 'cancelled' }));
  await redis.del(...(await redis.keys(`*:${handle.id}`)).filter((key) => key !== cancelledKey(handle.id)));
  redis.disconnect();
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'job_cancelled' });
});

test('a result that comes although the job was cancelled is kept', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<JobContext>();
  await stage.openWorker(
    imageProcessors(async (context) => {
      began.resolve(context);
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      return images;
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  await began.promise;
  await handle.cancel();
  expect(await handle.result(staying)).toEqual(images);
  expect(await queue.find(handle.id, owner.keyId)).toMatchObject({ status: 'completed', error: null });
});
