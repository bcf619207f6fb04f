import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startAudio, type TestAudio } from '../testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const ErrorBody = z.object({ error: z.looseObject({ message: z.string() }) });
const SPEECH = { model: 'tts-1', input: 'Good morning.', voice: 'alloy' };

const post = (body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${audio.url}/v1/audio/speech`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...audio.headersFor(), ...headers },
  });

const without = (name: keyof typeof SPEECH) => ({ ...SPEECH, [name]: undefined });
const VOICES_OF_TTS_1 = "'alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer', 'ash', 'coral', and 'sage'";

const REFUSED: readonly (readonly [
  what: string,
  body: unknown,
  code: string | null,
  param: string | null,
  message: RegExp,
])[] = [
  [
    'no model',
    without('model'),
    'missing_required_parameter',
    'model',
    /^Missing required parameter: 'model'\.$/,
  ],
  [
    'no input',
    without('input'),
    'missing_required_parameter',
    'input',
    /^Missing required parameter: 'input'\.$/,
  ],
  [
    'no voice',
    without('voice'),
    'missing_required_parameter',
    'voice',
    /^Missing required parameter: 'voice'\.$/,
  ],
  ['an empty input', { ...SPEECH, input: '' }, 'string_below_min_length', 'input', /minimum length 1/],
  [
    '4097 characters',
    { ...SPEECH, input: '😀'.repeat(4097) },
    'string_above_max_length',
    'input',
    /maximum length 4096, but got a string with length 4097/,
  ],
  ['an input of another type', { ...SPEECH, input: 1 }, 'invalid_type', 'input', /expected a string/],
  [
    'an unknown format',
    { ...SPEECH, response_format: 'ogg' },
    'invalid_value',
    'response_format',
    /'mp3', 'opus', 'aac', 'flac', 'wav', and 'pcm'/,
  ],
  [
    'an unknown voice',
    { ...SPEECH, voice: 'marin' },
    'invalid_value',
    'voice',
    new RegExp(`^Invalid value: 'marin'. Supported values are: ${VOICES_OF_TTS_1}\\.$`),
  ],
  ['a voice without id', { ...SPEECH, voice: {} }, 'missing_required_parameter', 'voice.id', /voice\.id/],
  ['speed 0.24', { ...SPEECH, speed: 0.24 }, 'decimal_below_min_value', 'speed', />= 0.25, but got 0.24/],
  ['speed 4.01', { ...SPEECH, speed: 4.01 }, 'decimal_above_max_value', 'speed', /<= 4, but got 4.01/],
  ['speed as text', { ...SPEECH, speed: '1' }, 'invalid_type', 'speed', /expected a decimal/],
  [
    '4097 characters of instructions',
    { ...SPEECH, instructions: 'x'.repeat(4097) },
    'string_above_max_length',
    'instructions',
    /4097/,
  ],
  [
    'an unknown stream format',
    { ...SPEECH, stream_format: 'chunks' },
    'invalid_value',
    'stream_format',
    /'audio' and 'sse'/,
  ],
  [
    'a voice that the route does not list',
    { ...SPEECH, model: 'own-voices' },
    'invalid_value',
    'voice',
    /'anna' and 'ben'/,
  ],
  [
    'a model of another kind',
    { ...SPEECH, model: 'whisper-1' },
    'unsupported_model',
    'model',
    /transcription model/,
  ],
  ['a model of text', { ...SPEECH, model: 'chat-model' }, 'unsupported_model', 'model', /text model/],
  ['broken JSON', '{"model":', null, null, /could not parse/],
];

test.for(REFUSED)('%s is refused', async ([, body, code, param, message]) => {
  const answer = await post(body);
  expect(answer.status).toBe(400);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('x-should-retry')).toBe('false');
  const { error } = ErrorBody.parse(await answer.json());
  expect(error).toMatchObject({ type: 'invalid_request_error', code, param });
  expect(error.message).toMatch(message);
  expect(audio.simulator.requests.length).toBe(0);
});

test.for([
  ['4096 characters beyond the basic plane', { ...SPEECH, input: '😀'.repeat(4096) }],
  ['speed 0.25', { ...SPEECH, speed: 0.25 }],
  ['speed 4', { ...SPEECH, speed: 4 }],
  [
    'null for what is optional',
    { ...SPEECH, speed: null, response_format: null, instructions: null, stream_format: null },
  ],
  ['a voice of its newer model', { ...SPEECH, model: 'gpt-4o-mini-tts', voice: 'cedar' }],
  ['a voice of the caller', { ...SPEECH, voice: { id: 'voice_1' } }],
  ['a voice that the route lists', { ...SPEECH, model: 'own-voices', voice: 'anna' }],
  ['a voice beside those of the family', { ...SPEECH, model: 'more-voices', voice: 'anna' }],
  [
    'a classic voice beside those that the route lists',
    { ...SPEECH, model: 'more-voices', voice: 'shimmer' },
  ],
  ['any voice of a model that nobody knows', { ...SPEECH, model: 'kokoro', voice: 'af_heart' }],
] as const)('%s passes', async ([, body]) => {
  audio.simulator.script('/v1/audio/speech', { body: 'spoken' });
  const answer = await post(body);
  expect(await answer.text()).toBe('spoken');
  expect(answer.status).toBe(200);
});

test.for(['tts-1', 'gpt-4o-mini-tts'])('%s takes the six classic voices', async (model) => {
  for (const voice of ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']) {
    audio.simulator.script('/v1/audio/speech', { body: 'spoken' });
    expect((await post({ ...SPEECH, model, voice })).status).toBe(200);
  }
});

test('a model that does not exist, and one outside of the key, look the same', async () => {
  const unknown = await post({ ...SPEECH, model: 'tts-9' });
  const outside = await post(SPEECH, audio.headersFor({ models: ['gpt-*'] }));
  expect([unknown.status, outside.status]).toEqual([404, 404]);
  const texts = [await unknown.text(), await outside.text()];
  expect(texts[0]).toBe(texts[1]?.replace("'tts-1'", "'tts-9'"));
  expect(JSON.parse(texts[0] ?? '')).toMatchObject({ error: { code: 'model_not_found', param: 'model' } });
});

test('a body of another type is refused', async () => {
  const answer = await post('model=tts-1', { 'content-type': 'application/x-www-form-urlencoded' });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { code: 'unsupported_content_type' } });
});
