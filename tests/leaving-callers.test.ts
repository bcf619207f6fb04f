import { readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type JobQueues, lookIntoQueues } from './support/job-queues.ts';
import { logLine } from './support/log-lines.ts';
import { pngFile, wavFile } from './support/media-files.ts';
import { type Gateway, type GatewayRequest, startGateway } from './support/start-gateway.ts';

/** Callers who leave cancel their request, wherever it is at that moment, and nothing of it remains. */

let gateway: Gateway;
let queues: JobQueues;
beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text', 'image', 'image-worker', 'audio', 'audio-worker'],
    env: { WORKER_CONCURRENCY: '1' },
  });
  queues = lookIntoQueues(gateway.stack.redisUrl);
});
afterAll(async () => {
  await queues?.[Symbol.asyncDispose]();
  await gateway?.close();
});
beforeEach(() => gateway.simulator.reset());
afterEach(() => nothingRemains());

const never = new Promise<void>(() => undefined);

const formOf = (parts: Record<string, string | File>) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  return form;
};
const TEXT = { model: 'gpt-5.2', input: 'hello' };
const MESSAGE = {
  model: 'claude-sonnet-5-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hello, how are you today?' }],
};
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'hello, how are you today?' }] }] };
const GOOGLE = '/v1beta/models/gpt-5.2';
const IMAGE = { model: 'gpt-image-1', prompt: 'a house' };
const SPEECH = {
  model: 'tts-1',
  voice: 'alloy',
  input: 'Hello to all of you out there, and to the others too.',
};
const edit = () => ({ body: formOf({ model: 'dall-e-2', prompt: 'x', image: pngFile() }) });
const recording = () => ({ body: formOf({ model: 'whisper-1', file: wavFile(2) }) });

/** `begun`: the events of its stream with which its caller has got something. */
type RequestKind = readonly [name: string, path: string, request: () => GatewayRequest, begun?: number];

const WHOLE: readonly RequestKind[] = [
  ['a response', '/v1/responses', () => ({ json: TEXT })],
  ['a message', '/v1/messages', () => ({ json: MESSAGE })],
  ["an answer to Google's client", `${GOOGLE}:generateContent`, () => ({ json: CONTENTS })],
  ['an image', '/v1/images/generations', () => ({ json: IMAGE })],
  ['an edit', '/v1/images/edits', edit],
  ['a transcript', '/v1/audio/transcriptions', recording],
];
const STREAMED: readonly RequestKind[] = [
  ['a streamed response', '/v1/responses', () => ({ json: { ...TEXT, stream: true } }), 5],
  ['a streamed message', '/v1/messages', () => ({ json: { ...MESSAGE, stream: true } }), 5],
  [
    "a streamed answer to Google's client",
    `${GOOGLE}:streamGenerateContent?alt=sse`,
    () => ({ json: CONTENTS }),
    5,
  ],
  [
    'a streamed image',
    '/v1/images/generations',
    () => ({ json: { ...IMAGE, stream: true, partial_images: 3 } }),
  ],
  ['speech', '/v1/audio/speech', () => ({ json: SPEECH })],
  [
    'a streamed transcript',
    '/v1/audio/transcriptions',
    () => ({ body: formOf({ model: 'gpt-4o-transcribe', stream: 'true', file: wavFile(8) }) }),
  ],
];

test.for([...WHOLE, ...STREAMED])('before the first byte of %s', async ([, path, request]) => {
  gateway.simulator.script({ gate: never });
  const leaving = new AbortController();
  const pending = gateway.fetch(path, { ...request(), signal: leaving.signal });
  const received = await gateway.simulator.nextRequest();
  leaving.abort();
  await expect(pending).rejects.toThrow('abort');
  expect(await received.closed).toBe('aborted');
});

test.for(STREAMED)('in the middle of %s', async ([, path, request, begun = 3]) => {
  gateway.simulator.script({ stallAfter: begun, resume: never });
  const response = await gateway.fetch(path, request());
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  const received = await gateway.simulator.nextRequest();
  await reader?.cancel();
  expect(await received.closed).toBe('aborted');
});

test.for([
  ['an image', '/v1/images/generations', () => ({ json: IMAGE })],
  ['an edit', '/v1/images/edits', edit],
  ['a transcript', '/v1/audio/transcriptions', recording],
] satisfies RequestKind[])('while %s waits in the queue: it is never begun', async ([, path, request]) => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const first = gateway.fetch(path, request());
  await gateway.simulator.nextRequest();

  const leaving = new AbortController();
  const second = gateway.fetch(path, { ...request(), signal: leaving.signal });
  await waitFor(async () => (await queues.counts()).waiting === 1);
  leaving.abort();
  await expect(second).rejects.toThrow('abort');
  await waitFor(async () => (await queues.counts()).waiting === 0);

  gate.open();
  expect((await first).status).toBe(200);
  await (await gateway.fetch(path, request())).text();
  expect(gateway.simulator.requests).toHaveLength(2);
});

test('in the middle of an upload: the provider hears nothing of it', async () => {
  const upload = httpRequest(`${gateway.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': 1_000_000,
    },
  });
  upload.on('error', () => undefined);
  upload.write(
    '--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF'.padEnd(100_000, '.'),
  );
  await waitFor(async () => (await uploads()).length === 1);
  upload.destroy();
  await waitFor(async () => (await uploads()).length === 0);
  expect(gateway.simulator.requests).toEqual([]);
});

test('the log calls it by its name', async () => {
  gateway.simulator.script({ gate: never });
  const leaving = new AbortController();
  const headers = { 'x-request-id': 'request-of-one-who-left' };
  const pending = gateway.fetch('/v1/responses', { json: TEXT, headers, signal: leaving.signal });
  await gateway.simulator.nextRequest();
  leaving.abort();
  await expect(pending).rejects.toThrow('abort');
  for (const process of ['edge', 'text'])
    expect(await logLine(gateway, process, 'request-of-one-who-left')).toMatchObject({
      status: 499,
      outcome: 'left',
      level: 30,
    });
});

const uploads = () => readdir(join(gateway.dataFolder, 'uploads'));

async function nothingRemains(): Promise<void> {
  await waitFor(
    async () => {
      expect(await queues.counts()).toEqual({ waiting: 0, active: 0, delayed: 0 });
      expect(await uploads()).toEqual([]);
      return true;
    },
    { what: 'that nothing remains' },
  );
}
