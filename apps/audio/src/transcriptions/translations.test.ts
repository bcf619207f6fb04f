import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silence } from '../testing/audio-files.ts';
import { startAudio, type TestAudio } from '../testing/start-audio.ts';

const CONFIGURATION = (url: string) => `
channels:
  writes: { provider: simulator, baseUrl: "${url}", apiKey: sk-one, speaks: [transcriptions] }
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one, cooldown: off }
  two: { provider: openai-compatible, baseUrl: "${url}/v1", apiKey: sk-two, speaks: [translations] }
models:
  whisper-1: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: writes }, { channel: one, priority: 1 }, { channel: two, priority: 2 }] }
  own-whisper: { kind: transcription, routes: [{ channel: two, model: whisper-large, formats: [verbose_json] }] }
  short-whisper: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one, model: whisper-1, maxAudioSeconds: 4 }] }
  gpt-4o-transcribe: { kind: transcription, routes: [{ channel: one }] }
  writes-only: { kind: transcription, routes: [{ channel: writes }] }
`;

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio({ configuration: CONFIGURATION });
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

const translate = (parts: readonly (readonly [string, string | File])[], headers = audio.headersFor()) => {
  const body = new FormData();
  for (const [name, value] of parts) body.append(name, value);
  return fetch(`${audio.url}/v1/audio/translations`, { method: 'POST', body, headers });
};
const sent = () => audio.simulator.nextRequest();

test('the official client gets a translation from a channel that translates, at the price of a transcript', async () => {
  const keyId = 'key_translates';
  const reply = await translate(
    [
      ['model', 'whisper-1'],
      ['file', silence(5)],
      ['prompt', 'Names: Zoë'],
      ['temperature', '0.2'],
    ],
    audio.headersFor({ keyId }),
  );
  expect(await reply.json()).toMatchObject({ text: expect.stringContaining('The beach') });
  expect(reply.headers.get('x-gateway-channel')).toBe('one');
  const request = await sent();
  expect(request.path).toBe('/v1/audio/translations');
  expect([...(await request.form()).entries()].filter(([name]) => name !== 'file')).toEqual([
    ['model', 'whisper-1'],
    ['response_format', 'json'],
    ['prompt', 'Names: Zoë'],
    ['temperature', '0.2'],
  ]);
  expect((await audio.accounted(keyId, 1))[0]).toMatchObject({
    ...{ endpoint: 'translations', model: 'whisper-1', channel: 'one', outcome: 'ok' },
    ...{ costMicroUsd: 500, consumption: { audioMs: 5000 } },
  });
  const { text } = await audio.openai.audio.translations.create({ model: 'whisper-1', file: silence(1) });
  expect(text).not.toBe('');
});

test.for([
  ['json', 'application/json', /^\{"text":/],
  ['verbose_json', 'application/json', /"task":"translate"/],
  ['text', 'text/plain', /^The beach/],
  ['srt', 'text/plain', /^1\n00:00:00,000 --> /],
  ['vtt', 'text/plain', /^WEBVTT\n/],
] as const)('%s is had, also where the server has another format only', async ([format, type, body]) => {
  for (const model of ['whisper-1', 'own-whisper']) {
    const reply = await translate([
      ['model', model],
      ['file', silence(5)],
      ['response_format', format],
    ]);
    expect(reply.headers.get('content-type')).toMatch(type);
    expect(await reply.text()).toMatch(body);
  }
});

test('another channel translates where one fails', async () => {
  audio.simulator.script({ status: 503, json: { error: { message: 'down', type: 'server_error' } } });
  const reply = await translate([
    ['model', 'whisper-1'],
    ['file', silence(1)],
  ]);
  expect([reply.status, reply.headers.get('x-gateway-channel')]).toEqual([200, 'two']);
});

test('a long recording is translated in parts', async () => {
  const reply = await translate([
    ['model', 'short-whisper'],
    ['file', silence(9)],
  ]);
  expect(reply.status).toBe(200);
  const paths = new Set(audio.simulator.requests.map(({ path }) => path));
  expect([...paths]).toEqual(['/v1/audio/translations']);
  expect(audio.simulator.requests.length).toBeGreaterThan(1);
});

test.for([
  [[['model', 'gpt-4o-transcribe']], 'model', 'unsupported_model'],
  [[['model', 'writes-only']], 'model', 'unsupported_model'],
  [
    [
      ['model', 'whisper-1'],
      ['response_format', 'diarized_json'],
    ],
    'response_format',
    'invalid_value',
  ],
] as const)('%j is refused before a provider is called', async ([parts, param, code]) => {
  const reply = await translate([...parts, ['file', silence(1)]]);
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param, code } }]);
  expect(audio.simulator.requests).toEqual([]);
});
