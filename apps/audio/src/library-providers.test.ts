import { collectSse } from '@gateway/testkit/collect-sse';
import { startSquid } from '@gateway/testkit/start-squid';
import { replay } from '@gateway/upstream/libraries/replay-for-tests';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { silence } from './testing/audio-files.ts';
import { startAudio, type TestAudio } from './testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

/** From here on the channels lead to a provider that answers as it was recorded. */
async function provider(exchange: string, options: Parameters<typeof replay>[1] = {}) {
  const replayed = await replay(exchange, options);
  audio.useProvider(replayed.origin);
  return replayed;
}

function transcribe(
  parts: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
  service = audio,
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  form.append('file', silence(2));
  const path = `${service.url}/v1/audio/transcriptions`;
  return fetch(path, { method: 'POST', body: form, headers: { ...service.headersFor(), ...headers } });
}

const speak = (body: object, headers: Record<string, string> = {}, service = audio) =>
  fetch(`${service.url}/v1/audio/speech`, {
    method: 'POST',
    body: JSON.stringify({ input: 'Good morning.', voice: 'JBFqnCBsd6RMkjVDRZzb', ...body }),
    headers: { 'content-type': 'application/json', ...service.headersFor(), ...headers },
  });

test('subtitles are made of the times of the words, and the seconds are those that the provider bills', async () => {
  const recorded = await provider('deepgram-transcription-plain');
  const answer = await transcribe({ model: 'nova', response_format: 'srt' });
  expect(await answer.text()).toBe(
    '1\n00:00:00,100 --> 00:00:00,800\nGood morning.\n\n2\n00:00:01,900 --> 00:00:02,700\nHello there.\n\n',
  );
  expect(recorded.complaints).toEqual([]);
  expect(answer.headers.get('x-gateway-channel')).toBe('deepgram');
  // The provider's 3 s at 0.006 dollars for a minute.
  expect(await audio.lastLine()).toMatchObject({ channel: 'deepgram', costMicroUsd: 300 });
});

test('a transcript is streamed by its segments', async () => {
  await provider('deepgram-transcription-plain');
  const answer = await transcribe({ model: 'nova', stream: 'true' });
  expect((await collectSse(answer)).map(({ json }) => json)).toEqual([
    { type: 'transcript.text.delta', delta: 'Good morning.' },
    { type: 'transcript.text.delta', delta: ' Hello there.' },
    { type: 'transcript.text.done', text: 'Good morning. Hello there.' },
  ]);
});

test('libraries read replies that come packed, and after early hints', async () => {
  await provider('deepgram-transcription-plain', { isPacked: true });
  const transcript = await transcribe({ model: 'nova' });
  expect(await transcript.json()).toEqual({
    text: 'Good morning. Hello there.',
    usage: { type: 'duration', seconds: 3 },
  });
  await provider('elevenlabs-speech', { isPacked: true });
  const body = { model: 'eleven-voice', speed: 1.1, instructions: 'Cheerfully' };
  const speech = await speak(body);
  expect(speech.headers.get('content-type')).toBe('audio/mpeg');
  expect(Buffer.from(await speech.arrayBuffer()).toString('latin1', 0, 3)).toBe('ID3');
});

test('what a provider of transcripts has no parameter for is named, or refused', async () => {
  await provider('elevenlabs-transcription');
  const parts = { model: 'scribe', language: 'en', prompt: 'Names.', temperature: '0' };
  const strict = await transcribe(parts, { 'x-gateway-strict': 'true' });
  expect(strict.status).toBe(400);
  expect(await strict.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'prompt' } });
  const answer = await transcribe(parts);
  expect(await answer.json()).toEqual({ text: 'Good morning. Hello there.' });
  expect(answer.headers.get('x-gateway-dropped')).toBe('prompt, temperature');
});

test('speech comes as the protocol has it, charged by its characters', async () => {
  const recorded = await provider('elevenlabs-speech');
  const body = { model: 'eleven-voice', speed: 1.1, instructions: 'Cheerfully' };
  const strict = await speak(body, { 'x-gateway-strict': 'true' });
  expect(await strict.json()).toMatchObject({
    error: { code: 'unsupported_parameter', param: 'instructions' },
  });
  const answer = await speak(body);
  expect(answer.headers.get('content-type')).toBe('audio/mpeg');
  expect(answer.headers.get('x-gateway-dropped')).toBe('instructions');
  expect(Buffer.from(await answer.arrayBuffer()).toString('latin1', 0, 3)).toBe('ID3');
  expect(recorded.complaints).toEqual([]);
  expect(await audio.lastLine(2)).toMatchObject({ channel: 'eleven', characters: 13, costMicroUsd: 1300 });
});

test('the tokens of speech are those that the provider reports, whichever way it is streamed', async () => {
  for (const stream_format of ['audio', 'sse']) {
    audio.reset();
    await provider('google-speech');
    const body = { model: 'gemini-voice', voice: 'Kore', instructions: 'Cheerfully', response_format: 'pcm' };
    const answer = await speak({ ...body, stream_format });
    const type = stream_format === 'sse' ? 'text/event-stream; charset=utf-8' : 'audio/pcm';
    expect(answer.headers.get('content-type')).toBe(type);
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (stream_format === 'audio') expect(bytes.length).toBe(192);
    // 25 tokens at 10 dollars for a million.
    expect(await audio.lastLine()).toMatchObject({ costMicroUsd: 250 });
  }
});

test('a format that no route has is refused before any upstream is called', async () => {
  const recorded = await provider('elevenlabs-speech');
  const answer = await speak({ model: 'eleven-voice', response_format: 'flac' });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    error: { code: 'unsupported_value', param: 'response_format', message: expect.stringContaining("'mp3'") },
  });
  expect(recorded.requests).toEqual([]);
});

test("behind a company's proxy speech, transcripts and streams of both go by it", async () => {
  await using squid = await startSquid(['provider.test']);
  const provider = (url: string) => url.replace('127.0.0.1', 'provider.test');
  const behind = await startAudio({
    configuration: (url) => `
channels:
  one: { provider: simulator, baseUrl: "${provider(url)}", apiKey: sk-one, proxy: "${squid.url}" }
models:
  tts-1: { kind: speech, routes: [{ channel: one }] }
  gpt-4o-transcribe: { kind: transcription, routes: [{ channel: one }] }
`,
  });
  onTestFinished(() => behind.close());
  await behind.startWorker();
  const speech = await speak({ model: 'tts-1', voice: 'alloy' }, {}, behind);
  expect([speech.status, (await speech.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
  const whole = await transcribe({ model: 'gpt-4o-transcribe' }, {}, behind);
  expect(Object(await whole.json()).text).not.toBe('');
  const streamed = await transcribe({ model: 'gpt-4o-transcribe', stream: 'true' }, {}, behind);
  expect((await collectSse(streamed)).map(({ json }) => Object(json ?? {}).type)).toContain(
    'transcript.text.done',
  );
  const at = provider(behind.simulator.url);
  expect((await squid.served()).filter((line) => line.includes('.test'))).toEqual([
    `POST 200 ${at}/v1/audio/speech`,
    `POST 200 ${at}/v1/audio/transcriptions`,
    `POST 200 ${at}/v1/audio/transcriptions`,
  ]);
});
