import { readSse } from '@gateway/testkit/collect-sse';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startImage, type TestImage } from './testing/start-image.ts';

let image: TestImage;
beforeAll(async () => {
  image = await startImage();
  await image.startWorker();
});
beforeEach(() => image.reset());
afterAll(() => image.close());

const _dallE2 = { model: 'dall-e-2', prompt: 'a cat', size: '256x256' } as const;

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
