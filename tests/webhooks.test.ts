import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { PublicJob } from '@gateway/contracts/jobs';
import { JobWebhook } from '@gateway/contracts/webhooks';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { askAdmin, createKey, type MadeKey } from './support/admin-keys.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A job's end is reported to its key's receiver. */

const received: { headers: Record<string, string>; body: string }[] = [];
let status = 200;
const receiver = createServer((request, response) => {
  text(request).then(
    (body) => {
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
      received.push({ headers: Object.fromEntries(headers), body });
      response.writeHead(status).end();
    },
    () => undefined,
  );
});
let gateway: Gateway;
let url: string;
let key: MadeKey;
let secret: string;

beforeAll(async () => {
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const address = receiver.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook`;
  gateway = await startGateway({
    env: { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8', PUBLIC_URL: 'https://gateway.example.com/ai/' },
  });
  key = await createKey(gateway.stack, { name: 'hooked', webhookUrl: url });
  const made = await askAdmin(gateway.stack, 'POST', `/admin/v1/keys/${key.id}/webhook-secret`, {});
  secret = z.object({ webhookSecret: z.string() }).parse(await made.json()).webhookSecret;
});
afterAll(async () => {
  await gateway?.close();
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(() => {
  gateway.simulator.reset();
  received.length = 0;
  status = 200;
});

const GENERATIONS = '/v1/images/generations';
const generate = (headers: Record<string, string>) =>
  fetch(`${gateway.url}${GENERATIONS}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'dall-e-3', prompt: 'a cat' }),
  });
const verified = () => {
  const [webhook] = received;
  if (webhook === undefined) return undefined;
  return JobWebhook.parse(new Webhook(secret).verify(webhook.body, webhook.headers));
};

test("a job made under Prefer is reported to its key's receiver, in whatever process it ends", async () => {
  const reply = await generate({ prefer: 'respond-async' });
  const { id } = PublicJob.parse(await reply.json());
  const { type, data } = await waitFor(verified);
  expect(type).toBe('job.completed');
  const polled = await fetch(`${gateway.url}/v1/images/jobs/${id}`, {
    headers: { authorization: `Bearer ${key.key}` },
  });
  expect(data).toEqual(PublicJob.parse(await polled.json()));
});

test('where callers reach the gateway below a path, the Location of a job is below it', async () => {
  const reply = await generate({ prefer: 'respond-async' });
  const { id } = PublicJob.parse(await reply.json());
  expect(reply.headers.get('location')).toBe(`/ai/v1/images/jobs/${id}`);
  await waitFor(verified);
});

test("a failed job's webhook, status and result have the error that a waiting caller gets", async () => {
  const error = {
    message: 'Your request was rejected by the safety system.',
    type: 'image_generation_user_error',
    param: null,
    code: 'content_policy_violation',
  };
  const refusal = { status: 400, json: { error } };
  gateway.simulator.script(GENERATIONS, refusal);
  gateway.simulator.script(GENERATIONS, refusal);
  const { id } = PublicJob.parse(await (await generate({ prefer: 'respond-async' })).json());
  const webhook = await waitFor(verified);
  expect(webhook).toMatchObject({ type: 'job.failed', data: { id, status: 'failed', error } });
  const askJob = async (path: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key.key}` };
    return (await fetch(`${gateway.url}/v1/images/jobs/${id}${path}`, { headers })).json();
  };
  expect(webhook.data).toEqual(PublicJob.parse(await askJob('')));
  expect(await askJob('/result')).toEqual({ error });
  const waited = await generate({});
  expect([waited.status, await waited.json()]).toEqual([400, { error }]);
});

test('the header alone lets a job continue without its caller, and names where it is reported', async () => {
  const gate = createGate();
  gateway.simulator.script(GENERATIONS, { gate: gate.opened });
  const leaving = new AbortController();
  const waiting = fetch(`${gateway.url}${GENERATIONS}`, {
    method: 'POST',
    signal: leaving.signal,
    headers: {
      authorization: `Bearer ${key.key}`,
      'content-type': 'application/json',
      'x-gateway-webhook': `${url}?token=hidden`,
    },
    body: JSON.stringify({ model: 'dall-e-3', prompt: 'a cat' }),
  });
  await gateway.simulator.nextRequest();
  leaving.abort();
  await expect(waiting).rejects.toThrow();
  gate.open();
  expect(await waitFor(verified)).toMatchObject({ type: 'job.completed' });
  expect(gateway.lines.filter(({ text: line }) => /token=hidden|whsec_/.test(line))).toEqual([]);
});

test('a webhook that its receiver refused is replayed by the admin', async () => {
  status = 410;
  const { id } = PublicJob.parse(await (await generate({ prefer: 'respond-async' })).json());
  const path = `/admin/v1/webhooks/${id.replace('job_', 'msg_')}`;
  const read = async () =>
    z.object({ status: z.string() }).parse(await (await askAdmin(gateway.stack, 'GET', path)).json());
  await waitFor(async () => (await read()).status === 'failed');
  status = 200;
  await askAdmin(gateway.stack, 'POST', `${path}/replay`);
  await waitFor(async () => (await read()).status === 'delivered');
  expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([
    id.replace('job_', 'msg_'),
    id.replace('job_', 'msg_'),
  ]);
});

test.for([
  ['not a URL', 'Invalid x-gateway-webhook header.'],
  ['https://ann:secret@example.com/', 'Invalid x-gateway-webhook header.'],
] as const)('a header of %s is refused before anything is done', async ([sent, message]) => {
  const reply = await generate({ 'x-gateway-webhook': sent });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { code: 'invalid_value', param: 'x-gateway-webhook', message: expect.stringContaining(message) },
  });
  expect(gateway.simulator.ledger()).toEqual({});
});

test('a key without a webhook secret gets an error', async () => {
  const reply = await gateway.fetch(GENERATIONS, {
    json: { model: 'dall-e-3', prompt: 'a cat' },
    headers: { 'x-gateway-webhook': url },
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { message: expect.stringContaining('Your key has no secret to sign webhooks with.') },
  });
});

test('a batch is reported once, and its lines are not', async () => {
  const lines = [1, 2, 3].map((n) =>
    JSON.stringify({
      custom_id: `cat ${n}`,
      method: 'POST',
      url: GENERATIONS,
      body: { model: 'dall-e-3', prompt: `cat ${n}` },
    }),
  );
  const reply = await fetch(`${gateway.url}/v1/images/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/jsonl' },
    body: lines.join('\n'),
  });
  const { id } = PublicJob.parse(await reply.json());
  expect(await waitFor(verified)).toMatchObject({
    type: 'job.completed',
    data: { id, kind: 'image.batch', counts: { total: 3, completed: 3, failed: 0 } },
  });
  const result = await fetch(`${gateway.url}/v1/images/jobs/${id}/result`, {
    headers: { authorization: `Bearer ${key.key}` },
  });
  const ofLines = [...(await result.text()).matchAll(/"id":"(job_[0-9a-f]{32})"/g)].map(
    ([, lineId]) => lineId,
  );
  expect(ofLines).toHaveLength(3);
  const log = await (await askAdmin(gateway.stack, 'GET', '/admin/v1/webhooks')).text();
  expect(log).toContain(id);
  for (const lineId of ofLines) expect(log).not.toContain(lineId);
});
