import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { createGate } from '@gateway/simulator/gate';
import { readSse } from '@gateway/testkit/collect-sse';
import { openStandingReader, startFlood, takenAtStandstill } from '@gateway/testkit/start-flood';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startAudio, type TestAudio } from '../testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const SPEECH = { model: 'gpt-4o-mini-tts', input: 'Good morning.', voice: 'alloy' } as const;
const PATH = '/v1/audio/speech';

const post = (body: unknown, init: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(`${audio.url}${PATH}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', ...audio.headersFor(), ...init.headers },
  });

const FORMATS = [
  ['mp3', 'audio/mpeg'],
  ['opus', 'audio/opus'],
  ['aac', 'audio/aac'],
  ['flac', 'audio/flac'],
  ['wav', 'audio/wav'],
  ['pcm', 'audio/pcm'],
] as const;

test.for(FORMATS)('the official client gets %s as the provider made it, as %s', async ([format, type]) => {
  const bytes = randomBytes(50_000);
  audio.simulator.script(PATH, {
    body: bytes,
    cuts: [1, 10_000, 20_000],
    headers: { 'content-type': 'application/octet-stream' },
  });
  const reply = await audio.openai.audio.speech.create({ ...SPEECH, response_format: format });
  expect(reply.headers.get('content-type')).toBe(type);
  expect(reply.headers.get('x-gateway-channel')).toBe('one');
  expect(reply.headers.get('x-request-id')).toMatch(/^req_/);
  expect(Buffer.from(await reply.arrayBuffer()).equals(bytes)).toBe(true);
  expect(await audio.lastLine()).toMatchObject({
    model: 'gpt-4o-mini-tts',
    channel: 'one',
    characters: 13,
    format,
    status: 200,
    error: undefined,
    left: false,
  });
});

test('the provider receives the request byte for byte, with unknown members, under its own key', async () => {
  audio.simulator.script(PATH, { body: 'x' });
  const body =
    '{ "model":"gpt-4o-mini-tts",  "input":"\\u00e9", "voice":{"id":"voice_1"}, "new_thing":[1.0, 2] }';
  await (await post(body)).arrayBuffer();
  const sent = await audio.simulator.nextRequest();
  expect(sent.text()).toBe(body);
  expect(sent.headers.authorization).toBe('Bearer sk-one');
  expect(sent.headers).not.toHaveProperty('x-gateway-identity');
});

test('where the channel has another name for the model, only that member changes', async () => {
  audio.simulator.script(PATH, { body: 'x' });
  const body = { model: 'renamed-tts', input: 'é', voice: 'marin', speed: 1.5, new_thing: { deep: [null] } };
  await (await post(body)).arrayBuffer();
  expect((await audio.simulator.nextRequest()).json()).toEqual({ ...body, model: 'gpt-4o-mini-tts' });
});

test('the first bytes arrive while the provider is still speaking', async () => {
  const gate = createGate();
  audio.simulator.script(PATH, {
    body: 'first,second',
    cuts: [6],
    stallAfter: 1,
    resume: gate.opened,
  });
  const reader = (await post(SPEECH)).body?.getReader();
  const first = await reader?.read();
  expect(Buffer.from(first?.value ?? []).toString()).toBe('first,');
  gate.open();
  const second = await reader?.read();
  expect(Buffer.from(second?.value ?? []).toString()).toBe('second');
  expect((await reader?.read())?.done).toBe(true);
});

test('an answer that breaks off after its first byte is broken off for the caller too, and is a failure', async () => {
  audio.simulator.script(PATH, { body: 'first,second', cuts: [6], cutAfter: 1 });
  const reply = await post(SPEECH);
  expect(reply.status).toBe(200);
  await expect(reply.arrayBuffer()).rejects.toThrow();
  expect(await audio.lastLine()).toMatchObject({ error: 'outcome_unknown', left: false });
});

test('a provider that fails before its first byte is replaced by the next channel', async () => {
  audio.simulator.script(PATH, { status: 500, json: { error: { message: 'no', type: 'server_error' } } });
  audio.simulator.script(PATH, { body: 'spoken' });
  const reply = await post(SPEECH);
  expect(await reply.text()).toBe('spoken');
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
});

test('an error with a page of HTML is not taken for audio, and another channel is asked', async () => {
  audio.simulator.script(PATH, { html: true });
  const answer = await post(SPEECH);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-gateway-channel')).toBe('two');
  expect(answer.headers.get('x-gateway-attempts')?.replaceAll(/;ms=\d+/g, '')).toBe(
    '"one";outcome=failed;status=502, "two";outcome=ok;status=200',
  );
});

test.for([
  ['an empty body', { body: '', headers: { 'content-type': 'audio/mpeg' } }],
  ['JSON', { json: { audio: 'no' } }],
] as const)('%s is not taken for audio, nor for proof that none was made', async ([, reply]) => {
  audio.simulator.script(PATH, reply);
  const answer = await post(SPEECH);
  expect(answer.status).toBe(502);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('x-should-retry')).toBe('false');
  expect(answer.headers.get('x-gateway-attempts')).toMatch(
    /^"one";outcome=outcome-unknown;status=200;ms=\d+$/,
  );
  expect(await answer.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(audio.simulator.requests.length).toBe(1);
});

test('paid work whose connection broke after it was sent is not repeated', async () => {
  audio.simulator.script(PATH, { body: 'spoken', closeBeforeResponse: true });
  const answer = await post(SPEECH);
  expect(answer.status).toBe(502);
  expect(answer.headers.get('x-should-retry')).toBe('false');
  expect(await answer.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(audio.simulator.requests.length).toBe(1);
});

test('a refusal of the provider reaches the official client as its own error class', async () => {
  const error = {
    message: 'Not that text.',
    type: 'invalid_request_error',
    param: 'input',
    code: 'bad_text',
  };
  audio.simulator.script(PATH, { status: 400, json: { error } });
  const refused = await audio.openai.audio.speech.create(SPEECH).catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
  expect(refused).toMatchObject({ status: 400, code: 'bad_text', param: 'input' });
});

test.for([
  ['before the first byte', { slowFirstByteMs: 60_000, body: 'never' }, 0],
  ['after it', { body: 'first,second', cuts: [6], stallAfter: 1 }, 1],
] as const)('a caller who leaves %s stops the provider', async ([, script, chunks]) => {
  audio.simulator.script(PATH, script);
  const leaving = new AbortController();
  const answer = post(SPEECH, { signal: leaving.signal });
  answer.catch(() => undefined);
  const sent = await audio.simulator.nextRequest();
  if (chunks === 1) await (await answer).body?.getReader().read();
  leaving.abort();
  expect(await sent.closed).toBe('aborted');
  expect(await audio.lastLine()).toMatchObject({ left: true, error: undefined });
});

test('a caller who does not read makes the provider wait instead of filling memory', async () => {
  const total = 64 * 1024 * 1024;
  const piece = 256 * 1024;
  audio.simulator.script(PATH, {
    body: Buffer.alloc(total),
    cuts: Array.from({ length: total / piece - 1 }, (_, index) => (index + 1) * piece),
  });
  const serving = once(audio.server, 'request');
  const request = httpRequest(`${audio.url}${PATH}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...audio.headersFor() },
  });
  request.end(JSON.stringify(SPEECH));
  const [reply]: IncomingMessage[] = await once(request, 'response');
  const [, response]: [unknown, ServerResponse] = await serving.then(([first, second]) => [first, second]);
  await waitFor(() => response.writableNeedDrain, { what: 'a full line to the caller' });
  // Time enough for all of it to arrive, were it read from the provider: one turn takes a socket's buffer.
  for (let turn = 0; turn < 3000; turn += 1) await setImmediate();
  expect(response.writableLength).toBeLessThan(4 * 1024 * 1024);

  let received = 0;
  for await (const chunk of reply ?? []) received += chunk.length;
  expect(received).toBe(total);
});

test('events that nobody reads hold up the provider as audio does', async () => {
  const mb = 1024 * 1024;
  const piece = `data: ${JSON.stringify({ type: 'speech.audio.delta', audio: 'A'.repeat(mb) })}\n\n`;
  const tail = 'data: {"type":"speech.audio.done"}\n\n';
  await using flood = await startFlood({ contentType: 'text/event-stream', piece, count: 100, tail });
  audio.useProvider(flood.url);
  const reader = await openStandingReader({
    url: `${audio.url}${PATH}`,
    headers: audio.headersFor(),
    body: { ...SPEECH, stream_format: 'sse' },
  });
  expect(await takenAtStandstill(flood, 32 * mb)).toBeLessThan(32 * mb);
  const { bytes, end } = await reader.readAll();
  expect(bytes).toBe(100 * piece.length + tail.length);
  expect(end.endsWith(tail)).toBe(true);
  audio.useProvider(audio.simulator.url);
});

test('events pass as the provider sent them', async () => {
  const sse =
    'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n' +
    'data: {"type":"speech.audio.done","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}\n\n';
  for (const cuts of ['events', 'bytes'] as const) {
    audio.simulator.script(PATH, { sse, cuts });
    const reply = await post({ ...SPEECH, stream_format: 'sse' });
    expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(await reply.text()).toBe(sse);
  }
});

test.for([
  ['is cut', { cutAfter: 1 }],
  ['ends early', { endAfter: 1 }],
] as const)(
  'an event stream that %s ends with an error event after its last whole event',
  async ([, fault]) => {
    const first = 'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n';
    audio.simulator.script(PATH, { sse: `${first}data: {"type":"speech.audio.delta"}\n\n`, ...fault });
    const events = [];
    for await (const event of readSse(await post({ ...SPEECH, stream_format: 'sse' }))) events.push(event);
    expect(events.map(({ event }) => event)).toEqual([undefined, 'error']);
    expect(events[1]?.json).toMatchObject({ type: 'error', error: { type: 'server_error' } });
    expect(await audio.lastLine()).toMatchObject({ status: 200, left: false });
    expect((await audio.lastLine()).error).toMatch(/upstream_failed|outcome_unknown/);
  },
);

test('an event stream that begins with an error is an HTTP error', async () => {
  const sse = 'event: error\ndata: {"error":{"message":"no","type":"server_error","code":null}}\n\n';
  audio.simulator.script(PATH, { sse });
  audio.simulator.script(PATH, { sse });
  expect((await post({ ...SPEECH, stream_format: 'sse' })).status).toBe(502);
});

test.for(['sse', 'audio'] as const)(
  'speech as events that leave their connection open after the last one is over, wanted as %s',
  async (stream_format) => {
    const sse =
      `data: {"type":"speech.audio.delta","audio":"${Buffer.from('ID3 sound').toString('base64')}"}\n\n` +
      'data: {"type":"speech.audio.done","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}\n\n';
    audio.simulator.script(PATH, { sse: `${sse}: never comes\n\n`, stallAfter: 2 });
    const reply = await post({ ...SPEECH, stream_format });
    expect(reply.status).toBe(200);
    const text = await reply.text();
    expect(text).toBe(stream_format === 'sse' ? sse : 'ID3 sound');
    expect(await audio.lastLine()).toMatchObject({ status: 200, error: undefined });
  },
);
