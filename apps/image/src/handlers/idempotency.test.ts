import { PublicJob, PublicJobList } from '@gateway/contracts/jobs';
import { createGate } from '@gateway/simulator/gate';
import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fileOf, pngBytes, pngFile } from '../testing/image-files.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

/** One `Idempotency-Key` is one piece of work, on however many replicas its request comes, and however often. */

let image: TestImage;
let otherReplica: string;
let count = 0;
let key: string;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
  otherReplica = await image.startReplica();
});
beforeEach(() => {
  image.reset();
  count += 1;
  key = `key-${count}`;
});
afterAll(() => image.close());

const dallE3 = { model: 'dall-e-3', prompt: 'a cat', response_format: 'b64_json' };
const GENERATIONS = '/v1/images/generations';

interface Options {
  readonly at?: string;
  readonly keyId?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const post = (body: unknown, { at = image.url, keyId = 'key_1', headers, ...init }: Options = {}) =>
  image.call(`${at}${GENERATIONS}`, {
    ...init,
    method: 'POST',
    keyId,
    headers: { 'content-type': 'application/json', 'idempotency-key': key, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const bodyOf = async (reply: Response): Promise<unknown> => reply.json();
const jobOf = (reply: Response) => reply.headers.get('x-gateway-job');

test('the same request again gets the kept result, without a second upstream call or a second charge', async () => {
  const keyId = `key_charged_${count}`;
  const first = await post(dallE3, { keyId });
  const again = await post(dallE3, { keyId });
  expect([first.status, again.status]).toEqual([200, 200]);
  expect(await bodyOf(again)).toEqual(await bodyOf(first));
  expect(jobOf(again)).toBe(jobOf(first));
  expect(image.simulator.requests).toHaveLength(1);
  expect(await image.accounted(keyId, 1)).toHaveLength(1);
  expect(await image.lastLine(2)).toMatchObject({ jobId: jobOf(first), joined: true });
});

test('two replicas that get the same request at the same time have it done once', async () => {
  const gate = createGate();
  image.simulator.script(GENERATIONS, { gate: gate.opened });
  const replying = Promise.all(
    Array.from({ length: 8 }, (_, index) => post(dallE3, index % 2 === 0 ? {} : { at: otherReplica })),
  );
  await image.simulator.nextRequest();
  gate.open();
  const replies = await replying;
  expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(new Set(replies.map(jobOf)).size).toBe(1);
  const bodies = await Promise.all(replies.map((reply) => reply.text()));
  expect(new Set(bodies).size).toBe(1);
  expect(image.simulator.requests).toHaveLength(1);
  await waitFor(() => image.jobs.length === 1);
});

test('JSON of the same content is the same request; any other body is a 422', async () => {
  const first = await post('{"model":"dall-e-3","prompt":"a cat","size":"1024x1024"}');
  const sameContent = await post('{ "size": "1024x1024", "prompt": "a cat", "model": "dall-e-3" }');
  expect([first.status, sameContent.status]).toEqual([200, 200]);
  for (const reply of [
    await post({ model: 'dall-e-3', prompt: 'a dog', size: '1024x1024' }),
    await post('{"model":"dall-e-3","prompt":"a cat","size":"1024x1024"}', {
      headers: { 'x-gateway-strict': 'true' },
    }),
    await image.call('/v1/images/edits', {
      method: 'POST',
      headers: { 'idempotency-key': key },
      body: editForm(),
    }),
  ]) {
    expect(reply.status).toBe(422);
    expect(reply.headers.get('x-should-retry')).toBe('false');
    expect(await bodyOf(reply)).toMatchObject({ error: { code: 'idempotency_key_reused' } });
  }
  expect(image.simulator.requests).toHaveLength(1);
  await image.nothingLeft();
});

const editForm = (file: File = pngFile(), prompt = 'a hat') => {
  const form = new FormData();
  form.append('model', 'gpt-image-1.5');
  form.append('prompt', prompt);
  form.append('image', file);
  return form;
};

test('forms are compared by their parts: another boundary is the same request, another file is not', async () => {
  const edit = (form: FormData) =>
    image.call('/v1/images/edits', { method: 'POST', headers: { 'idempotency-key': key }, body: form });
  const [first, again] = [await edit(editForm()), await edit(editForm())];
  expect(await bodyOf(again)).toEqual(await bodyOf(first));
  expect((await edit(editForm(fileOf(pngBytes({ alpha: 7 }), 'image.png')))).status).toBe(422);
  expect((await edit(editForm(pngFile(), 'a scarf'))).status).toBe(422);
  expect(image.simulator.requests).toHaveLength(1);
  // The files of those that joined are deleted.
  await image.nothingLeft();
});

test('an idempotency key belongs to the key that sent it', async () => {
  await post(dallE3);
  const other = await post({ ...dallE3, prompt: 'a dog' }, { keyId: 'key_2' });
  expect(other.status).toBe(200);
  expect(image.simulator.requests).toHaveLength(2);
});

test('after a failure, a cancellation or a removal the key may be used again', async () => {
  const refusal = { status: 400, json: { error: { message: 'No.' } } };
  image.simulator.script(GENERATIONS, refusal);
  expect((await post(dallE3)).status).toBe(400);
  const made = await post(dallE3);
  expect(made.status).toBe(200);
  const path = `/v1/images/jobs/${jobOf(made)}`;
  await image.call(path, { method: 'DELETE' });
  expect(jobOf(await post(dallE3))).not.toBe(jobOf(made));
  expect(image.simulator.requests).toHaveLength(3);
});

test('a request that was refused before it was queued leaves its key free', async () => {
  const limits = { imagesPerMinute: 1 };
  const limited = { ...dallE3, model: 'dall-e-2', n: 2 };
  const identity = { keyId: 'key_limited', accounts: [{ owner: 'key_limited', limits, budget: null }] };
  const send = (body: unknown) =>
    fetch(`${image.url}${GENERATIONS}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, ...image.headersFor(identity) },
      body: JSON.stringify(body),
    });
  expect((await send(limited)).status).toBe(429);
  expect((await send({ ...dallE3, n: 1 })).status).toBe(200);
});

test('a waiting caller whose connection broke finds its job by its key, and the job goes on', async () => {
  const gate = createGate();
  image.simulator.script(GENERATIONS, { gate: gate.opened });
  const caller = new AbortController();
  const replying = post(dallE3, { signal: caller.signal });
  const provider = await image.simulator.nextRequest();
  caller.abort();
  await expect(replying).rejects.toThrow();
  await image.lastLine();
  const found = await image.call(`/v1/images/jobs?idempotency_key=${key}`);
  const { data } = PublicJobList.parse(await found.json());
  expect(data).toMatchObject([{ status: 'in_progress', kind: 'image.generation' }]);
  gate.open();
  expect(await provider.closed).toBe('complete');
  const again = await post(dallE3, { at: otherReplica });
  expect([again.status, jobOf(again)]).toEqual([200, data[0]?.id]);
  expect(image.simulator.requests).toHaveLength(1);
});

test('a request that joins may prefer the job to the result', async () => {
  const gate = createGate();
  image.simulator.script(GENERATIONS, { gate: gate.opened });
  const waiting = post(dallE3);
  await image.simulator.nextRequest();
  const joined = await post(dallE3, { headers: { prefer: 'respond-async' } });
  expect(joined.status).toBe(202);
  const job = PublicJob.parse(await joined.json());
  gate.open();
  expect(jobOf(await waiting)).toBe(job.id);
});

test('a streamed request again gets the same events, while it runs and after', async () => {
  const gate = createGate();
  const streamed = { model: 'gpt-image-1.5', prompt: 'a cat', stream: true, partial_images: 1 };
  image.simulator.script(GENERATIONS, { stallAfter: 1, resume: gate.opened });
  const first = post(streamed).then(collectSse);
  await image.simulator.nextRequest();
  const joined = post(streamed, { at: otherReplica }).then(collectSse);
  gate.open();
  const events = (await first).map(({ event }) => event);
  expect(events).toEqual(['image_generation.partial_image', 'image_generation.completed']);
  expect(await joined).toEqual(await first);
  expect(await collectSse(await post(streamed))).toEqual(await first);
  expect(image.simulator.requests).toHaveLength(1);
});

test('what is no idempotency key is a 400', async () => {
  for (const wrong of ['', 'x'.repeat(256), 'schlüssel'])
    expect((await post(dallE3, { headers: { 'idempotency-key': wrong } })).status, wrong).toBe(400);
  expect(image.simulator.requests).toHaveLength(0);
});

test('a queued job is cancelled by its caller before anything is begun or charged', async () => {
  const idle = await startImage();
  const send = (headers: Record<string, string>) =>
    idle.call(GENERATIONS, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(dallE3),
    });
  const jobs: PublicJob[] = [];
  for (const _ of [1, 2]) jobs.push(PublicJob.parse(await (await send({ prefer: 'respond-async' })).json()));
  expect(jobs).toMatchObject([
    { status: 'queued', position: 1 },
    { status: 'queued', position: 2 },
  ]);
  const path = `/v1/images/jobs/${jobs[0]?.id}`;
  expect(await bodyOf(await idle.call(path, { method: 'DELETE' }))).toMatchObject({ status: 'cancelled' });
  expect((await idle.call(`${path}/result`)).status).toBe(409);
  expect(await bodyOf(await idle.call(`/v1/images/jobs/${jobs[1]?.id}`))).toMatchObject({ position: 1 });
  expect(await idle.accounted('key_1', 1)).toMatchObject([{ outcome: 'cancelled', costMicroUsd: 0 }]);
  expect(idle.simulator.requests).toHaveLength(0);
  await idle.close();
});
