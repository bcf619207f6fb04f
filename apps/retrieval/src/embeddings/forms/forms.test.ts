import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../../testing/start-retrieval.ts';

const CONFIGURATION = (url: string) => `
channels:
  cohere: { provider: cohere, baseUrl: "${url}", apiKey: sk-cohere }
  gemini: { provider: gemini, baseUrl: "${url}/v1beta", apiKey: sk-gemini }
  voyage: { provider: voyage, baseUrl: "${url}/v1", apiKey: sk-voyage }
models:
  embed-v4.0: { kind: embedding, price: { inputPerMTok: 0.12 }, routes: [{ channel: cohere }] }
  gemini-embedding-001: { kind: embedding, price: { inputPerMTok: 0.15 }, routes: [{ channel: gemini }] }
  voyage-4: { kind: embedding, routes: [{ channel: voyage }] }
`;

let retrieval: TestRetrieval;
beforeAll(async () => {
  retrieval = await startRetrieval({ configuration: CONFIGURATION });
});
afterAll(() => retrieval.close());
beforeEach(() => retrieval.simulator.reset());

const VECTORS = [
  [0.25, -0.5],
  [0.125, 0.0625],
];
const input = ['one', 'two'];
const embed = async (body: object, keyId: string) => {
  const reply = await retrieval.post('/v1/embeddings', { input, ...body }, retrieval.headersFor({ keyId }));
  expect(reply.status).toBe(200);
  const request = await retrieval.simulator.nextRequest();
  return { reply, body: Object(await reply.json()), sent: Object(request.json()), path: request.path };
};
const vectorsIn = ({ data }: { data: readonly { embedding: unknown }[] }) =>
  data.map(({ embedding }) => embedding);

test('Cohere gets its own form, and every format comes of it', async () => {
  const json = { id: 'x', embeddings: { float: VECTORS }, meta: { billed_units: { input_tokens: 4 } } };
  retrieval.simulator.script({ json });
  const order = { model: 'embed-v4.0', dimensions: 2, input_type: 'query', user: 'u' };
  const { reply, body, sent, path } = await embed(order, 'key_cohere');
  expect(path).toBe('/v2/embed');
  expect(sent).toEqual({
    ...{ model: 'embed-v4.0', texts: input, input_type: 'search_query' },
    ...{ embedding_types: ['float'], output_dimension: 2 },
  });
  expect(vectorsIn(body)).toEqual(VECTORS);
  expect(body.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
  expect(reply.headers.get('x-gateway-dropped')).toBe('user');
  retrieval.simulator.script({ json });
  const base64 = await embed({ model: 'embed-v4.0', encoding_format: 'base64' }, 'key_cohere');
  expect(vectorsIn(base64.body)).toEqual(['AACAPgAAAL8=', 'AAAAPgAAgD0=']);
  expect(base64.sent.input_type).toBe('search_document');
});

test('more texts than Cohere takes are sent in several requests', async () => {
  const many = Array.from({ length: 100 }, (_, at) => `text ${at}`);
  for (const count of [96, 4])
    retrieval.simulator.script((request) => Object(request.json()).texts.length === count, {
      json: {
        embeddings: { float: Array.from({ length: count }, (_, at) => [count, at]) },
        meta: { billed_units: { input_tokens: count } },
      },
    });
  const reply = await retrieval.post('/v1/embeddings', { model: 'embed-v4.0', input: many });
  const body = Object(await reply.json());
  expect(vectorsIn(body).slice(94, 98)).toEqual([
    [96, 94],
    [96, 95],
    [4, 0],
    [4, 1],
  ]);
  expect(body.usage.total_tokens).toBe(100);
});

test('Gemini gets a request for each text, and its tokens are estimated where it reports none', async () => {
  retrieval.simulator.script({ json: { embeddings: VECTORS.map((values) => ({ values })) } });
  const { reply, body, sent, path } = await embed(
    { model: 'gemini-embedding-001', dimensions: 2 },
    'key_gemini',
  );
  expect(path).toBe('/v1beta/models/gemini-embedding-001:batchEmbedContents');
  expect(sent.requests[1]).toEqual({
    ...{ model: 'models/gemini-embedding-001', taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 2 },
    content: { parts: [{ text: 'two' }] },
  });
  expect(vectorsIn(body)).toEqual(VECTORS);
  expect(reply.headers.get('x-gateway-estimated')).toBe('true');
  expect((await retrieval.accounted('key_gemini'))[0]).toMatchObject({ estimated: true, channel: 'gemini' });
});

test('Voyage has its own name for dimensions, and only a total of tokens', async () => {
  const data = VECTORS.map((embedding, index) => ({ index, embedding }));
  retrieval.simulator.script({ json: { data, usage: { total_tokens: 6 } } });
  const { sent } = await embed({ model: 'voyage-4', dimensions: 2, input_type: 'query' }, 'key_voyage');
  expect(sent).toEqual({ model: 'voyage-4', input, output_dimension: 2, input_type: 'query' });
  expect((await retrieval.accounted('key_voyage'))[0]).toMatchObject({ consumption: { inputTokens: 6 } });
});
