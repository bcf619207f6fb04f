import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type OtlpReceiver, startOtlpReceiver } from '@gateway/testkit/start-otlp-receiver';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { askAdmin, createKey } from '../support/admin-keys.ts';
import { PROVIDER_KEY } from '../support/configuration.ts';
import { wavFile } from '../support/media-files.ts';
import { spanTree } from '../support/span-tree.ts';
import { type Gateway, type GatewayRequest, startGateway } from '../support/start-gateway.ts';

/** What a collector gets of each kind of request, in golden files. */

/** The same in every run, whatever becomes of the catalogue's. */
const PRICE = '{ inputPerMTok: 10, outputPerMTok: 20 }';
const configuration = (origin: string): string => `
channels:
  native: { provider: simulator, baseUrl: "${origin}", apiKey: ${PROVIDER_KEY} }
  messages: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [messages], passTraceparent: true }
models:
  gpt-5.2: { kind: text, price: ${PRICE}, routes: [{ channel: native }] }
  two: { kind: text, price: ${PRICE}, routes: [{ channel: native, model: gpt-5.2 }, { channel: messages, model: claude-sonnet-5-5, priority: 1 }] }
  claude-sonnet-5-5: { kind: text, price: ${PRICE}, routes: [{ channel: messages }] }
  guarded: { kind: text, price: ${PRICE}, routes: [{ channel: native, model: gpt-5.2 }] }
  dall-e-3: { kind: image, family: dall-e-3, price: { perImage: 0.04 }, routes: [{ channel: native }] }
  tts-1: { kind: speech, price: { perMillionChars: 15 }, routes: [{ channel: native }] }
  whisper-1: { kind: transcription, family: whisper-1, price: { perMinute: 0.006 }, routes: [{ channel: native }] }
  text-embedding-3-small: { kind: embedding, price: { inputPerMTok: 2 }, routes: [{ channel: native }] }
hooks:
  guard: { kind: moderation, baseUrl: "${origin}/v1", apiKey: ${PROVIDER_KEY}, rules: [{ models: [guarded] }] }
`;

let receiver: OtlpReceiver;
let gateway: Gateway;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
  gateway = await startGateway({
    configuration,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20c2VjcmV0,x-tenant=one',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8',
      TEXT_BACKGROUND_POLL_MS: '50',
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await receiver?.close();
});
beforeEach(() => gateway.simulator.reset());

const golden = (name: string) => join(import.meta.dirname, 'golden', `${name}.txt`);
/** The spans of the trace of a request, once there are so many. */
const spansOf = async (requestId: string, count: number) => {
  const { traceId } = await receiver.find(
    ({ kind, attributes }) => kind === 'server' && attributes['gateway.request.id'] === requestId,
  );
  return receiver.trace(traceId, count);
};
const expectGolden = async (requestId: string, count: number, name: string) =>
  expect(spanTree(await spansOf(requestId, count))).toMatchFileSnapshot(golden(name));

let requests = 0;
const send = async (path: string, init: GatewayRequest) => {
  requests += 1;
  const requestId = `request-of-traces-${requests}`;
  const reply = await gateway.fetch(path, {
    ...init,
    headers: { ...init.headers, 'x-request-id': requestId },
  });
  return { requestId, reply };
};
const messages = [{ role: 'user', content: 'What is up?' }];
const contents = [{ role: 'user', parts: [{ text: 'What is up?' }] }];

test.for([
  { name: 'responses', path: '/v1/responses', json: { model: 'gpt-5.2', input: 'What is up?' } },
  { name: 'messages', path: '/v1/messages', json: { model: 'gpt-5.2', max_tokens: 50, messages } },
  { name: 'chat', path: '/v1/chat/completions', json: { model: 'gpt-5.2', messages } },
  {
    name: 'gemini',
    path: '/v1beta/models/gpt-5.2:generateContent',
    streamPath: '/v1beta/models/gpt-5.2:streamGenerateContent?alt=sse',
    json: { contents },
  },
])('an answer in the form of $name, whole and streamed', async ({ name, path, streamPath, json }) => {
  const whole = await send(path, { json });
  expect(whole.reply.status).toBe(200);
  await whole.reply.text();
  await expectGolden(whole.requestId, 3, `${name}-whole`);
  const streamed = await send(streamPath ?? path, {
    json: { ...json, ...(streamPath === undefined && { stream: true }) },
    headers: { 'x-gateway-user': 'user-one', 'x-gateway-session': 'talk', 'x-gateway-label': 'tests' },
  });
  await streamed.reply.text();
  await expectGolden(streamed.requestId, 3, `${name}-streamed`);
});

test('a provider that fails and the one that answers have an attempt each', async () => {
  gateway.simulator.script('/v1/responses', { status: 500 });
  const { requestId, reply } = await send('/v1/responses', { json: { model: 'two', input: 'hi', seed: 3 } });
  expect(reply.status).toBe(200);
  await expectGolden(requestId, 4, 'failover');
});

test('what hooks did to a request is in its span', async () => {
  const { requestId, reply } = await send('/v1/responses', { json: { model: 'guarded', input: 'hi' } });
  expect(reply.status).toBe(200);
  const spans = await spansOf(requestId, 3);
  const hooks = spans.flatMap(({ attributes }) => attributes['gateway.hooks'] ?? []);
  expect(hooks).toEqual([expect.stringMatching(/^guard\b.*passed/)]);
});

test('a request that a limit refuses has its own span alone, which says so', async () => {
  const key = await createKey(gateway.stack, { name: 'slow', limits: { requestsPerMinute: 1 } });
  const authorization = `Bearer ${key.key}`;
  const json = { model: 'gpt-5.2', input: 'hi' };
  await (await send('/v1/responses', { json, headers: { authorization } })).reply.text();
  const { requestId, reply } = await send('/v1/responses', { json, headers: { authorization } });
  expect(reply.status).toBe(429);
  await expectGolden(requestId, 1, 'refused');
});

test('a caller who leaves ends the request and its attempt without a failure', async () => {
  const leaving = new AbortController();
  gateway.simulator.script('/v1/responses', { gate: new Promise<void>(() => undefined) });
  const json = { model: 'gpt-5.2', input: 'hi' };
  const left = send('/v1/responses', { json, signal: leaving.signal });
  const requestId = `request-of-traces-${requests}`;
  await gateway.simulator.nextRequest();
  leaving.abort();
  await expect(left).rejects.toThrow();
  await expectGolden(requestId, 3, 'left');
});

test('images, speech, transcripts and embeddings', async () => {
  const image = await send('/v1/images/generations', { json: { model: 'dall-e-3', prompt: 'a cat' } });
  await image.reply.text();
  await expectGolden(image.requestId, 5, 'image');
  const speech = await send('/v1/audio/speech', { json: { model: 'tts-1', voice: 'alloy', input: 'Hello' } });
  await speech.reply.arrayBuffer();
  await expectGolden(speech.requestId, 3, 'speech');
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('file', wavFile(1));
  const transcript = await send('/v1/audio/transcriptions', { body: form });
  await transcript.reply.text();
  await expectGolden(transcript.requestId, 5, 'transcript');
  const embeddings = await send('/v1/embeddings', { json: { model: 'text-embedding-3-small', input: 'hi' } });
  await embeddings.reply.text();
  await expectGolden(embeddings.requestId, 3, 'embeddings');
});

test('a response in the background is one trace from its request to its worker', async () => {
  const json = { model: 'claude-sonnet-5-5', input: 'hi', background: true };
  const { requestId, reply } = await send('/v1/responses', { json });
  await reply.text();
  await expectGolden(requestId, 5, 'background');
});

test('a response that a provider makes in the background has its span in the trace of its request when it has ended', async () => {
  const json = { model: 'gpt-5.2', input: 'hi', background: true };
  const { requestId, reply } = await send('/v1/responses', { json });
  await reply.text();
  // Any process of the text service may be the one that sees its end.
  const spans = (await spansOf(requestId, 3)).map((span) => ({
    ...span,
    resource: { ...span.resource, 'service.name': 'gateway' },
  }));
  await expect(spanTree(spans)).toMatchFileSnapshot(golden('background-of-provider'));
});

test('what a request asks for by its parameters is in its span', async () => {
  const parameters = { temperature: 0.5, top_p: 0.9, reasoning: { effort: 'low' }, max_output_tokens: 100 };
  const text = { format: { type: 'json_object' } };
  const json = { model: 'gpt-5.2', input: 'hi, as json', ...parameters, text };
  const { requestId, reply } = await send('/v1/responses', { json });
  await reply.text();
  await expectGolden(requestId, 3, 'parameters');
});

test('a job and the webhook that reports it are one trace', async () => {
  const hook = createServer((_request, response) => response.writeHead(204).end());
  await once(hook.listen(0, '127.0.0.1'), 'listening');
  const address = hook.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const key = await createKey(gateway.stack, { name: 'hooked', webhookUrl: `http://127.0.0.1:${port}/hook` });
  await askAdmin(gateway.stack, 'POST', `/admin/v1/keys/${key.id}/webhook-secret`, {});
  const { requestId, reply } = await send('/v1/images/generations', {
    json: { model: 'dall-e-3', prompt: 'a cat' },
    headers: { authorization: `Bearer ${key.key}`, prefer: 'respond-async' },
  });
  expect(reply.status).toBe(202);
  await expectGolden(requestId, 6, 'webhook');
  hook.closeAllConnections();
  hook.close();
});

test('each line of a batch is a trace of its own that refers to the batch', async () => {
  const request = {
    custom_id: 'one',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'gpt-5.2', messages },
  };
  const file = new File([JSON.stringify(request)], 'lines.jsonl');
  const { id } = await gateway.openai.files.create({ file, purpose: 'batch' });
  const { requestId, reply } = await send('/v1/batches', {
    json: { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' },
  });
  expect(reply.status).toBe(200);
  await expectGolden(requestId, 3, 'batch');
  const line = await receiver.find(({ name }) => name === 'batch line');
  const spans = await receiver.trace(line.traceId, 3);
  await expect(spanTree(spans)).toMatchFileSnapshot(golden('batch-line'));
  const batch = await spansOf(requestId, 3);
  const run = batch.find(({ name }) => name === 'process text.batch');
  const ended = spans.find(({ name }) => name === 'batch line');
  expect(ended?.links).toEqual([{ traceId: run?.traceId, spanId: run?.spanId }]);
});

test('the collector gets the headers and the resource that are set, and no secret of a provider or a caller', async () => {
  await waitFor(() => receiver.requests.length > 0);
  expect(receiver.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: {
      authorization: 'Basic c2VjcmV0',
      'x-tenant': 'one',
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
    },
  });
  expect(receiver.spans[0]?.resource).toMatchObject({ 'deployment.environment.name': 'test' });
  const all = JSON.stringify(receiver.spans);
  for (const secret of [PROVIDER_KEY, gateway.key, 'What is up?', 'a cat']) expect(all).not.toContain(secret);
});
