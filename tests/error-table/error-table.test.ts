import { createGate } from '@gateway/simulator/gate';
import { freePort } from '@gateway/testkit/free-port';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey, revokeKey } from '../support/admin-keys.ts';
import { ONE_PROVIDER, PROVIDER_KEY } from '../support/configuration.ts';
import { lookIntoQueues } from '../support/job-queues.ts';
import { type Gateway, startGateway } from '../support/start-gateway.ts';
import { BODY_ROWS, MAX_BODY_BYTES, MAX_FILE_BYTES } from './body-rows.ts';
import {
  anthropic,
  completions,
  embeddings,
  everywhere,
  expectError,
  images,
  invalidMessage,
  messages,
  moderations,
  openai,
  rerank,
  responses,
  speech,
} from './error-row.ts';
import {
  apiKey,
  badBearer,
  bearer,
  KEY_AND_PATH_ROWS,
  responseNotFound,
  unauthenticated,
} from './key-and-path-rows.ts';
import { UPSTREAM_ROWS } from './upstream-rows.ts';
import { VALUE_ROWS } from './value-rows.ts';

/** The errors of both protocols for everything that can go wrong before an answer has begun. */

/** A model of each kind at a channel, named after it. */
const modelsAt = (channel: string) => `
  ${channel}: { kind: text, routes: [{ channel: ${channel} }] }
  ${channel}-image: { kind: image, family: dall-e-3, routes: [{ channel: ${channel} }] }
  ${channel}-speech: { kind: speech, routes: [{ channel: ${channel} }] }
  ${channel}-embedding: { kind: embedding, routes: [{ channel: ${channel} }] }
  ${channel}-rerank: { kind: rerank, routes: [{ channel: ${channel} }] }
  ${channel}-moderation: { kind: moderation, routes: [{ channel: ${channel} }] }
  ${channel}-transcription: { kind: transcription, family: whisper-1, routes: [{ channel: ${channel} }] }`;

const configuration = (origin: string, nobodysPort: number) =>
  `
${ONE_PROVIDER(origin).replace(PROVIDER_KEY, `${PROVIDER_KEY}, cooldown: off`)}
  conversations-only: { kind: text, routes: [{ channel: provider, speaks: [chat] }] }
  plain: { kind: text, builtInTools: [], routes: [{ channel: provider }] }
  reserve:
    kind: text
    routes: [{ channel: provider, model: first }, { channel: provider, model: second, priority: 1 }]
${['wrong-key', 'refusing', 'nowhere', 'impatient', 'narrow'].map(modelsAt).join('')}
`.replace(
    'channels:',
    `channels:
  wrong-key: { provider: simulator, baseUrl: "${origin}", apiKey: sk-invalid-key-of-the-gateway }
  refusing: { provider: simulator, baseUrl: "http://127.0.0.1:${nobodysPort}" }
  nowhere: { provider: simulator, baseUrl: "http://provider.invalid" }
  impatient: { provider: simulator, baseUrl: "${origin}", timeouts: { firstOutputMs: 200 } }
  narrow: { provider: simulator, baseUrl: "${origin}", maxConcurrent: 1 }`,
  );

let gateway: Gateway;
beforeAll(async () => {
  const nobodysPort = await freePort();
  gateway = await startGateway({
    configuration: (origin) => configuration(origin, nobodysPort),
    services: ['edge', 'text', 'image', 'image-worker', 'audio', 'audio-worker', 'retrieval', 'admin'],
    env: {
      TEXT_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
      IMAGE_JSON_MAX_BYTES: String(MAX_BODY_BYTES),
      JSON_MAX_BYTES: String(MAX_BODY_BYTES),
      AUDIO_FILE_MAX_BYTES: String(MAX_FILE_BYTES),
      WORKER_CONCURRENCY: '1',
      QUEUE_MAX_WAITING: '1',
    },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const refused = { retry: false } as const;

test.for(Object.entries({ ...KEY_AND_PATH_ROWS, ...BODY_ROWS, ...VALUE_ROWS }))(
  'refused by the gateway: %s',
  async ([, row]) => {
    for (const each of row.cases) await expectError(gateway, row, each);
    expect(gateway.simulator.requests).toEqual([]);
  },
);

test.for(Object.entries(UPSTREAM_ROWS))('of the provider: %s', async ([, row]) => {
  await Promise.all(row.cases.map((each) => expectError(gateway, row, each)));
});

test('refused by the gateway: x-api-key without a version', async () => {
  const request = messages(apiKey(gateway.key), invalidMessage(/^anthropic-version: header is required$/));
  await expectError(gateway, refused, request);
});

test('refused by the gateway: a revoked key, as an unknown one', async () => {
  const { id, key } = await createKey(gateway.stack, { name: 'revoked' });
  await revokeKey(gateway.stack, id);
  for (const each of everywhere(bearer(key), unauthenticated, badBearer))
    await expectError(gateway, refused, each);
});

test('refused by the gateway: a key that may not use an endpoint, or a model', async () => {
  const { key } = await createKey(gateway.stack, {
    name: 'narrow',
    endpoints: ['speech'],
    models: ['gpt-*'],
  });
  const permissions = ['invalid_request_error', 'insufficient_permissions'] as const;
  await expectError(gateway, refused, responses(bearer(key), openai(403, permissions, /'responses'/)));
  await expectError(
    gateway,
    refused,
    messages(bearer(key), anthropic(403, 'permission_error', /'messages'/)),
  );
  for (const [scope, one] of Object.entries({ completions, embeddings, rerank, moderations }))
    await expectError(gateway, refused, one(bearer(key), openai(403, permissions, new RegExp(`'${scope}'`))));
  const hidden = openai(404, ['invalid_request_error', 'model_not_found', 'model'], /'tts-1' does not exist/);
  await expectError(gateway, refused, speech(bearer(key), hidden));
});

test("refused by the gateway: another key's response, as one that does not exist", async () => {
  const { id } = await gateway.openai.responses.create({ model: 'gpt-5.2', input: 'mine' });
  const { key } = await createKey(gateway.stack, { name: 'another' });
  const request = { path: `/v1/responses/${id}`, request: bearer(key), error: responseNotFound };
  await expectError(gateway, refused, request);
});

test('every channel is full at the moment', async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const first = gateway.openai.responses.create({ model: 'narrow', input: 'hello' });
  await gateway.simulator.nextRequest();
  const noRoom = { retry: true };
  const full = openai(503, ['server_error', 'no_available_channel'], /busy at the moment/);
  await expectError(gateway, noRoom, responses({ model: 'narrow' }, full));
  await expectError(gateway, noRoom, messages({ model: 'narrow' }, anthropic(529, 'overloaded_error')));
  gate.open();
  expect((await first).status).toBe('completed');
});

test('the queue is full', async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const make = () => gateway.openai.images.generate({ model: 'dall-e-3', prompt: 'a house' });
  const running = make();
  await gateway.simulator.nextRequest();
  await using queues = lookIntoQueues(gateway.stack.redisUrl);
  const waiting = make();
  await waitFor(async () => (await queues.counts()).waiting === 1);
  const full = openai(429, ['requests', 'rate_limit_exceeded'], /try again in \d+s/);
  await expectError(gateway, { retry: true }, images({}, full));
  gate.open();
  for (const made of [running, waiting]) expect((await made).data).toHaveLength(1);
});

test.for([
  'status=401',
  'model-not-found',
  'status=429',
  'quota',
  'status=500',
  'overloaded',
  'html',
  'close-before-response',
])('another channel is tried before the caller hears of %s', async (words) => {
  for (const stream of [false, true]) {
    const { path, request } = responses(
      { model: 'reserve', input: `[[simulate ${words} model=first]] hello`, stream },
      openai(500, ['', null]),
    );
    const response = await gateway.fetch(path, request);
    expect(await response.text()).toContain('You said: hello');
    expect(response.status).toBe(200);
  }
});

test("of several channels' failures the caller gets the one that is best worth a retry", async () => {
  gateway.simulator.script({ status: 429, retryAfterSeconds: 3 });
  gateway.simulator.script({ fault: 'quota' });
  await expectError(
    gateway,
    { retry: true, refusedBy: 'upstream', headers: { 'retry-after': '3' } },
    messages({ model: 'reserve' }, anthropic(429, 'rate_limit_error')),
  );
  expect(gateway.simulator.requests).toHaveLength(2);
});
