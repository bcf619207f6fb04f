import { request as httpRequest } from 'node:http';
import type { Account } from '@gateway/contracts/identity';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../testing/start-stack.ts';

/** Limits on requests, counted by the service in one step with what a request reserves. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration: PLAIN });
});
afterAll(() => stack[Symbol.asyncDispose]());

let keys = 0;
/** A caller of its own, with these limits. */
function caller(limits: Account['limits']) {
  keys += 1;
  const keyId = `key_limited_${keys}`;
  return { keyId, accounts: [{ owner: keyId, limits, budget: null }] };
}
const RESPONSE = { model: 'gpt-5.2', input: 'hi' };
const MESSAGE = { model: 'claude-sonnet-5-5', max_tokens: 200, messages: [{ role: 'user', content: 'hi' }] };

test('what is left of the limit is in the reply, in the form of its protocol', async () => {
  const identity = caller({ requestsPerMinute: 10 });
  const response = await stack.text.fetch('/v1/responses', { body: RESPONSE, identity });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'x-ratelimit-limit-requests': '10',
    'x-ratelimit-remaining-requests': '9',
    'x-ratelimit-reset-requests': '6s',
  });
  const message = await stack.text.fetch('/v1/messages', { body: MESSAGE, identity });
  expect(message.headers.get('anthropic-ratelimit-requests-remaining')).toBe('8');
});

test('a request that is refused for itself counts too, and is refused by its limit first', async () => {
  const identity = caller({ requestsPerMinute: 1 });
  const wrong = { body: { ...RESPONSE, temperature: 9 }, identity };
  const first = await stack.text.fetch('/v1/responses', wrong);
  expect([first.status, first.headers.get('x-ratelimit-remaining-requests')]).toEqual([400, '0']);
  const second = await stack.text.fetch('/v1/responses', wrong);
  expect([second.status, await second.json()]).toMatchObject([
    429,
    { error: { code: 'rate_limit_exceeded', message: expect.stringContaining('requests per minute') } },
  ]);
});

test('a request over a limit that is known to be reached is refused before its body is there', async () => {
  const identity = caller({ requestsPerMinute: 1 });
  expect((await stack.text.fetch('/v1/responses', { body: RESPONSE, identity })).status).toBe(200);
  expect((await stack.text.fetch('/v1/responses', { body: RESPONSE, identity })).status).toBe(429);
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(`${stack.text.url}/v1/responses`, {
      method: 'POST',
      headers: {
        ...stack.text.identityHeaders(identity),
        'content-type': 'application/json',
        'content-length': 1000,
      },
    });
    request.once('response', (response) => {
      resolve(response.statusCode);
      request.destroy();
    });
    request.once('error', reject);
    request.write('{');
  });
  expect(status).toBe(429);
});

test('a request holds its slot until its response has ended', async () => {
  const identity = caller({ concurrentRequests: 1 });
  const streamed = {
    body: { ...RESPONSE, input: 'Count. [[simulate tokens=5 pace=50]]', stream: true },
    identity,
  };
  const held = await stack.text.fetch('/v1/responses', streamed);
  expect((await stack.text.fetch('/v1/responses', { body: RESPONSE, identity })).status).toBe(429);
  await held.text();
  expect((await stack.text.fetch('/v1/responses', { body: RESPONSE, identity })).status).toBe(200);
});

test('a caller who leaves frees the slot', async () => {
  const identity = caller({ concurrentRequests: 1 });
  const leaving = new AbortController();
  const body = { ...RESPONSE, input: 'Count. [[simulate tokens=500 pace=50]]', stream: true };
  await stack.text.fetch('/v1/responses', { body, identity, signal: leaving.signal });
  leaving.abort();
  await waitFor(async () => {
    const { status } = await stack.text.fetch('/v1/responses', { body: RESPONSE, identity });
    return status === 200;
  });
});

test('refusals are counted by their reason', async () => {
  const identity = caller({ requestsPerMinute: 1 });
  for (let n = 0; n < 3; n += 1) await stack.text.fetch('/v1/responses', { body: RESPONSE, identity });
  expect(await stack.text.metrics.registry.metrics()).toMatch(
    /gateway_refused_total\{reason="requests_per_minute",service="text"\} [2-9]/,
  );
});

/** As an edge of an older version sends a request, which it has counted. */
function countedHeaders(identity: ReturnType<typeof caller>): Record<string, string> {
  const { 'x-gateway-uncounted': _, ...counted } = stack.text.identityHeaders(identity);
  return counted;
}

test('a request that the edge has counted is not counted again', async () => {
  const identity = caller({ requestsPerMinute: 1 });
  for (let n = 0; n < 2; n += 1) {
    const counted = await fetch(`${stack.text.url}/v1/responses`, {
      method: 'POST',
      headers: { ...countedHeaders(identity), 'content-type': 'application/json' },
      body: JSON.stringify(RESPONSE),
    });
    expect([counted.status, counted.headers.get('x-ratelimit-limit-requests')]).toEqual([200, null]);
  }
});
