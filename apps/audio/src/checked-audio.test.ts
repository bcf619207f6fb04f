import { BLOCKED, type HookServer, intervened, startHookServer } from '@gateway/testkit/start-hook-server';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { silence } from './testing/audio-files.ts';
import { startAudio, type TestAudio } from './testing/start-audio.ts';

let hook: HookServer;
let audio: TestAudio;
beforeAll(async () => {
  hook = await startHookServer();
  audio = await startAudio({
    configuration: (url) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
models:
  tts-1: { kind: speech, price: { perMillionChars: 15 }, routes: [{ channel: one }] }
  whisper-1: { kind: transcription, price: { perMinute: 0.006 }, routes: [{ channel: one }] }
  gpt-4o-transcribe: { kind: transcription, routes: [{ channel: one }] }
hooks:
  guard: { kind: generic, baseUrl: "${hook.url}", output: window }
`,
  });
  await audio.startWorker();
});
afterAll(async () => {
  await audio.close();
  await hook[Symbol.asyncDispose]();
});
afterEach(() => {
  hook.reset();
  audio.reset();
});

const speech = { model: 'tts-1', voice: 'alloy', input: 'I am Ada' } as const;

test('speech: what is blocked is not spoken, what is replaced is spoken otherwise', async () => {
  hook.answer(() => BLOCKED);
  await expect(audio.openai.audio.speech.create(speech)).rejects.toMatchObject({
    status: 400,
    code: 'content_filter',
  });
  expect(audio.simulator.requests).toHaveLength(0);
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', 'nobody'))));
  await (await audio.openai.audio.speech.create(speech)).arrayBuffer();
  expect((await audio.simulator.nextRequest()).json()).toMatchObject({ input: 'I am nobody' });
});

test('speech that its limits do not let in costs no check, and a blocked one none of the budget', async () => {
  const say = (microUsd: number) =>
    audio.call('/v1/audio/speech', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...audio.headersFor({
          accounts: [
            {
              owner: `key_${microUsd}`,
              limits: {},
              budget: { microUsd, period: 'total', allowUnpriced: false },
            },
          ],
        }),
      },
      body: JSON.stringify(speech),
    });
  const refused = await say(1);
  expect([refused.status, hook.requests.length]).toEqual([429, 0]);
  hook.answer(() => BLOCKED);
  for (const _ of [1, 2]) expect((await say(200)).status).toBe(400);
  expect(hook.requests).toHaveLength(2);
});

test('speech that nobody waits for is checked by its worker', async () => {
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', 'nobody'))));
  const headers = { 'idempotency-key': 'checked-speech' };
  await (await audio.openai.audio.speech.create(speech, { headers })).arrayBuffer();
  expect((await audio.simulator.nextRequest()).json()).toMatchObject({ input: 'I am nobody' });
  expect(hook.requests).toHaveLength(1);
});

test.for(['json', 'text'] as const)(
  'a transcript as %s has the words that the hook has made',
  async (format) => {
    hook.answer(({ texts }) => intervened(texts.map(() => 'only this')));
    const made: unknown = await audio.openai.audio.transcriptions.create({
      file: silence(2),
      model: 'whisper-1',
      response_format: format,
    });
    expect(format === 'json' ? made : { text: String(made).trim() }).toMatchObject({ text: 'only this' });
    expect(hook.requests[0]?.body).toMatchObject({ input_type: 'response', model: 'whisper-1' });
  },
);

test('a transcript that is blocked, or whose replaced words have no place, is a 400', async () => {
  const ask = (format: 'json' | 'srt') =>
    audio.openai.audio.transcriptions.create({
      file: silence(2),
      model: 'whisper-1',
      response_format: format,
    });
  hook.answer(() => BLOCKED);
  await expect(ask('json')).rejects.toMatchObject({ status: 400, code: 'content_filter' });
  hook.answer(({ texts }) => intervened(texts.map(() => 'only this')));
  await expect(ask('srt')).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("Use 'json' or 'text'"),
  });
});

test('the deltas of a streamed transcript wait for its check', async () => {
  hook.answer(({ texts }) => intervened(texts.map(() => 'only this')));
  const stream = await audio.openai.audio.transcriptions.create({
    file: silence(2),
    model: 'gpt-4o-transcribe',
    stream: true,
  });
  let text = '';
  let whole = '';
  for await (const event of stream) {
    if (event.type === 'transcript.text.delta') text += event.delta;
    if (event.type === 'transcript.text.done') whole = event.text;
  }
  expect([text, whole]).toEqual(['only this', 'only this']);
});
