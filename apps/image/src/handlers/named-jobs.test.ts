import { PublicJob, PublicJobList } from '@gateway/contracts/jobs';
import { ImagesReply } from '@gateway/contracts/openai/images';
import { redisNames } from '@gateway/metering/redis-names';
import { createGate } from '@gateway/simulator/gate';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startImage, type TestImage } from '../testing/start-image.ts';

/** Jobs that their caller names: polled, listed, followed, cancelled. */

let image: TestImage;
let keys = 0;
let keyId: string;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => {
  image.reset();
  // Each test sees jobs of its own only.
  keys += 1;
  keyId = `key_${keys}`;
});
afterAll(() => image.close());

const dallE3 = { model: 'dall-e-3', prompt: 'a cat' };
const gptImage = { model: 'gpt-image-1.5', prompt: 'a cat' };
const GENERATIONS = '/v1/images/generations';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const post = (body: unknown, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  image.call(GENERATIONS, {
    ...init,
    method: 'POST',
    keyId,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const get = (path: string, headers: Record<string, string> = {}) => image.call(path, { keyId, headers });
const jobAt = async (path: string) => PublicJob.parse(await (await get(path)).json());
const list = async (query = '') => PublicJobList.parse(await (await get(`/v1/images/jobs${query}`)).json());
const imagesOf = async (path: string) => ImagesReply.parse(await (await get(`${path}/result`)).json());
const bodyOf = async (reply: Response): Promise<unknown> => reply.json();
const refusal = { status: 400, json: { error: { message: 'No.' } } };
const remove = (path: string) => image.call(path, { method: 'DELETE', keyId });
const later = { prefer: 'respond-async' };

/** Makes a job that is held at the provider until the gate is opened. Resolves to its path. */
async function heldJob(body: unknown = dallE3) {
  const gate = createGate();
  image.simulator.script(GENERATIONS, { gate: gate.opened });
  const reply = await post(body, later);
  await image.simulator.nextRequest();
  return { gate, path: reply.headers.get('location') ?? '' };
}

/** Makes a job and waits for its end. */
async function endedJob(body: unknown = dallE3): Promise<string> {
  const reply = await post(body, later);
  const path = reply.headers.get('location') ?? '';
  await waitFor(async () => (await jobAt(path)).finished_at !== null);
  return path;
}

test('respond-async answers at once with a job, whose result is what waiting would have given', async () => {
  const gate = createGate();
  image.simulator.script(GENERATIONS, { gate: gate.opened });
  const reply = await post(dallE3, later);
  expect(reply.status).toBe(202);
  expect(reply.headers.get('preference-applied')).toBe('respond-async');
  const job = PublicJob.parse(await reply.json());
  const path = `/v1/images/jobs/${job.id}`;
  expect(reply.headers.get('location')).toBe(path);
  expect(reply.headers.get('x-gateway-job')).toBe(job.id);
  expect(job).toMatchObject({
    id: expect.stringMatching(/^job_[0-9a-f]{32}$/),
    object: 'job',
    kind: 'image.generation',
    model: 'dall-e-3',
    created_at: expect.any(Number),
    finished_at: null,
    expires_at: null,
    error: null,
  });
  await image.simulator.nextRequest();
  expect(await jobAt(path)).toMatchObject({ status: 'in_progress', position: null, progress: 0 });
  const early = await get(`${path}/result`);
  expect([early.status, early.headers.get('retry-after')]).toEqual([409, '2']);
  expect(await early.json()).toMatchObject({ error: { code: 'job_not_finished' } });
  gate.open();
  const done = await waitFor(async () => {
    const now = await jobAt(path);
    return now.status === 'completed' && now;
  });
  expect(done.progress).toBe(1);
  // It is stored before the job ends.
  const keptSeconds = (done.expires_at ?? 0) - (done.finished_at ?? 0);
  expect(86_400 - keptSeconds).toBeOneOf([0, 1]);
  const result = await get(`${path}/result`);
  expect([result.status, result.headers.get('content-type')]).toEqual([200, 'application/json']);
  const [made] = ImagesReply.parse(await result.json()).data;
  expect((await fetch(made?.url ?? '')).headers.get('content-type')).toBe('image/png');
  expect(image.simulator.requests).toHaveLength(1);
});

test("a result's URLs are signed again each time it is fetched", async () => {
  const path = await endedJob();
  const urlOf = async () => new URL((await imagesOf(path)).data[0]?.url ?? '');
  const first = await urlOf();
  // The first URLs no longer hold; the result that they were of is still kept.
  image.clock.offsetMs = 62 * MINUTE_MS;
  const second = await urlOf();
  expect(second.pathname).toBe(first.pathname);
  expect((await fetch(second)).status).toBe(200);
  expect((await fetch(first)).status).toBe(403);
});

test('wait=N gives the result if it comes in time, else the job', async () => {
  const inTime = await post(dallE3, { prefer: 'wait=600' });
  expect([inTime.status, inTime.headers.get('preference-applied')]).toEqual([200, 'wait=600']);
  const gate = createGate();
  image.simulator.script(GENERATIONS, { gate: gate.opened });
  const late = await post(dallE3, { prefer: 'respond-async, wait=1' });
  expect([late.status, late.headers.get('preference-applied')]).toEqual([202, 'respond-async, wait=1']);
  gate.open();
  const path = late.headers.get('location');
  await waitFor(async () => (await get(`${path}/result`)).status === 200);
});

test('a failed job has its error in the job, and as its result', async () => {
  image.simulator.script(GENERATIONS, refusal);
  image.simulator.script(GENERATIONS, refusal);
  const path = await endedJob();
  const waited = await post(dallE3);
  const job = await jobAt(path);
  expect(job).toMatchObject({ status: 'failed', progress: 0, error: { message: 'No.' } });
  const result = await get(`${path}/result`);
  const text = await result.text();
  expect([result.status, text]).toEqual([waited.status, await waited.text()]);
  expect({ param: null, ...JSON.parse(text).error }).toEqual(job.error);
  const events = await collectSse(await get(`${path}/events`));
  expect(events.at(-1)?.json).toMatchObject({ error: job.error });
});

test('a job of another key, or none, is a 404 everywhere', async () => {
  const mine = await endedJob();
  for (const path of [mine, '/v1/images/jobs/job_0', `/v1/images/jobs/job_${'0'.repeat(32)}`])
    for (const [method, what] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/result'],
      ['GET', '/events'],
    ] as const) {
      const reply = await image.call(`${path}${what}`, { method, keyId: 'key_of_another' });
      expect(reply.status, `${method} ${path}${what}`).toBe(404);
    }
  const others = await image.call('/v1/images/jobs', { keyId: 'key_of_another' });
  expect(await others.json()).toMatchObject({ data: [], has_more: false });
  expect((await get(mine)).status).toBe(200);
});

test('a result that has expired is a 410, and its job is still known', async () => {
  const path = await endedJob();
  image.clock.offsetMs = 25 * HOUR_MS;
  const expired = await get(`${path}/result`);
  expect([expired.status, await bodyOf(expired)]).toMatchObject([410, { error: { code: 'result_expired' } }]);
  expect((await get(path)).status).toBe(200);
});

test('jobs are listed newest first, by status, page by page, waiting ones too', async () => {
  await post(dallE3);
  image.simulator.script(GENERATIONS, refusal);
  const failed = await endedJob();
  const last = await endedJob();
  const all = await list();
  expect(all).toMatchObject({ object: 'list', has_more: false });
  expect(all.data.map(({ status }) => status)).toEqual(['completed', 'failed', 'completed']);
  const ids = all.data.map(({ id }) => id);
  expect([ids[1], ids[0]]).toEqual([failed, last].map((path) => path.split('/').at(-1)));
  expect(await list('?status=failed')).toMatchObject({
    data: [{ id: ids[1] }],
    has_more: false,
  });
  const first = await list('?limit=2');
  expect(first).toMatchObject({ data: [{ id: ids[0] }, { id: ids[1] }], last_id: ids[1], has_more: true });
  expect(await list(`?limit=2&after=${first.last_id}`)).toMatchObject({
    data: [{ id: ids[2] }],
    has_more: false,
  });
  for (const query of ['status=done', 'limit=0', 'limit=101', 'limit=x', 'after=job_0'])
    expect((await get(`/v1/images/jobs?${query}`)).status, query).toBe(400);
});

test('a running job that is cancelled stops, is charged for what it may have cost, and has no result', async () => {
  const { gate, path } = await heldJob();
  const cancelled = await remove(path);
  expect([cancelled.status, await cancelled.json()]).toMatchObject([200, { status: 'cancelled' }]);
  await waitFor(() => image.jobs.some(({ outcome }) => outcome === 'cancelled'));
  const result = await get(`${path}/result`);
  expect([result.status, await bodyOf(result)]).toMatchObject([409, { error: { code: 'job_cancelled' } }]);
  gate.open();
  expect(await image.accounted(keyId, 1)).toMatchObject([{ outcome: 'cancelled' }]);
  expect(await jobAt(path)).toMatchObject({ status: 'cancelled' });
});

test('a finished job that is deleted loses its result and its images, again and again the same', async () => {
  const path = await endedJob();
  const url = (await imagesOf(path)).data[0]?.url ?? '';
  for (const _ of [1, 2]) expect(await (await remove(path)).json()).toMatchObject({ status: 'completed' });
  expect((await get(`${path}/result`)).status).toBe(410);
  expect((await fetch(url)).status).toBe(404);
  const streamed = await endedJob({ ...gptImage, stream: true, partial_images: 2 });
  const id = streamed.split('/').at(-1) ?? '';
  const filesOf = async () => (await image.assetFiles()).filter((name) => name.startsWith(id));
  expect(await filesOf()).toHaveLength(4);
  await remove(streamed);
  expect(await filesOf()).toEqual([]);
});

test('a failed and a cancelled job stay what they are when they are deleted', async () => {
  image.simulator.script(GENERATIONS, refusal);
  const failed = await endedJob();
  expect(await (await remove(failed)).json()).toMatchObject({ status: 'failed' });
  const { gate, path } = await heldJob();
  await remove(path);
  expect(await (await remove(path)).json()).toMatchObject({ status: 'cancelled' });
  gate.open();
});

test("a job's events show every change, and go on after the last one that was received", async () => {
  const { gate, path } = await heldJob({ ...gptImage, stream: true, partial_images: 2 });
  const stream = await get(`${path}/events`);
  const ids: (string | undefined)[] = [];
  const seen: (string | undefined)[] = [];
  for await (const { id, event, json: data } of readSse(stream)) {
    seen.push(event);
    ids.push(id);
    if (event === 'status') expect(data).toMatchObject({ object: 'job' });
    else
      expect(data).toMatchObject({
        b64_json: expect.stringMatching(/^[\w+/=]{20,}$/),
        size: expect.any(String),
      });
    gate.open();
  }
  const images = [
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ];
  expect(seen).toEqual(['status', ...images, 'status']);
  const eventsAfter = async (id: string | undefined) =>
    (await collectSse(await get(`${path}/events`, { 'last-event-id': id ?? '' }))).map(({ event }) => event);
  expect(await eventsAfter(ids[1])).toEqual([...images.slice(1), 'status']);
  expect(await eventsAfter(ids[3])).toEqual(['status']);
  expect((await get(`${path}/events`, { 'last-event-id': ids[4] ?? '' })).status).toBe(204);
  for (const id of ['x', '0-0.0', '-1', '1.x', '__proto__'])
    expect(await eventsAfter(id)).toEqual([...images, 'status']);
  expect((await imagesOf(path)).data).toMatchObject([{ b64_json: expect.any(String) }]);
});

test("a job's event whose text has line separators is shown whole", async () => {
  const image64 = Buffer.from('GIF89a, more or less').toString('base64');
  const data = [{ b64_json: image64, revised_prompt: 'a cat\u2028in a hat\u2029' }];
  image.simulator.script(GENERATIONS, { json: { created: 7, data } });
  const path = await endedJob({ ...gptImage, stream: true });
  const events = await collectSse(await get(`${path}/events`));
  expect(events.map(({ event }) => event)).toEqual(['image_generation.completed', 'status']);
  expect(events[0]?.json).toMatchObject(data[0] ?? {});
});

test('images that are streamed to their caller are a job with a result, too', async () => {
  const streamed = await post({ ...gptImage, stream: true, partial_images: 1 });
  const id = streamed.headers.get('x-gateway-job');
  const path = `/v1/images/jobs/${id}`;
  const events = await collectSse(streamed);
  const last = events.at(-1)?.json;
  const job = await waitFor(async () => {
    const now = await jobAt(path);
    return now.status === 'completed' && now;
  });
  expect(job).toMatchObject({ id, kind: 'image.generation', model: gptImage.model });
  const result = await imagesOf(path);
  expect(last).toMatchObject({ b64_json: result.data[0]?.b64_json, usage: result.usage });
  expect((await list()).data).toMatchObject([{ id }]);
  const replayed = await collectSse(await get(`${path}/events`));
  expect(replayed.slice(0, -1).map(({ data }) => JSON.parse(data))).toEqual(
    events.map(({ json: data }) => data),
  );
});

test('a stream to a caller can be cancelled by its job', async () => {
  const resume = createGate();
  image.simulator.script(GENERATIONS, { stallAfter: 1, resume: resume.opened });
  const budget = { microUsd: 1e9, period: 'total', allowUnpriced: true } as const;
  const accounts = [{ owner: keyId, limits: {}, budget }];
  const streamed = await post(
    { ...gptImage, stream: true, partial_images: 1 },
    image.headersFor({ keyId, accounts }),
  );
  const path = `/v1/images/jobs/${streamed.headers.get('x-gateway-job')}`;
  const provider = await image.simulator.nextRequest();
  expect(await jobAt(path)).toMatchObject({ status: 'in_progress' });
  expect(await (await remove(path)).json()).toMatchObject({ status: 'cancelled' });
  // What it had reserved is free for its caller's next request.
  expect(await image.meterRedis.hget(redisNames.account(keyId, 'total'), 'reserved')).toBe('0');
  const events = await collectSse(streamed);
  expect(events.map(({ event }) => event)).toEqual(['image_generation.partial_image', 'error']);
  expect(await provider.closed).toBe('aborted');
  resume.open();
  expect(await jobAt(path)).toMatchObject({ status: 'cancelled' });
});
