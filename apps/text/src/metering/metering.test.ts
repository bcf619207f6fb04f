import type { Account } from '@gateway/contracts/identity';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { createGate } from '@gateway/simulator/gate';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startText, type TextUnderTest } from '../testing/start-text.ts';

let server: TestRedis;
let redis: Redis;
let simulator: Simulator;
let text: TextUnderTest;
/** Each test has a key of its own: what an earlier one leaves does not count for it. */
let keyId: string;
let keys = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  simulator = await startSimulator();
  text = await startText({
    redis,
    configuration: `
channels:
  one: { provider: simulator, baseUrl: "${simulator.url}", speaks: [responses, messages] }
  chat: { provider: simulator, baseUrl: "${simulator.url}", speaks: [chat] }
models:
  dear-requests:
    kind: text
    routes: [{ channel: one }]
    price: { inputPerMTok: 10, outputPerMTok: 1000, perRequest: 0.1 }
  priced:
    kind: text
    maxOutputTokens: 1000
    routes: [{ channel: one }]
    price: { inputPerMTok: 10, outputPerMTok: 1000 }
  translated:
    kind: text
    routes: [{ channel: chat }]
    price: { inputPerMTok: 10, outputPerMTok: 1000 }
  unpriced: { kind: text, routes: [{ channel: one }] }
`,
  });
});
afterAll(async () => {
  await text.close();
  await simulator.close();
  redis.disconnect();
  await server.close();
});
beforeEach(() => {
  keys += 1;
  keyId = `key_${keys}`;
  simulator.reset();
});

const budget = (microUsd: number, allowUnpriced = false): Account => ({
  owner: keyId,
  limits: {},
  budget: { microUsd, period: 'total', allowUnpriced },
});

const send = (path: string, body: object, accounts: readonly Account[] = [], init: RequestInit = {}) =>
  text.fetch(path, { body, identity: { keyId, accounts: [...accounts] }, signal: init.signal ?? null });

async function records(count: number): Promise<UsageRecord[]> {
  const read = async () => {
    const name = redisNames.records(new Date().toISOString().slice(0, 10));
    const all = (await redis.xrange(name, '-', '+')).map(([, fields]) =>
      UsageRecord.parse(JSON.parse(fields[1] ?? '')),
    );
    return all.filter((record) => record.keyId === keyId);
  };
  await waitFor(async () => (await read()).length >= count);
  return read();
}

const account = () => redis.hgetall(redisNames.account(keyId, 'total'));

test.for([
  ['responses', '/v1/responses', { model: 'priced', input: 'Hello.', max_output_tokens: 200 }],
  ['responses', '/v1/responses', { model: 'priced', input: 'Hello.', max_output_tokens: 200, stream: true }],
  ['responses', '/v1/responses', { model: 'translated', input: 'Hello.', stream: true }],
  [
    'messages',
    '/v1/messages',
    { model: 'priced', max_tokens: 200, messages: [{ role: 'user', content: 'Hello.' }] },
  ],
  ['chat', '/v1/chat/completions', { model: 'translated', messages: [{ role: 'user', content: 'Hello.' }] }],
] as const)(
  'a %s request at %s is recorded once, with the cost of the usage that the upstream reports: %j',
  async ([endpoint, path, body]) => {
    const reply = await send(path, body, [budget(1e9)]);
    expect(reply.status).toBe(200);
    await reply.text();
    const [record, ...others] = await records(1);
    expect(others).toEqual([]);
    const [used] = Object.values(simulator.ledger());
    expect(record).toMatchObject({
      keyId,
      endpoint,
      model: body.model,
      outcome: 'ok',
      estimated: false,
      attempts: 1,
      consumption: { inputTokens: used?.inputTokens, outputTokens: used?.outputTokens },
      costMicroUsd: (used?.inputTokens ?? 0) * 10 + (used?.outputTokens ?? 0) * 1000,
    });
    expect(await account()).toEqual({ reserved: '0', spent: String(record?.costMicroUsd) });
  },
);

test('what a budget does not cover is refused before any upstream is called, in the words of each protocol', async () => {
  const openai = await send('/v1/responses', { model: 'priced', input: 'Hello.', max_output_tokens: 200 }, [
    budget(1000),
  ]);
  expect([openai.status, await openai.json()]).toMatchObject([
    429,
    { error: { code: 'insufficient_quota' } },
  ]);
  expect(openai.headers.get('x-should-retry')).toBe('false');
  const body = { model: 'priced', max_tokens: 200, messages: [{ role: 'user', content: 'Hello.' }] };
  const anthropic = await send('/v1/messages', body, [budget(1000)]);
  expect([anthropic.status, await anthropic.json()]).toMatchObject([
    429,
    { error: { type: 'rate_limit_error', details: { error_code: 'enforced_spend_limit_reached' } } },
  ]);
  expect(simulator.requests).toHaveLength(0);
  expect(await account()).toEqual({});
});

test('a budget that is nearly spent sets a header before it is', async () => {
  const body = { model: 'priced', input: 'Hello.', max_output_tokens: 200 };
  const early = await send('/v1/responses', body, [budget(1_000_000)]);
  expect(early.headers.get('x-gateway-budget')).toBeNull();
  await records(1);
  const late = await send('/v1/responses', body, [budget(220_000)]);
  expect(late.headers.get('x-gateway-budget')).toMatch(/^used=9\d%$/);
  await records(2);
});

test('a budgeted key may not use a model without a price, unless its budget allows it', async () => {
  const body = { model: 'unpriced', input: 'Hello.' };
  const refused = await send('/v1/responses', body, [budget(1e9)]);
  expect([refused.status, await refused.json()]).toMatchObject([
    403,
    { error: { code: 'unpriced_model', param: 'model' } },
  ]);
  expect((await send('/v1/responses', body, [budget(1e9, true)])).status).toBe(200);
  expect(await records(1)).toMatchObject([{ costMicroUsd: null }]);
});

test('a token limit counts what was used, not what was reserved', async () => {
  const accounts: Account[] = [{ owner: keyId, limits: { tokensPerMinute: 1200 }, budget: null }];
  const body = { model: 'priced', input: 'Hello.', max_output_tokens: 1000 };
  expect((await send('/v1/responses', body, accounts)).status).toBe(200);
  await records(1);
  expect((await send('/v1/responses', body, accounts)).status).toBe(200);
  await records(2);
  const larger = await send('/v1/responses', { ...body, max_output_tokens: 2000 }, accounts);
  expect([larger.status, await larger.json()]).toMatchObject([429, { error: { type: 'tokens' } }]);
});

test('a request that no upstream answered costs nothing, and gives back what it had reserved', async () => {
  simulator.script({ status: 500 });
  const reply = await send('/v1/responses', { model: 'dear-requests', input: 'Hello.' }, [budget(1e9)]);
  expect(reply.status).toBe(502);
  expect(await records(1)).toMatchObject([{ outcome: 'failed', costMicroUsd: 0 }]);
  expect(await account()).toEqual({ reserved: '0' });
});

test('a cut stream is one request, failed, charged for about what was delivered', async () => {
  simulator.script({ cutAfter: 8, text: 'word '.repeat(100) });
  const body = { model: 'priced', input: 'Hello.', max_output_tokens: 500, stream: true };
  await (await send('/v1/responses', body, [budget(1e9)])).text();
  const [record] = await records(1);
  expect(record).toMatchObject({ outcome: 'cut', estimated: true });
  expect(record?.consumption.outputTokens).toBeGreaterThan(0);
  expect(record?.consumption.outputTokens).toBeLessThan(50);
  expect(await account()).toEqual({ reserved: '0', spent: String(record?.costMicroUsd) });
});

test('a caller who leaves is charged for the input that the upstream had got, and what else was reserved is free again', async () => {
  const gate = createGate();
  simulator.script({ gate: gate.opened });
  const leaving = new AbortController();
  const replying = send('/v1/responses', { model: 'priced', input: 'Hello.' }, [budget(1e9)], {
    signal: leaving.signal,
  });
  await simulator.nextRequest();
  leaving.abort();
  await expect(replying).rejects.toThrow();
  const [record] = await records(1);
  expect(record).toMatchObject({
    outcome: 'left',
    attempts: 1,
    estimated: true,
    consumption: { outputTokens: 0 },
  });
  expect(record?.consumption.inputTokens).toBeGreaterThan(0);
  expect(await account()).toEqual({ reserved: '0', spent: String(record?.costMicroUsd) });
  gate.open();
});

test('a message stream that ends in an error event is charged for what was delivered, not for what its start event reported', async () => {
  simulator.script({ errorEventAfter: 12, text: 'word '.repeat(100) });
  const body = {
    model: 'priced',
    max_tokens: 500,
    stream: true,
    messages: [{ role: 'user', content: 'Hello.' }],
  };
  await (await send('/v1/messages', body, [budget(1e9)])).text();
  const [record] = await records(1);
  expect(record).toMatchObject({ outcome: 'cut', estimated: true });
  expect(record?.consumption.outputTokens).toBeGreaterThan(1);
});

test.for([
  [
    '/v1/responses',
    { input: 'hi', max_output_tokens: 100 },
    'x-ratelimit-limit-tokens',
    'x-ratelimit-remaining-tokens',
    'x-ratelimit-reset-tokens',
  ],
  [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 },
    'x-ratelimit-limit-tokens',
    'x-ratelimit-remaining-tokens',
    'x-ratelimit-reset-tokens',
  ],
  [
    '/v1/messages',
    { messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 },
    'anthropic-ratelimit-tokens-limit',
    'anthropic-ratelimit-tokens-remaining',
    'anthropic-ratelimit-tokens-reset',
  ],
] as const)(
  '%s: a key with a limit on tokens gets headers with what this request left of it',
  async ([path, body, limit, remaining, reset]) => {
    for (const stream of [false, true]) {
      const sent = JSON.stringify({ model: 'priced', stream, ...body });
      const owner = `${keyId} ${stream}`;
      const accounts: Account[] = [{ owner, limits: { tokensPerMinute: 10_000 }, budget: null }];
      const reply = await text.fetch(path, { body: sent, identity: { keyId, accounts } });
      expect(reply.status).toBe(200);
      // A token for every two bytes of the request, and the output that it may have.
      const reserved = Math.ceil(sent.length / 2) + 100;
      expect(reply.headers.get(limit)).toBe('10000');
      expect(reply.headers.get(remaining)).toBe(String(10_000 - reserved));
      expect(reply.headers.get(reset)).toBeTruthy();
      await reply.arrayBuffer();
    }
  },
);

test('a key without a limit on tokens gets no such headers, and never those of the provider', async () => {
  const reply = await text.fetch('/v1/responses', {
    body: { model: 'priced', input: 'hi' },
    identity: { keyId },
  });
  expect([...reply.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
});
