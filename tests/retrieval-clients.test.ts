import { type CohereProvider, createCohere } from '@ai-sdk/cohere';
import { createGoogle } from '@ai-sdk/google';
import { ApiError, GoogleGenAI } from '@google/genai';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embed, embedMany, rerank } from 'ai';
import { CohereClientV2, CohereError } from 'cohere-ai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** What search over documents calls a gateway with, as it comes from its makers. */

let gateway: Gateway;
let cohere: CohereClientV2;
let provider: CohereProvider;
beforeAll(async () => {
  gateway = await startGateway({ services: ['edge', 'retrieval'] });
  const { url, key } = gateway;
  cohere = new CohereClientV2({ environment: url, token: key });
  provider = createCohere({ baseURL: `${url}/v2`, apiKey: key });
});
afterAll(() => gateway?.close());

const model = 'rerank-v4.0';
const query = 'when do keys expire';
const documents = ['The canteen opens at eight.', 'Keys expire after ninety days.', 'Doors have keys.'];

test("Cohere's client sorts documents", async () => {
  const { results, meta } = await cohere.rerank({ model, query, documents, topN: 2 });
  expect(results.map(({ index }) => index)).toEqual([1, 2]);
  expect(results[0]?.relevanceScore).toBeGreaterThan(results[1]?.relevanceScore ?? 1);
  expect(meta?.apiVersion?.version).toBe('2');
});

test("Cohere's client reads why a request was refused", async () => {
  const refused = cohere.rerank({ model, query: '', documents });
  await expect(refused).rejects.toThrow(CohereError);
  await expect(refused).rejects.toMatchObject({ statusCode: 400, body: { error: { param: 'query' } } });
  const unknown = new CohereClientV2({ environment: gateway.url, token: 'gwk_nobody' });
  await expect(unknown.rerank({ model, query, documents }, { maxRetries: 0 })).rejects.toMatchObject({
    statusCode: 401,
  });
});

test('the AI SDK sorts documents', async () => {
  const { ranking, rerankedDocuments } = await rerank({
    ...{ model: provider.reranking(model), query, documents, topN: 1, maxRetries: 0 },
  });
  expect(ranking.map(({ originalIndex }) => originalIndex)).toEqual([1]);
  expect(rerankedDocuments).toEqual(['Keys expire after ninety days.']);
});

test('the AI SDK knows which errors are worth a retry', async () => {
  const ask = (words: string) =>
    rerank({ model: provider.reranking(model), query: `[[simulate ${words}]]`, documents, maxRetries: 0 });
  await expect(ask('overloaded')).rejects.toMatchObject({ isRetryable: true });
  await expect(ask('status=400')).rejects.toMatchObject({ isRetryable: false, statusCode: 400 });
});

test('LangChain embeds a query, and more documents than go into one request', async () => {
  const embeddings = new OpenAIEmbeddings({
    ...{ model: 'text-embedding-3-small', apiKey: gateway.key, dimensions: 512, batchSize: 2 },
    configuration: { baseURL: `${gateway.url}/v1` },
  });
  const [of, vectors] = [await embeddings.embedQuery(query), await embeddings.embedDocuments(documents)];
  const dot = (vector: readonly number[]) => vector.reduce((sum, one, at) => sum + one * (of[at] ?? 0), 0);
  const [canteen = 1, expiry = 0] = vectors.map(dot);
  expect(vectors.map(({ length }) => length)).toEqual([512, 512, 512]);
  expect(expiry).toBeGreaterThan(canteen + 0.2);
});

test("Google's client gets vectors of any maker's model", async () => {
  const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
  const config = { taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 8 };
  const order = { model: 'text-embedding-3-small', contents: documents, config };
  const { embeddings = [] } = await google.models.embedContent(order);
  expect(embeddings.map(({ values }) => values?.length)).toEqual([8, 8, 8]);
  const refused = google.models.embedContent({ ...order, model: 'of-nobody' });
  await expect(refused).rejects.toThrow(ApiError);
  await expect(refused).rejects.toMatchObject({ status: 404 });
});

test("the AI SDK gets one vector, and many, in Google's form", async () => {
  const google = createGoogle({ apiKey: gateway.key, baseURL: `${gateway.url}/v1beta` });
  const asked = { model: google.embedding('text-embedding-3-small'), maxRetries: 0 };
  const { embedding } = await embed({ ...asked, value: String(documents[1]) });
  const { embeddings } = await embedMany({ ...asked, values: documents });
  expect(embeddings).toHaveLength(3);
  expect(embeddings[1]).toEqual(embedding);
});
