import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { audioFile, silence, wavFile } from '../testing/audio-files.ts';
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
  ['recording.webm;codecs=opus', 'recording.wav'],
  ['a.wav?x=1', 'a.wav'],
  ['=?UTF-8?B?w5xiZXIgdW5zLm1wMw==?=', 'Über uns.wav'],
  ['voice.tmp', 'voice.wav'],
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
