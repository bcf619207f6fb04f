import { bedrock } from '@gateway/simulator/clouds/bedrock';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../../testing/start-retrieval.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key' };
const ARN = 'arn:aws:bedrock:eu-central-1::foundation-model/amazon.titan-embed-text-v2:0';

const CONFIGURATION = (url: string) => `
channels:
  bedrock: { provider: bedrock, region: eu-central-1, baseUrl: "${url}", auth: { type: aws, accessKeyId: AKIDEXAMPLE, secretAccessKey: a-secret-access-key } }
  mistaken: { provider: bedrock, region: eu-central-1, baseUrl: "${url}", auth: { type: aws, accessKeyId: AKIDEXAMPLE, secretAccessKey: another-secret } }
models:
  titan: { kind: embedding, price: { inputPerMTok: 0.02 }, routes: [{ channel: bedrock, model: "amazon.titan-embed-text-v2:0" }] }
  titan-profile: { kind: embedding, routes: [{ channel: bedrock, model: "${ARN}", speaks: [embeddings], quirks: { embeddingsForm: bedrock-titan, maxInputs: 1 } }] }
  nova: { kind: embedding, routes: [{ channel: bedrock, model: "amazon.nova-2-multimodal-embeddings-v1:0" }] }
  cohere: { kind: embedding, price: { inputPerMTok: 0.1 }, routes: [{ channel: bedrock, model: cohere.embed-multilingual-v3 }] }
  cohere-4: { kind: embedding, routes: [{ channel: mistaken, model: "eu.cohere.embed-v4:0", priority: 0 }, { channel: bedrock, model: "eu.cohere.embed-v4:0", priority: 1 }] }
  mistaken: { kind: embedding, routes: [{ channel: mistaken, model: "amazon.titan-embed-text-v2:0" }] }
  ranking: { kind: rerank, routes: [{ channel: bedrock, model: "cohere.rerank-v3-5:0" }] }
`;

let retrieval: TestRetrieval;
beforeAll(async () => {
  const gate = { ...KEYS, region: 'eu-central-1', service: 'bedrock', endpoint: 'runtime' } as const;
  retrieval = await startRetrieval({ configuration: CONFIGURATION, cloud: bedrock(gate) });
});
afterAll(() => retrieval.close());
beforeEach(() => retrieval.simulator.reset());

const embed = async (body: object, keyId = 'key_1') => {
  const reply = await retrieval.post('/v1/embeddings', body, retrieval.headersFor({ keyId }));
  return { status: reply.status, headers: reply.headers, body: Object(await reply.json()) };
};
const sent = () => retrieval.simulator.requests.map((request) => Object(request.json()));

test('Titan gets one text in a call, in the order of the inputs, and each token is paid once', async () => {
  const input = Array.from({ length: 9 }, (_, at) => `text number ${at}`);
  const { status, headers, body } = await embed(
    { model: 'titan', input, dimensions: 256, input_type: 'query' },
    'key_titan',
  );
  expect(status).toBe(200);
  expect(headers.get('x-gateway-dropped')).toBe('input_type');
  expect(body.data.map((one: { index: number }) => one.index)).toEqual(input.map((_, at) => at));
  expect(new Set(sent().map(({ inputText }) => inputText))).toEqual(new Set(input));
  expect(sent()[0]).toEqual({ inputText: expect.any(String), dimensions: 256 });
  expect(retrieval.simulator.requests[0]?.path).toBe('/model/amazon.titan-embed-text-v2%3A0/invoke');
  const alone = await embed({ model: 'titan', input: input[7], dimensions: 256 });
  expect(alone.body.data[0].embedding).toEqual(body.data[7].embedding);
  const [record] = await retrieval.accounted('key_titan');
  const { inputTokens } = Object(retrieval.simulator.ledger()['amazon.titan-embed-text-v2:0']);
  expect(record).toMatchObject({
    estimated: false,
    consumption: { inputTokens: inputTokens - alone.body.usage.prompt_tokens },
    costMicroUsd: Math.ceil(body.usage.prompt_tokens * 0.02),
  });
});

test("an ARN's route says its form, and goes the same way", async () => {
  const { status, body } = await embed({ model: 'titan-profile', input: 'one' });
  expect([status, body.data[0]?.embedding.length]).toEqual([200, 1024]);
});

test('Nova gets one text in a call with what it is for, and reports its tokens in a header', async () => {
  const { status, headers, body } = await embed({
    ...{ model: 'nova', input: ['one', 'two'], input_type: 'query', dimensions: 256, truncate: 'NONE' },
  });
  expect(status).toBe(200);
  expect(headers.get('x-gateway-estimated')).toBeNull();
  expect(sent()[0]).toEqual({
    taskType: 'SINGLE_EMBEDDING',
    singleEmbeddingParams: {
      embeddingPurpose: 'TEXT_RETRIEVAL',
      embeddingDimension: 256,
      text: { truncationMode: 'NONE', value: 'one' },
    },
  });
  expect(body.usage.prompt_tokens).toBeGreaterThan(0);
});

test("Cohere's models get batches without a name, and their tokens come in a header", async () => {
  const input = Array.from({ length: 100 }, (_, at) => `text ${at}`);
  const { body } = await embed({ model: 'cohere', input, input_type: 'query' }, 'key_cohere');
  expect(body.data).toHaveLength(100);
  expect(sent().map(({ texts }) => texts.length)).toEqual([96, 4]);
  expect(sent()[1]).toEqual({
    texts: input.slice(96),
    input_type: 'search_query',
    embedding_types: ['float'],
  });
  const { inputTokens } = Object(retrieval.simulator.ledger()['cohere.embed-multilingual-v3']);
  expect((await retrieval.accounted('key_cohere'))[0]).toMatchObject({
    estimated: false,
    consumption: { inputTokens },
  });
});

test('a channel whose signature is refused gives way to the next one', async () => {
  const { status, body, headers } = await embed({ model: 'cohere-4', input: 'one', dimensions: 512 });
  expect([status, body.data[0].embedding.length]).toEqual([200, 512]);
  expect(headers.get('x-gateway-channel')).toBe('bedrock');
});

test("what AWS refuses is said in OpenAI's shape, and nothing of the channel's credentials with it", async () => {
  const refused = await embed({ model: 'titan', input: 'one', dimensions: 100 });
  expect(refused).toMatchObject({
    status: 400,
    body: {
      error: { message: expect.stringContaining('not a valid enum value'), type: 'invalid_request_error' },
    },
  });
  const mistaken = await embed({ model: 'mistaken', input: 'one' });
  expect(mistaken.status).toBeGreaterThanOrEqual(500);
  expect(JSON.stringify(mistaken.body)).not.toMatch(/AKID|signature/i);
});

test("Cohere's rerank on Bedrock gets its version, and the best document comes first", async () => {
  const documents = ['a cat on a mat', 'the price of tea in China'];
  const reply = await retrieval.post('/v1/rerank', { model: 'ranking', query: 'price of tea', documents });
  const { results } = Object(await reply.json());
  expect(results.map(({ index }: { index: number }) => index)).toEqual([1, 0]);
  expect(sent()[0]).toEqual({ query: 'price of tea', documents, api_version: 2 });
});
