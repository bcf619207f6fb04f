import { recordedStream } from '@gateway/simulator/recorded-stream';
import type OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { pngFile, wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

let gateway: Gateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text', 'image', 'image-worker', 'audio', 'audio-worker', 'retrieval'],
  });
  openai = gateway.openai;
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const question = { model: 'gpt-5.2', input: 'What is up?' } as const;

test('responses.create gives the whole response', async () => {
  const { data, response, request_id } = await openai.responses.create(question).withResponse();
  expect(data).toMatchObject({
    object: 'response',
    status: 'completed',
    model: 'gpt-5.2',
    output_text: 'You said: What is up?',
    usage: { input_tokens: 3, output_tokens: 6 },
  });
  expect(response.headers.get('x-gateway-channel')).toBe('provider');
  expect(request_id).toMatch(/^req_/);
});

test('a model may have another name at its provider', async () => {
  await openai.responses.create({ ...question, model: 'alias' });
  const sent = await gateway.simulator.nextRequest();
  expect(sent.json()).toEqual({ ...question, model: 'gpt-5.2' });
});

test('responses.create with stream: true gives every event', async () => {
  const types = new Set<string>();
  let text = '';
  for await (const event of await openai.responses.create({ ...question, stream: true })) {
    types.add(event.type);
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  expect(text).toBe('You said: What is up?');
  expect([...types]).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

test.for([
  'responses-text',
  'responses-reasoning-summary-and-text',
  'responses-function-calls-parallel',
  'responses-web-search',
])('responses.stream puts the response together from the stream %s', async (name) => {
  gateway.simulator.script('/v1/responses', { sse: recordedStream(name) });
  const stream = openai.responses.stream({ ...question });
  let events = 0;
  for await (const _event of stream) events += 1;
  const final = await stream.finalResponse();
  expect(final.status).toBe('completed');
  expect(events).toBeGreaterThan(5);
});

test('tools: a call is answered and the model continues', async () => {
  const tools = [
    { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false },
  ] as const;
  const first = await openai.responses.create({
    model: 'gpt-5.2',
    input: 'use tool weather',
    tools: [...tools],
  });
  const call = first.output.find((item) => item.type === 'function_call');
  const second = await openai.responses.create({
    model: 'gpt-5.2',
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sunny' }],
    tools: [...tools],
  });
  expect(second.output_text).toContain('sunny');
});

test('a stored response is read, replayed, its input listed, and deleted', async () => {
  const made = await openai.responses.create(question);
  expect(await openai.responses.retrieve(made.id)).toMatchObject({ id: made.id, status: 'completed' });

  const replayed = openai.responses.stream({ response_id: made.id });
  expect((await replayed.finalResponse()).id).toBe(made.id);

  const items: unknown[] = [];
  for await (const item of openai.responses.inputItems.list(made.id, { limit: 1 })) items.push(item);
  expect(items).toMatchObject([{ type: 'message', role: 'user' }]);

  await openai.responses.delete(made.id);
  await expect(openai.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
});

test('a background response is polled, and cancelled', async () => {
  const started = await openai.responses.create({
    ...question,
    input: '[[simulate background=3600000]] later',
    background: true,
  });
  expect(started.status).toBe('queued');
  expect(await openai.responses.retrieve(started.id)).toMatchObject({ id: started.id, status: 'queued' });
  expect(await openai.responses.cancel(started.id)).toMatchObject({ id: started.id, status: 'cancelled' });
});

test('embeddings.create gives vectors, as numbers and as base64', async () => {
  const order = { model: 'text-embedding-3-small', input: ['one text', 'another'], dimensions: 8 };
  const vectors = await gateway.openai.embeddings.create(order);
  expect(vectors.data.map(({ embedding }) => embedding.length)).toEqual([8, 8]);
  expect(vectors.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
  const numbers = await gateway.openai.embeddings.create({ ...order, encoding_format: 'float' });
  expect(numbers.data).toEqual(vectors.data);
});

test('completions.create goes on with a prompt, whole and streamed', async () => {
  const order = { model: 'gpt-5.2', prompt: 'once upon a time', max_tokens: 20 };
  const { choices, usage } = await gateway.openai.completions.create(order);
  expect(choices[0]?.text).toBe('You said: once upon a time');
  expect(usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 7 });
  const texts: string[] = [];
  for await (const chunk of await gateway.openai.completions.create({ ...order, stream: true }))
    texts.push(chunk.choices[0]?.text ?? '');
  expect(texts.join('')).toBe('You said: once upon a time');
});

test('audio.translations.create gives English text', async () => {
  const { text } = await gateway.openai.audio.translations.create({ model: 'whisper-1', file: wavFile(1) });
  expect(text).not.toBe('');
});

test('moderations.create judges texts, and a text with an image', async () => {
  const texts = await gateway.openai.moderations.create({
    input: ['Good morning', 'I will kill the process'],
  });
  expect(texts.model).toBe('omni-moderation-latest');
  expect(texts.results.map(({ flagged, categories }) => [flagged, categories.violence])).toEqual([
    [false, false],
    [true, true],
  ]);
  const together = await gateway.openai.moderations.create({
    model: 'omni-moderation-latest',
    input: [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ],
  });
  expect(together.results.map((one) => one.category_applied_input_types.violence)).toEqual([
    ['text', 'image'],
  ]);
});

test('images.generate gives URLs of the gateway that need no key', async () => {
  const { data } = await openai.images.generate({ model: 'dall-e-3', prompt: 'a house', size: '1792x1024' });
  const url = data?.[0]?.url ?? '';
  expect(url).toMatch(new RegExp(`^${gateway.url}/v1/images/assets/`));
  const image = await fetch(url);
  expect(image.headers.get('content-type')).toBe('image/png');
  expect(sizeOfPng(await image.bytes())).toEqual([1792, 1024]);
});

test('images.generate gives several, as base64', async () => {
  const { data = [] } = await openai.images.generate({
    model: 'dall-e-2',
    prompt: 'a house',
    n: 2,
    size: '256x256',
    response_format: 'b64_json',
  });
  expect(data.map(({ b64_json }) => sizeOfPng(Buffer.from(b64_json ?? '', 'base64')))).toEqual([
    [256, 256],
    [256, 256],
  ]);
});

test('images.generate with a gpt-image model gives base64 and usage, in the requested format', async () => {
  const reply = await openai.images.generate({
    model: 'gpt-image-1',
    prompt: 'a house',
    quality: 'low',
    output_format: 'webp',
  });
  expect(Buffer.from(reply.data?.[0]?.b64_json ?? '', 'base64').toString('latin1', 0, 4)).toBe('RIFF');
  expect(reply).toMatchObject({ output_format: 'webp', usage: { output_tokens: 272 } });
});

test('images.generate streams partial images and then the whole one', async () => {
  const types: string[] = [];
  const stream = await openai.images.generate({
    model: 'gpt-image-1',
    prompt: 'a house',
    stream: true,
    partial_images: 2,
  });
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual([
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
});

test('images.edit takes one image, several, and a mask', async () => {
  const edit = { model: 'gpt-image-1', prompt: 'more trees' };
  const pictures = [pngFile('one.png'), pngFile('two.png')];
  for (const more of [
    { image: pngFile('one.png') },
    { image: pictures },
    { image: pngFile('one.png'), mask: pngFile('mask.png', { alpha: 0 }) },
  ]) {
    const { data = [] } = await openai.images.edit({ ...edit, ...more });
    expect(data[0]?.b64_json).toMatch(/^iVBORw0KGgo/);
  }
  const sent = await Promise.all(
    gateway.simulator.requests.map(async (request) => {
      const form = await request.form();
      return [...form.keys()].filter((name) => name.startsWith('image') || name === 'mask').sort();
    }),
  );
  expect(sent.map((names) => names.map((name) => name.replace('[]', '')))).toEqual([
    ['image'],
    ['image', 'image'],
    ['image', 'mask'],
  ]);
});

test.for([
  ['mp3', 'audio/mpeg', /^\xff[\xf2\xf3\xfb]/],
  ['opus', 'audio/opus', /^OggS/],
  ['aac', 'audio/aac', /^\xff[\xf0-\xf9]/],
  ['flac', 'audio/flac', /^fLaC/],
  ['wav', 'audio/wav', /^RIFF/],
  ['pcm', 'audio/pcm', /^/],
] as const)('audio.speech gives %s as %s', async ([format, contentType, beginning]) => {
  const response = await openai.audio.speech.create({
    model: 'tts-1',
    voice: 'alloy',
    input: 'Hello to all of you out there.',
    response_format: format,
  });
  expect(response.headers.get('content-type')).toBe(contentType);
  const bytes = await response.bytes();
  expect(Buffer.from(bytes).toString('latin1', 0, 4)).toMatch(beginning);
  expect(bytes.length).toBeGreaterThan(2000);
});

test('audio.transcriptions gives every format', async () => {
  const transcribe = { model: 'whisper-1', file: wavFile(4) };
  const { transcriptions } = openai.audio;
  const { text } = await transcriptions.create(transcribe);
  expect(text.split(' ')).toHaveLength(10);
  expect(await transcriptions.create({ ...transcribe, response_format: 'text' })).toBe(`${text}\n`);
  expect(await transcriptions.create({ ...transcribe, response_format: 'srt' })).toMatch(
    /^1\n00:00:00,000 --> /,
  );
  expect(await transcriptions.create({ ...transcribe, response_format: 'vtt' })).toMatch(/^WEBVTT\n\n00:/);
  const verbose = await transcriptions.create({
    ...transcribe,
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  });
  expect(verbose).toMatchObject({ task: 'transcribe', duration: 4, text });
  expect(verbose.words).toHaveLength(10);
});

test('audio.transcriptions streams what it hears', async () => {
  const stream = await openai.audio.transcriptions.create({
    model: 'gpt-4o-transcribe',
    file: wavFile(4),
    stream: true,
  });
  let heard = '';
  let text = '';
  for await (const event of stream) {
    if (event.type === 'transcript.text.delta') heard += event.delta;
    if (event.type === 'transcript.text.done') text = event.text;
  }
  expect(text.split(' ')).toHaveLength(10);
  expect(heard).toBe(text);
});

/** Width and height from the header chunk. */
function sizeOfPng(bytes: Uint8Array): [number, number] {
  const buffer = Buffer.from(bytes);
  return [buffer.readUInt32BE(16), buffer.readUInt32BE(20)];
}
