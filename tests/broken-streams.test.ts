import { recordedStream } from '@gateway/simulator/recorded-stream';
import { collectSse, type SseEvent } from '@gateway/testkit/collect-sse';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PROVIDER_KEY } from './support/configuration.ts';
import { logLine } from './support/log-lines.ts';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A stream that breaks after its first event ends in its protocol's error event, and is logged as failed. */

const configuration = (origin: string) => `
channels:
  provider:
    provider: simulator
    baseUrl: "${origin}"
    apiKey: ${PROVIDER_KEY}
    timeouts: { idleMs: 300 }
models:
  gpt-5.2: { kind: text, routes: [{ channel: provider }] }
  claude-sonnet-5-5: { kind: text, routes: [{ channel: provider }] }
  gpt-image-1: { kind: image, family: gpt-image, routes: [{ channel: provider }] }
  gpt-4o-mini-tts: { kind: speech, routes: [{ channel: provider }] }
  gpt-4o-transcribe: { kind: transcription, family: gpt-4o-transcribe, routes: [{ channel: provider }] }
`;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    configuration,
    services: ['edge', 'text', 'image', 'image-worker', 'audio', 'audio-worker'],
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const breaksAfter = (events: number) => ({
  'its connection is cut': { cutAfter: events },
  'it ends too early': { endAfter: events },
  'it falls silent': { stallAfter: events, resume: new Promise<void>(() => undefined) },
});
const BREAKS = breaksAfter(3);
/** The first delta of a recorded text is among its first five events: no other channel is tried after it. */
const TEXT_BREAKS = Object.entries({ ...breaksAfter(5), 'it sends what is no JSON': { garbageAfter: 5 } });

test.for(TEXT_BREAKS)('a response, when %s', async ([, fault], { task }) => {
  const sse = recordedStream('responses-text');
  gateway.simulator.script({ sse, ...fault });
  const events = await streamed('/v1/responses', { model: 'gpt-5.2', input: 'x' }, task.id);
  const whole = sse.toString().split('\n\n');
  expect(events.slice(0, 5).map(({ data }) => data)).toEqual(
    whole.slice(0, 5).map((frame) => frame.slice(frame.indexOf('data: ') + 6)),
  );
  const last = { type: 'server_error', code: 'server_error', message: expect.any(String), param: null };
  expect(events.slice(5)).toMatchObject([
    { event: 'error', json: { ...last, type: 'error', sequence_number: 5, error: last } },
    {
      event: 'response.failed',
      json: {
        type: 'response.failed',
        sequence_number: 6,
        response: { id: idOf(events), object: 'response', status: 'failed', error: last },
      },
    },
    { event: undefined, data: '[DONE]' },
  ]);
  await isLoggedAsFailed('text', task.id);
});

test.for(TEXT_BREAKS)('a message, when %s', async ([, fault], { task }) => {
  const sse = recordedStream('messages-text');
  gateway.simulator.script({ sse, ...fault });
  const messages = [{ role: 'user', content: 'x' }];
  const body = { model: 'claude-sonnet-5-5', max_tokens: 9, messages };
  const events = await streamed('/v1/messages', body, task.id);
  expect(events).toHaveLength(6);
  expect(events[5]).toMatchObject({
    event: 'error',
    json: { type: 'error', error: { type: expect.stringMatching(/^(api|timeout)_error$/), message: /./ } },
  });
  expect(events.map(({ event }) => event)).not.toContain('message_stop');
  await isLoggedAsFailed('text', task.id);
});

test("a provider's own error event is passed on once, and the response still fails as it should", async ({
  task,
}) => {
  const body = { model: 'gpt-5.2', input: '[[simulate error-event-after=5]] hello' };
  const events = await streamed('/v1/responses', body, task.id);
  expect(events.filter(({ event }) => event === 'error')).toHaveLength(1);
  expect(events.filter(({ event }) => event === 'response.failed')).toHaveLength(1);
  expect(events.at(-1)?.data).toBe('[DONE]');
  await isLoggedAsFailed('text', task.id);
});

test.for(Object.entries(BREAKS))('an image, when %s', async ([, fault], { task }) => {
  const body = { model: 'gpt-image-1', prompt: 'a house', partial_images: 3, size: '1024x1024' };
  const faults = Object.fromEntries(Object.entries(fault).map(([name, at]) => [name, at === 3 ? 1 : at]));
  gateway.simulator.script(faults);
  const events = await streamed('/v1/images/generations', body, task.id);
  expect(events.map(({ event }) => event)).toEqual(['image_generation.partial_image', 'error']);
  expect(events[1]?.json).toMatchObject({ type: 'error', error: { type: 'server_error', code: /./ } });
  await isLoggedAsFailed('image', task.id);
});

test.for(Object.entries(BREAKS))('a transcript, when %s', async ([, fault], { task }) => {
  gateway.simulator.script(fault);
  const form = new FormData();
  form.append('model', 'gpt-4o-transcribe');
  form.append('stream', 'true');
  form.append('file', wavFile(8));
  const response = await gateway.fetch('/v1/audio/transcriptions', {
    body: form,
    headers: idOfRequest(task.id),
  });
  const events = await collectSse(response);
  expect(events.slice(0, 3).map(({ json }) => json)).toMatchObject([
    { type: 'transcript.text.delta' },
    { type: 'transcript.text.delta' },
    { type: 'transcript.text.delta' },
  ]);
  expect(events[3]).toMatchObject({ event: 'error', json: { error: { type: 'server_error' } } });
  expect(events).toHaveLength(4);
  await isLoggedAsFailed('audio', task.id);
});

test('speech as events, when its connection is cut', async ({ task }) => {
  const body = { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'hello to you', stream_format: 'sse' };
  gateway.simulator.script({ cutAfter: 2 });
  const events = await streamed('/v1/audio/speech', body, task.id);
  expect(events).toHaveLength(3);
  expect(events[2]).toMatchObject({ event: 'error', json: { error: { type: 'server_error' } } });
  await isLoggedAsFailed('audio', task.id);
});

test('speech as bytes: nobody takes a half of it for the whole', async ({ task }) => {
  gateway.simulator.script({ cutAfter: 2 });
  const response = await gateway.fetch('/v1/audio/speech', {
    json: { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'hello to you, and to all of the others' },
    headers: idOfRequest(task.id),
  });
  expect(response.status).toBe(200);
  await expect(response.bytes()).rejects.toThrow();
  await isLoggedAsFailed('audio', task.id);
});

const idOfRequest = (taskId: string) => ({ 'x-request-id': `request-of-${taskId}` });

async function streamed(path: string, body: object, taskId: string): Promise<SseEvent[]> {
  const response = await gateway.fetch(path, {
    json: { ...body, stream: true },
    headers: idOfRequest(taskId),
  });
  return collectSse(response);
}

function idOf([first]: readonly SseEvent[]): unknown {
  return JSON.parse(first?.data ?? '').response.id;
}

/** By the service: the edge only sees bytes. */
async function isLoggedAsFailed(service: 'text' | 'image' | 'audio', taskId: string): Promise<void> {
  const line = await logLine(gateway, service, `request-of-${taskId}`);
  expect(line).toMatchObject({ outcome: 'failed', level: 50, 'error.source': 'upstream' });
}
