import { type Account, Account as AccountSchema } from '@gateway/contracts/identity';
import { readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { pngFile } from '../testing/image-files.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

let image: TestImage;
let keyId: string;
let keys = 0;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => {
  image.reset();
  keys += 1;
  keyId = `key_metered_${keys}`;
});
afterAll(() => image.close());

const account = (members: Partial<Account>): Account =>
  AccountSchema.parse({ owner: keyId, limits: {}, budget: null, ...members });
const budget = (microUsd: number, allowUnpriced = false) =>
  account({ budget: { microUsd, period: 'total', allowUnpriced } });

const as = (accounts: readonly Account[] = []) => ({
  headers: { 'content-type': 'application/json', ...image.headersFor({ keyId, accounts: [...accounts] }) },
});
const small = { model: 'dall-e-2', prompt: 'a cat', size: '256x256' } as const;
const SMALL_COST = 16_000;

const generate = (body: object, accounts?: readonly Account[], init: RequestInit = {}) =>
  image.generate(body, { ...as(accounts), ...init });
const errorOf = async (reply: Response) => ({ status: reply.status, body: await reply.json() });
const waitingJobs = () => image.meterRedis.keys('gateway:{jobs}:image:job_*');

test.for([
  [
    'a budget',
    { ...small, n: 3 },
    () => budget(3 * SMALL_COST - 1),
    { status: 429, body: { error: { code: 'insufficient_quota' } } },
  ],
  [
    'images per minute',
    { ...small, n: 3 },
    () => account({ limits: { imagesPerMinute: 2 } }),
    { status: 429, body: { error: { code: 'rate_limit_exceeded' } } },
  ],
  [
    'a budget that must be kept, for a model without price,',
    { model: 'flux-pro', prompt: 'a cat' },
    () => budget(1_000_000_000),
    { status: 403, body: { error: { code: 'unpriced_model', param: 'model' } } },
  ],
  [
    'a budget for the dearest quality, where the model may choose,',
    { model: 'dall-e-3', prompt: 'a cat' },
    () => budget(79_999),
    { status: 429, body: { error: { code: 'insufficient_quota' } } },
  ],
] as const)('%s refuses before anything is queued or requested', async ([, body, limiting, refusal]) => {
  const before = await waitingJobs();
  expect(await errorOf(await generate(body, [limiting()]))).toMatchObject(refusal);
  expect(await errorOf(await generate({ ...body, stream: true }, [limiting()]))).toMatchObject({
    status: expect.toSatisfy((status: number) => status >= 400),
  });
  expect(await waitingJobs()).toEqual(before);
  expect(image.simulator.requests).toHaveLength(0);
});

test('an edit that the budget does not cover leaves neither a job nor a file', async () => {
  const headers = image.headersFor({ keyId, accounts: [budget(19_999)] });
  const parts = [
    ['model', 'dall-e-2'],
    ['prompt', 'a hat'],
    ['image', pngFile()],
  ] as const;
  expect((await image.edit(parts, { headers })).status).toBe(429);
  await image.nothingLeft();
  expect(image.simulator.requests).toHaveLength(0);
});

test('a model without price may be used where the budget allows it, and is counted as unpriced', async () => {
  const reply = await generate({ model: 'flux-pro', prompt: 'a cat', size: '64x64' }, [budget(1, true)]);
  expect(reply.status).toBe(200);
  expect(await image.accounted(keyId, 1)).toMatchObject([{ costMicroUsd: null, consumption: { images: 1 } }]);
});

test('concurrent requests never spend more than the budget, and what was not used is given back', async () => {
  const replies = await Promise.all(
    Array.from({ length: 12 }, () => generate(small, [budget(5 * SMALL_COST)])),
  );
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(5);
  await image.accounted(keyId, 5);
  expect((await generate(small, [budget(6 * SMALL_COST)])).headers.get('x-gateway-budget')).toBe('used=100%');
});

test('a job is put down under its own id, with its cost, on the lines of request and job as well', async () => {
  const reply = await generate({ ...small, n: 2 });
  expect(reply.headers.get('x-gateway-budget')).toBeNull();
  const [record, ...more] = await image.accounted(keyId, 1);
  expect(more).toEqual([]);
  expect(record).toMatchObject({
    id: reply.headers.get('x-gateway-job'),
    endpoint: 'images',
    model: 'dall-e-2',
    channel: 'one',
    outcome: 'ok',
    estimated: false,
    consumption: { images: 2 },
    costMicroUsd: 2 * SMALL_COST,
  });
  await waitFor(() => image.jobs.length === 1 && image.lines.length === 1);
  expect(image.jobs[0]?.usage?.costMicroUsd).toBe(2 * SMALL_COST);
  expect(image.lines[0]).toMatchObject({ costMicroUsd: 2 * SMALL_COST });
});

test('who draws an SVG is reserved and charged beside the image, as the image model', async () => {
  const body = { model: 'gpt-image-2.6', prompt: 'a cat', output_format: 'svg' };
  const b64_json = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');
  const usage = { input_tokens: 10, output_tokens: 200 };
  const svg_usage = { input_tokens: 1000, output_tokens: 3000, total_tokens: 4000 };
  // 32,768 output tokens at 40 $ a million are more than a dollar.
  expect((await generate(body, [budget(1e6)])).status).toBe(429);
  image.simulator.script('/v1/images/generations', {
    json: { created: 1, data: [{ b64_json }], usage, svg_usage },
  });
  expect(await (await generate(body, [budget(1e7)])).json()).toMatchObject({ svg_usage });
  const [record] = await image.accounted(keyId, 1);
  expect(record).toMatchObject({
    consumption: { inputTokens: 1010, outputTokens: 3200 },
    costMicroUsd: 1010 * 5 + 3200 * 40,
  });
});

test('what an upstream refused costs nothing; what it may have done costs what was estimated', async () => {
  await generate({ ...small, prompt: '[[simulate content-policy]]' });
  await generate({ ...small, prompt: '[[simulate garbage]]', n: 2 });
  const records = await image.accounted(keyId, 2);
  expect(records).toMatchObject([
    { outcome: 'failed', costMicroUsd: 0, consumption: { images: 0 }, estimated: false },
    { outcome: 'failed', costMicroUsd: 2 * SMALL_COST, consumption: { images: 2 }, estimated: true },
  ]);
});

test('what an upstream refused is charged by the tokens that it reports', async () => {
  image.simulator.script('/v1/images/generations', {
    json: {
      error: { message: 'No.', type: 'image_generation_user_error' },
      usage: { input_tokens: 1000, output_tokens: 4000 },
    },
  });
  expect((await generate({ model: 'gpt-image-1', prompt: 'a cat' })).status).toBe(400);
  expect(await image.accounted(keyId, 1)).toMatchObject([
    {
      outcome: 'failed',
      consumption: { images: 0, inputTokens: 1000, outputTokens: 4000 },
      estimated: false,
    },
  ]);
});

test('images that were made are charged although they could not be kept', async () => {
  image.simulator.script('/v1/images/generations', {
    json: { created: 1, data: [{ b64_json: Buffer.from('no image').toString('base64') }] },
  });
  expect((await generate(small)).status).toBe(502);
  expect(await image.accounted(keyId, 1)).toMatchObject([
    { outcome: 'failed', costMicroUsd: SMALL_COST, consumption: { images: 1 } },
  ]);
});

test('a caller who leaves in the middle of a job is charged once, as estimated', async () => {
  const never = Promise.withResolvers<void>();
  image.simulator.script('/v1/images/generations', { gate: never.promise });
  const caller = new AbortController();
  const replying = generate({ ...small, n: 2 }, [], { signal: caller.signal }).catch(() => undefined);
  await image.simulator.nextRequest();
  caller.abort();
  await replying;
  expect(await image.accounted(keyId, 1)).toMatchObject([
    { outcome: 'cancelled', estimated: true, costMicroUsd: 2 * SMALL_COST },
  ]);
  never.resolve();
});

const streamed = {
  model: 'gpt-image-1.5',
  prompt: 'a cat',
  stream: true,
  partial_images: 1,
  size: '1024x1024',
};

test('a stream is charged by the images that it completed, with the tokens that their events report', async () => {
  const events: string[] = [];
  for await (const { event } of readSse(await generate({ ...streamed, n: 2, quality: 'low' })))
    events.push(event ?? '');
  expect(events.filter((event) => event.endsWith('.completed'))).toHaveLength(2);
  const [record] = await image.accounted(keyId, 1);
  expect(record).toMatchObject({ outcome: 'ok', consumption: { images: 2, outputTokens: 544 } });
  // Output tokens at 40 $ and input tokens at 5 $ a million.
  expect(record?.costMicroUsd).toBe(544 * 40 + (record?.consumption.inputTokens ?? 0) * 5);
});

test.for([
  ['breaks', { cutAfter: 1 }, 'cut'],
  ['ends too early', { endAfter: 1 }, 'cut'],
  ['reports an error', { errorEventAfter: 1 }, 'cut'],
] as const)('a stream that %s is put down once, as cut', async ([, fault, outcome]) => {
  image.simulator.script('/v1/images/generations', fault);
  await (await generate(streamed)).text();
  const records = await image.accounted(keyId, 1);
  expect(records).toMatchObject([{ outcome, costMicroUsd: 0, consumption: { images: 0 } }]);
});

test('a stream whose caller leaves is put down once, as left; one that is refused, as failed', async () => {
  image.simulator.script('/v1/images/generations', { stallAfter: 1 });
  const caller = new AbortController();
  const reply = await generate(streamed, [], { signal: caller.signal });
  await readSse(reply).next();
  caller.abort();
  expect(await image.accounted(keyId, 1)).toMatchObject([{ outcome: 'left' }]);
  image.reset();
  await generate({ ...streamed, prompt: '[[simulate overloaded]]' });
  const [, refused] = await image.accounted(keyId, 2);
  expect(refused).toMatchObject({ outcome: 'failed', costMicroUsd: 0 });
});

test('after a mixed run the usage records equal what the provider counted', async () => {
  const edit = [
    ['model', 'dall-e-2'],
    ['prompt', 'a hat'],
    ['size', '512x512'],
    ['image', pngFile()],
  ] as const;
  await Promise.all([
    ...Array.from({ length: 6 }, (_, n) => generate({ ...small, n: (n % 3) + 1 })),
    ...['standard', 'hd'].map((quality) => generate({ model: 'dall-e-3', prompt: 'a cat', quality })),
    ...['low', 'medium', 'high'].map((quality) =>
      generate({ model: 'gpt-image-1', prompt: 'a long cat', quality, size: '1536x1024' }),
    ),
    generate({ ...streamed, quality: 'low' }).then((reply) => reply.text()),
    generate({ ...small, prompt: '[[simulate status=500]]' }),
    generate({ ...small, prompt: '[[simulate overloaded times=1 model=dall-e-2]]' }),
    image.edit(edit, { headers: image.headersFor({ keyId }) }),
  ]);
  const records = await image.accounted(keyId, 15);
  expect(records).toHaveLength(15);
  expect(new Set(records.map(({ id }) => id)).size).toBe(15);
  for (const [model, row] of Object.entries(image.simulator.ledger())) {
    const own = records.filter((record) => record.model === model);
    const sum = (name: 'images' | 'inputTokens' | 'outputTokens') =>
      own.reduce((total, { consumption }) => total + consumption[name], 0);
    expect({ model, images: sum('images'), input: sum('inputTokens'), output: sum('outputTokens') }).toEqual({
      model,
      images: row.images,
      input: row.inputTokens,
      output: row.outputTokens,
    });
  }
  const cost = records.reduce((total, { costMicroUsd }) => total + (costMicroUsd ?? 0), 0);
  const tokens = ['gpt-image-1', 'gpt-image-1.5'].map((model) => image.simulator.ledger()[model]);
  const ofTokens = tokens.reduce(
    (total, row) => total + (row?.inputTokens ?? 0) * 5 + (row?.outputTokens ?? 0) * 40,
    0,
  );
  const small256 = 1 + 2 + 3 + 1 + 2 + 3 + 1;
  expect(cost).toBe(small256 * SMALL_COST + 18_000 + 40_000 + 80_000 + ofTokens);
});
