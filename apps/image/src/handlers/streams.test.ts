import { randomUUID } from 'node:crypto';
import type { ScriptedReply } from '@gateway/simulator/script/script-queue';
import { readSse } from '@gateway/testkit/collect-sse';
import { openStandingReader, startFlood } from '@gateway/testkit/start-flood';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { pngBytes } from '../testing/image-files.ts';
import { startImage, type TestImage } from '../testing/start-image.ts';

let image: TestImage;
/** The same where silence is broken soon. */
let keptAlive: TestImage;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
  keptAlive = await startImage({ keepAliveMs: 20 });
  await keptAlive.startWorker();
});
beforeEach(() => {
  image.reset();
  image.useProvider(image.simulator.url);
  keptAlive.reset();
});
afterAll(async () => {
  await image.close();
  await keptAlive.close();
});

test('partial images are streamed as they come, then the whole one', async () => {
  const stream = await image.client.images.generate({
    model: 'gpt-image-1.5',
    prompt: 'a cat',
    stream: true,
    partial_images: 2,
  });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual([
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
  expect(await image.lastLine()).toMatchObject({ images: 1, channel: 'one', model: 'gpt-image-1.5' });
});

test('the first partial image arrives before the upstream has finished', async () => {
  const resume = Promise.withResolvers<void>();
  image.simulator.script('/v1/images/generations', { stallAfter: 1, resume: resume.promise });
  const reply = await image.generate({
    model: 'gpt-image-1.5',
    prompt: 'a cat',
    stream: true,
    partial_images: 1,
  });
  const types: (string | undefined)[] = [];
  for await (const { event } of readSse(reply)) {
    types.push(event);
    resume.resolve();
  }
  expect(types).toEqual(['image_generation.partial_image', 'image_generation.completed']);
});

test('a stream that breaks, or ends too early, ends with an error event and counts as failed', async () => {
  for (const fault of [{ cutAfter: 1 }, { endAfter: 1 }, { errorEventAfter: 1 }]) {
    image.reset();
    image.simulator.script('/v1/images/generations', fault);
    const reply = await image.generate({
      model: 'gpt-image-1.5',
      prompt: 'a cat',
      stream: true,
      partial_images: 2,
    });
    const events: { event: string | undefined; json: unknown }[] = [];
    for await (const { event, json } of readSse(reply)) events.push({ event, json });
    expect(events.map(({ event }) => event)).toEqual(['image_generation.partial_image', 'error']);
    expect(events.at(-1)?.json).toMatchObject({ type: 'error', error: { type: 'server_error' } });
    const line = await image.lastLine();
    expect(line.error).toMatch(/^(?:upstream_failed|outcome_unknown)$/);
  }
});

test('a stream that is refused before it begins is an ordinary error', async () => {
  const reply = await image.generate({
    model: 'gpt-image-1.5',
    prompt: '[[simulate overloaded]]',
    stream: true,
  });
  expect(reply.status).toBe(503);
  expect(reply.headers.get('content-type')).toBe('application/json');
});

const COMMENT = ': keepalive\n\n';

/** The whole stream; its provider begins once the caller has got three comments. */
async function readKeptAlive(headers: Record<string, string>, script: ScriptedReply): Promise<string> {
  const gate = Promise.withResolvers<void>();
  keptAlive.simulator.script({ ...script, gate: gate.promise });
  const reply = await keptAlive.generate(
    { model: 'gpt-image-1.5', prompt: 'a cat', stream: true },
    { headers: { 'content-type': 'application/json', ...keptAlive.headersFor(), ...headers } },
  );
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  let text = '';
  for await (const chunk of reply.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.split(COMMENT).length > 3) gate.resolve();
  }
  return text;
}

const WAYS = [
  ['waited for', () => ({})],
  ['under an idempotency key', () => ({ 'idempotency-key': randomUUID() })],
] as const;

test.for(WAYS)('%s: a caller is kept alive until the first event', async ([, headers]) => {
  const text = await readKeptAlive(headers(), {});
  expect(text).toMatch(/^(?:: keepalive\n\n){3}/);
  expect(text).toMatch(/event: image_generation\.completed\ndata: \{.*\}\n\n/);
  expect(await keptAlive.lastLine()).toMatchObject({ images: 1, channel: 'one' });
});

test.for(WAYS)('%s: a caller who was kept alive gets the error in the stream', async ([, headers]) => {
  const refusal = { message: 'Not this.', type: 'image_generation_user_error', code: 'moderation_blocked' };
  const text = await readKeptAlive(headers(), { status: 400, json: { error: refusal } });
  const { event, data } = /event: (?<event>.*)\ndata: (?<data>.*)\n\n$/.exec(text)?.groups ?? {};
  expect([event, JSON.parse(data ?? '')]).toMatchObject([
    'error',
    { type: 'error', error: { message: 'Not this.', code: 'moderation_blocked' } },
  ]);
  expect((await keptAlive.lastLine()).error).toBeDefined();
});

test('silence between two events is broken', async () => {
  const resume = Promise.withResolvers<void>();
  keptAlive.simulator.script({ stallAfter: 1, resume: resume.promise });
  const body = { model: 'gpt-image-1.5', prompt: 'a cat', stream: true, partial_images: 1 };
  let text = '';
  for await (const chunk of (await keptAlive.generate(body)).body ?? []) {
    text += Buffer.from(chunk).toString();
    if (/partial_image\n.*: keepalive\n\n$/s.test(text)) resume.resolve();
  }
  expect(text).toContain('event: image_generation.completed');
});

test('a caller who leaves a stream ends the request to the upstream', async () => {
  image.simulator.script('/v1/images/generations', { stallAfter: 1 });
  const caller = new AbortController();
  const reply = await image.generate(
    { model: 'gpt-image-1.5', prompt: 'a cat', stream: true, partial_images: 1 },
    { headers: { 'content-type': 'application/json', ...image.headersFor() }, signal: caller.signal },
  );
  await readSse(reply).next();
  caller.abort();
  const sent = await image.simulator.nextRequest();
  expect(await sent.closed).toBe('aborted');
});

const MB = 1024 * 1024;

test('what a caller does not read is stored as files, not in Redis, and arrives when the caller reads', async () => {
  const type = 'image_generation.partial_image';
  const event = { type, b64_json: 'A'.repeat(MB), partial_image_index: 0 };
  const piece = `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  const tail =
    'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"AAAA"}\n\n';
  await using flood = await startFlood({ contentType: 'text/event-stream', piece, count: 100, tail });
  image.useProvider(flood.url);
  const redis = new Redis(image.redis.url);
  onTestFinished(() => redis.disconnect());
  const usedBytes = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const before = await usedBytes();
  const reader = await openStandingReader({
    url: `${image.url}/v1/images/generations`,
    headers: image.headersFor(),
    body: { model: 'gpt-image-1.5', prompt: 'a cat', stream: true, partial_images: 3 },
  });
  // What has been paid for does not wait for its caller.
  await waitFor(() => image.jobs.length === 1);
  expect((await usedBytes()) - before).toBeLessThan(MB);
  const { bytes, end } = await reader.readAll();
  expect(bytes).toBe(100 * piece.length + tail.length);
  expect(end.endsWith(tail)).toBe(true);
});

test('an image whose event has its type by its name alone is delivered', async () => {
  const b64 = pngBytes({ width: 4, height: 4 }).toString('base64');
  image.simulator.script('/v1/images/generations', {
    sse: `event: image_generation.completed\ndata: {"b64_json":"${b64}","usage":{"prompt_tokens":5,"completion_tokens":7}}\n\n`,
  });
  const stream = await image.client.images.generate({
    model: 'gpt-image-1.5',
    prompt: 'a cat',
    stream: true,
  });
  const events = [];
  for await (const event of stream) events.push(event);
  expect(events).toMatchObject([{ type: 'image_generation.completed', b64_json: b64 }]);
});

test('events without an image are passed on, by whatever name', async () => {
  const b64_json = pngBytes().toString('base64');
  const others = `${eventOf('image_generation.in_progress', { progress: 1.5, assetId: 'a-0.png' })}${eventOf('odd', {})}`;
  const sse = `${others}${eventOf('image_generation.completed', { b64_json })}`;
  image.simulator.script('/v1/images/generations', { sse });
  const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', stream: true });
  expect(await reply.text()).toBe(sse);
});

test('the head of a stream names the channel and all that were called', async () => {
  image.simulator.script('/v1/images/generations', { status: 503, json: { error: { message: 'Busy.' } } });
  const reply = await image.generate({
    model: 'gpt-image-1.5',
    prompt: 'a cat',
    stream: true,
  });
  expect(reply.headers.get('x-gateway-channel')).toBe('one');
  expect(reply.headers.get('x-gateway-attempts')).toMatch(/"one";outcome=ok/);
  await reply.text();
  expect(await image.lastLine()).toMatchObject({
    channel: 'one',
    account: 'default',
    firstByteMs: expect.any(Number),
  });
});

test('without Redis a streamed image is refused as every other', async () => {
  const away = await startImage();
  await away.startWorker();
  await away.redis.stop();
  const reply = await waitFor(async () => {
    const answer = await away.generate({ model: 'gpt-image-1.5', prompt: 'a cat', stream: true });
    return answer.status === 503 && answer;
  });
  expect(reply.headers.get('retry-after')).toBe('5');
  await away.close();
});

test('the images of an upstream that answers a streamed request whole become the events of one', async () => {
  const usage = { input_tokens: 7, output_tokens: 300, total_tokens: 307 };
  const data = [{ b64_json: 'AAAA' }, { b64_json: 'BBBB' }];
  image.simulator.script('/v1/images/generations', {
    json: { created: 1_795_000_000, size: '1024x1024', quality: 'low', data, usage },
  });
  const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', n: 2, stream: true });
  const events: unknown[] = [];
  for await (const { json } of readSse(reply)) events.push(json);
  const shape = {
    type: 'image_generation.completed',
    created_at: 1_795_000_000,
    size: '1024x1024',
    quality: 'low',
  };
  expect(events).toEqual([
    { ...shape, b64_json: 'AAAA' },
    { ...shape, b64_json: 'BBBB', usage },
  ]);
  expect(await image.lastLine()).toMatchObject({ images: 2, channel: 'one' });
});

test('an upstream that answers a streamed request without images is an error', async () => {
  image.simulator.script('/v1/images/generations', {
    json: { data: [{ url: 'https://example.com/a.png' }] },
  });
  const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', stream: true });
  expect(reply.status).toBe(502);
});

const GIF = Buffer.concat([Buffer.from('GIF89a, more or less'), Buffer.from('fbefbefffffffb', 'hex')]);
const PLAIN = GIF.toString('base64');
const OTHER = GIF.toString('base64url').replace(/.{8}/g, '$&\n');

test('of the images of a streamed request those that can be had are delivered, and all are charged', async () => {
  const data = [
    { url: '/files/gone' },
    { url: '/files/page' },
    {},
    { b64_json: OTHER, revised_prompt: 'x' },
    { url: '/files/picture' },
    { url: Buffer.concat([GIF, Buffer.alloc(20_000)]).toString('base64') },
  ];
  image.simulator.script('/v1/images/generations', { json: { data } });
  image.simulator.script('/files/gone', { status: 404, json: {} });
  image.simulator.script('/files/gone', { status: 404, json: {} });
  image.simulator.script('/files/gone', { status: 404, json: {} });
  image.simulator.script('/files/page', { body: 'Please sign in.' });
  // A picture that can be fetched only at the second try is not lost.
  image.simulator.script('/files/picture', { status: 500, body: '' });
  image.simulator.script('/files/picture', { body: GIF });
  const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', n: 6, stream: true });
  expect(reply.headers.get('x-gateway-dropped')).toBe('data[0], data[1], data[2]');
  const images: unknown[] = [];
  for await (const { json } of readSse(reply)) images.push(json);
  expect(images).toMatchObject([
    { b64_json: PLAIN, revised_prompt: 'x' },
    { b64_json: PLAIN },
    { b64_json: expect.stringMatching(/^R0lGODlh/) },
  ]);
  expect(await image.lastLine()).toMatchObject({ images: 6 });
});

test.for([
  JSON.stringify(OTHER),
  JSON.stringify(`data:image/gif;base64,${OTHER}`),
  JSON.stringify(PLAIN).replaceAll('/', '\\/'),
  JSON.stringify(PLAIN).replaceAll('+', '\\u002b'),
])('an image event has its image in plain base64, however it came', async (text) => {
  const type = 'image_generation.completed';
  const body = `event: ${type}\ndata: {"type":"${type}","b64_json":${text},"size":"a-b"}\n\n`;
  const headers = { 'content-type': 'text/event-stream' };
  image.simulator.script('/v1/images/generations', { body, headers });
  const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', stream: true });
  expect(await reply.text()).toContain(`"b64_json":"${PLAIN}","size":"a-b"`);
});

const eventOf = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, created_at: 1_795_000_000, ...more })}\n\n`;

test.for(['', 'data: [DONE]\n\n'])(
  'a stream that leaves its connection open after the last image, or after %j, is over',
  async (mark) => {
    const b64_json = pngBytes().toString('base64');
    const sse = `${eventOf('image_generation.completed', { b64_json })}${mark}`;
    const stallAfter = sse.split('\n\n').length - 1;
    image.simulator.script('/v1/images/generations', { sse: `${sse}: never comes\n\n`, stallAfter });
    const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', stream: true });
    const types: (string | undefined)[] = [];
    for await (const { event, data } of readSse(reply)) if (data !== '[DONE]') types.push(event);
    expect(types).toEqual(['image_generation.completed']);
    expect(await image.lastLine()).toMatchObject({ images: 1, error: undefined });
  },
);

test.for([
  'event: image_generation.completed\ndata: {}\n\n',
  'data: {"type":"image_generation.completed","b64_json":""}\n\n',
  'data: {"type":"image_generation.completed","b64_json":5,"url":null}\n\n',
])('an event that completes an image without one completes nothing: %s', async (sse) => {
  for (const stream of [true, false]) {
    image.simulator.script('/v1/images/generations', { sse });
    const reply = await image.generate({ model: 'gpt-image-1.5', prompt: 'a cat', stream });
    expect(reply.status).toBe(502);
    expect(await reply.text()).toContain('before an image was complete');
  }
});

test('images that a provider streams although nobody requested it are delivered, and charged once', async () => {
  const b64_json = pngBytes().toString('base64');
  const sse =
    eventOf('image_generation.partial_image', { b64_json: 'AAAA', partial_image_index: 0 }) +
    eventOf('image_generation.completed', { b64_json, usage: { input_tokens: 5, output_tokens: 7 } });
  image.simulator.script('/v1/images/generations', { sse: `${sse}: never comes\n\n`, stallAfter: 2 });
  const reply = await image.generate({
    model: 'gpt-image-1.5',
    prompt: 'a cat',
    response_format: 'b64_json',
  });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toContain('application/json');
  expect(await reply.json()).toMatchObject({ data: [{ b64_json }] });
  expect(image.simulator.requests).toHaveLength(1);
});
