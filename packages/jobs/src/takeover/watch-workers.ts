import { setTimeout as delay } from 'node:timers/promises';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { QUEUE_PREFIX, workerChannel } from '../redis/job-keys.ts';
import type { JobTurns } from '../turns/job-turns.ts';

const RELEASE_CLAIMS = readScript(new URL('./release-claims.lua', import.meta.url));

interface WatchOptions {
  readonly queue: string;
  readonly redis: Redis;
  readonly turns: Pick<JobTurns, 'releaseAllParked'>;
  /** How often somebody looks. */
  readonly checkMs: number;
  /** How long a worker may be disconnected before it is taken for dead: longer than it takes to connect again. */
  readonly graceMs: number;
  /** Gives jobs without a claim to others. */
  readonly moveUnclaimed: () => Promise<void>;
  /** Called for a worker that is gone, with the number of its jobs that go to others. */
  readonly onGone: (worker: string, jobs: number) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Gives the jobs of a dead worker to others. Each worker subscribes to a channel of its own. The kernel
 * closes this connection when the process ends, whatever ends it, and keeps it open while the process is
 * busy. So a death is noticed within seconds, and a long computation is no death. If a whole machine is gone,
 * the claims expire.
 */
export function watchWorkers(options: WatchOptions): { close(): void } {
  const { queue, redis, turns, checkMs, graceMs, moveUnclaimed, onGone, onError } = options;
  const releaseClaims = defineScript(redis, 'gatewayReleaseClaims', RELEASE_CLAIMS, z.number());
  const key = (name: string) => `${QUEUE_PREFIX}:${queue}:${name}`;
  const closing = new AbortController();

  /** The jobs that are being run, by the worker that took them. */
  const runningJobs = async (): Promise<Map<string, string[]>> => {
    const ids = await redis.lrange(key('active'), 0, -1);
    const takers = await Promise.all(ids.map((id) => redis.hget(key(id), 'pb')));
    const byWorker = Map.groupBy(ids, (_, at) => takers[at] ?? '');
    byWorker.delete('');
    return byWorker;
  };
  let reconnectedMs = Number.NEGATIVE_INFINITY;
  redis.on('ready', () => {
    reconnectedMs = performance.now();
  });
  const check = async (): Promise<void> => {
    // After a failover others may take some seconds longer to notice that their Redis is gone.
    if (performance.now() - reconnectedMs < 2 * graceMs) return;
    // One of all workers is enough.
    if ((await redis.set(key('watched'), '1', 'PX', checkMs, 'NX')) === null) return;
    await turns.releaseAllParked();
    const suspects = await disconnected(redis, [...(await runningJobs()).keys()]);
    if (suspects.length === 0) return;
    await delay(graceMs, undefined, { signal: closing.signal });
    const jobs = await runningJobs();
    for (const worker of await disconnected(redis, suspects)) {
      const ids = jobs.get(worker) ?? [];
      const keys = [key('stalled'), key('stalled-check')];
      const count = await releaseClaims(keys, key(''), worker, ...ids);
      if (count > 0) onGone(worker, count);
    }
    await moveUnclaimed();
  };
  let checking = Promise.resolve();
  const timer = setInterval(() => {
    // One check at a time.
    const mine = checking.then(check).catch((error: unknown) => {
      if (!closing.signal.aborted) onError(error);
    });
    checking = mine;
  }, checkMs);
  return {
    close: () => {
      clearInterval(timer);
      closing.abort();
    },
  };
}

/** Those of the workers that hold no subscription at this moment. */
export async function disconnected(redis: Redis, workers: readonly string[]): Promise<string[]> {
  if (workers.length === 0) return [];
  const counts = await redis.pubsub('NUMSUB', ...workers.map(workerChannel));
  return workers.filter((_, at) => Number(counts[2 * at + 1]) === 0);
}
