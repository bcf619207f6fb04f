import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Stack, startStack } from '../../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses, images] }
  two: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages, chat] }
models:
  gpt-5.2: { kind: text, routes: [{ channel: one }], contextWindow: 400000, maxOutputTokens: 128000 }
  "house-*": { kind: text, routes: [{ channel: one }] }
  claude: { kind: text, routes: [{ channel: two }, { channel: one, priority: 1 }] }
  dall-e-3: { kind: image, routes: [{ channel: one }] }
  vendor/model: { kind: text, routes: [{ channel: two }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());

const Listed = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), gateway: z.looseObject({}) })),
});

const list = async (path: string, identity = {}) => {
  const { body } = await get(path, identity);
  const { data, ...page } = Listed.parse(body);
  return { data, page, ids: data.map(({ id }) => id) };
};

const get = async (path: string, identity = {}) => {
  const reply = await stack.text.fetch(path, { identity });
  return { status: reply.status, body: await reply.json() };
};

test('the list has the members of both protocols, and what each model can do', async () => {
  const { page, ids, data } = await list('/v1/models');
  expect(page).toMatchObject({
    object: 'list',
    has_more: false,
    first_id: 'gpt-5.2',
    last_id: 'vendor/model',
  });
  expect(ids).toEqual(['gpt-5.2', 'claude', 'dall-e-3', 'vendor/model']);
  expect(data[0]).toEqual({
    id: 'gpt-5.2',
    object: 'model',
    created: 0,
    owned_by: 'gateway',
    type: 'model',
    display_name: 'gpt-5.2',
    created_at: '1970-01-01T00:00:00Z',
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: 400_000,
    max_tokens: 128_000,
    retires_at: null,
    gateway: {
      kind: 'text',
      protocols: ['responses'],
      endpoints: [
        '/v1/responses',
        '/v1/responses/input_tokens',
        '/v1/responses/compact',
        '/v1/messages',
        '/v1/messages/count_tokens',
        '/v1/chat/completions',
        '/v1beta/models/{model}:generateContent',
        '/v1beta/models/{model}:streamGenerateContent',
        '/v1beta/models/{model}:countTokens',
        '/v1/models/{model}:generateContent',
        '/v1/models/{model}:streamGenerateContent',
        '/v1/models/{model}:countTokens',
      ],
      price: {
        inputPerMTok: 1.75,
        cachedInputPerMTok: 0.175,
        outputPerMTok: 14,
        perThousandToolCalls: { web_search: 10, file_search: 2.5 },
      },
      context_window: 400_000,
      max_output_tokens: 128_000,
    },
  });
  expect(data[1]?.gateway.protocols).toEqual(['responses', 'messages', 'chat']);
  expect(data[2]?.gateway).toMatchObject({
    kind: 'image',
    protocols: ['images'],
    endpoints: ['/v1/images/generations', '/v1/images/edits'],
    price: { perImage: { '1024x1024': { default: 0.04, standard: 0.04, hd: 0.08 } } },
  });
});

test('a key sees the models and the endpoints that it may use', async () => {
  const { ids, data } = await list('/v1/models', { models: ['gpt-*', 'dall-e-*'], endpoints: ['messages'] });
  expect(ids).toEqual(['gpt-5.2', 'dall-e-3']);
  expect(data[0]?.gateway.endpoints).toEqual(['/v1/messages', '/v1/messages/count_tokens']);
  expect(data[1]?.gateway.endpoints).toEqual([]);
});

test('a pattern is listed as the models that are known of its channels, with their prices and sizes', async () => {
  await using fresh = await startStack({
    configuration: (first) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k }
  own: { provider: vllm, baseUrl: "${first}" }
models:
  "gpt-*": { kind: text, routes: [{ channel: one }], price: { inputPerMTok: 3 } }
  gpt-6-sol: { kind: text, routes: [{ channel: one }] }
  "claude-*": { kind: text, routes: [{ channel: one }, { channel: own, priority: 1 }] }
  "*": { kind: text, routes: [{ channel: own }] }
  "text-embedding-*": { kind: embedding, routes: [{ channel: one }] }
  "rerank-*": { kind: rerank, routes: [{ channel: one }] }
`,
  });
  const reply = await fresh.text.fetch('/v1/models', {
    identity: { models: ['gpt-5.2*', 'gpt-6-*', 'claude-*', 'text-embedding-*', 'rerank-*'] },
  });
  const { data } = Listed.parse(await reply.json());
  const ids = data.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['gpt-5.2', 'gpt-5.2-codex', 'gpt-6-sol', 'claude-sonnet-5-5']));
  expect(ids).toHaveLength(new Set(ids).size);
  expect(ids.length).toBeLessThan(40);
  const gateway = (id: string) => data.find((model) => model.id === id)?.gateway;
  expect(gateway('gpt-5.2')).toMatchObject({ price: { inputPerMTok: 3 }, context_window: 400_000 });
  expect(gateway('gpt-6-sol')).toMatchObject({ price: { inputPerMTok: 2, outputPerMTok: 10 } });
  expect(gateway('claude-sonnet-5-5')).toMatchObject({
    price: { inputPerMTok: 2, cachedInputPerMTok: 0.1, cacheWritePerMTok: 2.5, outputPerMTok: 10 },
    context_window: 1_000_000,
  });
  expect(gateway('text-embedding-3-small')).toMatchObject({
    ...{ kind: 'embedding', protocols: ['embeddings'] },
    endpoints: [
      '/v1/embeddings',
      ...['/v1beta', '/v1'].flatMap((base) =>
        ['embedContent', 'batchEmbedContents'].map((verb) => `${base}/models/{model}:${verb}`),
      ),
    ],
    price: { inputPerMTok: 0.02 },
  });
  expect(gateway('rerank-v4.0-pro')).toMatchObject({
    ...{ kind: 'rerank', protocols: ['rerank'], endpoints: ['/v1/rerank', '/v2/rerank'] },
    price: { perThousandToolCalls: { rerank_search: 2.5 } },
  });
});

test.for([
  ['limit=2', ['gpt-5.2', 'claude'], true],
  ['limit=2&after_id=claude', ['dall-e-3', 'vendor/model'], false],
  ['before_id=dall-e-3&limit=1', ['claude'], true],
  ['after_id=vendor/model', [], false],
  ['lifecycle[]=deprecated&lifecycle[]=retired', [], false],
  ['lifecycle[]=active&lifecycle[]=retired&limit=1', ['gpt-5.2'], true],
] as const)('%s gives the page %j', async ([query, expected, hasMore]) => {
  const { page, ids } = await list(`/v1/models?${query}`);
  expect(ids).toEqual(expected);
  expect(page).toMatchObject({
    has_more: hasMore,
    first_id: expected[0] ?? null,
    last_id: expected.at(-1) ?? null,
  });
});

test.for(['0', '1001', 'many'])('a limit of %s is refused', async (limit) => {
  const { status, body } = await get(`/v1/models?limit=${limit}`);
  expect(status).toBe(400);
  expect(body).toMatchObject({ error: { type: 'invalid_request_error', param: 'limit' } });
});

test.for([
  ['gpt-5.2', 'gpt-5.2'],
  ['house-of-a-pattern', 'house-of-a-pattern'],
  ['vendor%2Fmodel', 'vendor/model'],
])('%s can be requested by itself', async ([path, id]) => {
  expect(await get(`/v1/models/${path}`)).toMatchObject({ status: 200, body: { id, object: 'model' } });
});

test('an unknown model and one that the key may not use look the same', async () => {
  const unknown = await get('/v1/models/nope');
  expect(unknown).toMatchObject({
    status: 404,
    body: { error: { code: 'model_not_found', param: 'model' } },
  });
  const hidden = await get('/v1/models/claude', { models: ['gpt-*'] });
  expect(JSON.stringify(hidden).replaceAll('claude', 'nope')).toBe(JSON.stringify(unknown));
});
