import { waitFor } from '@gateway/testkit/wait-for';
import { APIError } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { imageTypeOf } from '../files/image-header.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

let image: TestImage;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => image.reset());
afterAll(() => image.close());

const dallE2 = { model: 'dall-e-2', prompt: 'a cat', size: '256x256' } as const;

test("url is what a DALL·E caller gets: the gateway's own, which anybody may fetch", async () => {
  const reply = await image.client.images.generate({ ...dallE2, n: 2 });
  expect(reply.data).toHaveLength(2);
  for (const { url } of reply.data ?? []) {
    expect(url).toContain(`${image.url}/v1/images/assets/job_`);
    const asset = await fetch(String(url));
    expect(asset.headers.get('content-type')).toBe('image/png');
    expect(asset.headers.get('x-content-type-options')).toBe('nosniff');
    expect(imageTypeOf(new Uint8Array(await asset.arrayBuffer()))).toBe('image/png');
  }
  expect(reply).not.toHaveProperty('usage');
});

test('b64_json is what a GPT Image caller gets, with everything the upstream reported', async () => {
  const reply = await image.client.images.generate({ model: 'gpt-image-1.5', prompt: 'a cat', n: 2 });
  expect(reply).toMatchObject({
    output_format: 'png',
    background: 'opaque',
    size: '1024x1024',
    usage: { output_tokens: expect.any(Number), input_tokens_details: { text_tokens: expect.any(Number) } },
  });
  for (const { b64_json } of reply.data ?? [])
    expect(imageTypeOf(Buffer.from(String(b64_json), 'base64'))).toBe('image/png');
  const sent = await image.simulator.nextRequest();
  expect(sent.json()).toEqual({ model: 'gpt-image-1.5', prompt: 'a cat', n: 2 });
});

test('a base64 reply and a hosted file hold the same bytes', async () => {
  const [inline, hosted] = await Promise.all([
    image.client.images.generate({ model: 'gpt-image-1.5', prompt: 'the same', response_format: 'b64_json' }),
    image.client.images.generate({ model: 'gpt-image-1.5', prompt: 'the same', response_format: 'url' }),
  ]);
  const file = await fetch(String(hosted.data?.[0]?.url));
  expect(Buffer.from(await file.arrayBuffer()).toString('base64')).toBe(inline.data?.[0]?.b64_json);
});

test("an upstream's own URL is fetched and hosted again", async () => {
  image.simulator.script('/v1/images/generations', {
    json: { created: 7, data: [{ url: `${image.simulator.url}/files/picture` }] },
  });
  image.simulator.script('/files/picture', {
    body: Buffer.from('GIF89a, more or less'),
    headers: { 'content-type': 'image/png' },
  });
  const reply = await image.client.images.generate({ ...dallE2, response_format: 'b64_json' });
  expect(reply).toMatchObject({
    created: 7,
    data: [{ b64_json: Buffer.from('GIF89a, more or less').toString('base64') }],
  });
});

test.for([-1, 1e300, 'yesterday', ['at noon']])(
  'an image is not lost where its provider says that it was made at %s',
  async (created) => {
    const data = [{ url: `${image.simulator.url}/files/picture` }];
    image.simulator.script('/v1/images/generations', { json: { created, data } });
    image.simulator.script('/files/picture', {
      body: Buffer.from('GIF89a, more or less'),
      headers: { 'content-type': 'image/png' },
    });
    const reply = await image.client.images.generate(dallE2);
    expect(reply.created).toBeGreaterThan(1_700_000_000);
  },
);

const GIF = Buffer.from('GIF89a, more or less');
const AVIF = Buffer.from('\0\0\0\x1cftypavif\0\0\0\0mif1miaf', 'latin1');
const inBase64 = (bytes: Buffer) => bytes.toString('base64');

const lines = (text: string) => text.replace(/.{8}/g, '$&\r\n');
/** Base64 of it has both of the characters that the two alphabets write differently, and padding. */
const ODD_GIF = Buffer.concat([GIF, Buffer.from('fbefbefffffffb', 'hex')]);

test.for<[title: string, entry: unknown, type?: string]>([
  [
    'base64 in lines, in the other alphabet, without padding',
    { b64_json: lines(ODD_GIF.toString('base64url')) },
  ],
  [
    'a data URL with parameters and lines',
    { url: `data:image/png;charset=utf-8; base64,${lines(inBase64(GIF))}` },
  ],
  ['a URL in image_url', { image_url: 'ORIGIN/files/picture' }],
  ['an object in image_url', { image_url: { url: 'ORIGIN/files/picture', detail: 'auto' } }],
  ['a text in the place of an entry', inBase64(GIF)],
  ['a URL in the place of an entry', 'ORIGIN/files/picture'],
  ['an address that leads to another one', { url: '/files/moved' }],
  ['a data URL in b64_json', { b64_json: `data:image/gif;base64,${inBase64(GIF)}` }],
  ['a data URL in url', { url: `data:image/gif;base64,${inBase64(GIF)}` }],
  ['base64 in url', { url: inBase64(Buffer.concat([GIF, Buffer.alloc(20_000)])) }],
  ['a URL in b64_json', { b64_json: 'ORIGIN/files/picture' }],
  ["a path on the channel's origin", { url: '/files/picture' }],
  ['an AVIF', { b64_json: inBase64(AVIF) }, 'image/avif'],
])('an image is delivered that its provider names by %s', async ([, entry, type = 'image/gif']) => {
  const text = JSON.stringify({ data: [entry] }).replace('ORIGIN', image.simulator.url);
  image.simulator.script('/v1/images/generations', { body: text });
  image.simulator.script('/files/moved', { status: 302, headers: { location: '/files/picture' }, body: '' });
  image.simulator.script('/files/picture', {
    body: GIF,
    headers: { 'content-type': 'application/octet-stream' },
  });
  const reply = await image.client.images.generate(dallE2);
  const asset = await fetch(reply.data?.[0]?.url ?? '');
  expect(asset.headers.get('content-type')).toBe(type);
  const bytes = Buffer.from(await asset.arrayBuffer());
  expect(bytes.subarray(0, 20)).toEqual((type === 'image/avif' ? AVIF : GIF).subarray(0, 20));
});

test.for<[title: string, members: Record<string, unknown>]>([
  ['images of texts', { images: [inBase64(GIF)] }],
  ['images of objects', { images: [{ url: '/files/picture', seed: 7 }] }],
  ['the same in both', { images: [{ url: '/files/picture' }], data: [{ url: '/files/picture' }] }],
  ['images, and data of nothing', { data: [], images: [{ url: '/files/picture' }] }],
])('an image is delivered that its provider lists in %s', async ([, members]) => {
  image.simulator.script('/v1/images/generations', { json: { ...members, id: 'own' } });
  image.simulator.script('/files/picture', { body: GIF });
  const reply = await image.generate({ ...dallE2, response_format: 'b64_json' });
  expect(reply.headers.get('x-gateway-dropped')).toBeNull();
  const { created: _, ...made } = z.looseObject({ created: z.number() }).parse(await reply.json());
  const seed = JSON.stringify(members).includes('seed') ? { seed: 7 } : {};
  expect(made).toEqual({ id: 'own', data: [{ ...seed, b64_json: inBase64(GIF) }] });
  expect(image.simulator.requests.length).toBeLessThanOrEqual(2);
});

test.for([false, true])('a reply that is the image itself is delivered, streamed: %s', async (stream) => {
  const headers = { 'content-type': 'image/png' };
  image.simulator.script('/v1/images/generations', { body: ODD_GIF, headers });
  const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', stream });
  expect(await reply.text()).toContain(`"b64_json":"${inBase64(ODD_GIF)}"`);
});

test('of several images the good ones are delivered, and what is no image is named', async () => {
  const data = [{ b64_json: inBase64(GIF) }, { b64_json: 'AAAA' }, {}, { b64_json: inBase64(AVIF) }];
  image.simulator.script('/v1/images/generations', { json: { data } });
  const reply = await image.generate({ ...dallE2, n: 4, response_format: 'b64_json' });
  expect(reply.headers.get('x-gateway-dropped')).toBe('data[1], data[2]');
  expect(await reply.json()).toMatchObject({ data: [data[0], data[3]] });
});

test('a private address that is not the channel is not fetched', async () => {
  image.simulator.script('/v1/images/generations', {
    json: { created: 7, data: [{ url: 'http://169.254.169.254/latest/meta-data' }] },
  });
  const reply = await image.generate(dallE2);
  expect(reply.status).toBe(502);
  expect(reply.headers.get('x-should-retry')).toBe('false');
  expect(await reply.text()).not.toContain('169.254');
  expect(image.simulator.requests).toHaveLength(1);
});

test('a picture that can be fetched only at the second try is not made twice', async () => {
  image.simulator.script('/v1/images/generations', {
    json: { data: [{ url: `${image.simulator.url}/files/picture` }] },
  });
  image.simulator.script('/files/picture', { status: 500, body: '' });
  image.simulator.script('/files/picture', { body: Buffer.from('GIF89a') });
  const reply = await image.generate(dallE2);
  expect(reply.status).toBe(200);
  expect(image.simulator.requests.map(({ path }) => path)).toEqual([
    '/v1/images/generations',
    '/files/picture',
    '/files/picture',
  ]);
});

test('revised_prompt and members unknown to the gateway come through, and members of the caller go through', async () => {
  image.simulator.script('/v1/images/generations', {
    json: {
      data: [
        {
          b64_json: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64'),
          revised_prompt: 'A "cat"',
          seed: 1,
        },
      ],
      cost: 2,
    },
  });
  const reply = await image.generate({
    model: 'dall-e-3',
    prompt: 'cat',
    size: '1024x1024',
    brand_new: [1],
    user: null,
  });
  expect(await reply.json()).toMatchObject({
    cost: 2,
    data: [{ revised_prompt: 'A "cat"', seed: 1, url: expect.any(String) }],
  });
  const sent = await image.simulator.nextRequest();
  expect(sent.json()).toEqual({
    model: 'dall-e-3',
    prompt: 'cat',
    size: '1024x1024',
    brand_new: [1],
    user: null,
    response_format: 'b64_json',
  });
});

test('the reply names the job, the channel and the request; the log line has what an operator needs', async () => {
  const { response } = await image.client.images.generate(dallE2).withResponse();
  expect(response.headers.get('x-gateway-job')).toMatch(/^job_[0-9a-f]{32}$/);
  expect(response.headers.get('x-gateway-channel')).toBe('one');
  expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  expect(await image.lastLine()).toMatchObject({
    model: 'dall-e-2',
    size: '256x256',
    channel: 'one',
    images: 1,
    attempts: 1,
    jobId: response.headers.get('x-gateway-job'),
    status: 200,
  });
});

test('a name of one family over an upstream of another keeps its contract, and what is lost is reported', async () => {
  const body = { model: 'old-name', prompt: 'a cat', quality: 'hd', style: 'vivid', size: '1024x1024' };
  const reply = await image.generate(body);
  expect(await reply.json()).toMatchObject({
    data: [{ url: expect.stringContaining('/v1/images/assets/') }],
  });
  expect(reply.headers.get('x-gateway-dropped')).toBe('style');
  const sent = await image.simulator.nextRequest();
  expect(sent.json()).toEqual({ model: 'gpt-image-2', prompt: 'a cat', quality: 'high', size: '1024x1024' });
  const strict = await image.generate(body, {
    headers: { 'content-type': 'application/json', ...image.headersFor(), 'x-gateway-strict': 'true' },
  });
  expect(strict.status).toBe(400);
  expect(await strict.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'style' } });
});

test('a deployment of a family under a name of its own is called by that name, with the family’s words', async () => {
  await image.client.images.generate({
    model: 'my-deployment',
    prompt: 'a cat',
    quality: 'hd',
    style: 'natural',
  });
  const sent = await image.simulator.nextRequest();
  expect(sent.json()).toMatchObject({
    model: 'painter',
    quality: 'hd',
    style: 'natural',
    response_format: 'b64_json',
  });
});

test("the upstream's refusal comes through with its own code", async () => {
  const error = await image.client.images
    .generate({ ...dallE2, prompt: '[[simulate content-policy]]' })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ status: 400, code: 'content_policy_violation' });
  expect(error).toBeInstanceOf(APIError);
});

test('an upstream that is overloaded is passed over for the next channel', async () => {
  image.simulator.script('/v1/images/generations', { status: 503 });
  const { response } = await image.client.images.generate(dallE2).withResponse();
  expect(response.headers.get('x-gateway-channel')).toBe('two');
});

test('a connection that broke after the request was sent is not repeated', async () => {
  image.simulator.script('/v1/images/generations', { closeBeforeResponse: true });
  const reply = await image.generate(dallE2);
  expect(reply.status).toBe(502);
  expect(reply.headers.get('x-should-retry')).toBe('false');
  expect(await reply.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(image.simulator.requests).toHaveLength(1);
});

test('a success that holds no images is a failure that nobody repeats', async () => {
  for (const reply of [
    { garbageAfter: 0 },
    { json: { data: [] } },
    { json: { data: [{ b64_json: 'AAAA' }] } },
    { json: { data: [{}] } },
  ]) {
    image.simulator.reset();
    image.simulator.script('/v1/images/generations', reply);
    const answer = await image.generate(dallE2);
    expect(answer.status).toBe(502);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(image.simulator.requests).toHaveLength(1);
  }
});

test('a caller who leaves ends the running job and the request to the upstream', async () => {
  const gate = Promise.withResolvers<void>();
  image.simulator.script('/v1/images/generations', { gate: gate.promise });
  const caller = new AbortController();
  const replying = image.generate(dallE2, {
    headers: { 'content-type': 'application/json', ...image.headersFor() },
    signal: caller.signal,
  });
  const sent = await image.simulator.nextRequest();
  caller.abort();
  await expect(replying).rejects.toThrow();
  expect(await sent.closed).toBe('aborted');
  await waitFor(() => image.jobs.some(({ outcome }) => outcome === 'cancelled'));
  expect(await image.lastLine()).toMatchObject({ left: true });
});

test('a model that the key may not use does not exist; one of another kind is refused with the reason', async () => {
  const scoped = {
    headers: { 'content-type': 'application/json', ...image.headersFor({ models: ['gpt-*'] }) },
  };
  const hidden = await image.generate(dallE2, scoped);
  expect(hidden.status).toBe(404);
  expect(await hidden.json()).toMatchObject({ error: { code: 'model_not_found', param: 'model' } });
  const missing = await image.generate({ ...dallE2, model: 'no-such-model' });
  expect(missing.status).toBe(404);
  const text = await image.generate({ ...dallE2, model: 'chat-model' });
  expect(text.status).toBe(400);
  expect(await text.json()).toMatchObject({ error: { code: 'unsupported_model' } });
});

test("what only the channel's key opens on its own origin is fetched with that key", async () => {
  const url = `${image.simulator.url}/files/picture`;
  image.simulator.script('/v1/images/generations', { json: { data: [{ url }] } });
  image.simulator.script('/files/picture', { status: 401, json: {} });
  image.simulator.script('/files/picture', { body: GIF });
  expect((await image.generate(dallE2)).status).toBe(200);
  const [, first, second] = image.simulator.requests;
  expect([first?.headers.authorization, second?.headers.authorization]).toEqual([undefined, 'Bearer sk-one']);
});
