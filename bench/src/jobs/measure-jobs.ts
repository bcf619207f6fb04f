import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import { createJobQueue, type JobQueue } from '@gateway/jobs/queue/job-queue';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { runRedisServer } from '@gateway/redis-server/run-redis-server';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { percentile } from '../percentile.ts';
import { liveBytes } from './live-bytes.ts';

/** What the queue of jobs costs by itself, with nothing done in them: service and worker in a process each, and a Redis that keeps all. */
export interface JobFigures {
  readonly perSecond: number;
  /** From the service's call to the begin of the work, one job at a time. */
  readonly beginP50Ms: number;
  /** From the begin of the work, which takes no time, to the result at the service. */
  readonly endP50Ms: number;
  readonly redisBytesPerJob: number;
  /** Of both processes. */
  readonly heapBytesPerJob: number;
}

const WARM_UP = 100;
const SINGLE = 300;
const MANY = 2000;
/** Callers who wait at a time; each of its own key. */
const CALLERS = 64;

const staying = new AbortController().signal;
const Timed = z.object({ begunAtMs: z.number() });
const input = {
  model: 'dall-e-3',
  parameters: { prompt: 'a lighthouse' },
  responseFormat: 'url',
  strict: false,
} as const;

export async function measureJobs(): Promise<JobFigures> {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-jobs-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const { command } = await ensureRedisServer(() => undefined);
  const server = await runRedisServer({ command, folder: join(folder, 'redis'), durability: 'append-only' });
  cleanup.defer(() => server.stop());
  const worker = fork(new URL('./worker.ts', import.meta.url), [server.url, folder]);
  cleanup.defer(() => void worker.kill('SIGKILL'));
  await once(worker, 'message');
  const { uploads, assets } = await openJobStores({ dataDir: folder });
  const queue = await createJobQueue({
    redisUrl: server.url,
    kinds: ['image.generation'],
    maxWaiting: 10_000,
    // The results of all its jobs fit.
    maxResultBytes: 1024 ** 3,
    uploads,
    assets,
    now: Date.now,
    onError: () => undefined,
  });
  cleanup.defer(() => queue.close());
  const redis = new Redis(server.url);
  cleanup.defer(() => redis.disconnect());

  const held = async () => {
    worker.send('live bytes');
    const [ofWorker] = await once(worker, 'message');
    return liveBytes() + z.number().parse(ofWorker);
  };
  for (let count = 0; count < WARM_UP; count += 1) await runOne(queue, 'key_1');
  const single = [];
  for (let count = 0; count < SINGLE; count += 1) single.push(await runOne(queue, 'key_1'));

  const before = { redis: await usedBytes(redis), heap: await held() };
  const startedAt = performance.now();
  let left = MANY;
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      while (left > 0) {
        left -= 1;
        await runOne(queue, `key_${caller}`);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    perSecond: MANY / seconds,
    beginP50Ms: percentile(
      single.map(({ beginMs }) => beginMs),
      0.5,
    ),
    endP50Ms: percentile(
      single.map(({ endMs }) => endMs),
      0.5,
    ),
    redisBytesPerJob: ((await usedBytes(redis)) - before.redis) / MANY,
    heapBytesPerJob: ((await held()) - before.heap) / MANY,
  };
}

async function runOne(queue: JobQueue<'image.generation'>, keyId: string) {
  const calledAtMs = performance.timeOrigin + performance.now();
  const handle = await queue.enqueue('image.generation', input, { keyId, requestId: 'req_1' });
  const { members } = await handle.result(staying);
  const endedAtMs = performance.timeOrigin + performance.now();
  const { begunAtMs } = Timed.parse(members);
  return { beginMs: begunAtMs - calledAtMs, endMs: endedAtMs - begunAtMs };
}

async function usedBytes(redis: Redis): Promise<number> {
  const [, bytes = ''] = /used_memory_dataset:(\d+)/.exec(await redis.info('memory')) ?? [];
  return Number(bytes);
}
