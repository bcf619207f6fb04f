import type { JobShare } from '@gateway/contracts/identity';
import { BatchKind } from '@gateway/contracts/jobs';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { JOBS } from '../catalog.ts';
import { generation, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';
import type { JobContext } from '../worker/job-processor.ts';
import { createJobTurns } from './job-turns.ts';

/** Who is taken next. */

let stage: JobStage;
beforeAll(async () => {
  stage = await openJobStage();
});
afterEach(() => stage.clear());
afterAll(() => stage.close());

type Queue = Awaited<ReturnType<JobStage['openQueue']>>;
const openWorker = (run: (context: JobContext) => Promise<void>, concurrency: number) => {
  const processor = {
    run: async (_input: unknown, context: JobContext) => {
      await run(context);
      return images;
    },
  };
  return stage.openWorker(
    { 'image.generation': processor, 'image.edit': processor },
    { concurrency, lockMs: 30_000 },
  );
};
const enqueue = (queue: Queue, keyId: string, requestId: string, share?: JobShare) =>
  queue.enqueue('image.generation', generation, { ...owner, keyId, requestId, share });

interface Begun {
  readonly keyId: string;
  readonly requestId: string;
}
const recordInto =
  (begun: Begun[]) =>
  async ({ keyId, requestId }: JobContext) =>
    void begun.push({ keyId, requestId });

/** The image jobs that workers have taken, in this order. */
async function taken(): Promise<string[]> {
  const redis = new Redis(stage.redis.url);
  const events = await redis.xrange('gateway:{jobs}:image:events', '-', '+');
  redis.disconnect();
  return events.flatMap(([, [, event, , jobId = '']]) => (event === 'active' ? [jobId] : []));
}

/** How often each key came before each point, as `counts[key]`. */
function* prefixes(begun: readonly Begun[]) {
  const counts: Record<string, number> = {};
  for (const { keyId } of begun) {
    counts[keyId] = (counts[keyId] ?? 0) + 1;
    yield counts;
  }
}

test('of a thousand jobs that five keys queue one after the other, each key gets every fifth turn, in its own order', async () => {
  const queue = await stage.openQueue({ maxWaiting: 2000 });
  const keys = ['key_a', 'key_b', 'key_c', 'key_d', 'key_e'];
  const callers = Array.from({ length: 20 }, (_, caller) => caller);
  const queued = new Map<string, Begun>();
  const results: Promise<unknown>[] = [];
  for (const keyId of keys)
    for (let at = 0; at < 10; at += 1)
      await Promise.all(
        callers.map(async (caller) => {
          const handle = await enqueue(queue, keyId, `${caller}:${at}`);
          queued.set(handle.id, { keyId, requestId: `${at}` });
          results.push(handle.result(staying));
        }),
      );
  await openWorker(async () => undefined, 16);
  await Promise.all(results);

  const begun = (await taken()).flatMap((jobId) => queued.get(jobId) ?? []);
  expect(begun).toHaveLength(1000);
  for (const counts of prefixes(begun)) {
    const all = keys.map((keyId) => counts[keyId] ?? 0);
    expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(1);
  }
  for (const keyId of keys) {
    const order = begun.filter((one) => one.keyId === keyId).map(({ requestId }) => requestId);
    expect(order).toEqual(order.toSorted());
  }
}, 240_000);

test('a single job does not wait for the eighty that another key queued before', async () => {
  const queue = await stage.openQueue();
  const many = await Promise.all(Array.from({ length: 80 }, (_, at) => enqueue(queue, 'key_many', `${at}`)));
  const one = await enqueue(queue, 'key_one', 'single');
  expect(await queue.positionOf(one.id, 'key_one')).toMatchObject({ position: expect.toBeOneOf([1, 2]) });
  const begun: Begun[] = [];
  await openWorker(recordInto(begun), 1);
  await Promise.all([one, ...many].map((handle) => handle.result(staying)));
  expect(begun.findIndex(({ keyId }) => keyId === 'key_one')).toBeLessThanOrEqual(1);
});

test('a key of weight 3 gets three turns for one of another key, and one that comes later does not catch up', async () => {
  const queue = await stage.openQueue();
  const handles = [];
  for (const [keyId, share] of [
    ['key_light', {}],
    ['key_heavy', { jobWeight: 3 }],
  ] as const)
    handles.push(
      ...(await Promise.all(Array.from({ length: 60 }, (_, at) => enqueue(queue, keyId, `${at}`, share)))),
    );
  const begun: Begun[] = [];
  let later: Promise<unknown> | undefined;
  await openWorker(async (context) => {
    if (begun.length === 39)
      later = enqueue(queue, 'key_later', 'x').then((handle) => handle.result(staying));
    await recordInto(begun)(context);
  }, 1);
  await Promise.all(handles.map((handle) => handle.result(staying)));
  await later;
  const firsts = begun.slice(0, 40).map(({ keyId }) => keyId);
  expect(firsts.filter((keyId) => keyId === 'key_heavy').length).toBeGreaterThanOrEqual(29);
  expect(firsts.filter((keyId) => keyId === 'key_light').length).toBeGreaterThanOrEqual(9);
  expect(begun.findIndex(({ keyId }) => keyId === 'key_later')).toBeLessThan(46);
});

test('jobs of a lower number of priority go first', async () => {
  const queue = await stage.openQueue();
  const late = await Promise.all(
    Array.from({ length: 10 }, (_, at) => enqueue(queue, 'key_late', `${at}`, { jobPriority: 9 })),
  );
  const usual = await Promise.all(
    Array.from({ length: 10 }, (_, at) => enqueue(queue, 'key_usual', `${at}`)),
  );
  const early = await Promise.all(
    Array.from({ length: 10 }, (_, at) => enqueue(queue, 'key_early', `${at}`, { jobPriority: 0 })),
  );
  const begun: Begun[] = [];
  await openWorker(recordInto(begun), 1);
  await Promise.all([...late, ...usual, ...early].map((handle) => handle.result(staying)));
  const order = begun.map(({ keyId }) => keyId);
  expect(order).toEqual(
    ['key_early', 'key_usual', 'key_late'].flatMap((keyId) => Array.from({ length: 10 }, () => keyId)),
  );
});

test('however many batches a key has, those of others find room, and its lines are not counted with them', async () => {
  const queue = await stage.openQueue();
  const begun: string[] = [];
  const end = Promise.withResolvers<void>();
  const eight = Promise.withResolvers<void>();
  const other = Promise.withResolvers<void>();
  const line = Promise.withResolvers<void>();
  const batch = {
    run: async (_input: unknown, { keyId }: JobContext) => {
      begun.push(keyId);
      if (begun.filter((one) => one === 'key_many').length === 8) eight.resolve();
      if (keyId === 'key_other') other.resolve();
      await end.promise;
      return { linesId: 'job_x-lines', linesBytes: 1, counts: { total: 1, completed: 1, failed: 0 } };
    },
  };
  await stage.openWorker({ 'image.batch': batch }, { concurrency: 64, lockMs: 30_000 });
  await openWorker(async () => line.resolve(), 1);
  const input = { model: 'dall-e-3', fileId: 'none', lines: 1, untilMs: Date.now() + 60_000, strict: false };
  const share = { concurrentJobs: 1 };
  const make = (keyId: string, requestId: string) =>
    queue.enqueue('image.batch', input, { ...owner, keyId, requestId, share, isDetached: true });
  const many = await Promise.all(Array.from({ length: 40 }, (_, at) => make('key_many', `${at}`)));
  await eight.promise;
  const one = await make('key_other', 'x');
  await other.promise;
  // A line counts with the key's other jobs, of which one may be at work: its batches must not stand in its way.
  await (await enqueue(queue, 'key_many', 'line', share)).result(staying);
  await line.promise;
  expect(begun.filter((keyId) => keyId === 'key_many')).toHaveLength(8);
  const waiting = await Promise.all(many.map(({ id }) => queue.find(id, 'key_many')));
  expect(waiting.filter((job) => job?.status === 'queued')).toHaveLength(32);
  const parked = waiting.find((job) => job?.status === 'queued');
  expect(await queue.positionOf(parked?.id ?? '', 'key_many')).toMatchObject({
    position: expect.any(Number),
  });
  end.resolve();
  await Promise.all([one, ...many].map((handle) => handle.result(staying)));
  expect(begun).toHaveLength(41);
});

test('a key has no more jobs in progress than it may, whatever its queue and however many slots are free', async () => {
  const queue = await stage.openQueue();
  const share = { concurrentJobs: 2 };
  const running = { now: 0, most: 0, others: 0 };
  const two = Promise.withResolvers<void>();
  await openWorker(async ({ keyId }) => {
    if (keyId !== 'key_two') {
      running.others += 1;
      return;
    }
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    if (running.now === 2) two.resolve();
    await two.promise;
    await new Promise((resolve) => setImmediate(resolve));
    running.now -= 1;
  }, 8);
  const limited = await Promise.all(
    Array.from({ length: 20 }, (_, at) => enqueue(queue, 'key_two', `${at}`, share)),
  );
  const free = await Promise.all(Array.from({ length: 20 }, (_, at) => enqueue(queue, 'key_free', `${at}`)));
  await Promise.all([...limited, ...free].map((handle) => handle.result(staying)));
  expect(running).toEqual({ now: 0, most: 2, others: 20 });
});

test('a parked job is queued to its caller, has a position, and comes in where another of its key is cancelled', async () => {
  const queue = await stage.openQueue();
  const share = { concurrentJobs: 1 };
  const [first, second, third] = [
    await enqueue(queue, 'key_one', '1', share),
    await enqueue(queue, 'key_one', '2', share),
    await enqueue(queue, 'key_one', '3', share),
  ];
  expect(await queue.find(second.id, 'key_one')).toMatchObject({ status: 'queued' });
  expect(await queue.positionOf(third.id, 'key_one')).toMatchObject({ position: 3 });
  const gone = first.result(staying);
  gone.catch(() => undefined);
  await first.cancel();
  await expect(gone).rejects.toMatchObject({ code: 'job_cancelled' });
  await second.cancel();
  second.result(staying).catch(() => undefined);
  const begun: Begun[] = [];
  await openWorker(recordInto(begun), 1);
  await third.result(staying);
  expect(begun.map(({ requestId }) => requestId)).toEqual(['3']);
});

test('a slot is kept while a request is read, counts for everybody, and goes back', async () => {
  const [queue, replica] = [
    await stage.openQueue({ maxWaiting: 1 }),
    await stage.openQueue({ maxWaiting: 1 }),
  ];
  const slot = await queue.reserveSlot('image.edit', { keyId: 'key_a' });
  await expect(replica.reserveSlot('image.edit', { keyId: 'key_b' })).rejects.toMatchObject({
    code: 'queue_full',
  });
  await expect(enqueue(replica, 'key_b', 'x')).rejects.toMatchObject({ code: 'queue_full' });
  const job = await queue.enqueue('image.generation', generation, { ...owner, slot });
  await slot.free();
  await expect(replica.reserveSlot('image.edit', { keyId: 'key_b' })).rejects.toMatchObject({
    code: 'queue_full',
  });
  await openWorker(async () => undefined, 1);
  await job.result(staying);
  await (await replica.reserveSlot('image.edit', { keyId: 'key_b' })).free();
});

test('exactly as many of fifty that come at once find a slot on two replicas as there are', async () => {
  const queues = [await stage.openQueue({ maxWaiting: 12 }), await stage.openQueue({ maxWaiting: 12 })];
  const reserved = await Promise.allSettled(
    Array.from({ length: 50 }, (_, at) => queues[at % 2]?.reserveSlot('image.edit', { keyId: `key_${at}` })),
  );
  const kept = reserved.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
  expect(kept).toHaveLength(12);
  await Promise.all(kept.map((slot) => slot.free()));
});

test('a key that fills the queue leaves a fifth of it to others', async () => {
  const queue = await stage.openQueue({ maxWaiting: 50 });
  const queued = await Promise.allSettled(
    Array.from({ length: 60 }, (_, at) => enqueue(queue, 'key_many', `${at}`)),
  );
  const refusal = await enqueue(queue, 'key_many', 'more').catch((thrown: unknown) => thrown);
  expect(refusal).toMatchObject({ code: 'queue_full', message: expect.stringContaining('other keys') });
  const other = await enqueue(queue, 'key_other', 'x');
  await openWorker(async () => undefined, 8);
  await other.result(staying);
  for (const one of queued) if (one.status === 'fulfilled') await one.value.result(staying);
});

test('a refusal names the time to come back, by how fast jobs end', async () => {
  const queue = await stage.openQueue({ maxWaiting: 100 });
  await openWorker(async () => undefined, 1);
  for (let at = 0; at < 4; at += 1) await (await enqueue(queue, 'key_a', `${at}`)).result(staying);
  await stage.clear();
  const full = await stage.openQueue({ maxWaiting: 1 });
  const waiting = await enqueue(full, 'key_a', 'x');
  // They took milliseconds each, not the five seconds of a queue of which nothing is known.
  await expect(enqueue(full, 'key_a', 'y')).rejects.toMatchObject({ options: { retryAfterSeconds: 1 } });
  await waiting.cancel();
  await expect(waiting.result(staying)).rejects.toMatchObject({ code: 'job_cancelled' });
  await waitFor(async () => (await full.find(waiting.id, 'key_a'))?.status === 'cancelled');
});

test('jobs that have stepped aside leave their places to the next ones, as many as may, and count again when they are back', async () => {
  const redis = new Redis(stage.redis.url);
  const turns = createJobTurns(redis, Date.now);
  const running = 'gateway:{jobs}:turns:running:key_aside';
  const jobIds = ['job_1', 'job_2', 'job_3'];
  for (const jobId of jobIds) {
    await redis.hset(`gateway:{jobs}:text-batch:${jobId}`, 'timestamp', Date.now());
    await redis.sadd(running, `text-batch ${jobId}`);
  }
  const stepAside = (jobId: string) => turns.stepAside('text-batch', jobId, 'key_aside', 2);
  expect(await Promise.all(jobIds.map(stepAside))).toEqual([true, true, false]);
  // A worker that takes one over finds it aside.
  expect(await stepAside('job_1')).toBe(true);
  expect(await redis.smembers(running)).toEqual(['text-batch job_3']);
  await turns.stepBack('text-batch', 'job_1', 'key_aside');
  expect((await redis.smembers(running)).toSorted()).toEqual(['text-batch job_1', 'text-batch job_3']);
  // One that has ended is not aside any more.
  await redis.hset('gateway:{jobs}:text-batch:job_2', 'finishedOn', Date.now());
  expect(await Promise.all(['job_1', 'job_3'].map(stepAside))).toEqual([true, true]);
  redis.disconnect();
});

test.each(BatchKind.options)(
  'eight keys have room for all they may begin of %s in one process, with what waits for a provider',
  (kind) => {
    const { concurrency, ofOneKey = Number.POSITIVE_INFINITY, asideOfOneKey = 0 } = JOBS[kind];
    expect(concurrency).toBeGreaterThanOrEqual(8 * (ofOneKey + asideOfOneKey));
  },
);
