import { BedrockRuntimeClient, InvokeModelCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../start-simulator.ts';

let simulator: Simulator;
let client: BedrockRuntimeClient;
beforeAll(async () => {
  simulator = await startSimulator();
  client = new BedrockRuntimeClient({
    region: 'eu-central-1',
    endpoint: simulator.url,
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-of-nobody' },
    maxAttempts: 1,
    // The client by itself would use HTTP/2, which the simulator does not speak.
    requestHandler: new NodeHttpHandler(),
  });
});
afterAll(async () => {
  client.destroy();
  await simulator.close();
});
beforeEach(() => simulator.reset());

const answerOf = async (modelId: string, body: object) => {
  const reply = await client.send(
    new InvokeModelCommand({ modelId, body: JSON.stringify(body), contentType: 'application/json' }),
  );
  return JSON.parse(Buffer.from(reply.body).toString());
};

test("AWS' client invokes the models that embed texts and sort documents, each with its maker's body", async () => {
  const titan = await answerOf('amazon.titan-embed-text-v2:0', { inputText: 'Hello', dimensions: 256 });
  expect(titan).toMatchObject({ inputTextTokenCount: expect.any(Number) });
  expect(titan.embedding).toHaveLength(256);
  const params = { embeddingPurpose: 'GENERIC_INDEX', text: { truncationMode: 'END', value: 'Hello' } };
  const nova = { taskType: 'SINGLE_EMBEDDING', singleEmbeddingParams: params };
  const { embeddings } = await answerOf('amazon.nova-2-multimodal-embeddings-v1:0', nova);
  expect(embeddings[0].embedding).toHaveLength(3072);
  const cohere = { texts: ['Hello', 'there'], input_type: 'search_query', embedding_types: ['float'] };
  expect((await answerOf('cohere.embed-english-v3', cohere)).embeddings.float).toHaveLength(2);
  const documents = ['a cat', 'the price of tea'];
  const { results } = await answerOf('cohere.rerank-v3-5:0', { query: 'tea', documents, api_version: 2 });
  expect(results[0].index).toBe(1);
});

test.for([
  ['amazon.titan-embed-text-v2:0', { inputText: 'Hello', model: 'titan' }, /extraneous key \[model\]/],
  ['amazon.titan-embed-text-v2:0', { inputText: 'Hello', dimensions: 100 }, /not a valid enum value/],
  ['cohere.embed-english-v3', { texts: ['Hello'] }, /required key \[input_type\]/],
  [
    'cohere.embed-english-v3',
    { texts: ['Hello'], input_type: 'search_query', output_dimension: 256 },
    /extraneous key \[output_dimension\]/,
  ],
  ['cohere.rerank-v3-5:0', { query: 'tea', documents: ['a'] }, /api_version/],
] as const)('%s refuses %o', async ([modelId, body, message]) => {
  await expect(answerOf(modelId, body)).rejects.toThrow(message);
});
