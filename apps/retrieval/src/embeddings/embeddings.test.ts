import { encode } from 'gpt-tokenizer/encoding/cl100k_base';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../testing/start-retrieval.ts';

const CONFIGURATION = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one, cooldown: off }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two, cooldown: off }
  plain: { provider: openai-compatible, baseUrl: "${url}/v1", apiKey: sk-plain }
  openai: { provider: openai, baseUrl: "${url}/v1", apiKey: sk-openai }
  mistral: { provider: mistral, baseUrl: "${url}/v1", apiKey: sk-mistral }
models:
  text-embedding-3-small: { kind: embedding, price: { inputPerMTok: 0.02 }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  renamed: { kind: embedding, routes: [{ channel: one, model: text-embedding-3-large }] }
  free: { kind: embedding, routes: [{ channel: openai }] }
  own: { kind: embedding, price: { inputPerMTok: 0.1 }, routes: [{ channel: plain, model: bge-m3, priceFactor: 2 }] }
  threes: { kind: embedding, price: { inputPerMTok: 0.02 }, routes: [{ channel: one, quirks: { maxInputs: 3 } }] }
  mistral-embed: { kind: embedding, routes: [{ channel: mistral }] }
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;

let retrieval: TestRetrieval;
beforeAll(async () => {
  retrieval = await startRetrieval({ configuration: CONFIGURATION });
});
afterAll(() => retrieval.close());
beforeEach(() => retrieval.simulator.reset());

const cosine = (one: readonly number[], other: readonly number[]) =>
  one.reduce((sum, number, at) => sum + number * (other[at] ?? 0), 0);

test('the official client gets the vectors of its texts, whose default is base64', async () => {
  const client = retrieval.openai({ keyId: 'key_client' });
  const input = ['the cat sat on the mat', 'a cat on a mat', 'interest rates rise'];
  const reply = await client.embeddings.create({ model: 'text-embedding-3-small', input });
  const [cat, mat, rates] = reply.data.map(({ embedding }) => embedding);
  if (cat === undefined || mat === undefined || rates === undefined) throw new Error('a vector is missing');
  expect(cat).toHaveLength(1536);
  expect(cosine(cat, mat)).toBeGreaterThan(cosine(cat, rates) + 0.2);
  expect(reply.data.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(reply.usage).toEqual({ prompt_tokens: 15, total_tokens: 15 });
  expect((await retrieval.simulator.nextRequest()).json()).toMatchObject({ encoding_format: 'base64' });
  const [record] = await retrieval.accounted('key_client');
  expect(record).toMatchObject({
    ...{ endpoint: 'embeddings', model: 'text-embedding-3-small', channel: 'one', outcome: 'ok' },
    ...{ estimated: false, costMicroUsd: 0, consumption: { inputTokens: 15, outputTokens: 0 } },
    detail: { unitPrices: { input: 0.02 } },
  });
});

test('a request that needs no change goes out and comes back as the same bytes', async () => {
  const text = '{ "input": "hello",  "model":"text-embedding-3-small", "unknown": [1, 2] }';
  const reply = await fetch(`${retrieval.url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...retrieval.headersFor() },
    body: text,
  });
  const request = await retrieval.simulator.nextRequest();
  expect(request.body.toString()).toBe(text);
  expect(reply.headers.get('x-gateway-channel')).toBe('one');
  expect(reply.headers.get('x-gateway-attempts')).toMatch(/^"one";outcome=ok/);
  const body = await reply.text();
  expect(body.startsWith('{"object":"list","data":[{"object":"embedding","index":0,"embedding":[')).toBe(
    true,
  );
});

test.for(['float', 'base64'] as const)(
  'numbers and base64 are the same vector, also from a server that has numbers only: %s',
  async (format) => {
    const vectors = await Promise.all(
      ['own', 'free'].map(async (model) => {
        const reply = await retrieval.openai().embeddings.create({
          ...{ model, input: 'the same text', dimensions: 64, encoding_format: format },
        });
        return reply.data[0]?.embedding;
      }),
    );
    const bare = await retrieval
      .openai()
      .embeddings.create({ model: 'own', input: 'the same text', dimensions: 64 });
    const floats = vectors.map((vector) =>
      typeof vector === 'string'
        ? [...new Float32Array(new Uint8Array(Buffer.from(vector, 'base64')).buffer)]
        : vector,
    );
    expect(floats[0]).toEqual(bare.data[0]?.embedding);
    expect(floats[1]).toEqual(floats[0]);
    const bodies = retrieval.simulator.requests.map((request) => Object(request.json()));
    const plain = bodies.filter(({ model }) => model === 'bge-m3');
    expect(plain).toHaveLength(2);
    for (const body of plain) expect(body).not.toHaveProperty('encoding_format');
  },
);

test('tokens are passed to a provider of their vocabulary, and decoded for others', async () => {
  const tokens = encode('When do keys expire?');
  const client = retrieval.openai();
  await client.embeddings.create({ model: 'text-embedding-3-small', input: [tokens] });
  await client.embeddings.create({ model: 'own', input: tokens });
  await client.embeddings.create({ model: 'own', input: [tokens, encode('Soon.')] });
  const inputs = retrieval.simulator.requests.map((request) => Object(request.json()).input);
  expect(inputs).toEqual([[tokens], ['When do keys expire?'], ['When do keys expire?', 'Soon.']]);
});

test('more inputs than a provider takes go in several requests, and come back in their order', async () => {
  const texts = Array.from({ length: 10 }, (_, at) => `text number ${at}`);
  const client = retrieval.openai({ keyId: 'key_parts' });
  const parts = await client.embeddings.create({ model: 'threes', input: texts, dimensions: 32 });
  expect(retrieval.simulator.requests).toHaveLength(4);
  const whole = await client.embeddings.create({ model: 'free', input: texts, dimensions: 32 });
  expect(parts.data).toEqual(whole.data);
  expect(parts.usage).toEqual(whole.usage);
  const records = await retrieval.accounted('key_parts', 2);
  expect(records[0]).toMatchObject({ attempts: 4, consumption: { inputTokens: parts.usage.prompt_tokens } });
});

test('a part that fails ends the request, which is charged for the parts that were done', async () => {
  const texts = ['one', 'two', 'three', '[[simulate status=400]] four', 'five', 'six', 'seven'];
  const client = retrieval.openai({ keyId: 'key_broken_part' });
  const sent = client.embeddings.create({ model: 'threes', input: texts });
  await expect(sent).rejects.toMatchObject({ status: 400 });
  const [record] = await retrieval.accounted('key_broken_part');
  expect(record).toMatchObject({ outcome: 'failed' });
});

test('another channel of the same model answers where one fails', async () => {
  retrieval.simulator.script({ status: 503, json: { error: { message: 'down', type: 'server_error' } } });
  const reply = await retrieval.post('/v1/embeddings', { model: 'text-embedding-3-small', input: 'hello' });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-channel')).toBe('two');
});

test.for([
  ['no vectors', { object: 'list', data: [], usage: { prompt_tokens: 7, total_tokens: 7 } }],
  ['a vector with a null', { data: [{ index: 0, embedding: [0.1, null] }], usage: { prompt_tokens: 7 } }],
  ['an index beyond the inputs', { data: [{ index: 3, embedding: [0.1] }], usage: { prompt_tokens: 7 } }],
])(
  'a reply with %s is none: another channel answers, and what it reported is charged',
  async ([name, json]) => {
    retrieval.simulator.script({ json });
    const client = retrieval.openai({ keyId: `key_unread_${name}` });
    const reply = await client.embeddings
      .create({ model: 'text-embedding-3-small', input: 'hello' })
      .withResponse();
    expect(reply.response.headers.get('x-gateway-channel')).toBe('two');
    const [record] = await retrieval.accounted(`key_unread_${name}`);
    expect(record?.consumption.inputTokens).toBe(7 + 2);
  },
);

test('what a provider does not report is estimated, and marked as such', async () => {
  retrieval.simulator.script({ json: { data: [{ index: 0, embedding: [0.1, 0.2] }] } });
  const { data, response } = await retrieval
    .openai({ keyId: 'key_estimated' })
    .embeddings.create({ model: 'own', input: 'twelve chars' })
    .withResponse();
  expect(data.usage.prompt_tokens).toBe(3);
  expect(response.headers.get('x-gateway-estimated')).toBe('true');
  const [record] = await retrieval.accounted('key_estimated');
  expect(record).toMatchObject({ estimated: true, consumption: { inputTokens: 3 } });
});

test('a route that charges twice the price is charged twice the price, rounded once', async () => {
  const input = 'word '.repeat(4000);
  await retrieval.openai({ keyId: 'key_factor' }).embeddings.create({ model: 'own', input });
  const [record] = await retrieval.accounted('key_factor');
  expect(record).toMatchObject({ consumption: { inputTokens: 5000 }, costMicroUsd: 1000 });
});

test('members that a provider lacks are left out and named, or refused where the caller is strict', async () => {
  const body = { model: 'free', input: 'hello', input_type: 'query' };
  const reply = await retrieval.post('/v1/embeddings', body);
  expect(reply.headers.get('x-gateway-dropped')).toBe('input_type');
  expect(Object(retrieval.simulator.requests[0]?.json())).not.toHaveProperty('input_type');
  const strict = await retrieval.post('/v1/embeddings', body, { 'x-gateway-strict': 'true' });
  expect(strict.status).toBe(400);
  expect(await strict.json()).toMatchObject({
    error: { code: 'unsupported_parameter', param: 'input_type' },
  });
});

test("a maker's own name for the number of dimensions is used", async () => {
  retrieval.simulator.script({
    json: { data: [{ index: 0, embedding: [0.1, 0.2] }], usage: { prompt_tokens: 1 } },
  });
  await retrieval.openai().embeddings.create({ model: 'mistral-embed', input: 'hello', dimensions: 2 });
  const sent = Object((await retrieval.simulator.nextRequest()).json());
  expect(sent).toMatchObject({ output_dimension: 2 });
  expect(sent).not.toHaveProperty('dimensions');
});

test.for([
  [{ model: 'free' }, 'input', 'missing_required_parameter'],
  [{ model: 'free', input: '' }, 'input', 'string_below_min_length'],
  [{ model: 'free', input: [] }, 'input', 'array_below_min_length'],
  [{ model: 'free', input: ['a', ''] }, 'input[1]', 'string_below_min_length'],
  [{ model: 'free', input: [[1], []] }, 'input[1]', 'array_below_min_length'],
  [{ model: 'free', input: [1.5] }, 'input[0]', 'invalid_type'],
  [{ model: 'free', input: { text: 'a' } }, 'input', 'invalid_type'],
  [{ model: 'free', input: 'a', dimensions: 0 }, 'dimensions', 'integer_below_min_value'],
  [{ model: 'free', input: 'a', encoding_format: 'int8' }, 'encoding_format', 'invalid_value'],
  [{ model: 'own', input: [999_999] }, 'input', 'invalid_value'],
  [{ model: 'gpt-5', input: 'a' }, 'model', 'unsupported_model'],
  [{ model: 'nothing', input: 'a' }, 'model', 'model_not_found'],
] as const)('%j is refused before a provider is called', async ([body, param, code]) => {
  const reply = await retrieval.post('/v1/embeddings', body);
  expect(await reply.json()).toMatchObject({ error: { param, code, type: 'invalid_request_error' } });
  expect(reply.status).toBe(code === 'model_not_found' ? 404 : 400);
  expect(retrieval.simulator.requests).toEqual([]);
});

test('more inputs than OpenAI takes are refused', async () => {
  const reply = await retrieval.post('/v1/embeddings', { model: 'free', input: Array(2049).fill('a') });
  expect(await reply.json()).toMatchObject({ error: { param: 'input', code: 'array_above_max_length' } });
});

test('a hundred thousand tokens in two thousand inputs pass, and so does their large reply', async () => {
  const tokens = Array.from({ length: 2048 }, (_, at) => Array.from({ length: 60 }, (_, to) => at + to));
  const client = retrieval.openai();
  const reply = await client.embeddings.create({
    model: 'text-embedding-3-small',
    input: tokens,
    dimensions: 300,
  });
  expect(reply.data).toHaveLength(2048);
  expect(reply.usage.prompt_tokens).toBe(2048 * 60);
  const floats = await client.embeddings.create({
    ...{
      model: 'text-embedding-3-small',
      input: tokens.slice(0, 700),
      dimensions: 300,
      encoding_format: 'float',
    },
  });
  expect(floats.data[699]?.embedding).toEqual(reply.data[699]?.embedding);
});

test('a limit on tokens refuses what it does not cover, and a budget too', async () => {
  const accounts = [{ owner: 'key_limited', limits: { tokensPerMinute: 10 }, budget: null }];
  const limited = retrieval.openai({ keyId: 'key_limited', accounts });
  const long = limited.embeddings.create({ model: 'free', input: 'a long text of many words' });
  await expect(long).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  await limited.embeddings.create({ model: 'free', input: 'short' });
  const budget = { microUsd: 1, period: 'day' as const, allowUnpriced: false };
  const poor = retrieval.openai({ keyId: 'key_poor', accounts: [{ owner: 'key_poor', limits: {}, budget }] });
  const dear = poor.embeddings.create({ model: 'text-embedding-3-small', input: 'word '.repeat(8000) });
  await expect(dear).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' });
  expect(retrieval.simulator.requests).toHaveLength(1);
});

test('a caller that leaves ends the request at its provider', async () => {
  retrieval.simulator.script({ gate: new Promise(() => undefined) });
  const leaving = new AbortController();
  const client = retrieval.openai({ keyId: 'key_left' });
  const sent = client.embeddings.create({ model: 'free', input: 'hello' }, { signal: leaving.signal });
  const request = await retrieval.simulator.nextRequest();
  leaving.abort();
  await expect(sent).rejects.toThrow();
  expect(await request.closed).toBe('aborted');
  const [record] = await retrieval.accounted('key_left');
  expect(record).toMatchObject({ outcome: 'left', estimated: true });
});
