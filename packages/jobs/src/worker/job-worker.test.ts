import type { ChildProcess } from 'node:child_process';
import { GatewayError } from '@gateway/contracts/gateway-error';
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
import type { JobContext } from './job-processor.ts';

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

test('a job that was cancelled in the moment in which a worker took it is not begun', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  const redis = new Redis(stage.redis.url);
  // The mark is set, but nobody was listening yet when the workers were told.
  await redis.set(`gateway:{jobs}:cancelled:${handle.id}`, '{}');
  let runs = 0;
  await stage.openWorker(
    imageProcessors(async () => {
      runs += 1;
      return images;
    }),
  );
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'job_cancelled' });
  expect(runs).toBe(0);
  redis.disconnect();
});

test.for<[what: string, more: object, member: object]>([
  ['its envelope', { contentLogOfTomorrow: 'off' }, {}],
  ['a part of its envelope', { share: { shareOfTomorrow: 1 } }, {}],
  ['a value in its envelope', { contentLog: 'of tomorrow' }, {}],
  ['its input', {}, { quality: 'of tomorrow' }],
])(
  'a job that a newer version made waits for a newer worker where %s has more than this one knows',
  async ([, more, member]) => {
    const queue = await stage.openQueue();
    const handle = await queue.enqueue('image.generation', generation, owner);
    const job = await stage.jobOf('image', handle.id);
    const known = Object(job.data);
    const inputId = await stage.uploads.putInput(JSON.stringify({ ...generation, ...member }));
    await job.updateData({ ...known, inputId, ...more });
    let runs = 0;
    await stage.openWorker(
      imageProcessors(async () => {
        runs += 1;
        return images;
      }),
    );
    await waitFor(() => stage.errors.some((error) => String(error).includes('left to its workers')));
    await waitFor(async () => (await job.getState()) === 'delayed');
    expect(runs).toBe(0);
    await waitFor(async () => (await stage.jobOf('image', handle.id)).attemptsStarted === 0);
    const full = await stage.openQueue({ maxWaiting: 1 });
    await waitFor(async () => {
      const slot = await full.reserveSlot('image.generation', owner).catch((thrown: unknown) => thrown);
      if (slot instanceof GatewayError) return slot.code === 'queue_full';
      await Object(slot).free();
      return false;
    });
    // A worker that knows all of it.
    await job.updateData(known);
    expect(await handle.result(staying)).toEqual(images);
    expect([runs, stage.finished]).toEqual([1, [expect.objectContaining({ attempts: 1 })]]);
  },
);

test.for([
  ['has more than this one knows', { contentLogOfTomorrow: 'off' }],
  ['cannot be read', { contentLog: 'of tomorrow' }],
])('a job whose envelope %s ends when no newer worker has come within a day', async ([, more]) => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  const job = await stage.jobOf('image', handle.id);
  await job.updateData({ ...job.data, ...Object(more) });
  const redis = new Redis(stage.redis.url);
  await redis.hset(`gateway:{jobs}:image:${handle.id}`, 'timestamp', Date.now() - 25 * 3_600_000);
  redis.disconnect();
  await stage.openWorker(imageProcessors(async () => images));
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'service_timeout' });
  expect(await job.getState()).toBe('failed');
});

test('a service reads the output of a newer worker, without what it does not know', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  await stage.openWorker(imageProcessors(async () => images));
  await waitFor(() => stage.finished.some(({ jobId }) => jobId === handle.id));
  const ids: string[] = [];
  for await (const { id } of stage.assets.list({ prefix: handle.id })) ids.push(id);
  const [image] = images.images;
  const newer = { ...images, images: [{ ...image, seed: 7 }], seed: 7 };
  await stage.assets.put(ids.join(), Buffer.from(JSON.stringify(newer)));
  expect(await handle.result(staying)).toEqual(images);
});

test('an upstream that did not begin is asked again, even for paid work', async () => {
  const queue = await stage.openQueue();
  await stage.openWorker(
    imageProcessors(async ({ attempt }) => {
      if (attempt === 1) throw new GatewayError('upstream_overloaded', 'busy');
      return images;
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  expect(await handle.result(staying)).toEqual(images);
  await waitFor(() => stage.finished.length === 1);
  expect(stage.finished).toMatchObject([{ outcome: 'completed', attempts: 2 }]);
});

test('what is tried again and fails each time ends with the last failure', async () => {
  const queue = await stage.openQueue();
  await stage.openWorker(
    imageProcessors(async ({ attempt }) => {
      throw new GatewayError('upstream_overloaded', `busy ${attempt}`);
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  await expect(handle.result(staying)).rejects.toMatchObject({ message: 'busy 2' });
});

test('a worker that closes lets a running job finish', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const worker = await stage.openWorker(
    imageProcessors(async () => {
      began.resolve();
      await finish.promise;
      return images;
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  await began.promise;
  const closed = worker.close({ drainTimeoutMs: 60_000 });
  const later = await queue.enqueue('image.generation', generation, owner);
  finish.resolve();
  expect(await handle.result(staying)).toEqual(images);
  await closed;
  expect(await queue.find(later.id, 'key_1')).toMatchObject({ status: 'queued' });
  await later.cancel();
});

const untilStopped = ({ signal }: JobContext) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')));
  });

test('free work that is not done when a worker must stop goes back into the line', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<void>();
  const worker = await stage.openWorker(
    audioProcessors((context) => {
      began.resolve();
      return untilStopped(context);
    }),
  );
  const handle = await queue.enqueue('audio.transcription', transcription(await stage.upload()), owner);
  await began.promise;
  await worker.close({ drainTimeoutMs: 0 });
  await stage.openWorker(audioProcessors(async () => transcript));
  expect(await handle.result(staying)).toEqual(transcript);
});

test('paid work that is not done when a worker must stop ends as outcome_unknown', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<void>();
  const worker = await stage.openWorker(
    imageProcessors((context) => {
      began.resolve();
      return untilStopped(context);
    }),
  );
  const handle = await queue.enqueue('image.generation', generation, owner);
  await began.promise;
  await worker.close({ drainTimeoutMs: 0 });
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'outcome_unknown' });
});

test('no more jobs run at a time than the worker has slots', async () => {
  const queue = await stage.openQueue();
  let running = 0;
  let most = 0;
  await stage.openWorker(
    imageProcessors(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return images;
    }),
    { concurrency: 3 },
  );
  const handles = await Promise.all(
    Array.from({ length: 30 }, () => queue.enqueue('image.generation', generation, owner)),
  );
  await Promise.all(handles.map((handle) => handle.result(staying)));
  expect(most).toBeLessThanOrEqual(3);
});

test('jobs at work hold no more memory together than the worker may, by what is known of them', async () => {
  const queue = await stage.openQueue();
  let running = 0;
  let most = 0;
  // Images that come as events are taken for 40 MB, others for 16.
  await stage.openWorker(
    imageProcessors(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return images;
    }),
    { concurrency: 8, maxBytesInFlight: 50 * 1024 * 1024 },
  );
  const streamed = { ...generation, stream: true };
  const handles = await Promise.all(
    Array.from({ length: 16 }, () => queue.enqueue('image.generation', streamed, owner)),
  );
  await Promise.all(handles.map((handle) => handle.result(staying)));
  expect(most).toBe(1);
});

test('a worker must do all kinds of its queue and no others', async () => {
  await expect(stage.openWorker({ 'image.edit': { run: async () => images } })).rejects.toThrow(
    /image.generation/,
  );
  await expect(stage.openWorker({})).rejects.toThrow(/something to do/);
});
