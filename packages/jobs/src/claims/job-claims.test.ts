import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { jobCancelled } from '../events/job-listener.ts';
import { generation, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';
import type { JobOwner } from '../queue/job-owner.ts';
import { newJobId } from '../redis/job-keys.ts';
import { type ClaimOutcome, createJobClaims } from './job-claims.ts';

/** One idempotency key names one job, whatever happens between its claim and its queueing. */

let stage: JobStage;
let redis: Redis;
beforeAll(async () => {
  stage = await openJobStage();
  redis = new Redis(stage.redis.url);
});
afterEach(() => stage.clear());
afterAll(async () => {
  redis.disconnect();
  await stage.close();
});

const stopped = async (): Promise<typeof images> => {
  throw jobCancelled();
};
const MINUTE_MS = 60_000;
let keys = 0;
const newKey = () => `key ${++keys}`;
const requestOf = (idempotencyKey: string, fingerprint = 'same') => ({
  keyId: owner.keyId,
  idempotencyKey,
  fingerprint,
  jobId: newJobId(),
});

/** Claims as a process sees them whose clock is ahead. */
const claimsLater = (queue: Awaited<ReturnType<JobStage['openQueue']>>) =>
  createJobClaims({
    marks: { clear: async () => undefined },
    redis,
    find: (jobId) => queue.find(jobId, owner.keyId),
    now: () => Date.now() + MINUTE_MS,
  });

/** The owner of a job of this id. */
function ownerOf(jobId: string, outcome: ClaimOutcome): JobOwner {
  const subject = { id: jobId, keyId: owner.keyId, team: null, endpoint: 'images', model: 'dall-e-3' };
  const nothing = {
    channel: null,
    attempts: 0,
    consumption: NOTHING_CONSUMED,
    costMicroUsd: 0,
    durationMs: 0,
  };
  return {
    ...owner,
    isDetached: true,
    ...(outcome.isNew && { claim: outcome.claim }),
    metering: {
      subject: { ...subject, startedAtMs: Date.now() },
      estimate: { ...nothing, estimated: true, outcome: 'ok', firstByteMs: null },
    },
  };
}

test('a request that comes between a claim and its queueing waits for that job', async () => {
  const queue = await stage.openQueue();
  const [first, second] = [requestOf(newKey()), requestOf(`key ${keys}`)];
  const claimed = await queue.claims.claim(first);
  const joining = queue.claims.claim(second);
  await queue.enqueue('image.generation', generation, ownerOf(first.jobId, claimed));
  expect(await joining).toMatchObject({ isNew: false, record: { id: first.jobId } });
});

test('a claim whose job was never queued is taken over, and that job is not begun when it comes after all', async () => {
  const queue = await stage.openQueue();
  const [slow, next] = [requestOf(newKey()), requestOf(`key ${keys}`)];
  const slowClaim = await queue.claims.claim(slow);
  const nextClaim = await claimsLater(queue).claim(next);
  expect(nextClaim).toMatchObject({ isNew: true });
  const late = await queue.enqueue('image.generation', generation, ownerOf(slow.jobId, slowClaim));
  const own = await queue.enqueue('image.generation', generation, ownerOf(next.jobId, nextClaim));
  const done: string[] = [];
  const run = async (_input: unknown, { jobId }: { jobId: string }) => {
    done.push(jobId);
    return images;
  };
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  await expect(late.result(staying)).rejects.toMatchObject({ code: 'job_cancelled' });
  expect(await own.result(staying)).toEqual(images);
  expect(done).toContain(next.jobId);
  expect(done).not.toContain(slow.jobId);
});

test.for([
  ['a result all the same is that of a repeated request', async () => images, false],
  ['its cancellation leaves the key to a repeated request', stopped, true],
] as const)('a job that is stopping still has its key, and %s', async ([, end, isNew]) => {
  const queue = await stage.openQueue();
  const began = Promise.withResolvers<AbortSignal>();
  const goOn = Promise.withResolvers<void>();
  const run = async (_input: unknown, { signal }: { signal: AbortSignal }) => {
    began.resolve(signal);
    await goOn.promise;
    return end();
  };
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  const [first, second] = [requestOf(newKey()), requestOf(`key ${keys}`)];
  const claimed = await queue.claims.claim(first);
  const handle = await queue.enqueue('image.generation', generation, ownerOf(first.jobId, claimed));
  await began.promise;
  await handle.cancel();
  const looked = Promise.withResolvers<void>();
  const claims = createJobClaims({
    marks: { clear: async () => undefined },
    redis,
    find: async (jobId) => {
      const found = await queue.find(jobId, owner.keyId);
      looked.resolve();
      return found;
    },
    now: Date.now,
  });
  const claiming = claims.claim(second);
  await looked.promise;
  goOn.resolve();
  expect(await claiming).toMatchObject({ isNew });
});

test('a key is given back by the job that has it, and by no other', async () => {
  const { claims } = await stage.openQueue();
  const [first, second] = [requestOf(newKey()), requestOf(`key ${keys}`)];
  const outcome = await claims.claim(first);
  if (!outcome.isNew) throw new Error('the key was taken');
  await claims.release(outcome.claim, second.jobId);
  expect(await claims.jobOf(owner.keyId, first.idempotencyKey)).toBe(first.jobId);
  await claims.release(outcome.claim, first.jobId);
  expect(await claims.claim(second)).toMatchObject({ isNew: true });
});

test('another request under a key is refused, also before the first one is queued', async () => {
  const { claims } = await stage.openQueue();
  await claims.claim(requestOf(newKey()));
  await expect(claims.claim(requestOf(`key ${keys}`, 'other'))).rejects.toMatchObject({
    code: 'idempotency_key_reused',
  });
});

test('a detached job goes on without its caller, and a caller who attaches gets its texts from the start', async () => {
  const queue = await stage.openQueue();
  const elsewhere = await stage.openQueue();
  const finish = Promise.withResolvers<void>();
  const run = async (_input: unknown, { emit }: { emit(text: string): Promise<void> }) => {
    await emit('one');
    await finish.promise;
    await emit('two');
    return images;
  };
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  const handle = await queue.enqueue('image.generation', generation, { ...owner, isDetached: true });
  const caller = new AbortController();
  const left = expect(handle.result(caller.signal)).rejects.toMatchObject({ code: 'client_closed_request' });
  for await (const text of handle.events) {
    expect(text).toBe('one');
    caller.abort();
  }
  await left;
  const attached = await elsewhere.attach('image.generation', handle.id);
  finish.resolve();
  const texts: string[] = [];
  for await (const text of attached.events) texts.push(text);
  expect(texts).toEqual(['one', 'two']);
  expect(await attached.result(staying)).toEqual(images);
  const afterwards = await queue.attach('image.generation', handle.id);
  expect(await afterwards.result(staying)).toEqual(images);
});

test('a job is found when the queue has forgotten it, and its owner alone finds it', async () => {
  const queue = await stage.openQueue();
  const run = async () => images;
  await stage.openWorker({ 'image.generation': { run }, 'image.edit': { run } });
  const handle = await queue.enqueue('image.generation', generation, { ...owner, isDetached: true });
  await handle.result(staying);
  await redis.del(`gateway:{jobs}:image:${handle.id}`);
  expect(await queue.find(handle.id, owner.keyId)).toMatchObject({ status: 'completed', error: null });
  expect(await queue.find(handle.id, 'key_2')).toBeUndefined();
  expect(await queue.outputOf('image.generation', handle.id)).toEqual(images);
});
