import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { waitFor } from '@gateway/testkit/wait-for';
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
} from './fixtures/job-stage.ts';
import type { JobMetering } from './job-metering.ts';
import { newJobId } from './redis/job-keys.ts';
import type { JobContext } from './worker/job-processor.ts';

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

const amounts = (count: number) => ({
  channel: 'openai',
  attempts: 1,
  consumption: { ...NOTHING_CONSUMED, images: count },
  estimated: false,
  costMicroUsd: count * 40_000,
});
const estimate: UsageResult = {
  ...amounts(3),
  channel: null,
  attempts: 0,
  estimated: true,
  outcome: 'ok',
  durationMs: 0,
  firstByteMs: null,
};

function metered(endpoint = 'images') {
  const metering: JobMetering = {
    subject: {
      id: newJobId(),
      keyId: owner.keyId,
      team: null,
      endpoint,
      model: generation.model,
      startedAtMs: Date.now(),
    },
    estimate,
  };
  return { ...owner, metering };
}

const openWorker = (run: (context: JobContext) => Promise<typeof images>) => {
  const processor = { run: (_input: unknown, context: JobContext) => run(context) };
  return stage.openWorker({ 'image.generation': processor, 'image.edit': processor });
};

const settledOnce = async (result: object) => {
  await waitFor(() => stage.settled.length > 0);
  expect(stage.settled.map((one) => one.result)).toEqual([expect.objectContaining(result)]);
};
const nothing = { consumption: NOTHING_CONSUMED, costMicroUsd: 0, estimated: false, channel: null };
const asEstimated = { consumption: estimate.consumption, costMicroUsd: 120_000, estimated: true };

test('a job is accounted under its own id by what it reported, before its end is published', async () => {
  const queue = await stage.openQueue();
  await openWorker(async ({ consumed }) => {
    consumed(amounts(2));
    return images;
  });
  const order = metered();
  const handle = await queue.enqueue('image.generation', generation, order);
  expect(handle.id).toBe(order.metering.subject.id);
  await handle.result(staying);
  expect(stage.settled).toEqual([
    { subject: order.metering.subject, result: expect.objectContaining({ ...amounts(2), outcome: 'ok' }) },
  ]);
  await waitFor(() => stage.finished.length === 1);
  expect(stage.finished[0]?.usage).toMatchObject({ costMicroUsd: 80_000 });
});

test('what was made is charged although the job failed afterwards', async () => {
  const queue = await stage.openQueue();
  await openWorker(async ({ consumed }) => {
    consumed(amounts(2));
    throw new GatewayError('storage_full', { message: 'full', retry: false });
  });
  const handle = await queue.enqueue('image.generation', generation, metered());
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'storage_full' });
  await settledOnce({ ...amounts(2), outcome: 'failed' });
});

test('a job that fails for good is accounted once, however often it was tried, and for nothing where nothing was begun', async () => {
  const queue = await stage.openQueue();
  let runs = 0;
  await openWorker(async () => {
    runs += 1;
    throw new GatewayError('upstream_overloaded', { message: 'overloaded' });
  });
  const handle = await queue.enqueue('image.generation', generation, metered());
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'upstream_overloaded' });
  expect(runs).toBe(2);
  await settledOnce({ ...nothing, outcome: 'failed' });
});

const busy = new GatewayError('upstream_overloaded', { message: 'overloaded' });
test.for([
  ['that answers', images, { ...amounts(5), attempts: 2, outcome: 'ok' }],
  ['that consumes nothing', busy, { ...amounts(2), outcome: 'failed' }],
] as const)(
  'what a job used before it was tried again is charged beside the attempt %s',
  async ([, end, charged]) => {
    const queue = await stage.openQueue();
    await openWorker(async ({ attempt, consumed }) => {
      if (attempt === 2 && end instanceof GatewayError) throw end;
      consumed(amounts(attempt === 1 ? 2 : 3));
      if (attempt === 1 || end instanceof GatewayError) throw busy;
      return end;
    });
    const handle = await queue.enqueue('image.generation', generation, metered());
    await handle.result(staying).catch(() => undefined);
    await settledOnce(charged);
  },
);

test('what free work used before its worker stopped is charged beside what it uses at the next one', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<void>();
  const stopping = await stage.openWorker({
    'audio.transcription': {
      run: (_input, { consumed, signal }) => {
        consumed(amounts(2));
        began.resolve();
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      },
    },
  });
  const input = transcription(await stage.upload());
  const handle = await queue.enqueue('audio.transcription', input, metered('transcriptions'));
  await began.promise;
  await stopping.close({ drainTimeoutMs: 0 });
  await stage.openWorker({
    'audio.transcription': {
      run: async (_input, { consumed }) => {
        consumed(amounts(1));
        return transcript;
      },
    },
  });
  await handle.result(staying);
  await settledOnce({ ...amounts(3), attempts: 2, outcome: 'ok' });
});

test('the record of a job that failed says which error it was, and lists the attempts that its error lists', async () => {
  const queue = await stage.openQueue();
  const attempts = '"one";outcome=timeout;ms=900, "two";outcome=rejected;status=400;ms=81';
  await openWorker(async () => {
    throw new GatewayError('upstream_rejected', {
      message: 'no',
      headers: { 'x-gateway-attempts': attempts },
    });
  });
  const handle = await queue.enqueue('image.generation', generation, metered());
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'upstream_rejected' });
  const detail = { status: 400, errorCode: 'upstream_rejected', attempts };
  await settledOnce({
    ...nothing,
    channel: 'two',
    outcome: 'failed',
    detail: expect.objectContaining(detail),
  });
});

test.for(['outcome_unknown', 'upstream_timeout'] as const)(
  'work that may have been done (%s) is charged as estimated',
  async (code) => {
    const queue = await stage.openQueue();
    await openWorker(async () => {
      throw new GatewayError(code, { message: 'lost', retry: false });
    });
    const handle = await queue.enqueue('image.generation', generation, metered());
    await expect(handle.result(staying)).rejects.toMatchObject({ code });
    await settledOnce({ ...asEstimated, outcome: 'failed' });
  },
);

test('a job cancelled before its start has consumed nothing, one cancelled while it ran what was estimated', async () => {
  const queue = await stage.openQueue();
  const waiting = await queue.enqueue('image.generation', generation, metered());
  await waiting.cancel();
  await settledOnce({ ...nothing, outcome: 'cancelled' });
  stage.settled.length = 0;

  const began = Promise.withResolvers<void>();
  await openWorker(({ signal }) => {
    began.resolve();
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const running = await queue.enqueue('image.generation', generation, metered());
  await began.promise;
  await running.cancel();
  await settledOnce({ ...asEstimated, outcome: 'cancelled' });
});

test('a job that finds the queue full has consumed nothing', async () => {
  const queue = await stage.openQueue({ maxWaiting: 1 });
  const first = await queue.enqueue('image.generation', generation, owner);
  await expect(queue.enqueue('image.generation', generation, metered())).rejects.toMatchObject({
    code: 'queue_full',
  });
  await settledOnce({ ...nothing, outcome: 'failed' });
  await first.cancel();
});

/** A worker in a process of its own that has begun the one job there is, and is gone. */
async function killWorkerInTheMiddle(queue: 'image' | 'transcription') {
  const path = new URL('./fixtures/silent-worker.ts', import.meta.url);
  const child = fork(path, [stage.redis.url, stage.dataDir, queue]);
  children.push(child);
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('free work of a worker that was killed is accounted once, by the worker that does it again', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue(
    'audio.transcription',
    transcription(stage.uploads.newId()),
    metered('transcriptions'),
  );
  await killWorkerInTheMiddle('transcription');
  const run = async (_input: unknown, { consumed }: JobContext) => {
    consumed(amounts(0));
    return transcript;
  };
  await stage.openWorker({ 'audio.transcription': { run } });
  await handle.result(staying);
  await settledOnce({ ...amounts(0), outcome: 'ok' });
});

test('paid work of a worker that was killed is accounted once, as estimated, by the worker that takes it over', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, metered());
  await killWorkerInTheMiddle('image');
  await openWorker(async () => images);
  await expect(handle.result(staying)).rejects.toMatchObject({ code: 'outcome_unknown' });
  await settledOnce({ ...asEstimated, outcome: 'failed' });
});

test('a job that nobody meters is accounted by nobody', async () => {
  const queue = await stage.openQueue();
  await openWorker(async () => images);
  await (await queue.enqueue('image.generation', generation, owner)).result(staying);
  expect(stage.settled).toEqual([]);
});

test('a running job has been accounted for when its caller learns that it is cancelled', async () => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<JobContext>();
  const stopped = Promise.withResolvers<void>();
  await openWorker(async (context) => {
    began.resolve(context);
    await stopped.promise;
    throw context.signal.reason;
  });
  const { id } = await queue.enqueue('image.generation', generation, metered());
  const { signal } = await began.promise;
  const record = await queue.find(id, owner.keyId);
  if (record === undefined) throw new Error('no such job');
  const settledAtEnd = queue.cancel(record).then(() => stage.settled.length);
  await waitFor(() => signal.aborted);
  expect(stage.settled).toEqual([]);
  stopped.resolve();
  expect(await settledAtEnd).toBe(1);
});

test('a processor can have its job accounted for before it makes the end known, once', async () => {
  const queue = await stage.openQueue();
  const known: number[] = [];
  await openWorker(async ({ account, consumed }) => {
    consumed(amounts(2));
    await account();
    known.push(stage.settled.length);
    return images;
  });
  await (await queue.enqueue('image.generation', generation, metered())).result(staying);
  expect(known).toEqual([1]);
  await settledOnce({ ...amounts(2), outcome: 'ok' });
});
