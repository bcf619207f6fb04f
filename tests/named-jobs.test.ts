import { createOpenAI } from '@ai-sdk/openai';
import { PublicJob, PublicJobList } from '@gateway/contracts/jobs';
import { ImagesReply } from '@gateway/contracts/openai/images';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { generateImage } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { logLine } from './support/log-lines.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Jobs outlive what their callers and their services go through. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'image', 'image-worker', 'audio', 'audio-worker'],
    replicas: { image: 2 },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const GENERATIONS = '/v1/images/generations';
const dallE3 = { model: 'dall-e-3', prompt: 'a cat', response_format: 'b64_json' };
const bytesIn = async (reply: Response) => ImagesReply.parse(await reply.json()).data[0]?.b64_json;

/** Kills both replicas of the image service; they are started again. */
async function killImageServices(): Promise<void> {
  const processes = ['image', 'image-2'].map((name) => gateway.stack.process(name));
  const ended = processes.map((process) => process.ended);
  for (const process of processes) process.kill('SIGKILL');
  await Promise.all(ended);
}

test('a service that is killed while callers wait: their jobs are done once, and the results fetched', async () => {
  const gate = createGate();
  for (const _ of [1, 2, 3]) gateway.simulator.script(GENERATIONS, { gate: gate.opened });
  const waiting = [1, 2, 3].map((n) =>
    gateway.fetch(GENERATIONS, { json: { ...dallE3, prompt: `cat ${n}` } }).then(({ status }) => status),
  );
  for (const _ of [1, 2, 3]) await gateway.simulator.nextRequest();
  await killImageServices();
  expect(await Promise.all(waiting)).toEqual([502, 502, 502]);
  gate.open();
  const done = await waitFor(async () => {
    const reply = await gateway.fetch('/v1/images/jobs?status=completed');
    const { data } = PublicJobList.parse(await reply.json());
    return data.length === 3 && data;
  });
  for (const { id } of done) {
    const result = await gateway.fetch(`/v1/images/jobs/${id}/result`);
    expect(result.status).toBe(200);
    expect(await bytesIn(result)).toMatch(/^iVBOR/);
  }
  expect(gateway.simulator.ledger()).toMatchObject({ 'dall-e-3': { requests: 3, images: 3 } });
});

test('two replicas racing with one idempotency key have the work done once', async () => {
  const replicas = ['image', 'image-2'];
  const begun = gateway.lines.length;
  const serve = (path: string) =>
    replicas.every((name) =>
      gateway.lines.slice(begun).some(({ process, text }) => process === name && text.includes(`"${path}"`)),
    );
  // Both are back after what they went through before.
  await waitFor(async () => {
    await (await gateway.fetch('/v1/images/jobs')).text();
    return serve('/v1/images/jobs');
  });
  const gate = createGate();
  gateway.simulator.script(GENERATIONS, { gate: gate.opened });
  const headers = { 'idempotency-key': 'a race' };
  const pending = Array.from({ length: 10 }, () => gateway.fetch(GENERATIONS, { json: dallE3, headers }));
  await gateway.simulator.nextRequest();
  gate.open();
  const replies = await Promise.all(pending);
  expect(new Set(replies.map((reply) => reply.headers.get('x-gateway-job'))).size).toBe(1);
  expect(new Set(await Promise.all(replies.map(bytesIn))).size).toBe(1);
  expect(gateway.simulator.requests).toHaveLength(1);
  await waitFor(() => serve(GENERATIONS));
});

/** The client of the documentation: each request has a key, which its automatic retries send again. */
class GatewayClient extends OpenAI {
  protected override idempotencyHeader = 'Idempotency-Key';
}

test("the openai client's own retry after its service died joins the running job", async () => {
  const gate = createGate();
  gateway.simulator.script(GENERATIONS, { gate: gate.opened });
  const client = new GatewayClient({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 10 });
  const pending = client.images.generate({ ...dallE3, response_format: 'b64_json' });
  await gateway.simulator.nextRequest();
  await killImageServices();
  gate.open();
  const { data } = await pending;
  expect(data?.[0]?.b64_json).toMatch(/^iVBOR/);
  expect(gateway.simulator.requests).toHaveLength(1);
});

test("the AI SDK's own retry after its service died joins the running job", async () => {
  const gate = createGate();
  gateway.simulator.script(GENERATIONS, { gate: gate.opened });
  const openai = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
  const pending = generateImage({
    model: openai.image('dall-e-3'),
    prompt: 'a cat',
    maxRetries: 10,
    headers: { 'Idempotency-Key': crypto.randomUUID() },
  });
  await gateway.simulator.nextRequest();
  await killImageServices();
  gate.open();
  expect((await pending).image.mediaType).toBe('image/png');
  expect(gateway.simulator.requests).toHaveLength(1);
});

test('speech becomes a job through the edge, and its log line says so', async () => {
  const headers = { prefer: 'respond-async', 'x-request-id': 'speech-as-a-job' };
  const json = { model: 'tts-1', voice: 'alloy', input: 'Hello.' };
  const accepted = await gateway.fetch('/v1/audio/speech', { json, headers });
  expect([accepted.status, accepted.headers.get('preference-applied')]).toEqual([202, 'respond-async']);
  const { id } = PublicJob.parse(await accepted.json());
  const result = await waitFor(async () => {
    const reply = await gateway.fetch(`${accepted.headers.get('location')}/result`);
    return reply.status === 200 && reply;
  });
  expect(result.headers.get('content-type')).toBe('audio/mpeg');
  expect(await logLine(gateway, 'audio', headers['x-request-id'])).toMatchObject({
    jobId: id,
    preference: 'respond-async',
    status: 202,
  });
});
