import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { silence } from './testing/audio-files.ts';
import { startAudio, type TestAudio } from './testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio({
    configuration: (url) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
models:
  tts-1: { kind: speech, price: { perMillionChars: 15 }, routes: [{ channel: one }] }
  tts-2: { kind: speech, routes: [{ channel: one }] }
  whisper-1: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one }] }
contentLog: { rules: [{ models: [tts-1, whisper-1] }] }
`,
  });
  await audio.startWorker();
});
afterAll(() => audio.close());
afterEach(() => audio.reset());

const input = 'Write to ann@example.com';
const speak = (model = 'tts-1', headers: Record<string, string> = {}) =>
  audio.call('/v1/audio/speech', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, input, voice: 'alloy' }),
  });
const requestIdOf = (reply: Response) => String(reply.headers.get('x-request-id'));

test.for([
  ['speech that is streamed', {}],
  ['speech that a worker makes', { 'idempotency-key': 'logged-speech' }],
] as const)('%s is logged with what was to be said and without its sound', async ([, headers]) => {
  const reply = await speak('tts-1', headers);
  await reply.arrayBuffer();
  expect(await audio.logged(requestIdOf(reply))).toMatchObject([
    {
      ...{ endpoint: 'speech', model: 'tts-1', channel: 'one' },
      request: { model: 'tts-1', input: 'Write to [email]', voice: 'alloy' },
      answer: { content_type: 'audio/mpeg' },
    },
  ]);
});

test('a transcript is logged with its form, and its recording by what it is', async () => {
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('prompt', 'of Ann');
  form.append('file', silence(2));
  const reply = await audio.call('/v1/audio/transcriptions', { method: 'POST', body: form });
  const { text } = z.object({ text: z.string() }).parse(await reply.json());
  expect(await audio.logged(requestIdOf(reply))).toMatchObject([
    {
      ...{ endpoint: 'transcriptions', model: 'whisper-1', channel: 'one' },
      request: {
        prompt: 'of Ann',
        response_format: 'json',
        file: { content_type: 'audio/wav', bytes: expect.any(Number) },
      },
      answer: { text },
    },
  ]);
});

test('a caller cannot keep speech out of the log where its rule does not allow it; what no rule names is not in it', async () => {
  const refused = await speak('tts-1', { 'x-gateway-content-log': 'off' });
  const detached = await speak('tts-1', { 'x-gateway-content-log': 'off', prefer: 'respond-async' });
  expect([refused.status, detached.status]).toEqual([403, 403]);
  expect(audio.simulator.requests).toHaveLength(0);
  const other = await speak('tts-2');
  await other.arrayBuffer();
  const logged = await speak();
  await logged.arrayBuffer();
  await audio.logged(requestIdOf(logged));
  expect(await audio.logged(requestIdOf(other), 0)).toEqual([]);
});
