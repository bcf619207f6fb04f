import { createGate } from '@gateway/simulator/gate';
import { freePort } from '@gateway/testkit/free-port';
import { startNginx } from '@gateway/testkit/start-nginx';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Behind a proxy that gives up on silence, a stream whose provider takes longer arrives whole. */

const READ_TIMEOUT_MS = 2000;
const KEEP_ALIVE_MS = 100;
/** So many take longer than the proxy waits. */
const KEEP_ALIVES = 25;

let gateway: Gateway;
let nginx: AsyncDisposable;
let proxyUrl: string;
beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text', 'image', 'image-worker', 'audio', 'audio-worker'],
    env: {
      TEXT_KEEP_ALIVE_MS: `${KEEP_ALIVE_MS}`,
      IMAGE_KEEP_ALIVE_MS: `${KEEP_ALIVE_MS}`,
      AUDIO_KEEP_ALIVE_MS: `${KEEP_ALIVE_MS}`,
    },
  });
  const port = await freePort();
  proxyUrl = `http://127.0.0.1:${port}`;
  const server = `location / { proxy_pass ${gateway.url}; proxy_read_timeout ${READ_TIMEOUT_MS}ms; }`;
  nginx = await startNginx({ port, server });
});
afterAll(async () => {
  await nginx?.[Symbol.asyncDispose]();
  await gateway?.close();
});

const MESSAGES = [{ role: 'user', content: 'hello' }];
const transcription = () => {
  const form = new FormData();
  for (const [name, value] of [
    ['model', 'gpt-4o-transcribe'],
    ['stream', 'true'],
  ] as const)
    form.append(name, value);
  form.append('file', wavFile(2));
  return form;
};
const json = (body: object) => () => JSON.stringify({ ...body, stream: true });

/** `begun`: the events after which its caller has got something. */
interface SilentStream {
  readonly path: string;
  readonly body: () => string | FormData;
  readonly begun: number;
  readonly sign: string;
  readonly last: RegExp;
}
const COMMENT = ': keepalive\n\n';

const STREAMS: readonly SilentStream[] = [
  {
    path: '/v1/responses',
    body: json({ model: 'gpt-5.2', input: 'hello' }),
    begun: 5,
    sign: COMMENT,
    last: /event: response\.completed/,
  },
  {
    path: '/v1/messages',
    body: json({ model: 'claude-sonnet-5-5', max_tokens: 100, messages: MESSAGES }),
    begun: 4,
    sign: 'event: ping',
    last: /event: message_stop/,
  },
  {
    path: '/v1/chat/completions',
    body: json({ model: 'gpt-5.2', messages: MESSAGES }),
    begun: 2,
    sign: COMMENT,
    last: /data: \[DONE\]/,
  },
  {
    path: '/v1/images/generations',
    body: json({ model: 'gpt-image-1', prompt: 'a house', partial_images: 1 }),
    begun: 1,
    sign: COMMENT,
    last: /event: image_generation\.completed/,
  },
  {
    path: '/v1/audio/speech',
    body: json({ model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'Hello to you.', stream_format: 'sse' }),
    begun: 1,
    sign: COMMENT,
    last: /"type": ?"speech\.audio\.done"/,
  },
  {
    path: '/v1/audio/transcriptions',
    body: transcription,
    begun: 1,
    sign: COMMENT,
    last: /"type": ?"transcript\.text\.done"/,
  },
];

test.concurrent.for(STREAMS)(
  '$path: a proxy that waits for less than the provider needs, before the first event and between events',
  async ({ path, body, begun, sign, last }) => {
    const [beginning, rest] = [createGate(), createGate()];
    gateway.simulator.script(path, { gate: beginning.opened, stallAfter: begun, resume: rest.opened });
    const content = body();
    const reply = await fetch(`${proxyUrl}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.key}`,
        ...(typeof content === 'string' && { 'content-type': 'application/json' }),
      },
      body: content,
    });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/event-stream/),
    ]);
    let text = '';
    for await (const chunk of reply.body ?? []) {
      text += Buffer.from(chunk).toString();
      const signs = text.split(sign).length;
      if (signs > KEEP_ALIVES) beginning.open();
      if (signs > 2 * KEEP_ALIVES) rest.open();
    }
    expect(text).toMatch(last);
    expect(text).not.toMatch(/"error"\s*:\s*\{/);
  },
);
