import { ImageOutput } from '@gateway/contracts/jobs';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { readOutput } from '../files/job-files.ts';
import { generation, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';
import { openRedisProxy } from '../fixtures/redis-proxy.ts';
import type { JobContext } from '../worker/job-processor.ts';

/** Redis goes away while jobs are waited for: what was paid for reaches its caller. */

const WAITING = 25;
/** On a busy machine a shorter claim is lost without an outage, and its job begun twice. */
const CLAIM_MS = 30_000;
/** More round trips than looking up one job takes. */
const LOOK_UP_TURNS = 20;
const requestIds = Array.from({ length: WAITING }, (_, at) => `req_${at}`);

/** As many callers as jobs, all of which have begun and end together. */
async function waitingCallers(stage: JobStage, redisUrl?: string) {
  const queue = await stage.openQueue(redisUrl === undefined ? {} : { redisUrl });
  const finish = Promise.withResolvers<void>();
  const count = { begun: 0, answered: 0 };
  const run = async (_input: unknown, { requestId }: JobContext) => {
    count.begun += 1;
    await finish.promise;
    return { ...images, channel: requestId };
  };
  // An outage may outlast a claim, and then a job that was done is given out again.
  const recover = async (_input: unknown, { jobId }: { jobId: string }) => {
    const stored = await readOutput(stage, jobId);
    return stored === undefined ? undefined : ImageOutput.parse(stored);
  };
  const processor = { run, recover };
  await stage.openWorker(
    { 'image.generation': processor, 'image.edit': processor },
    { concurrency: WAITING, lockMs: CLAIM_MS },
  );
  const handles = await Promise.all(
    requestIds.map((requestId) => queue.enqueue('image.generation', generation, { ...owner, requestId })),
  );
  const results = handles.map(async (handle) => {
    try {
      return (await handle.result(staying)).channel;
    } catch (error) {
      return error;
    } finally {
      count.answered += 1;
    }
  });
  await waitFor(() => count.begun === WAITING);
  return { count, finish: finish.resolve, answers: () => Promise.all(results) };
}

test('all of 25 who wait get their images when Redis is stopped and comes back with what it knew', async () => {
  const folder = await temporaryFolder();
  const redis = await startRedis({ keepIn: folder.path });
  const stage = await openJobStage(redis);
  const callers = await waitingCallers(stage);
  await redis.stop();
  callers.finish();
  const again = await startRedis({ port: redis.port, keepIn: folder.path });
  expect(await callers.answers()).toEqual(requestIds);
  expect(callers.count.begun).toBe(WAITING);
  await stage.clear();
  await again.close();
  await stage.close();
  await folder.close();
});

test('all of 25 who wait get their images when Redis freezes and goes on', async () => {
  const redis = await startRedis();
  const stage = await openJobStage(redis);
  const callers = await waitingCallers(stage);
  redis.kill('SIGSTOP');
  callers.finish();
  await new Promise((resolve) => setImmediate(resolve));
  redis.kill('SIGCONT');
  expect(await callers.answers()).toEqual(requestIds);
  expect(callers.count.begun).toBe(WAITING);
  await stage.close();
});

test('a job that ends while it is looked up after a lost connection is answered with its images', async () => {
  const redis = await startRedis();
  const stage = await openJobStage(redis);
  const proxy = await openRedisProxy(redis.port);
  const callers = await waitingCallers(stage, proxy.url);

  // The look-up gets one answer, that a job still runs; then all jobs end; then it goes on. The event
  // stream is read last.
  const looking = Promise.withResolvers<void>();
  const lookOn = Promise.withResolvers<void>();
  const hearOn = Promise.withResolvers<void>();
  let lookUps = 0;
  proxy.beforeWrite = (commands) => {
    if (/xread/i.test(commands)) return hearOn.promise;
    if (!commands.includes('job_')) return undefined;
    lookUps += 1;
    looking.resolve();
    return lookUps === 1 ? undefined : lookOn.promise;
  };
  proxy.cut();
  await looking.promise;
  await waitFor(() => lookUps === 2);
  callers.finish();
  await waitFor(() => stage.finished.length === WAITING);
  lookOn.resolve();
  await waitFor(() => callers.count.answered >= WAITING - 1);
  hearOn.resolve();
  expect(await callers.answers()).toEqual(requestIds);

  await stage.clear();
  await proxy.close();
  await stage.close();
});

test('what was made is answered with although Redis has lost the job', async () => {
  const redis = await startRedis();
  const stage = await openJobStage(redis);
  const proxy = await openRedisProxy(redis.port);
  const callers = await waitingCallers(stage, proxy.url);
  const admin = new Redis(redis.url);
  const hearOn = Promise.withResolvers<void>();
  proxy.beforeWrite = (commands) => (/xread/i.test(commands) ? hearOn.promise : undefined);
  // The connection for the event stream hears nothing until all is lost.
  proxy.cut();
  callers.finish();
  await waitFor(() => stage.finished.length === WAITING);
  await admin.flushall();
  proxy.cut();
  hearOn.resolve();
  expect(await callers.answers()).toEqual(requestIds);
  admin.disconnect();
  await stage.clear();
  await proxy.close();
  await stage.close();
});

test('a job that is being stored while another connection is lost is not taken for lost', async () => {
  const redis = await startRedis();
  const stage = await openJobStage(redis);
  const proxy = await openRedisProxy(redis.port);
  const queue = await stage.openQueue({ redisUrl: proxy.url });
  const run = async () => images;
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });

  const earlier = await queue.enqueue('image.generation', generation, owner);
  await earlier.result(staying);

  const storing = Promise.withResolvers<number>();
  const storeOn = Promise.withResolvers<void>();
  proxy.beforeWrite = (commands, connection) => {
    if (!commands.includes('"inputId"')) return undefined;
    storing.resolve(connection);
    return storeOn.promise;
  };
  const enqueued = queue.enqueue('image.generation', generation, owner);
  proxy.cut(await storing.promise);
  // What is looked up when the other connections are back is looked up now: these look-ups wait for it, one by one.
  for (let turn = 0; turn < LOOK_UP_TURNS; turn += 1) await earlier.cancel();
  storeOn.resolve();
  expect(await (await enqueued).result(staying)).toEqual(images);

  await stage.clear();
  await proxy.close();
  await stage.close();
});

test('a job that Redis takes no cancellation of is refused as unavailable, and can be cancelled later', async () => {
  const stage = await openJobStage();
  onTestFinished(() => stage.close());
  const redis = new Redis(stage.redis.url);
  onTestFinished(() => redis.disconnect());
  const queue = await stage.openQueue();
  const jobId = await queue.submit('image.generation', generation, owner);
  await redis.config('SET', 'maxmemory', '1');
  await expect(queue.cancelSubmitted('image.generation', jobId)).rejects.toMatchObject({
    code: 'service_unavailable',
  });
  await redis.config('SET', 'maxmemory', '0');
  await queue.cancelSubmitted('image.generation', jobId);
  expect(await queue.find(jobId, owner.keyId)).toMatchObject({ status: 'cancelled' });
});
