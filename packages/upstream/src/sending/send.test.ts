import { expect, test } from 'vitest';
import { json, startProvider, startUpstream } from '../provider-for-tests.ts';
import { bodyOf, MAX_BYTES, refusal, sendRequest } from './send-for-tests.ts';

test("a request arrives with the channel's key and model, and the reply comes back as it is", async () => {
  const provider = await startProvider((response) =>
    json(response, { id: 1 }, 201, { 'x-request-id': 'up' }),
  );
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await sendRequest(upstream, {
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

test("the caller's headers of the protocol pass; credentials, addresses and all others are dropped", async () => {
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
    'openai-project': 'callers-project',
    'x-extra': 'callers-extra',
    'x-stainless-lang': 'callers',
    'x-claude-code-session-id': 'callers',
    'anthropic-beta': 'callers',
    'x-internal-user': 'callers',
    referer: 'callers',
    'x-codex-turn-state': 'state',
    session_id: 'session',
    'openai-beta': 'responses=v1',
    'openai-something-new': ['a', 'b'],
  };
  const reply = await sendRequest(upstream, {
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
    'x-codex-turn-state': 'state',
    session_id: 'session',
    'openai-beta': 'responses=v1',
    'openai-something-new': 'a, b',
  });
});

const OPERATION_OF = {
  responses: 'responses',
  messages: 'messages',
  chat: 'chat',
  images: 'images.generations',
  speech: 'speech',
  transcriptions: 'transcriptions',
} as const;
const SHARED = ['accept', 'accept-language', 'content-type', 'traceparent', 'tracestate', 'user-agent'];
const OPENAI = [...SHARED, 'openai-beta', 'openai-new', 'x-client-request-id'];
const CODEX = ['session_id', 'session-id', 'conversation_id', 'originator', 'version'];
const PASSES = {
  responses: [...OPENAI, ...CODEX, 'x-codex-new', 'x-openai-subagent', 'OpenResponses-Version'],
  messages: [...SHARED, 'anthropic-beta', 'anthropic-new', 'anthropic-version', 'anthropic-user-profile-id'],
  chat: OPENAI,
  images: OPENAI,
  speech: OPENAI,
  transcriptions: OPENAI,
} as const;
const STAYS = [
  ...['authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'cookie', 'x-auth-token'],
  ...['openai-organization', 'OpenAI-Project', 'anthropic-organization-id', 'Anthropic-Workspace-Id'],
  ...[
    'x-forwarded-for',
    'forwarded',
    'via',
    'x-real-ip',
    'cf-connecting-ip',
    'true-client-ip',
    'origin',
    'referer',
  ],
  ...['x-gateway-identity', 'x-gateway-strict', 'x-request-id', 'prefer', 'idempotency-key', 'baggage'],
  ...[
    'x-stainless-os',
    'x-claude-code-session-id',
    'x-app',
    'sec-fetch-mode',
    'x-new',
    'constructor',
    '__proto__',
  ],
];

test.for(['responses', 'messages', 'chat', 'images', 'speech', 'transcriptions'] as const)(
  'what goes to a provider is on the list of the protocol: %s',
  async (protocol) => {
    const provider = await startProvider();
    const settings = 'headers: { x-ours: "1" }';
    const speaks = [protocol === 'messages' ? protocol : 'chat'] as const;
    const upstream = await startUpstream({ one: { origin: provider.origin, speaks, settings } });
    const [model] = upstream.configuration.models;
    const route = model?.routes[0];
    if (route === undefined) throw new Error('no route');
    const { channel } = route;
    const candidate = {
      channel,
      account: channel.accounts[0],
      weight: 1,
      route,
      protocol,
      model: 'large',
      requestedModel: 'small',
    };
    const names = [...new Set([...Object.values(PASSES).flat(), ...STAYS, 'x-ours'])];
    const headers = Object.fromEntries(names.map((name) => [name, 'callers']));
    const request = () =>
      ({ operation: OPERATION_OF[protocol], method: 'POST', headers, body: '{}' }) as const;
    await (await sendRequest(upstream, { candidates: [candidate], request })).bytes(MAX_BYTES);
    const received = Object.entries(provider.requests[0]?.headers ?? {});
    const passed = received.flatMap(([name, value]) => (value === 'callers' ? [name] : []));
    expect(passed.toSorted()).toEqual(PASSES[protocol].map((name) => name.toLowerCase()).toSorted());
  },
);

test('a Messages request gets the version that the caller left out, and keeps the one that it has', async () => {
  const provider = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin, speaks: ['messages'] } });
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  const candidates = upstream.candidates({ model, protocol: 'messages' });
  for (const headers of [{}, { 'anthropic-version': '2026-10-21' }]) {
    const request = () =>
      ({ operation: 'messages.count_tokens', method: 'POST', headers, body: '{}' }) as const;
    await (await sendRequest(upstream, { candidates, request })).bytes(MAX_BYTES);
  }
  expect(
    provider.requests.map(({ url, headers }) => [url, headers['x-api-key'], headers['anthropic-version']]),
  ).toEqual([
    ['/v1/messages/count_tokens', 'sk-secret-of-one-0123456789', '2023-06-01'],
    ['/v1/messages/count_tokens', 'sk-secret-of-one-0123456789', '2026-10-21'],
  ]);
});

test('a channel without a free slot is skipped; alone, it leads to a 503', async () => {
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
  const waiting = sendRequest(pair);
  const reply = await sendRequest(pair);
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
  await (await sendRequest(pair, { candidates: only })).bytes(MAX_BYTES);
});

test('an internal error while the request is built is thrown unchanged', async () => {
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
  const waiting = sendRequest(upstream);
  upstream.replace((await startUpstream({ one: { origin: fresh.origin } })).configuration);
  expect(await bodyOf(await sendRequest(upstream))).toEqual({ from: 'new' });
  held.resolve();
  expect(await bodyOf(await waiting)).toEqual({ from: 'old' });
  expect(await bodyOf(await sendRequest(upstream, { candidates: oldCandidates }))).toEqual({ from: 'old' });
});

test('a channel whose address did not change keeps its connections over a new configuration', async () => {
  const provider = await startProvider();
  const ports = new Set<number | undefined>();
  provider.answer = (response) => {
    ports.add(response.socket?.remotePort);
    json(response, {});
  };
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  await (await sendRequest(upstream)).bytes(MAX_BYTES);
  // undici gives a connection free in the turn after its reply has ended.
  await new Promise(setImmediate);
  const next = await startUpstream({ one: { origin: provider.origin, settings: 'maxConcurrent: 3' } });
  upstream.replace(next.configuration);
  await (await sendRequest(upstream)).bytes(MAX_BYTES);
  expect(ports.size).toBe(1);
});
