import { createGate } from '@gateway/simulator/gate';
import { recordedStream } from '@gateway/simulator/recorded-stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  anthropic,
  everywhere,
  expectError,
  images,
  messages,
  openai,
  responses,
  speech,
} from './error-table/error-row.ts';
import { logLine } from './support/log-lines.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A process that hangs or is gone: callers get their protocol's answer, and soon. The tests build on each other. */

/** More than what services wait for Redis. */
const SERVICE_TIMEOUT_MS = 8000;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'image', 'audio'],
    env: { EDGE_SERVICE_TIMEOUT_MS: String(SERVICE_TIMEOUT_MS) },
    restarts: false,
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const down = openai(503, ['server_error', 'service_unavailable']);
const overloaded = anthropic(529, 'overloaded_error');
const retry = { retry: true } as const;

test('a service that hangs: 504, and it serves again when it continues', async () => {
  gateway.stack.process('text').kill('SIGSTOP');
  const late = openai(504, ['server_error', 'service_timeout'], new RegExp(`${SERVICE_TIMEOUT_MS} ms`));
  await Promise.all([
    expectError(gateway, retry, responses({}, late)),
    expectError(gateway, retry, responses({ stream: true }, late)),
    expectError(gateway, retry, messages({}, anthropic(504, 'timeout_error'))),
  ]);
  gateway.stack.process('text').kill('SIGCONT');
  expect((await gateway.openai.responses.create({ model: 'gpt-5.2', input: 'x' })).status).toBe('completed');
});

test('Redis hangs: keys in use are served where nothing must be stored, all else gets an error with a retry-after', async () => {
  await gateway.openai.responses.create({ model: 'gpt-5.2', input: 'x', store: false });
  gateway.stack.process('redis').kill('SIGSTOP');
  try {
    const streamed = await gateway.fetch('/v1/messages', {
      json: {
        model: 'claude-sonnet-5-5',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'x' }],
        stream: true,
      },
    });
    expect(await streamed.text()).toContain('message_stop');
    await Promise.all([
      expectError(gateway, retry, images({}, down)),
      expectError(
        gateway,
        retry,
        responses({ headers: { authorization: 'Bearer gw_a-key-that-was-not-seen-before-00' } }, down),
      ),
      expectError(gateway, retry, { path: '/v1/responses/resp_1', request: {}, error: down }),
    ]);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
  } finally {
    gateway.stack.process('redis').kill('SIGCONT');
  }
});

test('a service that is killed before its answer has begun: the error asks for a retry, except for paid work', async () => {
  const gate = createGate();
  gateway.simulator.script({ gate: gate.opened });
  const pending = expectError(
    gateway,
    { retry: false },
    speech({}, openai(502, ['server_error', 'outcome_unknown'])),
  );
  await gateway.simulator.nextRequest();
  const { ended } = gateway.stack.process('audio');
  gateway.stack.process('audio').kill('SIGKILL');
  await Promise.all([pending, ended]);
  await expectError(gateway, retry, speech({}, down));
});

test('a service that is killed in the middle of a stream: no caller takes a half of it for the whole', async () => {
  gateway.simulator.script({
    sse: recordedStream('responses-text'),
    stallAfter: 5,
    resume: new Promise(() => undefined),
  });
  gateway.simulator.script({ gate: new Promise(() => undefined) });
  const headers = { 'x-request-id': 'request-whose-service-dies' };
  const streamed = await gateway.fetch('/v1/responses', {
    json: { model: 'gpt-5.2', input: 'x', stream: true },
    headers,
  });
  const waiting = expectError(gateway, retry, messages({}, overloaded));
  await gateway.simulator.nextRequest();
  await gateway.simulator.nextRequest();
  const { ended } = gateway.stack.process('text');
  gateway.stack.process('text').kill('SIGKILL');
  await expect(streamed.text()).rejects.toThrow();
  await Promise.all([waiting, ended]);
  expect(await logLine(gateway, 'edge', headers['x-request-id'])).toMatchObject({
    outcome: 'failed',
    level: 50,
  });
});

test('services that are gone: every endpoint says so in its protocol', async () => {
  gateway.stack.process('image').kill('SIGTERM');
  expect(await gateway.stack.process('image').ended).toBe('exit code 0');
  for (const each of everywhere({}, down, overloaded)) await expectError(gateway, retry, each);
});
