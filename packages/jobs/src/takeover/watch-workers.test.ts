import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { generation, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';

/** Who is taken for dead: workers run with the times of production, whose claims last for half a minute. */

/** A worker's death is known after this time. */
const NOTICED_MS = 10_000;
/** Longer than a worker may be disconnected. */
const BUSY_MS = 7000;

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

async function startWorker(fixture: string, ...args: readonly string[]): Promise<ChildProcess> {
  const path = fileURLToPath(new URL(`../fixtures/${fixture}`, import.meta.url));
  const child = fork(path, [stage.redis.url, stage.dataDir, ...args], { stdio: 'inherit' });
  children.push(child);
  await once(child, 'message');
  return child;
}

let runs = 0;
const openOther = () => {
  runs = 0;
  const run = async () => {
    runs += 1;
    return images;
  };
  return stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } }, { takeover: {} });
};

test("a killed worker's job is given to another within ten seconds, long before its claim has run out", async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  const child = await startWorker('silent-worker.ts', 'image', 'begin', 'production');
  await openOther();
  let ended = false;
  const result = handle.result(staying).catch((error: unknown) => {
    ended = true;
    return error;
  });
  child.kill('SIGKILL');
  await waitFor(() => ended, { timeoutMs: NOTICED_MS });
  expect(await result).toMatchObject({ code: 'outcome_unknown' });
  expect(runs).toBe(0);
}, 30_000);

test('a worker that computes for long keeps its job, and is not questioned', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  await startWorker('busy-worker.ts', `${BUSY_MS}`);
  await openOther();
  expect(await handle.result(staying)).toMatchObject({ channel: 'busy' });
  expect(runs).toBe(0);
  const redis = new Redis(stage.redis.url);
  expect(await redis.hget(`gateway:{jobs}:image:${handle.id}`, 'stc')).toBeNull();
  redis.disconnect();
}, 30_000);

test('a job that Redis has forgotten to be running is not begun by a second worker', async () => {
  const queue = await stage.openQueue();
  const handle = await queue.enqueue('image.generation', generation, owner);
  // It is still at work when the other one has ended the job: what it made before would be the job's result.
  await startWorker('busy-worker.ts', '10000');
  // As after a restart from an older state.
  const redis = new Redis(stage.redis.url);
  const key = (name: string) => `gateway:{jobs}:image:${name}`;
  await redis.lrem(key('active'), 0, handle.id);
  await redis.hdel(key(handle.id), 'ats', 'processedOn', 'pb');
  await redis.del(key(`${handle.id}:lock`));
  await redis.lpush(key('wait'), handle.id);
  await openOther();
  await redis.zadd(key('marker'), 0, '0');
  redis.disconnect();
  const outcome = await handle.result(staying).catch((error: unknown) => error);
  expect(outcome).toMatchObject({ code: 'outcome_unknown' });
  expect(runs).toBe(0);
}, 30_000);
