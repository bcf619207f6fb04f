import { randomBytes } from 'node:crypto';
import { createGate } from '@gateway/simulator/gate';
import { readSse } from '@gateway/testkit/collect-sse';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startAudio, type TestAudio } from '../testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const PATH = '/v1/audio/speech';
const SPEECH = { model: 'tts-1', input: 'Good morning.', voice: 'alloy' } as const;
const post = (body: unknown) =>
  fetch(`${audio.url}${PATH}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...audio.headersFor() },
  });

interface SpeechEvent {
  readonly event: string | undefined;
  readonly json: unknown;
}

async function eventsOf(reply: Response): Promise<SpeechEvent[]> {
  expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events: SpeechEvent[] = [];
  for await (const { event, json } of readSse(reply)) events.push({ event, json });
  return events;
}

const audioOf = (events: readonly SpeechEvent[]): string =>
  events
    .map(({ json }) =>
      typeof json === 'object' && json !== null && 'audio' in json ? String(json.audio) : '',
    )
    .join('');

const delta = (bytes: Uint8Array) =>
  `data: ${JSON.stringify({ type: 'speech.audio.delta', audio: Buffer.from(bytes).toString('base64') })}\n\n`;
const done =
  'data: {"type":"speech.audio.done","usage":{"input_tokens":3,"output_tokens":20,"total_tokens":23}}\n\n';

test('a model without events is requested as raw audio, which comes as events however it is cut', async () => {
  const bytes = randomBytes(10_000);
  for (const cuts of [[1, 2, 5000], [3333, 6667], []]) {
    audio.reset();
    audio.simulator.script(PATH, { body: bytes, cuts, headers: { 'content-type': 'audio/mpeg' } });
    const events = await eventsOf(await post({ ...SPEECH, stream_format: 'sse' }));
    // Texts that are joined before they are decoded give the same audio as those decoded one by one.
    expect(Buffer.from(audioOf(events), 'base64').equals(bytes)).toBe(true);
    expect(events.at(-1)?.json).toEqual({ type: 'speech.audio.done' });
    expect((await audio.simulator.nextRequest()).json()).toEqual(SPEECH);
    expect(await audio.lastLine()).toMatchObject({
      status: 200,
      channel: 'one',
      characters: 13,
      error: undefined,
    });
  }
});

test('the first event comes while the provider is still speaking', async () => {
  const gate = createGate();
  audio.simulator.script(PATH, { body: 'abcdef', cuts: [3], stallAfter: 1, resume: gate.opened });
  const reader = (await post({ ...SPEECH, stream_format: 'sse' })).body?.getReader();
  const first = await reader?.read();
  expect(Buffer.from(first?.value ?? []).toString()).toBe(
    'data: {"type":"speech.audio.delta","audio":"YWJj"}\n\n',
  );
  gate.open();
  while (!(await reader?.read())?.done);
});

test('a provider that ignores the wish for events, or for none, is converted all the same', async () => {
  const bytes = randomBytes(1000);
  audio.simulator.script(PATH, { body: bytes, headers: { 'content-type': 'audio/mpeg' } });
  const events = await eventsOf(await post({ ...SPEECH, model: 'gpt-4o-mini-tts', stream_format: 'sse' }));
  expect(Buffer.from(audioOf(events), 'base64').equals(bytes)).toBe(true);
  audio.simulator.script(PATH, { sse: `${delta(bytes)}${done}` });
  const reply = await post({ ...SPEECH, model: 'kokoro', response_format: 'wav' });
  expect(reply.headers.get('content-type')).toBe('audio/wav');
  expect(Buffer.from(await reply.arrayBuffer()).equals(bytes)).toBe(true);
});

test('of a route that has events only, events are requested; the caller gets raw audio, and pays the tokens that they report', async () => {
  const bytes = randomBytes(5000);
  const pieces = [bytes.subarray(0, 1000), bytes.subarray(1000, 1001), bytes.subarray(1001)];
  for (const cuts of ['events', 'bytes'] as const) {
    audio.reset();
    audio.simulator.script(PATH, { sse: `: hello\n\n${pieces.map(delta).join('')}${done}`, cuts });
    const reply = await post({ ...SPEECH, model: 'events-only' });
    expect(reply.headers.get('content-type')).toBe('audio/mpeg');
    expect(Buffer.from(await reply.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await audio.simulator.nextRequest()).json()).toEqual({
      ...SPEECH,
      model: 'events-only',
      stream_format: 'sse',
    });
    // 20 output tokens at 12 dollars for a million.
    expect(await audio.lastLine()).toMatchObject({ costMicroUsd: 240, error: undefined });
  }
});

test.for([
  ['is cut', { cutAfter: 1 }],
  ['ends early', { endAfter: 1 }],
  ['reports an error', { tail: 'data: {"type":"error","error":{"message":"no"}}\n\n' }],
] as const)('raw audio of an event stream that %s is broken off, and is a failure', async ([, fault]) => {
  const tail = 'tail' in fault ? fault.tail : done;
  audio.simulator.script(PATH, {
    sse: `${delta(randomBytes(30))}${tail}`,
    ...('tail' in fault ? {} : fault),
  });
  const read = post({ ...SPEECH, model: 'events-only' }).then((reply) => reply.arrayBuffer());
  await expect(read).rejects.toThrow();
  expect(await audio.lastLine()).toMatchObject({
    status: 200,
    error: expect.stringMatching(/^(?:upstream_failed|outcome_unknown)$/),
  });
});

test.for([
  ': nothing\n\n',
  'data: {"type":"speech.audio.done","usage":{"input_tokens":3,"output_tokens":20}}\n\n',
  'data: {"type":"speech.audio.delta","audio":null}\n\ndata: {"type":"speech.audio.done"}\n\n',
])('an event stream without any audio is an error before anything is sent: %s', async (sse) => {
  audio.simulator.script(PATH, { sse });
  const reply = await post({ ...SPEECH, model: 'events-only' });
  expect(reply.status).toBe(502);
  expect(reply.headers.get('x-should-retry')).toBe('false');
});

test('events of raw audio that breaks off end with an error event', async () => {
  audio.simulator.script(PATH, { body: 'first,second', cuts: [6], cutAfter: 1 });
  const events = await eventsOf(await post({ ...SPEECH, stream_format: 'sse' }));
  expect(events.map(({ event }) => event)).toEqual([undefined, 'error']);
  expect(await audio.lastLine()).toMatchObject({ status: 200, error: 'outcome_unknown' });
});
