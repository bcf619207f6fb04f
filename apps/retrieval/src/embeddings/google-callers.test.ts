import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../testing/start-retrieval.ts';

const CONFIGURATION = (url: string) => `
channels:
  gemini: { provider: gemini, baseUrl: "${url}/v1beta", apiKey: sk-gemini }
  openai: { provider: openai, baseUrl: "${url}/v1", apiKey: sk-openai }
  simulated: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
  cohere: { provider: cohere, baseUrl: "${url}", apiKey: sk-cohere }
models:
  gemini-embedding-001: { kind: embedding, price: { inputPerMTok: 0.15 }, routes: [{ channel: gemini }] }
  text-embedding-3-small: { kind: embedding, price: { inputPerMTok: 20 }, routes: [{ channel: simulated }] }
  strict-openai: { kind: embedding, routes: [{ channel: openai, model: text-embedding-3-small }] }
  threes: { kind: embedding, routes: [{ channel: simulated, quirks: { maxInputs: 3 } }] }
  embed-v4.0: { kind: embedding, routes: [{ channel: cohere }] }
`;

let retrieval: TestRetrieval;
beforeAll(async () => {
  retrieval = await startRetrieval({ configuration: CONFIGURATION });
});
afterAll(() => retrieval.close());
beforeEach(() => retrieval.simulator.reset());

const contentOf = (...texts: string[]) => ({ content: { parts: texts.map((text) => ({ text })) } });
async function call(path: string, body: object, headers: Record<string, string> = {}) {
  const own = { ...retrieval.headersFor({ keyId: 'key_google' }), ...headers };
  const reply = await retrieval.post(path, body, own);
  return { status: reply.status, headers: reply.headers, body: Object(await reply.json()) };
}
const batch = (model: string, requests: readonly object[], headers?: Record<string, string>) =>
  call(`/v1beta/models/${model}:batchEmbedContents`, { requests }, headers);
const sent = async () => Object((await retrieval.simulator.nextRequest()).json());

test('a Gemini channel gets what its caller said: titles, the task, the length, and no task where there was none', async () => {
  const json = { embeddings: [{ values: [0.25] }, { values: [0.5] }] };
  retrieval.simulator.script({ json });
  const wishes = { taskType: 'SEMANTIC_SIMILARITY', outputDimensionality: 1, model: 'models/other' };
  const requests = [
    { ...wishes, ...contentOf('one'), title: 'first' },
    { ...wishes, ...contentOf('two', 'three') },
  ];
  const { status, headers, body } = await batch('gemini-embedding-001', requests);
  expect([status, headers.get('x-gateway-dropped')]).toEqual([200, null]);
  expect(body).toEqual({ ...json, usageMetadata: { promptTokenCount: expect.any(Number) } });
  const more = {
    ...{ model: 'models/gemini-embedding-001', taskType: 'SEMANTIC_SIMILARITY', outputDimensionality: 1 },
  };
  expect(await sent()).toEqual({
    requests: [
      { ...more, title: 'first', ...contentOf('one') },
      { ...more, ...contentOf('two\nthree') },
    ],
  });
  retrieval.simulator.script({ json: { embeddings: [{ values: [0.25] }] } });
  const one = await call('/v1/models/gemini-embedding-001:embedContent', contentOf('one'));
  expect(one.body.embedding).toEqual({ values: [0.25] });
  expect(await sent()).toEqual({
    requests: [{ model: 'models/gemini-embedding-001', ...contentOf('one') }],
  });
});

test('a title is paid as the text below it', async () => {
  retrieval.simulator.script({ json: { embeddings: [{ values: [0.25] }] } });
  const own = retrieval.headersFor({ keyId: 'key_titles' });
  await batch('gemini-embedding-001', [{ ...contentOf('four'), title: 'four'.repeat(100) }], own);
  const [record] = await retrieval.accounted('key_titles');
  expect(record).toMatchObject({ estimated: true, consumption: { inputTokens: 101 } });
});

test('a model of another maker answers in the form of Google, and its key pays', async () => {
  const { status, body, headers } = await batch('text-embedding-3-small', [
    { ...contentOf('the cat'), task_type: 'RETRIEVAL_QUERY', output_dimensionality: 8 },
    { ...contentOf('the dog'), task_type: 'RETRIEVAL_QUERY', output_dimensionality: 8 },
  ]);
  expect(status).toBe(200);
  expect(headers.get('x-gateway-channel')).toBe('simulated');
  expect(body.embeddings.map(({ values }: { values: unknown[] }) => values.length)).toEqual([8, 8]);
  expect(await sent()).toMatchObject({ input: ['the cat', 'the dog'], dimensions: 8, input_type: 'query' });
  const [record] = await retrieval.accounted('key_google');
  expect(record).toMatchObject({ endpoint: 'embeddings', model: expect.any(String), outcome: 'ok' });
});

test('more texts than a provider takes come back in their order', async () => {
  const texts = ['a', 'b', 'c', 'd', 'e'];
  const { body } = await batch(
    'threes',
    texts.map((text) => contentOf(text)),
  );
  const alone = await call('/v1beta/models/threes:embedContent', contentOf('e'));
  expect(body.embeddings).toHaveLength(5);
  expect(body.embeddings[4]).toEqual(alone.body.embedding);
});

test('what another maker does not have is named by the name that Google has for it, or refused', async () => {
  const wishes = { taskType: 'CLUSTERING', title: 'A title', autoTruncate: true };
  const request = { ...contentOf('one'), ...wishes };
  const { headers, status } = await batch('strict-openai', [request]);
  expect([status, headers.get('x-gateway-dropped')]).toEqual([200, 'taskType, title, autoTruncate']);
  expect(await sent()).not.toHaveProperty('input_type');
  const query = { ...contentOf('one'), taskType: 'RETRIEVAL_QUERY' };
  expect((await batch('strict-openai', [query])).headers.get('x-gateway-dropped')).toBe('taskType');
  const strict = await batch('strict-openai', [request], { 'x-gateway-strict': 'true' });
  expect(strict.status).toBe(400);
  expect(strict.body.error).toMatchObject({
    ...{ code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining("'taskType'") },
  });
});

test('members with any names, and any number of them, are named as far as a header takes them', async () => {
  const members = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`naïve\n${at}`, true]));
  const more = await batch('strict-openai', [{ ...contentOf('one'), ...members }]);
  expect(more.status).toBe(200);
  expect(more.headers.get('x-gateway-dropped')).toMatch(/^na\?ve\?0, .*, na\?ve\?39, \+2960$/);
  const strict = { 'x-gateway-strict': 'true' };
  const refused = await batch('strict-openai', [{ ...contentOf('one'), ['é'.repeat(1e6)]: 1 }], strict);
  expect(refused.status).toBe(400);
  expect(JSON.stringify(refused.body).length).toBeLessThan(1000);
});

test.for<[what: string, requests: readonly object[], says: string]>([
  ['no requests', [], 'requests'],
  ['an image', [{ content: { parts: [{ inlineData: { data: 'AAAA' } }] } }], 'Only texts are embedded'],
  ['no text', [contentOf(' ')], 'no text to embed'],
  [
    'tasks that differ',
    [{ ...contentOf('a'), taskType: 'CLUSTERING' }, contentOf('b')],
    'must be the same in all requests',
  ],
])('a request with %s is refused with a sentence', async ([, requests, says]) => {
  const { status, body } = await batch('gemini-embedding-001', requests);
  expect(status).toBe(400);
  expect(body.error.message).toContain(says);
  expect(retrieval.simulator.requests).toHaveLength(0);
});

test('an unknown model is refused in the form of Google', async () => {
  const unknown = await call('/v1beta/models/nobody:embedContent', contentOf('a'));
  expect([unknown.status, unknown.body.error.status]).toEqual([404, 'NOT_FOUND']);
});
