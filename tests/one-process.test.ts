import { createGate } from '@gateway/simulator/gate';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The edge, the services and admin in one process: what each part owes by itself, it owes there too. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ mode: 'one', env: { DRAIN_TIMEOUT_MS: '1000' } });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const question = { model: 'gpt-5.2', input: 'What is up?' };
const never = new Promise<void>(() => undefined);

/** The lines of one request, as text and as what they say. */
const linesOf = (requestId: string) =>
  gateway.lines.filter(({ text }) => text.includes(`"requestId":"${requestId}"`)).map(({ text }) => text);

const ask = (requestId: string, json: unknown = question, path = '/v1/responses') =>
  gateway.fetch(path, { json, headers: { 'x-request-id': requestId } });

test('a request leaves one line, with what the edge and its service know of it', async () => {
  await (await ask('request-of-one-line')).text();
  // What comes later cannot have left its lines earlier.
  await (await ask('request-after-it')).text();
  await waitFor(() => linesOf('request-after-it').length === 1);
  const lines = linesOf('request-of-one-line');
  expect(lines.map((text) => text.match(/"service":"[\w-]+"/g))).toEqual([['"service":"edge"']]);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    path: '/v1/responses',
    status: 200,
    model: 'gpt-5.2',
    channel: expect.any(String),
    outputTokens: expect.any(Number),
  });
});

test('a reply that its service breaks off is a failure of the service, not a caller who left', async () => {
  gateway.simulator.script('/v1/audio/speech', { cutAfter: 1 });
  const json = { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'Hello there. '.repeat(200) };
  const reply = await ask('request-that-breaks', json, '/v1/audio/speech');
  await expect(reply.arrayBuffer()).rejects.toThrow();
  const [line = ''] = await waitFor(() => {
    const found = linesOf('request-that-breaks');
    return found.length > 0 && found;
  });
  expect(JSON.parse(line)).toMatchObject({ outcome: 'failed', 'error.source': 'upstream' });
});

test('every endpoint answers without a warning of Node in the log', async () => {
  const answers = [
    await ask('request-for-text'),
    await ask(
      'request-for-an-image',
      { model: 'dall-e-3', prompt: 'A lighthouse' },
      '/v1/images/generations',
    ),
    await ask(
      'request-for-speech',
      { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'Hello.' },
      '/v1/audio/speech',
    ),
  ];
  for (const reply of answers) expect((await reply.arrayBuffer()).byteLength).toBeGreaterThan(0);
  await waitFor(() => linesOf('request-for-speech').length === 1);
  expect(gateway.lines.map(({ text }) => text).filter((text) => text.includes('Warning'))).toEqual([]);
});

test('one page of metrics shows all parts, every metric once', async () => {
  await (await ask('request-that-is-counted')).text();
  const page = await (await fetch(`${gateway.stack.edgeMetricsUrl}/metrics`)).text();
  for (const service of ['edge', 'text'])
    expect(page).toMatch(new RegExp(`^gateway_requests_total\\{.*service="${service}".*\\} \\d+$`, 'm'));
  expect(page).toMatch(/^gateway_tokens_total\{.*service="text".*\} \d+$/m);
  expect(page).toMatch(/^process_resident_memory_bytes\{service="gateway"\} \d+$/m);
  const types = page.match(/^# TYPE \S+/gm) ?? [];
  expect(new Set(types).size).toBe(types.length);
  const samples = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  for (const line of samples) expect(line).toMatch(/^[a-z_0-9]+\{[^}]*\} (\S+)$/);
});

test('readiness covers every part by its own name', async () => {
  const ready = async (url: string | null): Promise<Record<string, unknown>> =>
    JSON.parse(await (await fetch(`${url}/readyz`)).text());
  expect(await ready(gateway.url)).toEqual({ status: 'ok' });
  gateway.stack.process('redis').kill('SIGSTOP');
  try {
    const { missing } = await ready(gateway.stack.adminUrl);
    expect(missing).toEqual(
      expect.arrayContaining(['edge redis', 'text redis', 'image redis', 'admin redis']),
    );
    expect(await ready(gateway.url)).toEqual({ status: 'unready' });
  } finally {
    gateway.stack.process('redis').kill('SIGCONT');
  }
  await waitFor(async () => (await fetch(`${gateway.url}/readyz`)).ok);
});

const isBack = (pid: number) =>
  waitFor(async () => gateway.stack.process('gateway').pid !== pid && (await ask('request-after-it')).ok);

test('at the drain deadline a waiting caller gets an error, and a stream ends with the error of its protocol', async () => {
  gateway.simulator.script('/v1/messages', {
    sse: recordedStream('messages-text'),
    stallAfter: 5,
    resume: never,
  });
  const messages = [{ role: 'user', content: 'x' }];
  const stream = await gateway.fetch('/v1/messages', {
    json: { model: 'claude-sonnet-5-5', max_tokens: 9, messages, stream: true },
  });
  gateway.simulator.script('/v1/responses', { gate: never });
  const waiting = ask('request-that-waits');
  await waitFor(() => gateway.simulator.requests.length === 2);
  const { pid, ended } = gateway.stack.process('gateway');
  gateway.stack.process('gateway').kill('SIGTERM');
  const events = await collectSse(stream);
  expect(events.at(-1)).toMatchObject({ event: 'error' });
  const reply = await waiting;
  expect([reply.status, await reply.json()]).toMatchObject([503, { error: { code: 'shutting_down' } }]);
  expect(await ended).toBe('exit code 0');
  await isBack(pid);
});

test('each of the two processes is started again when it dies', async () => {
  const { pid } = gateway.stack.process('gateway');
  gateway.stack.process('gateway').kill('SIGKILL');
  await isBack(pid);
  const gate = createGate();
  gateway.simulator.script('/v1/images/generations', { gate: gate.opened });
  const image = gateway.fetch('/v1/images/generations', {
    json: { model: 'dall-e-3', prompt: 'A lighthouse' },
  });
  gate.open();
  expect((await image).status).toBe(200);
  const workers = gateway.stack.process('workers');
  const before = workers.pid;
  workers.kill('SIGKILL');
  await waitFor(() => gateway.stack.process('workers').pid !== before);
  const next = await gateway.fetch('/v1/images/generations', {
    json: { model: 'dall-e-3', prompt: 'A boat' },
  });
  expect(next.status).toBe(200);
});
