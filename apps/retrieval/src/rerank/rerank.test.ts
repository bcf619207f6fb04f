import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../testing/start-retrieval.ts';

const CONFIGURATION = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one, cooldown: off }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two, cooldown: off }
  cohere: { provider: cohere, baseUrl: "${url}", apiKey: sk-cohere }
  voyage: { provider: voyage, baseUrl: "${url}/v1", apiKey: sk-voyage }
  tei: { provider: tei, baseUrl: "${url}/v1" }
models:
  jina-rerank: { kind: rerank, price: { inputPerMTok: 20 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  rerank-v4: { kind: rerank, price: { perThousandToolCalls: { rerank_search: 2 } }, routes: [{ channel: cohere }] }
  rerank-2.5: { kind: rerank, price: { inputPerMTok: 0.05 }, routes: [{ channel: voyage }] }
  bge-reranker: { kind: rerank, routes: [{ channel: tei }] }
  text-embedding-3-small: { kind: embedding, routes: [{ channel: one }] }
`;

let retrieval: TestRetrieval;
beforeAll(async () => {
  retrieval = await startRetrieval({ configuration: CONFIGURATION });
});
afterAll(() => retrieval.close());
beforeEach(() => retrieval.simulator.reset());

const query = 'when do keys expire';
const documents = [
  'The canteen opens at eight.',
  'Keys expire after ninety days.',
  { text: 'Some keys expire.' },
];
const rerank = async (body: object, keyId = 'key_1', path = '/v1/rerank') => {
  const reply = await retrieval.post(path, { query, documents, ...body }, retrieval.headersFor({ keyId }));
  return { reply, body: Object(await reply.json()) };
};
const indexes = ({ results }: { results: readonly { index: number }[] }) => results.map(({ index }) => index);

test.for(['/v1/rerank', '/v2/rerank'])('%s: the best documents first, and what they cost', async (path) => {
  const keyId = `key_of${path}`;
  const { reply, body } = await rerank({ model: 'jina-rerank' }, keyId, path);
  expect(reply.status).toBe(200);
  expect(indexes(body).at(-1)).toBe(0);
  const scores: number[] = body.results.map((one: { relevance_score: number }) => one.relevance_score);
  expect(scores).toEqual(scores.toSorted((one, other) => other - one));
  expect(body.results[0]).not.toHaveProperty('document');
  const tokens = body.usage.total_tokens;
  const [record] = await retrieval.accounted(keyId);
  expect(record).toMatchObject({
    ...{ endpoint: 'rerank', model: 'jina-rerank', channel: 'one', estimated: false },
    ...{ consumption: { inputTokens: tokens }, costMicroUsd: tokens * 20 },
  });
  const sent = Object((await retrieval.simulator.nextRequest()).json());
  expect(sent.documents).toEqual([documents[0], documents[1], 'Some keys expire.']);
});

test('top_n and return_documents: the documents are the caller’s own', async () => {
  const { body } = await rerank({ model: 'jina-rerank', top_n: 2, return_documents: true });
  expect(body.results).toHaveLength(2);
  for (const { index, document } of body.results) {
    const own = documents[index];
    expect(document).toEqual(typeof own === 'string' ? { text: own } : own);
  }
});

test('of objects the named fields are read', async () => {
  const fields = [{ title: 'Keys', body: 'They expire.', secret: 'x' }, { title: 'Canteen' }];
  await rerank({ model: 'jina-rerank', documents: fields, rank_fields: ['title', 'body'] });
  const sent = Object((await retrieval.simulator.nextRequest()).json());
  expect(sent.documents).toEqual(['title: Keys\nbody: They expire.', 'title: Canteen']);
});

test('searches are charged by their number where the price is for searches', async () => {
  const many = Array.from({ length: 150 }, (_, at) => `document ${at}`);
  const { body } = await rerank({ model: 'rerank-v4', documents: many }, 'key_searches');
  expect(body.meta.billed_units).toEqual({ search_units: 2 });
  const [record] = await retrieval.accounted('key_searches');
  expect(record).toMatchObject({
    ...{ costMicroUsd: 4000, estimated: false, consumption: { toolCalls: { rerank_search: 2 } } },
    detail: { unitPrices: { toolCalls: { rerank_search: 2 } } },
  });
  const sent = await retrieval.simulator.nextRequest();
  expect(sent.path).toBe('/v2/rerank');
  expect(sent.json()).not.toHaveProperty('return_documents');
});

test('a provider with its own words for it is asked in them', async () => {
  retrieval.simulator.script({
    json: {
      object: 'list',
      data: [
        { index: 1, relevance_score: 0.2 },
        { index: 0, relevance_score: 0.9 },
      ],
      usage: { total_tokens: 21 },
    },
  });
  const voyage = await rerank({ model: 'rerank-2.5', top_n: 2 }, 'key_voyage');
  expect(indexes(voyage.body)).toEqual([0, 1]);
  const sent = Object((await retrieval.simulator.nextRequest()).json());
  expect(sent).toMatchObject({ top_k: 2 });
  expect(sent).not.toHaveProperty('top_n');
  expect((await retrieval.accounted('key_voyage'))[0]).toMatchObject({ consumption: { inputTokens: 21 } });
});

test('a server that reports nothing is accounted by an estimate', async () => {
  retrieval.simulator.script({ json: [0, 1, 2].map((index) => ({ index, score: index / 10 })) });
  const { reply, body } = await rerank({ model: 'bge-reranker', top_n: 1 }, 'key_tei');
  expect(indexes(body)).toEqual([2]);
  expect(reply.headers.get('x-gateway-estimated')).toBe('true');
  expect(Object((await retrieval.simulator.nextRequest()).json()).texts).toHaveLength(3);
  expect((await retrieval.accounted('key_tei'))[0]).toMatchObject({ estimated: true });
});

test.for([
  ['rerank-v4', { id: 'x', message: 'invalid request: too many tokens' }],
  ['rerank-2.5', { detail: 'Request has too many tokens.' }],
  ['bge-reranker', { error: 'too many tokens', error_type: 'Validation' }],
] as const)('whoever serves %s, a refusal has the form of all errors', async ([model, json]) => {
  retrieval.simulator.script({ status: 422, json });
  const { reply, body } = await rerank({ model });
  expect(reply.status).toBe(400);
  expect(body).toEqual({
    error: {
      message: expect.stringContaining('too many tokens'),
      type: 'invalid_request_error',
      ...{ param: null, code: 'upstream_rejected' },
    },
  });
});

test.for([
  ['no scores', { results: [] }],
  ['a document that was not sent', { results: [0, 1, 9].map((index) => ({ index, relevance_score: 1 })) }],
  ['one document twice', { results: [0, 1, 1].map((index) => ({ index, relevance_score: 1 })) }],
])('a reply with %s is none: another channel answers', async ([, json]) => {
  retrieval.simulator.script({ json });
  const { reply } = await rerank({ model: 'jina-rerank' });
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
});

test.for([
  [{ model: 'jina-rerank', query: '' }, 'query', 'string_below_min_length'],
  [{ model: 'jina-rerank', documents: [] }, 'documents', 'array_below_min_length'],
  [{ model: 'jina-rerank', documents: [{ title: 'x' }] }, 'documents[0]', 'invalid_value'],
  [{ model: 'jina-rerank', top_n: 0 }, 'top_n', 'integer_below_min_value'],
  [{ model: 'text-embedding-3-small' }, 'model', 'unsupported_model'],
] as const)('%j is refused before a provider is called', async ([body, param, code]) => {
  const { reply, body: error } = await rerank(body);
  expect(reply.status).toBe(400);
  expect(error).toMatchObject({ error: { param, code } });
  expect(retrieval.simulator.requests).toEqual([]);
});
