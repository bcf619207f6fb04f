import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../testing/start-retrieval.ts';

const CONFIGURATION = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one, cooldown: off }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two, cooldown: off }
  mistral: { provider: mistral, baseUrl: "${url}/v1", apiKey: sk-mistral }
  guard: { provider: openai-compatible, baseUrl: "${url}/v1", apiKey: sk-guard, speaks: [moderations] }
  azure: { provider: azure-openai, baseUrl: "${url}", apiKey: sk-azure }
models:
  omni-moderation-latest: { kind: moderation, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  mistral-moderation-latest: { kind: moderation, price: { inputPerMTok: 0.1 }, routes: [{ channel: mistral }] }
  own-guard: { kind: moderation, routes: [{ channel: guard, model: llama-guard }] }
  gpt-5: { kind: text, routes: [{ channel: azure }] }
`;

let retrieval: TestRetrieval;
beforeAll(async () => {
  retrieval = await startRetrieval({ configuration: CONFIGURATION });
});
afterAll(() => retrieval.close());
beforeEach(() => retrieval.simulator.reset());

const budget = { microUsd: 1, period: 'day', allowUnpriced: false } as const;

test('a request that names no model goes to OpenAI’s, free of charge within any budget', async () => {
  const accounts = [{ owner: 'key_free', limits: {}, budget }];
  const client = retrieval.openai({ keyId: 'key_free', accounts });
  const { results, model } = await client.moderations.create({ input: 'I hate it' });
  expect([results.length, results[0]?.flagged, model]).toEqual([1, true, 'omni-moderation-latest']);
  const [record] = await retrieval.accounted('key_free');
  expect(record).toMatchObject({
    ...{ endpoint: 'moderations', model: 'omni-moderation-latest', channel: 'one', outcome: 'ok' },
    ...{ estimated: true, costMicroUsd: 0, consumption: { inputTokens: 3, outputTokens: 0 } },
  });
  const line = retrieval.lines.find(({ path }) => path === '/v1/moderations');
  expect(line).toMatchObject({ model: 'omni-moderation-latest', channel: 'one', inputs: 1, costMicroUsd: 0 });
});

test('the bytes pass as they are in both directions where the name is the provider’s', async () => {
  const text = '{ "input": ["one", "two"],  "model":"omni-moderation-latest", "unknown": [1] }';
  const answer = '{ "results": [{"flagged": false, "own": 1}, {}],  "id":"modr-1" }';
  retrieval.simulator.script({ body: answer, headers: { 'content-type': 'application/json' } });
  const reply = await fetch(`${retrieval.url}/v1/moderations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...retrieval.headersFor() },
    body: text,
  });
  expect(await reply.text()).toBe(answer);
  expect((await retrieval.simulator.nextRequest()).body.toString()).toBe(text);
});

test('a server of one’s own gets its own name for the model, and nothing else changes', async () => {
  const input = [
    { type: 'text', text: 'Good' },
    { type: 'text', text: 'morning' },
  ];
  const reply = await retrieval.post('/v1/moderations', { model: 'own-guard', input, policy: 'strict' });
  expect(Object(await reply.json()).results).toHaveLength(1);
  expect((await retrieval.simulator.nextRequest()).json()).toEqual({
    ...{ model: 'llama-guard', input, policy: 'strict' },
  });
});

test('a maker’s own categories are relayed, and what it reports is charged', async () => {
  const json = { results: [{ categories: { pii: false }, category_scores: { pii: 0.1 } }] };
  retrieval.simulator.script({ json: { ...json, usage: { prompt_tokens: 500 } } });
  const headers = retrieval.headersFor({ keyId: 'key_mistral' });
  const body = { model: 'mistral-moderation-latest', input: 'hello' };
  const reply = await retrieval.post('/v1/moderations', body, headers);
  expect(await reply.json()).toMatchObject(json);
  expect((await retrieval.accounted('key_mistral'))[0]).toMatchObject({
    ...{ estimated: false, costMicroUsd: 50, consumption: { inputTokens: 500 } },
  });
});

test.for([
  ['is down', { status: 503, json: { error: { message: 'down', type: 'server_error' } } }],
  ['answers with too few results', { json: { results: [] } }],
] as const)('another channel of the same model answers where one %s', async ([, answer]) => {
  retrieval.simulator.script(answer);
  const reply = await retrieval.post('/v1/moderations', { input: 'hello' });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
});

test('a limit on tokens counts what is judged', async () => {
  const accounts = [{ owner: 'key_tokens', limits: { tokensPerMinute: 10 }, budget: null }];
  const client = retrieval.openai({ keyId: 'key_tokens', accounts });
  await expect(client.moderations.create({ input: 'x'.repeat(400) })).rejects.toMatchObject({ status: 429 });
  expect(retrieval.simulator.requests).toEqual([]);
});

test.for([
  [{}, 'input', 'missing_required_parameter'],
  [{ input: [] }, 'input', 'array_below_min_length'],
  [{ input: [{ type: 'audio' }] }, 'input[0].type', 'invalid_value'],
  [{ input: 'x', model: 'gpt-5' }, 'model', 'unsupported_model'],
] as const)('%j is refused before a provider is called', async ([body, param, code]) => {
  const reply = await retrieval.post('/v1/moderations', body);
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param, code } }]);
  expect(retrieval.simulator.requests).toEqual([]);
});
