import { createServer } from 'node:net';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { error, json, startProvider, startUpstream } from './provider-for-tests.ts';
import type { Attempt, Reply } from './reply.ts';
import type { SendOptions } from './send.ts';
import type { Upstream } from './upstream.ts';

const MAX_BYTES = 1_000_000;

const ask = (upstream: Upstream, options: Partial<SendOptions> = {}): Promise<Reply> => {
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  return upstream.send({
    candidates: upstream.candidates({ model, protocol: 'responses' }),
    request: (candidate) => ({
      operation: 'responses',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: candidate.model }),
    }),
    dialect: 'openai',
    work: 'free',
    streamed: false,
    ...options,
  });
};

const refusal = (upstream: Upstream, options: Partial<SendOptions> = {}): Promise<GatewayError> =>
  ask(upstream, options).then(
    () => Promise.reject(new Error('it was answered')),
    (thrown) => thrown,
  );

const bodyOf = async (reply: Reply): Promise<unknown> =>
  JSON.parse((await reply.bytes(MAX_BYTES)).toString());

/** An address where nothing listens. */
const deadOrigin = async (): Promise<string> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};

test("a request arrives with the channel's key and model, and the reply comes back as it is", async () => {
  const provider = await startProvider((response) =>
    json(response, { id: 1 }, 201, { 'x-request-id': 'up' }),
  );
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await ask(upstream, {
    request: (candidate) => ({
      operation: 'responses',
      method: 'POST',
      subpath: '/resp_1/cancel',
      query: 'a=1&b=%20',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(`{"model":"${candidate.model}"}`),
    }),
  });
  expect(reply).toMatchObject({ status: 201, headers: { 'x-request-id': 'up' } });
  expect(await bodyOf(reply)).toEqual({ id: 1 });
  expect(reply.attempts).toMatchObject([{ channel: 'one', outcome: 'ok', status: 201 }]);
  expect(provider.requests).toMatchObject([
    {
      method: 'POST',
      url: '/v1/responses/resp_1/cancel?a=1&b=%20',
      body: '{"model":"large"}',
      headers: { authorization: 'Bearer sk-secret-of-one-0123456789', 'content-length': '17' },
    },
  ]);
});

test("the caller's credentials, addresses and connection headers stay here; everything else passes", async () => {
  const provider = await startProvider();
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings: 'headers: { X-Extra: "1" }' },
  });
  const headers = {
    Authorization: 'Bearer callers-key',
    'x-api-key': 'callers-key',
    cookie: 'callers-cookie',
    host: 'callers-host',
    connection: 'keep-alive, x-hop',
    'x-hop': 'callers-hop',
    'keep-alive': 'callers',
    'transfer-encoding': 'chunked',
    te: 'trailers',
    upgrade: 'h2c',
    'proxy-authorization': 'callers-key',
    'content-length': '999',
    'accept-encoding': 'gzip',
    'x-gateway-identity': 'callers-identity',
    'X-Gateway-Strict': 'true',
    'x-forwarded-for': 'callers-address',
    forwarded: 'for=callers',
    'x-request-id': 'callers',
    'openai-organization': 'callers-org',
    'idempotency-key': 'callers',
    'x-extra': 'callers-extra',
    'openai-beta': 'responses=v1',
    'x-stainless-lang': 'js',
    'x-many': ['a', 'b'],
  };
  const reply = await ask(upstream, {
    request: () => ({ operation: 'responses', method: 'POST', headers, body: '{}' }),
  });
  await reply.bytes(MAX_BYTES);
  const [received] = provider.requests;
  expect(JSON.stringify(received?.headers)).not.toContain('callers');
  expect(received?.headers).toEqual({
    host: new URL(provider.origin).host,
    connection: 'keep-alive',
    'content-length': '2',
    'accept-encoding': 'identity',
    authorization: 'Bearer sk-secret-of-one-0123456789',
    'x-extra': '1',
    'openai-beta': 'responses=v1',
    'x-stainless-lang': 'js',
    'x-many': 'a, b',
  });
});

test('a Messages request gets the version that the caller left out, and keeps the one that it has', async () => {
  const provider = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin, speaks: ['messages'] } });
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  const candidates = upstream.candidates({ model, protocol: 'messages' });
  for (const headers of [{}, { 'anthropic-version': '2026-10-21' }]) {
    const request = () =>
      ({ operation: 'messages.count_tokens', method: 'POST', headers, body: '{}' }) as const;
    await (await ask(upstream, { candidates, request })).bytes(MAX_BYTES);
  }
  expect(
    provider.requests.map(({ url, headers }) => [url, headers['x-api-key'], headers['anthropic-version']]),
  ).toEqual([
    ['/v1/messages/count_tokens', 'sk-secret-of-one-0123456789', '2023-06-01'],
    ['/v1/messages/count_tokens', 'sk-secret-of-one-0123456789', '2026-10-21'],
  ]);
});

/** An answer of the first channel, the code it leads to if there is no second, and whether the second is asked. */
const ANSWERS = [
  [400, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [409, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [413, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [422, { error: { message: 'bad' } }, 'upstream_rejected', false],
  [418, 'no error object', 'upstream_rejected', false],
  [401, { error: { message: 'bad', code: 'invalid_api_key' } }, 'upstream_misconfigured', true],
  [403, { error: { message: 'bad' } }, 'upstream_misconfigured', true],
  [404, { error: { message: 'bad' } }, 'upstream_misconfigured', true],
  [400, { error: { message: 'bad', code: 'model_not_found' } }, 'upstream_misconfigured', true],
  [302, {}, 'upstream_misconfigured', true],
  [402, {}, 'upstream_quota_exhausted', true],
  [429, { error: { message: 'slow', code: 'rate_limit_exceeded' } }, 'upstream_rate_limited', true],
  [429, { error: { message: 'pay', code: 'insufficient_quota' } }, 'upstream_quota_exhausted', true],
  [
    400,
    { error: { type: 'x', message: 'Your credit balance is too low to go on' } },
    'upstream_quota_exhausted',
    true,
  ],
  [500, { error: { message: 'oops' } }, 'upstream_failed', true],
  [502, '<html>', 'upstream_failed', true],
  [503, {}, 'upstream_overloaded', true],
  [529, { type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 'upstream_overloaded', true],
  [504, {}, 'upstream_timeout', true],
] as const;

test.for(ANSWERS)(
  'an answer of %d %j means %s; another channel is tried: %s',
  async ([status, body, code, elsewhere]) => {
    for (const work of ['free', 'paid'] as const) {
      const first = await startProvider(error(status, body));
      const second = await startProvider();
      const alone = await startUpstream({ first: { origin: first.origin } });
      const thrown = await refusal(alone, { work });
      expect(thrown).toMatchObject({ code, source: 'upstream' });
      expect(thrown.message).not.toContain('[object');

      const pair = await startUpstream({
        first: { origin: first.origin },
        second: { origin: second.origin },
      });
      if (elsewhere) {
        const reply = await ask(pair, { work });
        expect(reply.attempts.map(({ channel }) => channel)).toEqual(['first', 'second']);
        await reply.bytes(MAX_BYTES);
      } else expect((await refusal(pair, { work })).code).toBe(code);
      expect(second.requests.length).toBe(elsewhere ? 1 : 0);
    }
  },
);

test('a channel that cannot be reached is passed over, also for paid work', async () => {
  const provider = await startProvider();
  const dead = await deadOrigin();
  const seen: Attempt[] = [];
  const pair = await startUpstream({ dead: { origin: dead }, alive: { origin: provider.origin } }, (one) =>
    seen.push(one),
  );
  await (await ask(pair, { work: 'paid' })).bytes(MAX_BYTES);
  expect(seen.map(({ channel, outcome }) => `${channel} ${outcome}`)).toEqual([
    'dead unreachable',
    'alive ok',
  ]);
  const alone = await startUpstream({ dead: { origin: dead } });
  expect(await refusal(alone)).toMatchObject({ code: 'upstream_unreachable', retry: true });
  const nameless = await startUpstream({ dead: { origin: 'http://no-such-host.invalid' } });
  expect(await refusal(nameless)).toMatchObject({ code: 'upstream_unreachable' });
});

test('when every channel fails, the failure that is worth a retry is told', async () => {
  const limited = await startProvider(error(429, { error: { message: 'x' } }, { 'retry-after': '7' }));
  const broken = await startProvider(error(401, {}));
  const upstream = await startUpstream({
    limited: { origin: limited.origin },
    broken: { origin: broken.origin },
  });
  expect(await refusal(upstream)).toMatchObject({
    code: 'upstream_rate_limited',
    message: "The upstream's rate limit for this model is reached. Please try again in 7s.",
    options: { retryAfterSeconds: 7 },
  });
});

test('a connection that breaks before the first output falls through for free work only', async () => {
  const first = await startProvider((response) => response.destroy());
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  await (await ask(upstream)).bytes(MAX_BYTES);
  expect(second.requests.length).toBe(1);
  const thrown = await refusal(upstream, { work: 'paid' });
  expect(thrown).toMatchObject({ code: 'outcome_unknown', retry: false });
  expect(second.requests.length).toBe(1);
});

test('headers without a first byte are no output: another channel is tried', async () => {
  const first = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    setImmediate(() => response.destroy());
  });
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  expect(await bodyOf(await ask(upstream, { streamed: true }))).toEqual({ ok: true });
});

test('a connection that breaks after the first output is not repeated; the reply ends in an error', async () => {
  const first = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n', () => response.destroy());
  });
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  const reply = await ask(upstream, { streamed: true });
  const chunks: string[] = [];
  const read = async (): Promise<void> => {
    for await (const chunk of reply.body) chunks.push(chunk.toString());
  };
  await expect(read()).rejects.toMatchObject({ code: 'upstream_failed', source: 'upstream' });
  expect(chunks).toEqual(['data: 1\n\n']);
  expect(second.requests.length).toBe(0);
});

test('a body shorter than it declared is an error and not an end', async () => {
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': '100' });
    response.write('short', () => response.destroy());
  });
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await ask(upstream, { work: 'paid' });
  await expect(reply.bytes(MAX_BYTES)).rejects.toMatchObject({ code: 'outcome_unknown', retry: false });
});

test('a channel that has all the requests it may have is passed over; alone, it leads to a 503', async () => {
  const held = Promise.withResolvers<void>();
  const first = await startProvider(async (response) => {
    await held.promise;
    json(response, {});
  });
  const second = await startProvider();
  const settings = 'maxConcurrent: 1';
  const pair = await startUpstream({
    first: { origin: first.origin, settings },
    second: { origin: second.origin },
  });
  const waiting = ask(pair);
  const reply = await ask(pair);
  expect(reply.attempts).toMatchObject([{ outcome: 'busy' }, { outcome: 'ok' }]);
  await reply.bytes(MAX_BYTES);

  const model = pair.resolveModel('small');
  const only = model ? pair.candidates({ model, protocol: 'responses' }).slice(0, 1) : [];
  expect(await refusal(pair, { candidates: only })).toMatchObject({
    code: 'no_available_channel',
    options: { retryAfterSeconds: 1 },
  });
  held.resolve();
  await (await waiting).bytes(MAX_BYTES);
  await (await ask(pair, { candidates: only })).bytes(MAX_BYTES);
});

test('a fault of our own while the request is made is thrown as it is', async () => {
  const provider = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const fault = new Error('ours');
  const request = (): never => {
    throw fault;
  };
  expect(await refusal(upstream, { request })).toBe(fault);
  expect(provider.requests.length).toBe(0);
});

test('a new configuration keeps requests that have begun and serves new ones from its own channels', async () => {
  const held = Promise.withResolvers<void>();
  const old = await startProvider(async (response) => {
    await held.promise;
    json(response, { from: 'old' });
  });
  const fresh = await startProvider((response) => json(response, { from: 'new' }));
  const upstream = await startUpstream({ one: { origin: old.origin } });
  const chosenBefore = upstream.resolveModel('small');
  if (chosenBefore === null) throw new Error('no model');
  const oldCandidates = upstream.candidates({ model: chosenBefore, protocol: 'responses' });
  const waiting = ask(upstream);
  upstream.replace((await startUpstream({ one: { origin: fresh.origin } })).configuration);
  expect(await bodyOf(await ask(upstream))).toEqual({ from: 'new' });
  held.resolve();
  expect(await bodyOf(await waiting)).toEqual({ from: 'old' });
  expect(await bodyOf(await ask(upstream, { candidates: oldCandidates }))).toEqual({ from: 'old' });
});

test('a channel whose address did not change keeps its connections over a new configuration', async () => {
  const provider = await startProvider();
  const ports = new Set<number | undefined>();
  provider.answer = (response) => {
    ports.add(response.socket?.remotePort);
    json(response, {});
  };
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  await (await ask(upstream)).bytes(MAX_BYTES);
  // undici gives a connection free in the turn after its reply has ended.
  await new Promise(setImmediate);
  const next = await startUpstream({ one: { origin: provider.origin, settings: 'maxConcurrent: 3' } });
  upstream.replace(next.configuration);
  await (await ask(upstream)).bytes(MAX_BYTES);
  expect(ports.size).toBe(1);
});
