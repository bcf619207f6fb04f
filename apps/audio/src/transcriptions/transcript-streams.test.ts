import { createGate } from '@gateway/simulator/gate';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silence } from '../testing/audio-files.ts';
import {
  TRANSCRIPTIONS_PATH as PATH,
  postTranscription,
  startAudio,
  type TestAudio,
} from '../testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const post = (parts: readonly (readonly [string, string | File])[], init?: RequestInit) =>
  postTranscription(audio, parts, init);
/** 5 s give 13 words in two segments. */
const WORDS = 'The beach was a popular spot on this hot. Summer day people were.';
const sentForm = async () => (await audio.simulator.nextRequest()).form();

test.for(['gpt-4o-transcribe', 'any-whisper'])(
  'deltas of %s reach the official client as they come',
  async (model) => {
    const gate = createGate();
    const sse =
      'data: {"type":"transcript.text.delta","delta":"Good "}\n\n' +
      'data: {"type":"transcript.text.delta","delta":"morning."}\n\n' +
      'data: {"type":"transcript.text.done","text":"Good morning.","usage":{"type":"tokens","input_tokens":1,"output_tokens":2,"total_tokens":3}}\n\n';
    audio.simulator.script(PATH, { sse, stallAfter: 1, resume: gate.opened });
    const stream = await audio.openai.audio.transcriptions.create({ file: silence(2), model, stream: true });
    const events = [];
    for await (const event of stream) {
      events.push(event);
      gate.open();
    }
    expect(events.map(({ type }) => type)).toEqual([
      'transcript.text.delta',
      'transcript.text.delta',
      'transcript.text.done',
    ]);
    expect((await sentForm()).get('stream')).toBe('true');
    const jobId = (await audio.lastLine()).jobId;
    const job = await waitFor(() => audio.jobs.find((finished) => finished.jobId === jobId));
    expect(job.output).toMatchObject({
      body: '{"text":"Good morning.","usage":{"type":"tokens","input_tokens":1,"output_tokens":2,"total_tokens":3}}',
      contentType: 'application/json',
      usage: { total_tokens: 3 },
    });
    await audio.nothingLeft();
  },
);

test('events whose server gives their type by their name alone are those of the protocol', async () => {
  const sse =
    'event: transcript.text.delta\ndata: {"delta":"Good morning."}\n\n' +
    'event: transcript.text.done\ndata: {"text":"Good morning."}\n\n';
  audio.simulator.script(PATH, { sse });
  const stream = await audio.openai.audio.transcriptions.create({
    file: silence(2),
    model: 'gpt-4o-transcribe',
    stream: true,
  });
  const events = [];
  for await (const event of stream) events.push(event);
  expect(events).toMatchObject([
    { type: 'transcript.text.delta', delta: 'Good morning.' },
    { type: 'transcript.text.done', text: 'Good morning.' },
  ]);
});

test('the events of a stream pass untouched, however long', async () => {
  const long = '😀'.repeat(50_000);
  const sse = `event: transcript.text.delta\ndata: {"type":"transcript.text.delta","delta":"${long}"}\n\ndata: {"type":"transcript.text.done","text":"${long}"}\n\n`;
  audio.simulator.script(PATH, { sse });
  const answer = await post([
    ['model', 'gpt-4o-transcribe'],
    ['stream', 'true'],
    ['file', silence(1)],
  ]);
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(answer.headers.get('x-gateway-channel')).toBe('one');
  expect(answer.headers.get('x-gateway-job')).toMatch(/^job_/);
  expect(await answer.text()).toBe(sse);
});

test('deltas of a model that does not stream are made of its segments', async () => {
  for (const [model, format] of [
    ['whisper-1', 'json'],
    ['whisper-1', 'text'],
    ['verbose-only', 'json'],
  ] as const) {
    audio.reset();
    const stream = await audio.openai.audio.transcriptions.create({
      file: silence(5),
      model,
      response_format: format,
      stream: true,
    });
    const events: unknown[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toEqual([
      { type: 'transcript.text.delta', delta: 'The beach was a popular spot on this hot.' },
      { type: 'transcript.text.delta', delta: ' Summer day people were.' },
      { type: 'transcript.text.done', text: WORDS },
    ]);
    const form = await sentForm();
    expect(form.has('stream')).toBe(false);
    expect(form.get('response_format')).toBe('verbose_json');
    expect(await audio.lastLine()).toMatchObject({ status: 200, channel: 'one', audioSeconds: 5 });
  }
});

test('a server that ignores the wish for a stream is streamed all the same, with its usage', async () => {
  const usage = { type: 'tokens', input_tokens: 3, output_tokens: 2, total_tokens: 5 };
  audio.simulator.script(PATH, { json: { text: 'Good morning.', usage } });
  const answer = await post([
    ['model', 'any-whisper'],
    ['stream', 'true'],
    ['file', silence(1)],
  ]);
  expect((await collectSse(answer)).map(({ json }) => json)).toEqual([
    { type: 'transcript.text.delta', delta: 'Good morning.' },
    { type: 'transcript.text.done', text: 'Good morning.', usage },
  ]);
  expect((await sentForm()).get('stream')).toBe('true');
});

test('a server of speakers that does not stream gives a delta and a segment for each turn', async () => {
  const segments = [
    { type: 'transcript.text.segment', id: 'seg_1', start: 0, end: 1, text: ' Hi.', speaker: 'A' },
    { type: 'transcript.text.segment', id: 'seg_2', start: 1, end: 2, text: ' Hello.', speaker: 'B' },
  ];
  audio.simulator.script(PATH, { json: { text: 'A: Hi.\nB: Hello.', segments } });
  const answer = await post([
    ['model', 'gpt-4o-transcribe-diarize'],
    ['response_format', 'diarized_json'],
    ['stream', 'true'],
    ['file', silence(1)],
  ]);
  expect((await collectSse(answer)).map(({ json }) => json)).toEqual([
    { type: 'transcript.text.delta', delta: 'A: Hi.', segment_id: 'seg_1' },
    segments[0],
    { type: 'transcript.text.delta', delta: '\nB: Hello.', segment_id: 'seg_2' },
    segments[1],
    { type: 'transcript.text.done', text: 'A: Hi.\nB: Hello.' },
  ]);
});

test.for(['srt', 'vtt', 'verbose_json'])('%s comes whole, also if a stream is requested', async (format) => {
  const answer = await post([
    ['model', 'whisper-1'],
    ['response_format', format],
    ['stream', 'true'],
    ['file', silence(5)],
  ]);
  expect(answer.headers.get('content-type')).not.toContain('event-stream');
  expect((await sentForm()).get('response_format')).toBe(format);
});

test.for([
  ['is cut', { cutAfter: 1 }],
  ['ends early', { endAfter: 1 }],
  [
    'reports an error',
    { sseTail: 'event: error\ndata: {"type":"error","error":{"message":"secret of the provider"}}\n\n' },
  ],
] as const)('a stream that %s ends with an error event', async ([, fault]) => {
  const first = 'data: {"type":"transcript.text.delta","delta":"Good "}\n\n';
  const tail = 'sseTail' in fault ? fault.sseTail : 'data: {"type":"transcript.text.delta","delta":"x"}\n\n';
  audio.simulator.script(PATH, { sse: `${first}${tail}`, ...('sseTail' in fault ? {} : fault) });
  const events = [];
  const answer = await post([
    ['model', 'gpt-4o-transcribe'],
    ['stream', 'true'],
    ['file', silence(1)],
  ]);
  for await (const event of readSse(answer)) events.push(event);
  expect(events.map(({ event }) => event)).toEqual([undefined, 'error']);
  expect(events[1]?.json).toMatchObject({ error: { type: 'server_error', code: 'upstream_error' } });
  expect(events[1]?.data).not.toContain('secret');
  expect(await audio.lastLine()).toMatchObject({ status: 200, error: 'upstream_failed' });
  expect(audio.simulator.requests.length).toBe(1);
  await audio.nothingLeft();
});

const DELTA = 'data: {"type":"transcript.text.delta","delta":"Good morning."}\n\n';
const DONE = 'data: {"type":"transcript.text.done","text":"Good morning."}\n\n';

test.for([
  ['only its last event', DONE],
  ['a mark in the place of its last event', `${DELTA}data: [DONE]\n\n`],
  ['a last event without the text', `${DELTA}data: {"type":"transcript.text.done","usage":"odd"}\n\n`],
  [
    'chunks of chat',
    'data: {"object":"transcription.chunk","choices":[{"delta":{"content":"Good morning."}}]}\n\ndata: [DONE]\n\n',
  ],
] as const)('a stream of %s gives its text as deltas, at its end and as the result', async ([, sse]) => {
  audio.simulator.script(PATH, { sse });
  const answer = await post([
    ['model', 'gpt-4o-transcribe'],
    ['stream', 'true'],
    ['file', silence(1)],
  ]);
  const events = (await collectSse(answer)).map(({ json }) => json);
  expect(events).toContainEqual({ type: 'transcript.text.delta', delta: 'Good morning.' });
  expect(events.at(-1)).toMatchObject({ type: 'transcript.text.done' });
  const jobId = (await audio.lastLine()).jobId;
  const job = await waitFor(() => audio.jobs.find((finished) => finished.jobId === jobId));
  expect(job.output).toMatchObject({ body: expect.stringContaining('Good morning.') });
});

test('a stream that fails before its first event is an HTTP error', async () => {
  audio.simulator.script(PATH, {
    status: 400,
    json: { error: { message: 'Bad.', type: 'invalid_request_error' } },
  });
  const answer = await post([
    ['model', 'gpt-4o-transcribe'],
    ['stream', 'true'],
    ['file', silence(1)],
  ]);
  expect(answer.status).toBe(400);
  expect(answer.headers.get('x-gateway-job')).toMatch(/^job_/);
  expect(await answer.json()).toMatchObject({ error: { message: 'Bad.' } });
  await audio.nothingLeft();
});

test.for([true, false])(
  'a transcript whose events leave their connection open after the last one is over (streamed: %s)',
  async (isStreamed) => {
    const sse =
      'data: {"type":"transcript.text.delta","delta":"Good morning."}\n\n' +
      'data: {"type":"transcript.text.done","text":"Good morning."}\n\n';
    audio.simulator.script(PATH, { sse: `${sse}: never comes\n\n`, stallAfter: 2 });
    const reply = await post([
      ['model', 'gpt-4o-transcribe'],
      ['file', silence(2)],
      ...(isStreamed ? ([['stream', 'true']] as const) : []),
    ]);
    expect(reply.status).toBe(200);
    if (isStreamed)
      expect((await collectSse(reply)).map(({ json }) => Object(json).type)).toContain(
        'transcript.text.done',
      );
    else expect(await reply.json()).toMatchObject({ text: 'Good morning.' });
  },
);
