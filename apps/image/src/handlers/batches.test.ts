import { BatchResultLine } from '@gateway/contracts/batch';
import { PublicJob, PublicJobList } from '@gateway/contracts/jobs';
import { ImagesReply } from '@gateway/contracts/openai/images';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { pngBytes } from '../testing/image-files.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

/** Many requests at once, as lines of JSON under one job. */

let image: TestImage;
let replica: string;
let keys = 0;
let keyId: string;
beforeAll(async () => {
  image = await startImage();
  replica = await image.startReplica();
  await image.startWorker();
});
beforeEach(() => {
  image.reset();
  keys += 1;
  keyId = `key_batch_${keys}`;
});
afterAll(() => image.close());

const GENERATIONS = '/v1/images/generations';
const JOBS = '/v1/images/jobs';
const dallE3 = { model: 'dall-e-3', prompt: 'a cat' };
const refusal = { status: 400, json: { error: { message: 'No.', type: 'x', code: 'moderation_blocked' } } };

const lineOf = (custom_id: string, body: unknown = dallE3, url = GENERATIONS) => ({
  custom_id,
  method: 'POST',
  url,
  body,
});
const textOf = (lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const post = (body: string, headers: Record<string, string> = {}, at = image.url) =>
  fetch(new URL(JOBS, at), {
    method: 'POST',
    headers: { 'content-type': 'application/jsonl', ...image.headersFor({ keyId }), ...headers },
    body,
  });
const get = (path: string) => image.call(path, { keyId });
const jobAt = async (path: string) => PublicJob.parse(await (await get(path)).json());
const ended = (path: string) =>
  waitFor(async () => {
    const job = await jobAt(path);
    return job.finished_at !== null && job;
  });
const resultsOf = async (path: string) => {
  const reply = await get(`${path}/result`);
  expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/jsonl']);
  const lines = (await reply.text()).trimEnd().split('\n');
  return lines.map((line) => BatchResultLine.parse(JSON.parse(line)));
};
const madeBy = async (reply: Response) => {
  expect(reply.status).toBe(202);
  return reply.headers.get('location') ?? '';
};

test('one request makes many jobs under one, whose result has a line for each in their order', async () => {
  image.simulator.script(GENERATIONS, refusal);
  const lines = Array.from({ length: 30 }, (_, n) => lineOf(`cat ${n}`, { ...dallE3, prompt: `cat ${n}` }));
  const reply = await post(textOf(lines));
  const job = PublicJob.parse(await reply.clone().json());
  expect(job).toMatchObject({ kind: 'image.batch', model: 'dall-e-3' });
  const path = await madeBy(reply);
  expect(path).toBe(`${JOBS}/${job.id}`);
  const done = await ended(path);
  expect(done).toMatchObject({
    status: 'completed',
    progress: 1,
    counts: { total: 30, completed: 29, failed: 1 },
  });
  const results = await resultsOf(path);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(lines.map(({ custom_id }) => custom_id));
  const refused = results.filter(({ response }) => response?.status_code === 400);
  expect(refused).toMatchObject([{ error: null, response: { body: { error: { message: 'No.' } } } }]);
  const made = results.filter(({ response }) => response?.status_code === 200);
  expect(made).toHaveLength(29);
  const [picture] = ImagesReply.parse(made[0]?.response?.body).data;
  expect((await fetch(picture?.url ?? '')).headers.get('content-type')).toBe('image/png');
  expect(image.simulator.requests).toHaveLength(30);
  const records = await image.accounted(keyId, 30);
  expect(records.filter(({ outcome }) => outcome === 'ok')).toHaveLength(29);
  await image.nothingLeft();
});

test('lines that begin with the mark of UTF-8 are as good as those without', async () => {
  const path = await madeBy(await post(`\ufeff${textOf([lineOf('one'), lineOf('two')])}`));
  expect(await ended(path)).toMatchObject({ status: 'completed', counts: { total: 2, completed: 2 } });
  expect((await resultsOf(path)).map(({ custom_id }) => custom_id)).toEqual(['one', 'two']);
});

test('a line may edit an image that it names, and one that names none that can be had fails alone', async () => {
  const edit = (image_url: string) => ({ model: 'gpt-image-1.5', prompt: 'a hat', images: [{ image_url }] });
  const lines = [
    lineOf('data', edit(`data:image/png;base64,${pngBytes().toString('base64')}`), '/v1/images/edits'),
    lineOf('private', edit('http://127.0.0.1:1/a.png'), '/v1/images/edits'),
  ];
  const path = await madeBy(await post(textOf(lines)));
  expect(await ended(path)).toMatchObject({ counts: { total: 2, completed: 1, failed: 1 } });
  const [edited, refused] = await resultsOf(path);
  expect(ImagesReply.parse(edited?.response?.body).data[0]?.b64_json).toMatch(/^iVBOR/);
  expect(refused?.response?.status_code).toBe(400);
  expect(image.simulator.requests).toHaveLength(1);
  await image.nothingLeft();
});

test('the list shows the batch and not its lines, each of which is found by its own id', async () => {
  const path = await madeBy(await post(textOf([lineOf('one'), lineOf('two')])));
  await ended(path);
  const { data } = PublicJobList.parse(await (await get(JOBS)).json());
  expect(data.map(({ kind }) => kind)).toEqual(['image.batch']);
  const [first] = await resultsOf(path);
  expect(await jobAt(`${JOBS}/${first?.id}`)).toMatchObject({
    kind: 'image.generation',
    status: 'completed',
  });
});

const wrong: readonly (readonly [what: string, lines: readonly unknown[], param: string, message: string])[] =
  [
    [
      'a body that its endpoint refuses',
      [lineOf('a'), lineOf('b', { ...dallE3, size: '7x7' })],
      'line 2.body.size',
      'Line 2: Invalid value',
    ],
    ['no model', [lineOf('a', { prompt: 'a cat' })], 'line 1.body.model', 'Line 1: Missing'],
    [
      'an unknown model',
      [lineOf('a', { ...dallE3, model: 'nobody' })],
      'line 1.body.model',
      'Line 1: The model',
    ],
    [
      'another endpoint',
      [lineOf('a', dallE3, '/v1/responses')],
      'line 1.url',
      "may name '/v1/images/generations'",
    ],
    [
      'a repeated custom_id',
      [lineOf('a'), lineOf('b'), lineOf('a')],
      'line 3.custom_id',
      'Line 3: An earlier line',
    ],
    [
      'a streamed one',
      [lineOf('a', { model: 'gpt-image-1.5', prompt: 'a', stream: true })],
      'line 1.body.stream',
      'cannot be streamed',
    ],
    ['no JSON', ['text', lineOf('a')], 'line 1', 'Line 1'],
  ];
test.each(wrong)(
  'a line with %s is refused by its number, and nothing is begun',
  async (_what, lines, param, message) => {
    const reply = await post(textOf(lines));
    expect(reply.status).toBeGreaterThanOrEqual(400);
    const { error } = (await reply.json()) as { error: { message: string; param: string } };
    expect(error.param).toBe(param);
    expect(error.message).toContain(message);
    expect(await image.uploaded()).toEqual([]);
    expect(image.simulator.requests).toEqual([]);
  },
);

test('too many lines, too long a line and no line at all are refused', async () => {
  const many = textOf(Array.from({ length: 10_001 }, (_, n) => lineOf(`${n}`)));
  expect((await post(many)).status).toBe(400);
  const long = textOf([lineOf('a', { ...dallE3, user: 'x'.repeat(1_048_576) })]);
  expect((await post(long)).status).toBe(413);
  expect((await post('\n\n')).status).toBe(400);
  expect((await post('{}', { 'content-type': 'multipart/form-data' })).status).toBe(400);
  expect(await image.uploaded()).toEqual([]);
});

test('a cancelled batch begins no more lines, and those that were done are fetched', async () => {
  const gate = createGate();
  image.simulator.script(GENERATIONS, {});
  for (let n = 0; n < 4; n += 1) image.simulator.script(GENERATIONS, { gate: gate.opened });
  const lines = Array.from({ length: 40 }, (_, n) => lineOf(`cat ${n}`));
  const path = await madeBy(await post(textOf(lines)));
  await waitFor(
    async () => (await jobAt(path)).counts?.completed === 1 && image.simulator.requests.length === 5,
  );
  const cancelled = await image.call(path, { method: 'DELETE', keyId });
  expect(cancelled.status).toBe(200);
  expect((await ended(path)).status).toBe('cancelled');
  gate.open();
  const results = await waitFor(async () => {
    const all = await resultsOf(path);
    return all.every(({ error }) => error?.code !== 'job_not_finished') && all;
  });
  expect(results).toHaveLength(40);
  expect(results.filter(({ response }) => response?.status_code === 200)).toHaveLength(5);
  expect(results.filter(({ error }) => error?.code === 'job_cancelled')).toHaveLength(35);
  expect(image.simulator.requests).toHaveLength(5);
  await image.nothingLeft();
});

test('the lines of a batch wait after ordinary jobs', async () => {
  const gate = createGate();
  for (let n = 0; n < 4; n += 1) image.simulator.script(GENERATIONS, { gate: gate.opened });
  const path = await madeBy(await post(textOf(Array.from({ length: 10 }, (_, n) => lineOf(`cat ${n}`)))));
  await waitFor(() => image.simulator.requests.length === 4);
  const single = await image.call(GENERATIONS, {
    method: 'POST',
    keyId,
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({ ...dallE3, prompt: 'at once' }),
  });
  expect(single.status).toBe(202);
  gate.open();
  await ended(path);
  const prompts = image.simulator.requests.map(({ body }) => body.toString()).slice(4, 8);
  expect(prompts.some((prompt) => prompt.includes('at once'))).toBe(true);
});

test('a line that the budget does not cover fails with that, and the others are done', async () => {
  const budget = { microUsd: 100_000, period: 'total', allowUnpriced: false } as const;
  image.identities.set(keyId, { accounts: [{ owner: keyId, limits: {}, budget }] });
  const path = await madeBy(
    await post(
      textOf(Array.from({ length: 5 }, (_, n) => lineOf(`cat ${n}`, { ...dallE3, quality: 'standard' }))),
    ),
  );
  expect(await ended(path)).toMatchObject({ status: 'completed', counts: { completed: 2, failed: 3 } });
  const results = await resultsOf(path);
  expect(results.filter(({ response }) => response?.status_code === 429)).toHaveLength(3);
  expect(results.find(({ response }) => response?.status_code === 429)?.response?.body).toMatchObject({
    error: { code: 'insufficient_quota' },
  });
  expect(image.simulator.requests).toHaveLength(2);
});

test('a limit on rates makes lines wait and not fail', async () => {
  const limits = { imagesPerMinute: 20 };
  image.identities.set(keyId, { accounts: [{ owner: keyId, limits, budget: null }] });
  const path = await madeBy(await post(textOf(Array.from({ length: 21 }, (_, n) => lineOf(`cat ${n}`)))));
  expect(await ended(path)).toMatchObject({ counts: { total: 21, completed: 21, failed: 0 } });
});

test('the lines of a key that has been revoked are not begun', async () => {
  image.identities.set(keyId, null);
  const path = await madeBy(await post(textOf([lineOf('one')])));
  expect(await ended(path)).toMatchObject({ counts: { completed: 0, failed: 1 } });
  expect(await resultsOf(path)).toMatchObject([{ response: { status_code: 401 } }]);
  expect(image.simulator.requests).toEqual([]);
});

test('the same batch under one idempotency key, at two replicas, is done once', async () => {
  const body = textOf([lineOf('one'), lineOf('two')]);
  const headers = { 'idempotency-key': 'a batch' };
  const replies = await Promise.all([post(body, headers), post(body, headers, replica), post(body, headers)]);
  const paths = await Promise.all(replies.map(madeBy));
  expect(new Set(paths).size).toBe(1);
  await ended(paths[0] ?? '');
  expect(image.simulator.requests).toHaveLength(2);
  expect((await post(textOf([lineOf('other')]), headers)).status).toBe(422);
  await image.nothingLeft();
});

test('a removed batch has no result any more', async () => {
  const path = await madeBy(await post(textOf([lineOf('one')])));
  await ended(path);
  await image.call(path, { method: 'DELETE', keyId });
  expect((await get(`${path}/result`)).status).toBe(410);
});

test('a finished line takes some hundred bytes in Redis', async () => {
  const path = await madeBy(await post(textOf(Array.from({ length: 20 }, (_, n) => lineOf(`cat ${n}`)))));
  await ended(path);
  const results = await resultsOf(path);
  const redis = image.meterRedis;
  const kept = await redis.keys('gateway:{jobs}:*');
  const ofLines = kept.filter((key) => results.some(({ id }) => key.includes(id)));
  const bytes = await Promise.all(ofLines.map(async (key) => Number(await redis.memory('USAGE', key))));
  expect(bytes.reduce((sum, one) => sum + one, 0) / 20).toBeLessThan(1000);
});
