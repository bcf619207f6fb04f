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
