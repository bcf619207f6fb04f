import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { vertex } from '@gateway/simulator/clouds/vertex';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../../testing/start-retrieval.ts';

const CONFIGURATION = (url: string, credentialsFile: string) => `
channels:
  vertex: { provider: vertex, project: p1, location: eu, baseUrl: "${url}", auth: { type: google, credentialsFile: "${credentialsFile}" } }
models:
  text-embedding-005: { kind: embedding, price: { inputPerMTok: 0.1 }, routes: [{ channel: vertex }] }
  gemini-embedding-001: { kind: embedding, routes: [{ channel: vertex }] }
  gemini-embedding-2: { kind: embedding, price: { inputPerMTok: 0.2 }, routes: [{ channel: vertex }] }
`;

let retrieval: TestRetrieval;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  const tokens = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        access_token: 'ya29.1',
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: 3600,
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(tokens, 'listening');
  resources.defer(() => {
    tokens.closeAllConnections();
    tokens.close();
  });
  const folder = resources.adopt(await temporaryFolder(), (opened) => opened.close());
  const address = tokens.address();
  const credentialsFile = join(folder.path, 'credentials.json');
  const subject = join(folder.path, 'subject');
  await writeFile(subject, 'subject-token');
  await writeFile(
    credentialsFile,
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://127.0.0.1:${typeof address === 'object' && address?.port}/v1/token`,
      credential_source: { file: subject },
    }),
  );
  const cloud = vertex({ project: 'p1', location: 'eu', acceptsToken: (token) => token === 'ya29.1' });
  retrieval = resources.adopt(
    await startRetrieval({ configuration: (url) => CONFIGURATION(url, credentialsFile), cloud }),
    (opened) => opened.close(),
  );
});
afterAll(() => resources.disposeAsync());
beforeEach(() => retrieval.simulator.reset());

const embed = async (body: object, keyId = 'key_1') => {
  const reply = await retrieval.post('/v1/embeddings', body, retrieval.headersFor({ keyId }));
  return { status: reply.status, headers: reply.headers, body: Object(await reply.json()) };
};
const sent = () => retrieval.simulator.requests.map((request) => Object(request.json()));
const MODELS = '/v1/projects/p1/locations/eu/publishers/google/models';

test("Vertex AI's text models get several texts in one prediction, and report the tokens of each", async () => {
  const input = Array.from({ length: 30 }, (_, at) => `text ${at}`);
  const { body, headers } = await embed(
    { model: 'text-embedding-005', input, dimensions: 256, input_type: 'query', truncate: 'NONE', user: 'u' },
    'key_text',
  );
  expect(headers.get('x-gateway-dropped')).toBe('user');
  expect(body.data.map((one: { index: number }) => one.index)).toEqual(input.map((_, at) => at));
  expect(sent().map(({ instances }) => instances.length)).toEqual([25, 5]);
  expect(sent()[1]).toEqual({
    instances: input.slice(25).map((content) => ({ content, task_type: 'RETRIEVAL_QUERY' })),
    parameters: { outputDimensionality: 256, autoTruncate: false },
  });
  expect(retrieval.simulator.requests[0]?.path).toBe(`${MODELS}/text-embedding-005:predict`);
  const { inputTokens } = Object(retrieval.simulator.ledger()['text-embedding-005']);
  expect((await retrieval.accounted('key_text'))[0]).toMatchObject({
    estimated: false,
    consumption: { inputTokens },
    costMicroUsd: Math.ceil(inputTokens * 0.1),
  });
});

test("Gemini's first model embeds one text in a prediction", async () => {
  const { body } = await embed({ model: 'gemini-embedding-001', input: ['one', 'two', 'three'] });
  expect(body.data).toHaveLength(3);
  expect(sent().map(({ instances }) => instances.length)).toEqual([1, 1, 1]);
});

test("Gemini's later models are called by embedContent", async () => {
  const { status, body } = await embed(
    { model: 'gemini-embedding-2', input: ['one', 'two'], dimensions: 128 },
    'key_2',
  );
  expect([status, body.data.length, body.data[1]?.embedding.length]).toEqual([200, 2, 128]);
  expect(sent()[0]).toEqual({
    content: { role: 'user', parts: [{ text: 'one' }] },
    embedContentConfig: { taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 128 },
  });
  expect(retrieval.simulator.requests[0]?.path).toBe(`${MODELS}/gemini-embedding-2:embedContent`);
  expect((await retrieval.accounted('key_2'))[0]).toMatchObject({ estimated: false });
});

test("what Google refuses is said in OpenAI's shape", async () => {
  const refused = await embed({ model: 'text-embedding-005', input: 'one', input_type: 'nonsense' });
  expect(refused).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('task type'), type: 'invalid_request_error' } },
  });
});
