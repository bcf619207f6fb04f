import { createGate } from '@gateway/simulator/gate';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { audioFile, silence, wavFile } from '../testing/audio-files.ts';
import { startAudio, type TestAudio } from '../testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const PATH = '/v1/audio/transcriptions';
const post = (parts: readonly (readonly [string, string | File])[], init: RequestInit = {}) => {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  return fetch(`${audio.url}${PATH}`, {
    method: 'POST',
    body: form,
    headers: audio.headersFor(),
    ...init,
  });
};
const sentForm = async () => (await audio.simulator.nextRequest()).form();
/** 5 s give 13 words in two segments. */
const WORDS = 'The beach was a popular spot on this hot. Summer day people were.';
const SRT =
  '1\n00:00:00,000 --> 00:00:03,460\nThe beach was a popular spot on this hot.\n\n' +
  '2\n00:00:03,460 --> 00:00:05,000\nSummer day people were.\n\n';
const VTT =
  'WEBVTT\n\n00:00:00.000 --> 00:00:03.460\nThe beach was a popular spot on this hot.\n\n' +
  '00:00:03.460 --> 00:00:05.000\nSummer day people were.\n\n';

test('the official client gets each format of whisper-1', async () => {
  const create = audio.openai.audio.transcriptions;
  const model = 'whisper-1';
  const file = silence(5);
  expect((await create.create({ file, model })).text).toBe(WORDS);
  expect(await create.create({ file, model, response_format: 'json' })).toMatchObject({ text: WORDS });
  expect(await create.create({ file, model, response_format: 'text' })).toBe(`${WORDS}\n`);
  expect(await create.create({ file, model, response_format: 'srt' })).toBe(SRT);
  expect(await create.create({ file, model, response_format: 'vtt' })).toBe(VTT);
  const verbose = await create.create({
    file,
    model,
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  });
  expect(verbose).toMatchObject({ language: 'english', duration: 5, text: WORDS });
  expect(verbose.segments).toHaveLength(2);
  expect(verbose.words).toHaveLength(13);
  await audio.nothingLeft();
});

const AS_THEY_CAME = {
  json: '{ "text" : "\\u00e9", "new_member": 1.0 }\n',
  verbose_json: '{ "text" : "\\u00e9", "new_member": 1.0 }\n',
  text: ' as it\r\ncame é',
  srt: '7\r\n00:00:01,000 --> 00:00:02,000\r\nas it came é',
  vtt: 'WEBVTT - a title\r\n\r\n00:01.000 --> 00:02.000 align:left\r\nas it came é',
} as const;

test.for([
  ['json', 'application/json'],
  ['verbose_json', 'application/json'],
  ['text', 'text/plain; charset=utf-8'],
  ['srt', 'text/plain; charset=utf-8'],
  ['vtt', 'text/plain; charset=utf-8'],
] as const)('a %s body that the provider has passes untouched, as %s', async ([format, type]) => {
  const body = AS_THEY_CAME[format];
  audio.simulator.script(PATH, { body, headers: { 'content-type': 'application/octet-stream' } });
  const answer = await post([
    ['model', 'whisper-1'],
    ['file', silence(1)],
    ['response_format', format],
  ]);
  expect(await answer.text()).toBe(body);
  expect(answer.headers.get('content-type')).toBe(type);
  expect(answer.headers.get('x-gateway-channel')).toBe('one');
  expect(answer.headers.get('x-gateway-job')).toMatch(/^job_/);
  expect(await audio.lastLine()).toMatchObject({
    model: 'whisper-1',
    channel: 'one',
    format,
    audioSeconds: 1,
    jobId: answer.headers.get('x-gateway-job'),
    status: 200,
  });
  await waitFor(() => audio.jobs.length > 0);
  expect(audio.jobs[0]).toMatchObject({ outcome: 'completed', model: 'whisper-1', attempts: 1 });
});

test.for([
  ['srt', SRT],
  ['vtt', VTT],
  ['text', `${WORDS}\n`],
  ['json', JSON.stringify({ text: WORDS, usage: { type: 'duration', seconds: 5 } })],
] as const)(
  '%s is rendered from the segments of a provider that has only verbose_json',
  async ([format, body]) => {
    const answer = await post([
      ['model', 'verbose-only'],
      ['response_format', format],
      ['file', silence(5)],
    ]);
    expect(await answer.text()).toBe(body);
    expect((await sentForm()).get('response_format')).toBe('verbose_json');
  },
);

test('a transcript with speakers becomes subtitles with speakers', async () => {
  const answer = await post([
    ['model', 'gpt-4o-transcribe-diarize'],
    ['response_format', 'srt'],
    ['file', silence(5)],
  ]);
  expect(await answer.text()).toBe(
    '1\n00:00:00,000 --> 00:00:03,460\nA: The beach was a popular spot on this hot.\n\n' +
      '2\n00:00:03,460 --> 00:00:05,000\nB: Summer day people were.\n\n',
  );
});

test.for([
  ['gpt-4o-transcribe', 'srt', "'json' or 'text'"],
  ['gpt-4o-transcribe', 'verbose_json', "'json' or 'text'"],
  ['gpt-transcribe', 'vtt', "'json' or 'text'"],
  ['gpt-4o-transcribe-diarize', 'verbose_json', "'json', 'text', 'srt', 'vtt' or 'diarized_json'"],
  ['own-parakeet', 'srt', "'json' or 'text'"],
] as const)('times are never invented: %s refuses %s', async ([model, format, others]) => {
  const answer = await post([
    ['model', model],
    ['response_format', format],
    ['file', silence(1)],
  ]);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toEqual({
    error: {
      message: `response_format '${format}' is not compatible with model '${model}'. Use ${others} instead.`,
      type: 'invalid_request_error',
      param: 'response_format',
      code: 'unsupported_value',
    },
  });
  expect(audio.simulator.requests.length).toBe(0);
  await audio.nothingLeft();
});

const SEGMENTS = [
  { start: 0, end: 3.46, text: ' The beach was a popular spot on this hot.' },
  { start: 3.46, end: 5, text: ' Summer day people were.' },
];
const TEXT_JSON = JSON.stringify({ text: WORDS });

/** The requested format, what came instead, and what the caller gets. */
const IGNORED: readonly (readonly [wanted: string, came: string, type: string, answer: string])[] = [
  ['srt', JSON.stringify({ text: WORDS, segments: SEGMENTS }), 'application/json', SRT],
  ['vtt', JSON.stringify({ text: WORDS, segments: SEGMENTS }), 'text/plain', VTT],
  ['vtt', JSON.stringify({ segments: SEGMENTS }), 'application/json', VTT],
  ['srt', VTT, 'text/vtt', SRT],
  ['vtt', SRT.replaceAll('\n', '\r\n'), 'application/x-subrip', VTT],
  ['text', TEXT_JSON, 'application/json', `${WORDS}\n`],
  ['text', SRT, 'text/plain', `${WORDS}\n`],
  ['text', JSON.stringify(WORDS), 'application/json', `${WORDS}\n`],
  ['json', `${WORDS}\n`, 'text/plain', TEXT_JSON],
  ['json', `${WORDS}\n`, 'application/json', TEXT_JSON],
  ['json', JSON.stringify(WORDS), 'application/json', TEXT_JSON],
  ['json', SRT, 'text/plain', TEXT_JSON],
  ['json', VTT, 'text/plain', TEXT_JSON],
];

test.for(IGNORED)(
  '%s is requested: a provider that answers %j as %s is called once, and its answer rendered',
  async ([wanted, came, type, expected]) => {
    audio.simulator.script(PATH, { body: came, headers: { 'content-type': type } });
    const answer = await post([
      ['model', 'whisper-1'],
      ['response_format', wanted],
      ['file', silence(5)],
    ]);
    expect([answer.status, await answer.text()]).toEqual([200, expected]);
    const isJson = answer.headers.get('content-type') === 'application/json';
    expect(isJson).toBe(wanted === 'json');
    expect(audio.simulator.requests.length).toBe(1);
  },
);

test.for([
  ['srt', TEXT_JSON, 400, 'unsupported_value'],
  ['vtt', TEXT_JSON, 400, 'unsupported_value'],
  ['srt', WORDS, 400, 'unsupported_value'],
  ['verbose_json', WORDS, 400, 'unsupported_value'],
  ['verbose_json', SRT, 400, 'unsupported_value'],
  ['json', '{"result":"no transcript"}', 502, 'upstream_error'],
  ['srt', '{"text": "cut', 502, 'upstream_error'],
] as const)(
  '%s is requested: a provider that answers %j is called once, and nothing is invented',
  async ([wanted, body, status, code]) => {
    audio.simulator.script(PATH, { body, headers: { 'content-type': 'application/json' } });
    const answer = await post([
      ['model', 'whisper-1'],
      ['response_format', wanted],
      ['file', silence(5)],
    ]);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answer.json()).toMatchObject({ error: { code } });
    expect(audio.simulator.requests.length).toBe(1);
  },
);

test('a stream that nobody requested is answered whole', async () => {
  const sse =
    'data: {"type":"transcript.text.delta","delta":"Good "}\n\n' +
    'data: {"type":"transcript.text.done","text":"Good morning."}\n\n';
  audio.simulator.script(PATH, { sse });
  const answer = await post([
    ['model', 'gpt-4o-transcribe'],
    ['file', silence(1)],
  ]);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(await answer.json()).toEqual({ text: 'Good morning.' });
});

test('the simulator ignores the format on request', async () => {
  const answer = await post([
    ['model', 'whisper-1'],
    ['response_format', 'srt'],
    ['prompt', '[[simulate transcript-format=verbose_json]]'],
    ['file', silence(5)],
  ]);
  expect(await answer.text()).toBe(SRT);
});

test('subtitles of a transcript that came without segments are refused, not made up', async () => {
  audio.simulator.script(PATH, { json: { text: 'No times here.', duration: 5 } });
  const answer = await post([
    ['model', 'verbose-only'],
    ['response_format', 'srt'],
    ['file', silence(5)],
  ]);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    error: { code: 'unsupported_value', param: 'response_format' },
  });
});

test('every part reaches the provider as it came, whatever its position; only model and format are its own', async () => {
  await post([
    ['file', silence(1)],
    ['include[]', 'logprobs'],
    ['prompt', 'Zürich "1"\r\nline'],
    ['unknown_part', ''],
    ['known_speaker_names[]', 'ann'],
    ['known_speaker_names[]', 'ben'],
    ['language', ''],
    ['chunking_strategy[type]', 'server_vad'],
    ['languages[]', 'zh-Hant-TW'],
    ['temperature', '0.20'],
    ['model', 'verbose-only'],
  ]);
  const form = await sentForm();
  expect([...form.entries()].filter(([name]) => name !== 'file')).toEqual([
    ['model', 'whisper-1'],
    ['response_format', 'verbose_json'],
    ['include[]', 'logprobs'],
    ['prompt', 'Zürich "1"\r\nline'],
    ['unknown_part', ''],
    ['known_speaker_names[]', 'ann'],
    ['known_speaker_names[]', 'ben'],
    ['chunking_strategy[type]', 'server_vad'],
    ['languages[]', 'zh-Hant-TW'],
    ['temperature', '0.20'],
  ]);
});

test.for([
  ['tone.wav', 'tone.wav', 'audio/wav'],
  ['tone.mp3', 'tone.mp3', 'audio/mpeg'],
  ['tone.mpga', 'tone.mpga', 'audio/mpeg'],
  ['tone.mpeg', 'tone.mpeg', 'video/mpeg'],
  ['tone.mp4', 'tone.mp4', 'audio/mp4'],
  ['tone.m4a', 'tone.m4a', 'audio/mp4'],
  ['tone.flac', 'tone.flac', 'audio/flac'],
  ['tone.ogg', 'tone.ogg', 'audio/ogg'],
  ['tone.oga', 'tone.oga', 'audio/ogg'],
  ['tone.webm', 'tone.webm', 'audio/webm'],
] as const)('%s is taken and reaches the provider whole, as %s', async ([fixture, name, type]) => {
  audio.simulator.script(PATH, { json: { text: 'heard' } });
  const file = await audioFile(fixture);
  const answer = await post([
    ['file', file],
    ['model', 'whisper-1'],
  ]);
  expect(await answer.json()).toEqual({ text: 'heard' });
  const sent = (await sentForm()).get('file');
  if (!(sent instanceof File)) throw new Error('no file was sent');
  expect([sent.name, sent.type]).toEqual([name, type]);
  expect(Buffer.from(await sent.arrayBuffer()).equals(Buffer.from(await file.arrayBuffer()))).toBe(true);
});

test.for([
  ['Interview – é.mp3', 'Interview – é.wav'],
  ['blob', 'blob.wav'],
  ['AUDIO.WAV', 'AUDIO.wav'],
])('a WAV file called %s is sent as %s', async ([name, sentName]) => {
  audio.simulator.script(PATH, { json: { text: 'heard' } });
  await post([
    ['file', await audioFile('tone.wav', name)],
    ['model', 'whisper-1'],
  ]);
  expect((await sentForm()).get('file')).toMatchObject({ name: sentName, type: 'audio/wav' });
});

test.for([
  ['tone.oga', 'talk.opus', 'talk.ogg'],
  ['tone.ogg', 'talk.spx', 'talk.ogg'],
  ['tone.webm', 'talk.weba', 'talk.webm'],
  ['tone.m4a', 'talk.m4b', 'talk.m4a'],
  ['tone.wav', 'talk.WAVE', 'talk.wav'],
  ['tone.mp3', 'talk.mp2', 'talk.mp3'],
] as const)('%s under the name %s is known by its content, and sent as %s', async ([fixture, name, sent]) => {
  audio.simulator.script(PATH, { json: { text: 'heard' } });
  const answer = await post([
    ['file', await audioFile(fixture, name)],
    ['model', 'whisper-1'],
  ]);
  expect(answer.status).toBe(200);
  expect((await sentForm()).get('file')).toMatchObject({ name: sent });
});

test('25 MB pass, byte for byte', async () => {
  audio.simulator.script(PATH, { json: { text: 'heard' } });
  const file = wavFile(26_214_400);
  const { text } = await audio.openai.audio.transcriptions.create({ file, model: 'whisper-1' });
  expect(text).toBe('heard');
  const sent = (await sentForm()).get('file');
  if (!(sent instanceof File)) throw new Error('no file was sent');
  expect(Buffer.from(await sent.arrayBuffer()).equals(Buffer.from(await file.arrayBuffer()))).toBe(true);
  await audio.nothingLeft();
});

test('one byte more is a 413 that the official client can read and does not repeat', async () => {
  const refused = await audio.openai.audio.transcriptions
    .create({ file: wavFile(26_214_401), model: 'whisper-1' }, { maxRetries: 2 })
    .catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(OpenAI.APIError);
  expect(refused).toMatchObject({ status: 413, code: 'file_too_large', param: 'file' });
  expect(audio.lines).toHaveLength(1);
  await audio.nothingLeft();
});

test('a far larger upload is refused before it has arrived, readably', async () => {
  const answer = await post([
    ['file', wavFile(60_000_000)],
    ['model', 'whisper-1'],
  ]);
  expect(answer.status).toBe(413);
  expect(answer.headers.get('x-should-retry')).toBe('false');
  expect(await answer.json()).toMatchObject({ error: { code: 'file_too_large', param: 'file' } });
  await audio.nothingLeft();
});

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

test('a transcription whose provider fails is taken to the next channel', async () => {
  audio.simulator.script(PATH, { closeBeforeResponse: true, json: {} });
  const answer = await post([
    ['model', 'whisper-1'],
    ['file', silence(5)],
  ]);
  expect(await answer.json()).toMatchObject({ text: WORDS });
  expect(answer.headers.get('x-gateway-channel')).toBe('two');
});

test.for([
  ['garbage', { garbageAfter: 0 }],
  ['its end', { endAfter: 0 }],
] as const)('a stream that begins with %s is fetched again', async ([, fault]) => {
  audio.simulator.script(PATH, fault);
  const answer = await post([
    ['model', 'gpt-4o-transcribe'],
    ['stream', 'true'],
    ['file', silence(1)],
  ]);
  const events = (await collectSse(answer)).map(({ json }) => json);
  expect(events.at(-1)).toMatchObject({ type: 'transcript.text.done' });
  expect(audio.simulator.requests.length).toBe(2);
});

test('a transcript cut in the middle is fetched again', async () => {
  audio.simulator.script(PATH, { json: { text: 'Good morning.' }, cutAfter: 0 });
  const answer = await post([
    ['model', 'gpt-4o-transcribe'],
    ['file', silence(5)],
  ]);
  expect(await answer.json()).toMatchObject({ text: WORDS });
  expect(audio.simulator.requests.length).toBe(2);
});

test.for([
  ['breaks off', { cutAfter: 1 }],
  ['is empty', { empty: true }],
] as const)('a transcript that %s is the next channel’s', async ([, fault]) => {
  audio.simulator.script(PATH, fault);
  const answer = await post([
    ['model', 'whisper-1'],
    ['file', silence(5)],
  ]);
  expect(await answer.json()).toMatchObject({ text: WORDS });
  expect(answer.headers.get('x-gateway-channel')).toBe('two');
});

test.for([
  ['before its job begins to answer', { slowFirstByteMs: 60_000, json: {} }, 'whisper-1', 'false'],
  [
    'in the middle of a stream',
    { sse: 'data: {"type":"transcript.text.delta","delta":"Good "}\n\ndata: 2\n\n', stallAfter: 1 },
    'gpt-4o-transcribe',
    'true',
  ],
] as const)('a caller who leaves %s cancels it', async ([, script, model, stream]) => {
  audio.simulator.script(PATH, script);
  const leaving = new AbortController();
  const answer = post(
    [
      ['model', model],
      ['stream', stream],
      ['file', silence(1)],
    ],
    { signal: leaving.signal },
  );
  answer.catch(() => undefined);
  const sent = await audio.simulator.nextRequest();
  if (stream === 'true') await (await answer).body?.getReader().read();
  leaving.abort();
  expect(await sent.closed).toBe('aborted');
  // The end of an earlier test's job may be published only now.
  await waitFor(() => audio.jobs.some(({ outcome }) => outcome === 'cancelled'));
  await audio.nothingLeft();
  expect(await audio.lastLine()).toMatchObject({ left: true });
});
