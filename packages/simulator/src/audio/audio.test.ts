import { createHash } from 'node:crypto';
import { parseBuffer } from 'music-metadata';
import OpenAI, { toFile } from 'openai';
import { expect, test } from 'vitest';
import { collect } from '../collect.ts';
import { type Simulator, startSimulator } from '../start-simulator.ts';
import { SPEECH_FORMATS, type SpeechFormat } from './encode-speech.ts';

const clientOf = ({ baseUrl }: Simulator) =>
  new OpenAI({ baseURL: baseUrl, apiKey: 'sk-test', maxRetries: 0 });
const NAMES: SpeechFormat[] = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'];

/** 150 characters: ten seconds. */
const TEN_SECONDS = 'ten chars '.repeat(15);

const speak = async (simulator: Simulator, format: SpeechFormat, input = TEN_SECONDS, speed = 1) => {
  const response = await clientOf(simulator).audio.speech.create({
    model: 'tts-1',
    voice: 'alloy',
    input,
    response_format: format,
    speed,
  });
  return {
    contentType: response.headers.get('content-type'),
    bytes: Buffer.from(await response.arrayBuffer()),
  };
};

const secondsOf = async (format: SpeechFormat, bytes: Buffer): Promise<number> => {
  if (format === 'pcm') return bytes.length / 48_000;
  const metadata = await parseBuffer(
    bytes,
    { mimeType: SPEECH_FORMATS[format].contentType, size: bytes.length },
    { duration: true },
  );
  return metadata.format.duration ?? 0;
};

test.for(NAMES)('%s is labelled as such and lasts as long as its text', async (format) => {
  await using simulator = await startSimulator();
  const { contentType, bytes } = await speak(simulator, format);
  expect(contentType).toBe(SPEECH_FORMATS[format].contentType);
  expect(Math.abs((await secondsOf(format, bytes)) - 10)).toBeLessThan(0.05);
  const half = await speak(simulator, format, TEN_SECONDS, 2);
  expect(Math.abs((await secondsOf(format, half.bytes)) - 5)).toBeLessThan(0.05);
  expect(simulator.ledger()['tts-1']).toMatchObject({ requests: 2, characters: 300, audioSeconds: 15 });
});

// ffmpeg 5.1 decoded exactly these bytes to ten seconds of the tone; the digests hold them still.
test.for([
  ['mp3', '31efc7ad225a169eb417128ef14e16374619847db01104243e3c87580e4f8166'],
  ['opus', '8392744b91348c2345f05ac6a378cdc34aba2ec77a05ce0006520a70f6e7a312'],
  ['aac', 'ce5a0314f6bdf7cd74e6fc4d4567f43376132b26c2d555171b57b26533f5b8ef'],
  ['flac', '84ad25f194e1f0ce4ffebb694473bb9a6d24b893c89b084a4d60f7af08e54e74'],
  ['wav', '5826b610a8d2784687dd6178ec299b5e336192f9a904799693c72403a469b4e8'],
  ['pcm', '619f8599ca1abd5d532bf4d1daeb9965dae45b0f91502152bfbba114dc364fb7'],
] as const)('an independent decoder has played these %s bytes', ([format, digest]) => {
  const hash = createHash('sha256');
  for (const chunk of SPEECH_FORMATS[format].encode(10)) hash.update(chunk);
  expect(hash.digest('hex')).toBe(digest);
});

test('speech as events has the same bytes and its usage', async () => {
  await using simulator = await startSimulator();
  const response = await fetch(`${simulator.baseUrl}/audio/speech`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini-tts',
      voice: 'marin',
      input: TEN_SECONDS,
      stream_format: 'sse',
    }),
  });
  const events = (await response.text())
    .trim()
    .split('\n\n')
    .map((frame): { type: string; audio?: string } => JSON.parse(frame.slice('data: '.length)));
  const audio = Buffer.concat(events.map((event) => Buffer.from(event.audio ?? '', 'base64')));
  expect(audio).toEqual((await speak(simulator, 'mp3')).bytes);
  expect(events.at(-1)).toEqual({
    type: 'speech.audio.done',
    usage: { input_tokens: 38, output_tokens: 200, total_tokens: 238 },
  });
});

test.for([
  [{ voice: 'alloy', input: 'x' }, 'missing_required_parameter', 'model'],
  [{ model: 'tts-1', voice: 'alloy', input: '' }, 'string_below_min_length', 'input'],
  [{ model: 'tts-1', voice: 'alloy', input: 'x'.repeat(4097) }, 'string_above_max_length', 'input'],
  [{ model: 'tts-1', voice: 'marin', input: 'x' }, 'invalid_value', 'voice'],
  [{ model: 'tts-1', voice: 'alloy', input: 'x', speed: 5 }, 'decimal_above_max_value', 'speed'],
  [
    { model: 'tts-1', voice: 'alloy', input: 'x', response_format: 'ogg' },
    'invalid_value',
    'response_format',
  ],
  [
    { model: 'tts-1', voice: 'alloy', input: 'x', stream_format: 'sse' },
    'unsupported_parameter',
    'stream_format',
  ],
] as const)('speech from %j is refused with %s', async ([body, code, param]) => {
  await using simulator = await startSimulator();
  const response = await fetch(`${simulator.baseUrl}/audio/speech`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code, param } });
});

const transcribe = async (
  simulator: Simulator,
  fields: Record<string, string>,
  bytes?: Buffer,
  name = 'speech.wav',
) => {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes ?? (await speak(simulator, 'wav')).bytes)]), name);
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  return fetch(`${simulator.baseUrl}/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body: form,
  });
};

const TEXT =
  'The beach was a popular spot on this hot. Summer day people were swimming in an ocean while. Others read their books under large umbrellas.';

test('the transcript is as long as the sound, in every format of whisper-1', async () => {
  await using simulator = await startSimulator();
  const reply = async (response_format: string) => {
    const response = await transcribe(simulator, { model: 'whisper-1', response_format });
    return { type: response.headers.get('content-type'), body: await response.text() };
  };
  const plain = 'text/plain; charset=utf-8';
  expect(await reply('json')).toEqual({
    type: 'application/json',
    body: JSON.stringify({ text: TEXT, usage: { type: 'duration', seconds: 10 } }),
  });
  expect(await reply('text')).toEqual({ type: plain, body: `${TEXT}\n` });
  expect(await reply('srt')).toEqual({
    type: plain,
    body: '1\n00:00:00,000 --> 00:00:03,600\nThe beach was a popular spot on this hot.\n\n2\n00:00:03,600 --> 00:00:07,200\nSummer day people were swimming in an ocean while.\n\n3\n00:00:07,200 --> 00:00:10,000\nOthers read their books under large umbrellas.\n\n',
  });
  expect((await reply('vtt')).body).toMatch(
    /^WEBVTT\n\n00:00:00\.000 --> 00:00:03\.600\nThe beach was a popular spot on this hot\.\n\n/,
  );
});

test('verbose_json has the requested granularities and all ten segment members', async () => {
  await using simulator = await startSimulator();
  const file = await toFile((await speak(simulator, 'mp3')).bytes, 'speech.mp3');
  const client = clientOf(simulator);
  const segments = await client.audio.transcriptions.create({
    model: 'whisper-1',
    file,
    response_format: 'verbose_json',
    language: 'de',
  });
  expect(segments).toMatchObject({ task: 'transcribe', language: 'german', duration: 10.008 });
  expect(Object.keys(segments.segments?.[0] ?? {})).toHaveLength(10);
  expect(segments.segments?.[0]?.text).toBe(' The beach was a popular spot on this hot.');
  expect(segments.words).toBeUndefined();
  const words = await client.audio.transcriptions.create({
    model: 'whisper-1',
    file,
    response_format: 'verbose_json',
    timestamp_granularities: ['word'],
  });
  expect(words.words?.[1]).toEqual({ word: 'beach', start: 0.4, end: 0.8 });
  expect(words.segments).toBeUndefined();
});

test('the official client streams a transcript, and whisper-1 ignores `stream`', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const file = await toFile((await speak(simulator, 'flac')).bytes, 'speech.flac');
  const stream = await client.audio.transcriptions.create({ model: 'gpt-4o-transcribe', file, stream: true });
  const events = await collect(stream);
  expect(events.map((event) => (event.type === 'transcript.text.delta' ? event.delta : '')).join('')).toBe(
    TEXT,
  );
  expect(events.at(-1)).toMatchObject({
    type: 'transcript.text.done',
    text: TEXT,
    usage: { type: 'tokens' },
  });
  const whole = await transcribe(simulator, { model: 'whisper-1', stream: 'true' });
  expect(whole.headers.get('content-type')).toBe('application/json');
});

test('diarized segments name their speakers', async () => {
  await using simulator = await startSimulator();
  const response = await transcribe(simulator, {
    model: 'gpt-4o-transcribe-diarize',
    response_format: 'diarized_json',
    'known_speaker_names[]': 'agent',
  });
  const body: { segments: { speaker: string }[] } = JSON.parse(await response.text());
  expect(body.segments.map(({ speaker }) => speaker)).toEqual(['agent', 'A', 'agent']);
});

const SILENT_WAV_HEADER = Buffer.concat([
  Buffer.from('RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0'),
  Buffer.from('c05d000080bb000002001000', 'hex'),
  Buffer.from('data\0\0\0\0'),
]);

test.for([
  ['no model', {}, undefined, 'a.wav', 400, 'missing_required_parameter'],
  ['another extension', { model: 'whisper-1' }, undefined, 'a.txt', 400, null],
  ['bytes that are no sound', { model: 'whisper-1' }, Buffer.from('no sound'), 'a.wav', 400, 'invalid_value'],
  ['no sound in it', { model: 'whisper-1' }, SILENT_WAV_HEADER, 'a.wav', 400, 'audio_too_short'],
  ['more than 25 MB', { model: 'whisper-1' }, Buffer.alloc(26_214_401), 'a.wav', 413, null],
  [
    'a format of another model',
    { model: 'gpt-4o-transcribe', response_format: 'srt' },
    undefined,
    'a.wav',
    400,
    'unsupported_value',
  ],
  [
    'an unknown format',
    { model: 'whisper-1', response_format: 'xml' },
    undefined,
    'a.wav',
    400,
    'invalid_value',
  ],
  [
    'words without verbose_json',
    { model: 'whisper-1', 'timestamp_granularities[]': 'word' },
    undefined,
    'a.wav',
    400,
    'invalid_value',
  ],
  [
    'a language that does not exist',
    { model: 'whisper-1', language: 'german!' },
    undefined,
    'a.wav',
    400,
    'invalid_language_format',
  ],
  [
    'a hot temperature',
    { model: 'whisper-1', temperature: '2' },
    undefined,
    'a.wav',
    400,
    'decimal_above_max_value',
  ],
] as const)('a transcription with %s is refused', async ([_name, fields, bytes, name, status, code]) => {
  await using simulator = await startSimulator();
  const response = await transcribe(simulator, fields, bytes, name);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { code } });
});
